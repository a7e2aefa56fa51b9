/* tests/litmus/device.c: litmus_device [SHAPE...], under a launcher: ordering shapes whose actors are kernels on the
 * CPU device, all or those named; each with kernels on all PEs, whose GPU threads are fibres or threads of the
 * processor; with blocks as actors; and with a thread of the host on one side. LITMUS_ROUNDS: rounds of a lane,
 * ISTHMUS_TEST_SEED repeats a run. See device.h.
 *
 * A batch: all PEs take the steps of its rounds, send PE 0 what they saw, complete what they have issued, and meet; PE
 * 0 evaluates while the others go on. Two batches are never under way at once but for that. */
#include "device.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* What the actors of one launch are. */
struct mode {
    const char *name;
    uint32_t blocks, threads;
    int host_pe; /* the PE whose actor is a thread of the host; -1: none */
    int scope;
    bool has_pthreads;
};

static const struct mode modes[] = {
    {"threads", 2, 3, -1, ISTHMUS_THREAD, false},
    {"threads of the processor", 2, 2, -1, ISTHMUS_THREAD, true},
    {"blocks", 2, 40, -1, ISTHMUS_BLOCK, false},
    {"blocks of threads of the processor", 1, 4, -1, ISTHMUS_BLOCK, true},
    {"a host, then threads", 1, 1, 0, ISTHMUS_THREAD, false},
    {"threads, then a host", 1, 1, 1, ISTHMUS_THREAD, false},
};
enum { N_MODES = sizeof modes / sizeof modes[0], SHOWN = 3 };

static struct lit_memory statics[LIT_LANES * LIT_BATCH], *heap;
static uint64_t seed, rounds;
static int n_shown;

/* What a launch does. */
struct run {
    const struct lit_shape *shape;
    const struct mode *mode;
    int me, n_pes;
    uint64_t rounds, n_seen; /* n_seen: on PE 0 */
};

/* ---- one round ---- */

static uint64_t mix(uint64_t x) /* splitmix64 */
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* Words side by side in the heap, on their own lines there, in static data, or in both. */
static uint64_t *word_of(struct lit_memory *in_heap, struct lit_memory *in_statics, unsigned place, size_t i)
{
    bool is_static = place == 2 || (place == 3 && i % 2 == 1);
    return (is_static ? in_statics : in_heap)->words + (place == 1 ? 8 * i : i);
}

static size_t draw_words(const struct run *run, uint64_t dice)
{
    if (!run->shape->has_payload) return 1;
    if (run->mode->scope != ISTHMUS_THREAD) return 64;
    return dice % 16 == 0 ? LIT_PAYLOAD : dice % 8 == 1 ? 16 : 1;
}

/* All but the delays is the same on all PEs. */
static void draw(const struct run *run, uint32_t lane, uint64_t number, struct lit_round *r)
{
    uint64_t dice = mix(seed ^ number << 8 ^ lane), more = mix(dice);
    unsigned n = (unsigned)run->n_pes;
    size_t i = lane * LIT_BATCH + number % LIT_BATCH;
    struct lit_memory *in_heap = &heap[i], *in_statics = &statics[i];
    unsigned place = (unsigned)(mix(seed ^ i) & 3); /* of each batch, as words grow from one to the next */
    *r = (struct lit_round){.shape = run->shape, .memory = in_heap, .number = number, .dice = dice};
    r->me = run->me;
    r->n_pes = run->n_pes;
    r->scope = run->mode->scope;
    r->delays = mix(dice + (uint64_t)run->me);
    r->n_words = draw_words(run, more >> 8);
    r->x = word_of(in_heap, in_statics, place, 0);
    r->y = r->f = word_of(in_heap, in_statics, place, 1);
    r->g = word_of(in_heap, in_statics, place, 3);
    r->d = r->n_words == 1 ? r->x : (place >= 2 ? in_statics : in_heap)->payload[0];
    r->e = r->n_words == 1 ? word_of(in_heap, in_statics, place, 2) : (place == 2 ? in_statics : in_heap)->payload[1];
    r->t = (int)((more >> 16) % n);
    r->u = run->shape->targets == SAME_TARGET ? r->t : (int)((more >> 24) % n);
}

