/* Ordering, waiting for a signal or flag with data, barriers of teams, the lock. */
#include "differential.h"

long lock_counter, lock_expected;
static long the_lock;

/* ---- ordering ---- */

enum { QUIET, QUIET_OF_PES, FENCE, CONTEXT_QUIET, ORDERS };

static bool plan_order(struct step *s)
{
    pick_context(s);
    s->way = (int)pick(ORDERS);
    if (s->way <= QUIET_OF_PES) claims_settle(s->actor);
    return true;
}

static void run_order(struct step *s)
{
    int everybody[PES_MAX] = {0};
    if (!takes_part_alone(s)) return;
    for (int i = 0; i < n_pes; i++) everybody[i] = i;
    switch (s->way) {
    case QUIET_OF_PES:
        shmem_pe_quiet(everybody, (size_t)n_pes); /* on the default context; then on the others */ /* fallthrough */
    case QUIET: complete_all(); break;
    case FENCE: shmem_ctx_fence(context_of(s)); break;
    default: shmem_ctx_quiet(context_of(s));
    }
}

/* ---- data and a signal, or a flag after a fence; the target waits ---- */

enum { PUT_SIGNAL, PUT_SIGNAL_NBI, PUT_SIGNAL_ADD, PUT_FENCE_FLAG, MESSAGES };

static bool plan_message(struct step *s)
{
    pick_context(s);
    s->way = (int)pick(MESSAGES);
    s->nelems = pick(chance(6) ? 4000 : 60);
    s->dest = any_offset(s->nelems, 1);
    s->source = any_offset(s->nelems, 1);
    s->dst = any_offset(sizeof(uint64_t), sizeof(uint64_t)); /* the signal */
    s->value = random_next(&common) | 1;                     /* a change, whatever it is added to */
    if (s->dest / SLOT_BYTES <= s->dst / SLOT_BYTES && s->dst <= s->dest + s->nelems + SLOT_BYTES) return false;
    if (s->actor == s->target && s->dest < s->source + s->nelems + SLOT_BYTES &&
        s->source < s->dest + s->nelems + SLOT_BYTES)
        return false;
    uint64_t before = 0;
    memcpy(&before, model[s->target] + s->dst, sizeof before);
    s->expected = s->way == PUT_SIGNAL_ADD ? before + s->value : s->value;
    if (before == s->expected || !claim_fresh(s->target, s->dst, sizeof before, s->actor)) return false;
    if (!claim_write(s->target, s->dest, s->nelems, s->actor)) return false;
    if (!claim_read(s->actor, s->source, s->nelems, s->actor)) return false;
    claims_hand_over(s->target, s->dst, sizeof before, s->target);
    claims_hand_over(s->target, s->dest, s->nelems, s->target);
    return true;
}

static void send_message(const struct step *s)
{
    shmem_ctx_t ctx = context_of(s);
    uint64_t *signal = (uint64_t *)(void *)(memory + s->dst);
    void *dest = memory + s->dest;
    const void *source = memory + s->source;
    int to = target_number(s);
    switch (s->way) {
    case PUT_SIGNAL:
        shmem_ctx_putmem_signal(ctx, dest, source, s->nelems, signal, s->value, SHMEM_SIGNAL_SET, to);
        break;
    case PUT_SIGNAL_NBI:
        shmem_ctx_putmem_signal_nbi(ctx, dest, source, s->nelems, signal, s->value, SHMEM_SIGNAL_SET, to);
        break;
    case PUT_SIGNAL_ADD:
        shmem_ctx_putmem_signal(ctx, dest, source, s->nelems, signal, s->value, SHMEM_SIGNAL_ADD, to);
        break;
    default:
        shmem_ctx_putmem(ctx, dest, source, s->nelems, to);
        shmem_ctx_fence(ctx);
        shmem_ctx_uint64_atomic_set(ctx, signal, s->value, to);
    }
}

static void receive_message(const struct step *s)
{
    uint64_t *signal = (uint64_t *)(void *)(memory + s->dst), seen = s->expected;
    if (s->way == PUT_FENCE_FLAG)
        shmem_uint64_wait_until(signal, SHMEM_CMP_EQ, s->expected);
    else
        seen = shmem_signal_wait_until(signal, SHMEM_CMP_EQ, s->expected);
    compare_value(s, "signal", seen, s->expected);
    if (memcmp(memory + s->dest, model[s->actor] + s->source, s->nelems) != 0)
        mismatch(s, "%zu bytes are not there when the signal is", s->nelems);
}

static void run_message(struct step *s)
{
    if (s->actor == my_pe) send_message(s);
    if (s->target == my_pe) receive_message(s);
}

static void apply_message(struct step *s)
{
    memcpy(model[s->target] + s->dest, model[s->actor] + s->source, s->nelems);
    memcpy(model[s->target] + s->dst, &s->expected, sizeof s->expected);
}

/* ---- barriers, the lock ---- */

static bool plan_meeting(struct step *s)
{
    s->team = any_team();
    return true;
}

static void run_meeting(struct step *s)
{
    if (team_number(&teams[s->team], my_pe) >= 0 && shmem_team_sync(teams[s->team].handle) != 0)
        mismatch(s, "team_sync failed");
}

static bool plan_lock(struct step *s)
{
    (void)s;
    return true;
}

static void run_lock(struct step *s)
{
    (void)s;
    shmem_set_lock(&the_lock);
    shmem_long_p(&lock_counter, shmem_long_g(&lock_counter, 0) + 1, 0);
    shmem_clear_lock(&the_lock);
}

static void apply_lock(struct step *s)
{
    (void)s;
    lock_expected += n_pes;
}

const struct step_kind sync_steps[] = {
    {"order", 8, plan_order, run_order, NULL},
    {"message", 10, plan_message, run_message, apply_message},
    {"meeting", 2, plan_meeting, run_meeting, NULL},
    {"lock", 1, plan_lock, run_lock, apply_lock},
    {NULL, 0, NULL, NULL, NULL},
};
