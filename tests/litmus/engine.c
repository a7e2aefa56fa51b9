/* tests/litmus/engine.c: see engine.h.
 * A round: every PE resets its own words with atomic sets and synchronizes; the actors take their steps; all complete
 * what they have issued, report to PE 0 what they saw and synchronize again; PE 0 evaluates while the others already
 * reset. */
#include "engine.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    SLOTS = 5, /* x or d, y or f, e, g, spare_signal */
    LINE_WORDS = 8,
    LARGEST_WORDS = 1 << 17, /* 1 MiB */
    MIDDLE_WORDS = 1 << 9,   /* 4 KiB */
    LONGEST_DELAY_NS = 2000,
    SHOWN = 3 /* occurrences of a forbidden outcome that are printed in full */
};

/* Where the words of a round lie. */
enum place { ONE_LINE, TWO_LINES, STATIC_LINE, TWO_SEGMENTS, PLACES };
static const char *const place_names[PLACES] = {"heap, one line", "heap, two lines", "static data, one line",
                                                "heap and static data"};

static struct {
    uint64_t words[SLOTS * LINE_WORDS];
    uint64_t payload[2][LARGEST_WORDS];
} statics __attribute__((aligned(4096)));

static uint64_t results[LIT_MAX_PES][LIT_REGISTERS]; /* on PE 0: what each PE saw in this round */
static uint64_t agreed_seed;

static struct {
    uint64_t *words; /* in the heap, as in statics */
    uint64_t *payload[2];
    uint64_t *source, *copy; /* private */
    shmem_ctx_t own_ctx;
    uint64_t seed, delays;
    int me, n_pes;
} here;

/* ---- random numbers ---- */

static uint64_t mix(uint64_t x) /* splitmix64 */
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void lit_delay(void)
{
    here.delays = mix(here.delays);
    if (here.delays & 1) return;
    uint64_t end = now_ns() + (here.delays >> 1) % LONGEST_DELAY_NS;
    while (now_ns() < end) {}
}

/* ---- the steps of shapes ---- */

static void call_fence(const struct lit_round *r)
{
    if (r->ctx == SHMEM_CTX_DEFAULT)
        shmem_fence();
    else
        shmem_ctx_fence(r->ctx);
}

static void call_local_complete(const struct lit_round *r)
{
    if (r->ctx == SHMEM_CTX_DEFAULT)
        shmem_local_complete();
    else
        shmem_ctx_local_complete(r->ctx);
}

static void call_remote_commit(const struct lit_round *r)
{
    if (r->ctx == SHMEM_CTX_DEFAULT)
        shmem_remote_commit();
    else
        shmem_ctx_remote_commit(r->ctx);
}

/* Quiet, or a call with its effect for the PEs of a shape: its two halves, and quiet for a list of PEs. */
static void call_quiet(const struct lit_round *r)
{
    static const int all[LIT_MAX_PES] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    switch (r->dice >> 8 & 3) {
    case 0:
        call_local_complete(r);
        call_remote_commit(r);
        break;
    case 1: shmem_ctx_pe_quiet(r->ctx, all, (size_t)here.n_pes); break;
    default:
        if (r->ctx == SHMEM_CTX_DEFAULT)
            shmem_quiet();
        else
            shmem_ctx_quiet(r->ctx);
        break;
    }
}

void lit_order(const struct lit_round *r, enum lit_order order)
{
    lit_delay();
    switch (order) {
    case NONE: break;
    case FENCE: call_fence(r); break;
    case QUIET: call_quiet(r); break;
    case LOCAL_COMPLETE: call_local_complete(r); break;
    case REMOTE_COMMIT: call_remote_commit(r); break;
    case LC_THEN_RC:
        call_local_complete(r);
        call_remote_commit(r);
        break;
    case RC_THEN_LC:
        call_remote_commit(r);
        call_local_complete(r);
        break;
    }
    lit_delay();
}

uint64_t *lit_source(const struct lit_round *r)
{
    for (size_t i = 0; i < r->n_words; i++) here.source[i] = r->number;
    return here.source;
}

