/* isthmus/device_coll.h: collectives from kernels: sync, barrier, broadcast, fcollect, alltoall and reductions. See
 * device.h.
 * All PEs of a team call them in the same order, by one thread or one group of each PE. They return 0, or nonzero for a
 * team that this PE is not in. */
#ifndef ISTHMUS_DEVICE_COLL_H
#define ISTHMUS_DEVICE_COLL_H

#include <isthmus/device_rma.h>
#include <isthmus/device_wait.h>

/* ---- sync ---- */

/* Flags count synchronisations, even ones and odd ones apart. So no count can be overtaken by the next one on the same
 * half, also where the ring carries them: a PE writes the count after next when all members have begun the next
 * synchronisation, and so have seen this one's. No fence is needed among them. */
ISTHMUS_DEVICE uint32_t *isthmus_dev_flag(const struct isthmus_device_team *team, int flag, uint64_t sequence)
{
    return (uint32_t *)(void *)(team->flags + flag) + (sequence & 1);
}

ISTHMUS_DEVICE void isthmus_dev_set_flag(const struct isthmus_device_team *team, int member, int flag,
                                         uint64_t sequence)
{
    isthmus_dev_p(isthmus_dev_flag(team, flag, sequence), (uint32_t)sequence, 4,
                  isthmus_dev_team_to_world(team, member));
}

/* The rest of a wait that has lasted: with a note, which has the team's number. */
ISTHMUS_DEVICE_COLD void isthmus_dev_await_flag_long(const struct isthmus_device_team *team, int member,
                                                     const uint32_t *at, uint64_t sequence)
{
    size_t number = (size_t)(team - isthmus_device_v1.teams);
    (void)isthmus_dev_wait_long(isthmus_dev_wait_what(ISTHMUS_WAIT_MEMBER, 0, 4, 0, number), at, sequence,
                                isthmus_dev_team_to_world(team, member));
}

/* The flag is the one that this member writes. */
ISTHMUS_DEVICE_AWAIT void isthmus_dev_await_flag(const struct isthmus_device_team *team, int member, int flag,
                                                 uint64_t sequence)
{
    const uint32_t *at = isthmus_dev_flag(team, flag, sequence);
    struct isthmus_dev_waiter waiter = {0, 0};
    while ((int32_t)((uint32_t)isthmus_dev_load_acquire(at, 4) - (uint32_t)sequence) < 0) {
        if (!isthmus_dev_wait_turn(&waiter)) continue;
        isthmus_dev_await_flag_long(team, member, at, sequence);
        return;
    }
}

/* Every member writes a flag of its own at every other one: a round, spread over the group's threads. */
ISTHMUS_DEVICE void isthmus_dev_sync_at_once(const struct isthmus_device_team *team, uint64_t sequence, int scope)
{
    int first = (int)isthmus_dev_rank(scope), step = (int)isthmus_dev_size(scope);
    for (int i = first; i < team->n; i += step)
        if (i != team->me) isthmus_dev_set_flag(team, i, team->me, sequence);
    for (int i = first; i < team->n; i += step)
        if (i != team->me) isthmus_dev_await_flag(team, i, i, sequence);
}

ISTHMUS_DEVICE void isthmus_dev_sync_by_dissemination(const struct isthmus_device_team *team, uint64_t sequence)
{
    int flag = ISTHMUS_DEVICE_MEMBERS;
    for (int64_t distance = 1; distance < team->n; distance *= 2, flag++) {
        int member = (int)((team->me + team->n - distance) % team->n);
        isthmus_dev_set_flag(team, (int)((team->me + distance) % team->n), flag, sequence);
        isthmus_dev_await_flag(team, member, flag, sequence);
        isthmus_dev_fence(); /* what the notice shows is passed on with the next one */
    }
}

/* Which way depends on the team alone: members may call with groups of different sizes. Every thread reads the sequence
 * before it meets its group, the leader counts it up after that. */