/* All PEs' actors of a lane; what they have issued is complete. r: the last round of a batch. */
static void meet(struct lit_round *r, uint64_t count)
{
    uint64_t *met = (r->memory - (LIT_BATCH - 1))->met;
    isthmus_dev_meet(r->scope);
    if (lit_leads(r)) {
        nvshmem_quiet();
        for (int pe = 0; pe < r->n_pes; pe++) nvshmem_uint64_p(&met[r->me], count, pe);
        for (int pe = 0; pe < r->n_pes; pe++) lit_await_at_least(&met[pe], count);
    }
    isthmus_dev_meet(r->scope);
}

static void show(const struct run *run, const struct lit_round *r, uint64_t (*seen)[LIT_SEEN])
{
    if (__atomic_fetch_add(&n_shown, 1, __ATOMIC_RELAXED) >= SHOWN) return;
    printf("  %s, %s: round %" PRIu64 ", %zu bytes, T is PE %d, U is PE %d, dice %#" PRIx64 "; seen:", run->shape->name,
           run->mode->name, r->number, r->n_words * sizeof *r->d, r->t, r->u, r->dice);
    for (int pe = 0; pe < r->n_pes; pe++) printf(" P%d %" PRIu64 " %" PRIu64, pe, seen[pe][0], seen[pe][1]);
    printf("\n");
}

static uint64_t (*seen_in(const struct lit_round *r))[LIT_SEEN] { return r->memory->seen[r->number / LIT_BATCH % 2]; }

static void send_seen(struct lit_round *r)
{
    for (int i = 0; lit_leads(r) && i < LIT_SEEN; i++) nvshmem_uint64_p(&seen_in(r)[r->me][i], r->seen[i], 0);
}

static void evaluate(struct run *run, struct lit_round *r)
{
    uint64_t seen[LIT_PES][LIT_SEEN];
    memcpy(seen, seen_in(r), sizeof seen);
    if (run->shape->after != NULL) {
        run->shape->after(r);
        memcpy(seen[0], r->seen, sizeof r->seen);
    }
    if (!run->shape->outcome(seen)) return;
    (void)__atomic_fetch_add(&run->n_seen, 1, __ATOMIC_RELAXED);
    if (run->shape->verdict == FORBIDDEN) show(run, r, seen);
}

/* One actor; a group's threads all call it. */
static void act_batch(struct run *run, uint32_t lane, uint64_t batch)
{
    struct lit_round r;
    for (uint64_t i = 0; i < LIT_BATCH; i++) {
        draw(run, lane, batch * LIT_BATCH + i, &r);
        run->shape->act(&r);
        send_seen(&r);
    }
    meet(&r, 2 * batch + 1);
    struct lit_round last = r;
    for (uint64_t i = 0; run->me == 0 && lit_leads(&last) && i < LIT_BATCH; i++) {
        draw(run, lane, batch * LIT_BATCH + i, &r);
        evaluate(run, &r);
    }
    if (run->shape->after != NULL) meet(&last, 2 * batch + 2);
}

static void act(struct run *run, uint32_t lane)
{
    for (uint64_t batch = 0; batch * LIT_BATCH < run->rounds; batch++) act_batch(run, lane, batch);
}

static void kernel(void *argument)
{
    struct run *run = (struct run *)argument;
    bool is_group = run->mode->scope != ISTHMUS_THREAD;
    act(run, isthmus_dev_block_rank() * (is_group ? 1 : isthmus_dev_thread_count()) +
                 (is_group ? 0 : isthmus_dev_thread_rank()));
}

/* ---- a run ---- */