static void write_nbi(const struct lit_round *r, uint64_t *payload, const uint64_t *source, int pe)
{
    size_t n_bytes = r->n_words * sizeof *payload;
    switch (r->dice >> 12 & 3) {
    case 0: shmem_ctx_uint64_put_nbi(r->ctx, payload, source, r->n_words, pe); break;
    case 1:
        shmem_ctx_putmem_signal_nbi(r->ctx, payload, source, n_bytes, r->spare_signal, 1, SHMEM_SIGNAL_SET, pe);
        break;
    default: shmem_ctx_putmem_nbi(r->ctx, payload, source, n_bytes, pe); break;
    }
}

/* One word has more routines that write it; the last three need it to be 0 before, or keep the old bits. */
static void write_word(const struct lit_round *r, uint64_t *word, int pe)
{
    switch (r->dice >> 12 & 3) {
    case 0:
        if (r->ctx == SHMEM_CTX_DEFAULT)
            shmem_uint64_p(word, r->number, pe);
        else
            shmem_ctx_uint64_p(r->ctx, word, r->number, pe);
        break;
    case 1: lit_set(r, word, r->number, pe); break;
    case 2: shmem_ctx_uint64_atomic_or(r->ctx, word, r->number, pe); break;
    default: shmem_ctx_uint64_put(r->ctx, word, lit_source(r), 1, pe); break;
    }
}

void lit_write_payload(const struct lit_round *r, uint64_t *payload, int pe)
{
    size_t n_bytes = r->n_words * sizeof *payload;
    lit_delay();
    if (r->shape->is_nbi) {
        write_nbi(r, payload, lit_source(r), pe);
        return;
    }
    if (r->n_words == 1 && (r->dice >> 14 & 1)) {
        write_word(r, payload, pe);
        return;
    }
    const uint64_t *source = lit_source(r);
    switch (r->dice >> 12 & 3) {
    case 0: shmem_ctx_uint64_put(r->ctx, payload, source, r->n_words, pe); break;
    case 1: shmem_ctx_uint64_iput(r->ctx, payload, source, 1, 1, r->n_words, pe); break;
    case 2: shmem_ctx_putmem_signal(r->ctx, payload, source, n_bytes, r->spare_signal, 1, SHMEM_SIGNAL_SET, pe); break;
    default:
        if (r->ctx == SHMEM_CTX_DEFAULT)
            shmem_putmem(payload, source, n_bytes, pe);
        else
            shmem_ctx_putmem(r->ctx, payload, source, n_bytes, pe);
        break;
    }
}

uint64_t lit_stale_words(const struct lit_round *r, const uint64_t *copy)
{
    uint64_t stale = 0;
    for (size_t i = 0; i < r->n_words; i++) stale += copy[i] != r->number;
    return stale;
}

uint64_t lit_stale_here(const struct lit_round *r, const uint64_t *payload) { return lit_stale_words(r, payload); }

uint64_t lit_stale_at(const struct lit_round *r, const uint64_t *payload, int pe)
{
    if (r->n_words == 1 && (r->dice >> 16 & 1))
        *here.copy = shmem_uint64_g(payload, pe);
    else
        shmem_getmem(here.copy, payload, r->n_words * sizeof *payload, pe);
    return lit_stale_words(r, here.copy);
}

void lit_raise(const struct lit_round *r, uint64_t *flag, int pe)
{
    static const uint64_t one = 1;
    switch (r->dice >> 4 & 7) {
    case 0: shmem_ctx_uint64_atomic_add(r->ctx, flag, 1, pe); break;
    case 1: shmem_ctx_uint64_atomic_inc(r->ctx, flag, pe); break;
    case 2: shmem_ctx_signal_set(r->ctx, flag, 1, pe); break;
    case 3: shmem_ctx_uint64_put_signal(r->ctx, NULL, NULL, 0, flag, 1, SHMEM_SIGNAL_ADD, pe); break;
    case 4: shmem_ctx_uint64_p(r->ctx, flag, 1, pe); break; /* as programs older than 1.5 do */
    case 5: shmem_ctx_putmem(r->ctx, flag, &one, sizeof one, pe); break;
    default: lit_set(r, flag, 1, pe); break;
    }
}

void lit_await(const struct lit_round *r, uint64_t *flag)
{
    if (r->dice >> 7 & 1)
        shmem_uint64_wait_until(flag, SHMEM_CMP_EQ, 1);
    else
        (void)shmem_signal_wait_until(flag, SHMEM_CMP_NE, 0);
}