ISTHMUS_DEVICE void isthmus_dev_sync_members(struct isthmus_device_team *team, int scope)
{
    uint64_t sequence = isthmus_dev_load_device(&team->sequence) + 1;
    isthmus_dev_meet(scope);
    isthmus_dev_fence();
    if (team->n <= ISTHMUS_DEVICE_MEMBERS)
        isthmus_dev_sync_at_once(team, sequence, scope);
    else if (isthmus_dev_is_leader(scope))
        isthmus_dev_sync_by_dissemination(team, sequence);
    if (isthmus_dev_is_leader(scope)) isthmus_dev_store_device(&team->sequence, sequence);
    isthmus_dev_meet(scope);
    if (!isthmus_dev_must_flush()) return;
    if (isthmus_dev_is_leader(scope)) isthmus_dev_flush_by_ring(); /* for the flags of all threads of the group */
    isthmus_dev_meet(scope);
}

/* The host's barrier is not the kernels': each counts its own. */
ISTHMUS_DEVICE int isthmus_dev_sync(int32_t handle, int scope)
{
    struct isthmus_device_team *team = isthmus_dev_team(ISTHMUS_CALL_SYNC, handle);
    if (team == NULL) return -1;
    isthmus_dev_sync_members(team, scope);
    return 0;
}

/* Completes the operations of the group first. Returns 0. */
ISTHMUS_DEVICE int isthmus_dev_barrier_members(struct isthmus_device_team *team, int scope)
{
    isthmus_dev_quiet(scope);
    isthmus_dev_sync_members(team, scope);
    return 0;
}

ISTHMUS_DEVICE int isthmus_dev_barrier_of(int32_t handle, int scope)
{
    struct isthmus_device_team *team = isthmus_dev_team(ISTHMUS_CALL_SYNC, handle);
    return team != NULL ? isthmus_dev_barrier_members(team, scope) : -1;
}

/* ---- addresses ---- */

/* Starts with the next member, so that not all push to the same one. */
ISTHMUS_DEVICE int isthmus_dev_after(const struct isthmus_device_team *team, int k)
{
    int member = team->me + 1 + k;
    return member < team->n ? member : member - team->n;
}

/* The host ends the job with this call's name if the address is not symmetric. It would find the mistake in the
 * requests that follow, too, and name the puts and fetches of the collective. */
ISTHMUS_DEVICE_COLD void isthmus_dev_have_located(int call, const void *addr, size_t bytes, int pe)
{
    struct isthmus_request request = isthmus_dev_request_of(ISTHMUS_REQUEST_LOCATE, addr, NULL, bytes, pe);
    request.value = (uint64_t)call;
    (void)isthmus_dev_post(&request);
}

/* With ISTHMUS_CHECK and a ring: a collective's address is to be symmetric, for so many bytes. */
ISTHMUS_DEVICE void isthmus_dev_expect(int call, const struct isthmus_device_team *team, const void *addr, size_t bytes,
                                       int scope)
{
    const struct isthmus_device_state *state = &isthmus_device_v1;
    if (ISTHMUS_DEVICE_LIKELY((state->flags & ISTHMUS_DEVICE_CHECK) == 0) || state->ring == NULL) return;
    if (isthmus_dev_is_leader(scope))
        isthmus_dev_have_located(call, addr, bytes, isthmus_dev_team_to_world(team, isthmus_dev_after(team, 0)));
}

/* ---- moving data: every PE pushes what it has ---- */

ISTHMUS_DEVICE void isthmus_dev_push(int call, const struct isthmus_device_team *team, int member, char *dest,
                                     const char *source, size_t bytes, int scope)
{
    isthmus_dev_put_for(call, dest, source, bytes, isthmus_dev_team_to_world(team, member), scope, 1);
}