static bool is_possible(const struct lit_shape *shape, const struct mode *mode, int n_pes)
{
    int n_least = shape->n_actors > 2 ? shape->n_actors : 2;
    if (n_pes < n_least || n_pes > LIT_PES) return false;
    if (mode->scope != ISTHMUS_THREAD && !shape->has_payload) return false;
    if (shape->is_of_team && mode->host_pe >= 0) return false;
    return !shape->needs_alias || isthmus_device_v1.n_ring_pes == 0;
}

/* A collective of a team is called by one actor of each PE. */
static int launch(struct run *run)
{
    const struct mode *mode = run->mode;
    bool is_alone = run->shape->is_of_team;
    uint32_t blocks = is_alone ? 1 : mode->blocks;
    uint32_t threads = is_alone && mode->scope == ISTHMUS_THREAD ? 1 : mode->threads;
    if (mode->host_pe == run->me) {
        act(run, 0);
        return 0;
    }
    if (mode->has_pthreads) return isthmus_cpu_launch_threads(blocks, threads, kernel, run);
    return isthmus_cpu_launch(blocks, threads, kernel, run);
}

/* A store buffer is seen at work in one round of a thousand, where the actors load and store themselves. */
static uint64_t rounds_of(const struct lit_shape *shape)
{
    return shape->is_rare && isthmus_device_v1.n_ring_pes == 0 ? 24 * rounds : rounds;
}

/* Returns how often the outcome was seen, on PE 0. */
static uint64_t run_mode(const struct lit_shape *shape, const struct mode *mode)
{
    struct run run = {shape, mode, nvshmem_my_pe(), nvshmem_n_pes(), rounds_of(shape), 0};
    memset(statics, 0, sizeof statics);
    memset(heap, 0, sizeof statics);
    nvshmem_barrier_all();
    if (launch(&run) != 0) nvshmem_global_exit(3);
    nvshmem_barrier_all();
    return run.n_seen;
}

/* Returns true if a forbidden outcome was seen. */
static bool run_shape(const struct lit_shape *shape)
{
    uint64_t seen = 0;
    int n_modes = 0;
    for (int i = 0; i < N_MODES; i++) {
        if (!is_possible(shape, &modes[i], nvshmem_n_pes())) continue;
        seen += run_mode(shape, &modes[i]);
        n_modes++;
    }
    if (nvshmem_my_pe() == 0 && n_modes > 0)
        printf("%s (%s): %s outcome %" PRIu64 " times, %d kinds of actors, %" PRIu64 " rounds of each\n", shape->name,
               shape->requirement, shape->verdict == FORBIDDEN ? "forbidden" : "allowed", seen, n_modes,
               rounds_of(shape));
    return seen > 0 && shape->verdict == FORBIDDEN;
}

static bool is_wanted(const struct lit_shape *shape, int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], shape->name) == 0) return true;
    return argc < 2;
}

static uint64_t number_of(const char *variable, uint64_t preset)
{
    const char *text = getenv(variable);
    return text != NULL && text[0] != '\0' ? strtoull(text, NULL, 0) : preset;
}

int main(int argc, char **argv)
{
    static uint64_t agreed_seed;
    int n_bad = 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    nvshmem_init();
    heap = nvshmem_calloc(LIT_LANES * LIT_BATCH, sizeof *heap);
    rounds = number_of("LITMUS_ROUNDS", 128);
    agreed_seed = number_of("ISTHMUS_TEST_SEED", mix((uint64_t)time(NULL)));
    nvshmem_barrier_all();
    seed = nvshmem_uint64_g(&agreed_seed, 0);
    for (size_t i = 0; i < lit_n_shapes; i++)
        if (is_wanted(&lit_shapes[i], argc, argv)) n_bad += run_shape(&lit_shapes[i]);
    if (nvshmem_my_pe() == 0) printf("ISTHMUS_TEST_SEED=%#" PRIx64 "\n", seed);
    nvshmem_finalize();
    return n_bad > 0;
}