void lit_set(const struct lit_round *r, uint64_t *word, uint64_t value, int pe)
{
    if (r->ctx == SHMEM_CTX_DEFAULT)
        shmem_uint64_atomic_set(word, value, pe);
    else
        shmem_ctx_uint64_atomic_set(r->ctx, word, value, pe);
}

uint64_t lit_fetch(const struct lit_round *r, const uint64_t *word, int pe)
{
    if (r->ctx == SHMEM_CTX_DEFAULT) return shmem_uint64_atomic_fetch(word, pe);
    return shmem_ctx_uint64_atomic_fetch(r->ctx, word, pe);
}

uint64_t lit_fetch_add(const struct lit_round *r, uint64_t *word, uint64_t value, int pe)
{
    if (r->ctx == SHMEM_CTX_DEFAULT) return shmem_uint64_atomic_fetch_add(word, value, pe);
    return shmem_ctx_uint64_atomic_fetch_add(r->ctx, word, value, pe);
}

/* ---- rounds ---- */

static enum place place_of(const struct lit_round *r) { return (enum place)(r->dice & 3); }

static uint64_t *word_at(enum place place, size_t slot)
{
    bool in_statics = place == STATIC_LINE || (place == TWO_SEGMENTS && slot % 2 == 1);
    size_t distance = place == TWO_LINES ? LINE_WORDS : 1;
    return (in_statics ? statics.words : here.words) + slot * distance;
}

/* Mostly one word, sometimes a page, rarely a megabyte, as larger sizes take longer. */
static size_t draw_words(const struct lit_shape *shape, uint64_t dice)
{
    if (!shape->has_payload) return 1;
    if (dice % 256 == 0) return LARGEST_WORDS;
    return dice % 16 == 1 ? MIDDLE_WORDS : 1;
}

static void draw_targets(struct lit_round *r, uint64_t dice)
{
    unsigned n = (unsigned)here.n_pes;
    r->t = (int)(dice % n);
    r->u = (int)((dice >> 8) % n);
    if (r->shape->targets == SAME_TARGET) r->u = r->t;
    if (r->shape->targets == TWO_TARGETS && r->u == r->t) r->u = (r->t + 1) % here.n_pes;
}

/* The same on all PEs, for it depends on the seed and the number only. */
static void draw(const struct lit_shape *shape, uint64_t number, struct lit_round *r)
{
    uint64_t dice = mix(here.seed ^ number), more = mix(dice);
    *r = (struct lit_round){.shape = shape, .number = number, .dice = dice, .n_words = draw_words(shape, more)};
    enum place place = place_of(r);
    bool small = r->n_words == 1;
    r->x = word_at(place, 0);
    r->y = r->f = word_at(place, 1);
    r->g = word_at(place, 3);
    r->spare_signal = word_at(place, 4);
    uint64_t *const *large = place == STATIC_LINE ? (uint64_t *const[]){statics.payload[0], statics.payload[1]}
                                                  : here.payload;
    r->d = small ? r->x : large[0];
    r->e = small ? word_at(place, 2) : large[1];
    draw_targets(r, more >> 16);
    bool swapped = (more >> 40 & 1) != 0;
    r->ctx = swapped ? here.own_ctx : SHMEM_CTX_DEFAULT;
    r->other_ctx = swapped ? SHMEM_CTX_DEFAULT : here.own_ctx;
}

static void reset_words(const struct lit_round *r)
{
    for (size_t slot = 0; slot < SLOTS; slot++) shmem_uint64_atomic_set(word_at(place_of(r), slot), 0, here.me);
}

/* All that was issued is complete; PE 0 has the registers of all. */
static void end_round(const struct lit_round *r)
{
    shmem_ctx_quiet(here.own_ctx);
    shmem_uint64_put(results[here.me], r->seen, LIT_REGISTERS, 0);
    shmem_barrier_all();
}

static bool run_round(const struct lit_shape *shape, uint64_t number)
{
    struct lit_round r;
    draw(shape, number, &r);
    reset_words(&r);
    shmem_barrier_all();
    shape->act(&r, here.me);
    end_round(&r);
    if (shape->after != NULL) {
        if (here.me == 0) {
            shape->after(&r);
            memcpy(results[0], r.seen, sizeof r.seen);
        }
        shmem_barrier_all();
    }
    return here.me == 0 && shape->outcome(results);
}