ISTHMUS_DEVICE int isthmus_dev_broadcast(int32_t handle, void *dest, const void *source, size_t bytes, int root,
                                         int scope)
{
    struct isthmus_device_team *team = isthmus_dev_team(ISTHMUS_CALL_BROADCAST, handle);
    if (team == NULL) return -1;
    isthmus_dev_expect(ISTHMUS_CALL_BROADCAST, team, dest, bytes, scope);
    if ((uint32_t)root >= (uint32_t)team->n)
        isthmus_dev_misuse(ISTHMUS_CALL_BROADCAST, ISTHMUS_MISTAKE_ROOT, dest, root);
    for (int k = 0; root == team->me && k < team->n; k++)
        if (isthmus_dev_after(team, k) != team->me || dest != source)
            isthmus_dev_push(ISTHMUS_CALL_BROADCAST, team, isthmus_dev_after(team, k), (char *)dest,
                             (const char *)source, bytes, scope);
    return isthmus_dev_barrier_members(team, scope);
}

ISTHMUS_DEVICE int isthmus_dev_fcollect(int32_t handle, void *dest, const void *source, size_t bytes, int scope)
{
    struct isthmus_device_team *team = isthmus_dev_team(ISTHMUS_CALL_FCOLLECT, handle);
    if (team == NULL) return -1;
    isthmus_dev_expect(ISTHMUS_CALL_FCOLLECT, team, dest, (size_t)team->n * bytes, scope);
    for (int k = 0; k < team->n; k++)
        isthmus_dev_push(ISTHMUS_CALL_FCOLLECT, team, isthmus_dev_after(team, k),
                         (char *)dest + (size_t)team->me * bytes, (const char *)source, bytes, scope);
    return isthmus_dev_barrier_members(team, scope);
}

ISTHMUS_DEVICE int isthmus_dev_alltoall(int32_t handle, void *dest, const void *source, size_t bytes, int scope)
{
    struct isthmus_device_team *team = isthmus_dev_team(ISTHMUS_CALL_ALLTOALL, handle);
    if (team == NULL) return -1;
    isthmus_dev_expect(ISTHMUS_CALL_ALLTOALL, team, dest, (size_t)team->n * bytes, scope);
    for (int k = 0; k < team->n; k++) {
        int member = isthmus_dev_after(team, k);
        isthmus_dev_push(ISTHMUS_CALL_ALLTOALL, team, member, (char *)dest + (size_t)team->me * bytes,
                         (const char *)source + (size_t)member * bytes, bytes, scope);
    }
    return isthmus_dev_barrier_members(team, scope);
}

/* ---- combining ---- */

enum isthmus_dev_reduction {
    ISTHMUS_DEV_AND,
    ISTHMUS_DEV_OR,
    ISTHMUS_DEV_XOR,
    ISTHMUS_DEV_MAX,
    ISTHMUS_DEV_MIN,
    ISTHMUS_DEV_SUM,
    ISTHMUS_DEV_PROD
};

enum isthmus_dev_number {
    ISTHMUS_DEV_UNSIGNED,
    ISTHMUS_DEV_SIGNED,
    ISTHMUS_DEV_FLOAT, /* of 4 or 8 bytes */
    ISTHMUS_DEV_HALF,  /* of 2 bytes: 5 bits of exponent */
    ISTHMUS_DEV_BFLOAT /* of 2 bytes: the upper half of a float */
};

/* What to do with which elements; all constant at a call. */
struct isthmus_dev_reduce {
    int op;     /* isthmus_dev_reduction */
    int number; /* isthmus_dev_number */
    size_t size;
};

union isthmus_dev_float {
    float value;
    uint32_t bits;
};

union isthmus_dev_double {
    double value;
    uint64_t bits;
};

ISTHMUS_DEVICE float isthmus_dev_float_of(uint32_t bits)
{
    union isthmus_dev_float number;
    number.bits = bits;
    return number.value;
}

ISTHMUS_DEVICE uint32_t isthmus_dev_bits_of(float value)
{
    union isthmus_dev_float number;
    number.value = value;
    return number.bits;
}