static void show(const struct lit_shape *shape, uint64_t number)
{
    struct lit_round r;
    draw(shape, number, &r);
    printf("  round %" PRIu64 ": %s, %zu bytes, T is PE %d, U is PE %d, %s context, dice %#" PRIx64 "; seen:", number,
           place_names[place_of(&r)], r.n_words * sizeof *r.d, r.t, r.u, r.ctx == SHMEM_CTX_DEFAULT ? "default" : "own",
           r.dice);
    for (int pe = 0; pe < here.n_pes; pe++) printf(" P%d %" PRIu64 " %" PRIu64, pe, results[pe][0], results[pe][1]);
    printf("\n");
}

/* ---- a run ---- */

static uint64_t number_of(const char *variable, uint64_t preset)
{
    const char *text = getenv(variable);
    return text != NULL && text[0] != '\0' ? strtoull(text, NULL, 0) : preset;
}

/* A seed of the environment repeats a run, except for what the machine itself does. */
static void agree_on_seed(void)
{
    if (here.me == 0) agreed_seed = number_of("ISTHMUS_TEST_SEED", mix(now_ns()));
    shmem_barrier_all();
    here.seed = shmem_uint64_g(&agreed_seed, 0);
    here.delays = mix(here.seed + (uint64_t)here.me + 1);
}

static bool prepare(void)
{
    here.me = shmem_my_pe();
    here.n_pes = shmem_n_pes();
    here.words = shmem_align(4096, sizeof statics.words + LIT_BLOCK_WORDS * sizeof *here.words);
    here.payload[0] = shmem_malloc(sizeof statics.payload[0]);
    here.payload[1] = shmem_malloc(sizeof statics.payload[1]);
    here.source = malloc(sizeof statics.payload[0]);
    here.copy = malloc(sizeof statics.payload[0]);
    if (shmem_ctx_create(0, &here.own_ctx) != 0) return false;
    agree_on_seed();
    return here.words != NULL && here.payload[1] != NULL && here.source != NULL && here.copy != NULL;
}

static void clean_up(void)
{
    shmem_ctx_destroy(here.own_ctx);
    shmem_free(here.payload[1]);
    shmem_free(here.payload[0]);
    shmem_free(here.words);
    free(here.source);
    free(here.copy);
}

static int run_rounds(const struct lit_shape *shape, uint64_t rounds)
{
    uint64_t seen = 0;
    for (uint64_t number = 1; number <= rounds; number++) {
        if (!run_round(shape, number)) continue;
        if (++seen <= SHOWN && shape->verdict == FORBIDDEN) show(shape, number);
    }
    if (here.me == 0)
        printf("%s (%s, %d PEs, %s): %s outcome %" PRIu64 " times in %" PRIu64 " rounds; ISTHMUS_TEST_SEED=%#" PRIx64
               "\n",
               shape->name, shape->requirement, here.n_pes,
               shmem_ptr(here.words, here.n_pes - 1) != NULL ? "load and store" : "through transports",
               shape->verdict == FORBIDDEN ? "forbidden" : "allowed", seen, rounds, here.seed);
    return seen > 0 && shape->verdict == FORBIDDEN ? EXIT_FAILURE : EXIT_SUCCESS;
}

int lit_run(const struct lit_shape *shape, uint64_t rounds)
{
    int status = LIT_SKIPPED;
    if (!prepare()) {
        fprintf(stderr, "%s: no memory for the words of this test\n", shape->name);
        shmem_global_exit(EXIT_FAILURE);
    }
    if (here.n_pes < shape->n_actors || here.n_pes < 2 || here.n_pes > LIT_MAX_PES)
        fprintf(stderr, "%s: skipped: %d PEs, needs %d to %d\n", shape->name, here.n_pes,
                shape->n_actors > 2 ? shape->n_actors : 2, LIT_MAX_PES);
    else if (shape->needs_alias && shmem_team_n_pes(SHMEM_TEAM_SHARED) < here.n_pes)
        fprintf(stderr, "%s: skipped: the other PEs' memory cannot be stored to\n", shape->name);
    else
        status = run_rounds(shape, number_of("LITMUS_ROUNDS", rounds));
    clean_up();
    return status;
}