/* Half precision: subnormal numbers by an exact multiplication. */
ISTHMUS_DEVICE float isthmus_dev_float_of_half(uint32_t half)
{
    uint32_t sign = (half & 0x8000) << 16, rest = half & 0x7fff;
    if (rest < 0x0400) return isthmus_dev_float_of(sign | isthmus_dev_bits_of((float)rest * (1.0f / 16777216.0f)));
    if (rest >= 0x7c00) return isthmus_dev_float_of(sign | 0x7f800000 | (rest & 0x3ff) << 13);
    return isthmus_dev_float_of(sign | ((rest << 13) + 0x38000000));
}

/* Rounds to nearest, ties to even. */
ISTHMUS_DEVICE uint32_t isthmus_dev_half_of_float(float value)
{
    uint32_t bits = isthmus_dev_bits_of(value), sign = bits >> 16 & 0x8000, rest = bits & 0x7fffffff;
    if (rest > 0x7f800000) return sign | 0x7e00;
    if (rest >= 0x477ff000) return sign | 0x7c00;
    if (rest < 0x38800000) /* adding 1/2 moves the bits of a subnormal number to the end, rounded */
        return sign | (isthmus_dev_bits_of(isthmus_dev_float_of(rest) + 0.5f) - 0x3f000000);
    return sign | ((rest - 0x38000000 + 0xfff + (rest >> 13 & 1)) >> 13);
}

ISTHMUS_DEVICE uint32_t isthmus_dev_bfloat_of_float(float value)
{
    uint32_t bits = isthmus_dev_bits_of(value);
    if ((bits & 0x7fffffff) > 0x7f800000) return bits >> 16 | 0x40;
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

ISTHMUS_DEVICE float isthmus_dev_combine_floats(int op, float a, float b)
{
    switch (op) {
    case ISTHMUS_DEV_MAX: return a > b ? a : b;
    case ISTHMUS_DEV_MIN: return a < b ? a : b;
    case ISTHMUS_DEV_SUM: return a + b;
    default: return a * b;
    }
}

ISTHMUS_DEVICE double isthmus_dev_combine_doubles(int op, double a, double b)
{
    switch (op) {
    case ISTHMUS_DEV_MAX: return a > b ? a : b;
    case ISTHMUS_DEV_MIN: return a < b ? a : b;
    case ISTHMUS_DEV_SUM: return a + b;
    default: return a * b;
    }
}

/* Sums and products wrap around: they are the same for signed and unsigned numbers. */
ISTHMUS_DEVICE uint64_t isthmus_dev_combine_integers(struct isthmus_dev_reduce how, uint64_t a, uint64_t b)
{
    int is_signed = how.number == ISTHMUS_DEV_SIGNED;
    switch (how.op) {
    case ISTHMUS_DEV_AND: return a & b;
    case ISTHMUS_DEV_OR: return a | b;
    case ISTHMUS_DEV_XOR: return a ^ b;
    case ISTHMUS_DEV_MAX: return isthmus_dev_holds(a, ISTHMUS_DEV_GREATER, b, how.size, is_signed) ? a : b;
    case ISTHMUS_DEV_MIN: return isthmus_dev_holds(a, ISTHMUS_DEV_LESS, b, how.size, is_signed) ? a : b;
    case ISTHMUS_DEV_SUM: return a + b;
    default: return a * b;
    }
}

ISTHMUS_DEVICE uint64_t isthmus_dev_combine(struct isthmus_dev_reduce how, uint64_t a, uint64_t b)
{
    if (how.number == ISTHMUS_DEV_HALF)
        return isthmus_dev_half_of_float(isthmus_dev_combine_floats(how.op, isthmus_dev_float_of_half((uint32_t)a),
                                                                    isthmus_dev_float_of_half((uint32_t)b)));
    if (how.number == ISTHMUS_DEV_BFLOAT)
        return isthmus_dev_bfloat_of_float(isthmus_dev_combine_floats(how.op, isthmus_dev_float_of((uint32_t)a << 16),
                                                                      isthmus_dev_float_of((uint32_t)b << 16)));
    if (how.number == ISTHMUS_DEV_FLOAT && how.size == 4)
        return isthmus_dev_bits_of(
            isthmus_dev_combine_floats(how.op, isthmus_dev_float_of((uint32_t)a), isthmus_dev_float_of((uint32_t)b)));
    if (how.number == ISTHMUS_DEV_FLOAT) {
        union isthmus_dev_double x, y;
        x.bits = a, y.bits = b;
        x.value = isthmus_dev_combine_doubles(how.op, x.value, y.value);
        return x.bits;
    }
    return isthmus_dev_combine_integers(how, a, b);
}

/* The elements at one address of the first n members, in the order of their numbers: the same bits wherever it is
 * computed. n: at least 1. */
ISTHMUS_DEVICE uint64_t isthmus_dev_pull_first(int call, const struct isthmus_device_team *team, int n,
                                               const char *source, struct isthmus_dev_reduce how)
{
    uint64_t sum = isthmus_dev_g_for(call, source, how.size, isthmus_dev_team_to_world(team, 0));
    for (int i = 1; i < n; i++)
        sum = isthmus_dev_combine(how, sum,
                                  isthmus_dev_g_for(call, source, how.size, isthmus_dev_team_to_world(team, i)));
    return sum;
}

ISTHMUS_DEVICE uint64_t isthmus_dev_pull(int call, const struct isthmus_device_team *team, const char *source,
                                         struct isthmus_dev_reduce how)
{
    return isthmus_dev_pull_first(call, team, team->n, source, how);
}

/* ---- the maximum and its place ----
 * Elements of two doubles: the value, and what the program has put beside it. The first of equal values wins. */

ISTHMUS_DEVICE void isthmus_dev_pull_maxloc(const struct isthmus_device_team *team, const char *source, uint64_t *best)
{
    for (int i = 0; i < team->n; i++) {
        int pe = isthmus_dev_team_to_world(team, i);
        union isthmus_dev_double value, greatest;
        value.bits = isthmus_dev_g_for(ISTHMUS_CALL_REDUCE, source, 8, pe);
        greatest.bits = best[0];
        if (i > 0 && !(value.value > greatest.value)) continue;
        best[0] = value.bits;
        best[1] = isthmus_dev_g_for(ISTHMUS_CALL_REDUCE, source + 8, 8, pe);
    }
}

ISTHMUS_DEVICE int isthmus_dev_maxloc_reduce(int32_t handle, void *dest, const void *source, size_t nelems, int scope)
{
    struct isthmus_device_team *team = isthmus_dev_team(ISTHMUS_CALL_REDUCE, handle);
    if (team == NULL) return -1;
    isthmus_dev_expect(ISTHMUS_CALL_REDUCE, team, dest, 16 * nelems, scope);
    isthmus_dev_expect(ISTHMUS_CALL_REDUCE, team, source, 16 * nelems, scope);
    isthmus_dev_sync_members(team, scope);
    size_t first = (size_t)team->me + (size_t)team->n * isthmus_dev_rank(scope);
    for (size_t i = first; i < nelems; i += (size_t)team->n * isthmus_dev_size(scope)) {
        uint64_t best[2] = {0, 0};
        isthmus_dev_pull_maxloc(team, (const char *)source + 16 * i, best);
        for (int k = 0; k < team->n; k++) {
            int pe = isthmus_dev_team_to_world(team, k);
            isthmus_dev_p_for(ISTHMUS_CALL_REDUCE, (char *)dest + 16 * i, best[0], 8, pe);
            isthmus_dev_p_for(ISTHMUS_CALL_REDUCE, (char *)dest + 16 * i + 8, best[1], 8, pe);
        }
    }
    return isthmus_dev_barrier_members(team, scope);
}

/* ---- reductions ----
 * A member owns a share of the elements: it pulls them from all members, combines them, and pushes the results. The
 * sync at the beginning shows it that the sources are ready. dest may be source: only the owner touches an element. */

ISTHMUS_DEVICE int isthmus_dev_reduce(int32_t handle, void *dest, const void *source, size_t nelems,
                                      struct isthmus_dev_reduce how, int scope)
{
    struct isthmus_device_team *team = isthmus_dev_team(ISTHMUS_CALL_REDUCE, handle);
    if (team == NULL) return -1;
    isthmus_dev_expect(ISTHMUS_CALL_REDUCE, team, dest, nelems * how.size, scope);
    isthmus_dev_expect(ISTHMUS_CALL_REDUCE, team, source, nelems * how.size, scope);
    isthmus_dev_sync_members(team, scope);
    size_t share = (nelems + (size_t)team->n - 1) / (size_t)team->n, first = share * (size_t)team->me;
    size_t end = first + share < nelems ? first + share : nelems;
    for (size_t i = first + isthmus_dev_rank(scope); i < end; i += isthmus_dev_size(scope)) {
        uint64_t result = isthmus_dev_pull(ISTHMUS_CALL_REDUCE, team, (const char *)source + i * how.size, how);
        for (int k = 0; k < team->n; k++)
            isthmus_dev_p_for(ISTHMUS_CALL_REDUCE, (char *)dest + i * how.size, result, how.size,
                              isthmus_dev_team_to_world(team, k));
    }
    return isthmus_dev_barrier_members(team, scope);
}

enum { ISTHMUS_DEV_STEP = 16 };

/* In place, results replace what other members still have to read: all members go through their blocks in step. A
 * result is stored after all of them have read the elements that it replaces. Groups of members may differ in size, so
 * that the leader does all of a step. */
ISTHMUS_DEVICE void isthmus_dev_reducescatter_in_place(struct isthmus_device_team *team, char *buffer, size_t nelems,
                                                       struct isthmus_dev_reduce how, int scope)
{
    const char *block = buffer + (size_t)team->me * nelems * how.size;
    uint64_t results[ISTHMUS_DEV_STEP];
    for (size_t i = 0; i < nelems; i += ISTHMUS_DEV_STEP) {
        size_t n = isthmus_dev_is_leader(scope) ? nelems - i : 0;
        if (n > ISTHMUS_DEV_STEP) n = ISTHMUS_DEV_STEP;
        for (size_t k = 0; k < n; k++)
            results[k] = isthmus_dev_pull(ISTHMUS_CALL_REDUCESCATTER, team, block + (i + k) * how.size, how);
        isthmus_dev_sync_members(team, scope);
        for (size_t k = 0; k < n; k++) isthmus_dev_store(buffer + (i + k) * how.size, results[k], how.size);
    }
}

ISTHMUS_DEVICE int isthmus_dev_reducescatter(int32_t handle, void *dest, const void *source, size_t nelems,
                                             struct isthmus_dev_reduce how, int scope)
{
    struct isthmus_device_team *team = isthmus_dev_team(ISTHMUS_CALL_REDUCESCATTER, handle);
    if (team == NULL) return -1;
    isthmus_dev_expect(ISTHMUS_CALL_REDUCESCATTER, team, source, (size_t)team->n * nelems * how.size, scope);
    const char *block = (const char *)source + (size_t)team->me * nelems * how.size;
    isthmus_dev_sync_members(team, scope);
    if (dest == source) isthmus_dev_reducescatter_in_place(team, (char *)dest, nelems, how, scope);
    for (size_t i = isthmus_dev_rank(scope); dest != source && i < nelems; i += isthmus_dev_size(scope))
        isthmus_dev_store((char *)dest + i * how.size,
                          isthmus_dev_pull(ISTHMUS_CALL_REDUCESCATTER, team, block + i * how.size, how), how.size);
    return isthmus_dev_barrier_members(team, scope);
}

#endif
