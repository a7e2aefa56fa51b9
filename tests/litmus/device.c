/* tests/litmus/device.c: litmus_device [SHAPE...], under a launcher: ordering shapes whose actors are kernels on the
 * CPU device, all or those named; each with kernels on all PEs, whose GPU threads are fibres or threads of the
 * processor; with blocks as actors; and with a thread of the host on one side. On a GPU: threads and blocks.
 * LITMUS_ROUNDS: rounds of a lane, ISTHMUS_TEST_SEED repeats a run. See device.h.
 *
 * A batch: all PEs take the steps of its rounds, send PE 0 what they saw, complete what they have issued, and meet; PE
 * 0 evaluates while the others go on. Two batches are never under way at once but for that. */
#include "device.h"

#include <time.h>

/* What the actors of one launch are. */
struct mode {
    uint32_t blocks, threads;
    int host_pe; /* the PE whose actor is a thread of the host; -1: none */
    int scope;
    bool has_pthreads;
};

static const struct mode modes[] = {
    {2, 3, -1, ISTHMUS_THREAD, false}, {2, 40, -1, ISTHMUS_BLOCK, false},
#ifndef __CUDACC__
    {2, 2, -1, ISTHMUS_THREAD, true},  {1, 4, -1, ISTHMUS_BLOCK, true},
    {1, 1, 0, ISTHMUS_THREAD, false},  {1, 1, 1, ISTHMUS_THREAD, false},
#endif
};

LIT_OWN const char *name_of(int mode)
{
    static const char *const names[] = {"threads",
                                        "blocks",
                                        "threads of the processor",
                                        "blocks of threads of the processor",
                                        "a host, then threads",
                                        "threads, then a host"};
    return names[mode];
}
enum { N_MODES = sizeof modes / sizeof modes[0], SHOWN = 3, N_MEMORY = LIT_LANES * LIT_BATCH };

ON_BOTH struct lit_memory *statics, *heap;
ON_BOTH uint64_t seed;
ON_BOTH int n_shown, n_seen, n_ring_pes; /* n_seen: outcomes of a launch, on PE 0 */
static uint64_t rounds;

/* What a launch does. */
struct run {
    const struct lit_shape *shape; /* as actors read it */
    uint64_t rounds;
    int me, n_pes, mode, scope;
};

/* ---- one round ---- */

LIT_OWN uint64_t mix(uint64_t x) /* splitmix64 */
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* Words side by side in the heap, on their own lines there, in static data, or in both. */
LIT_OWN uint64_t *word_of(struct lit_memory *in_heap, struct lit_memory *in_statics, unsigned place, size_t i)
{
    bool is_static = place == 2 || (place == 3 && i % 2 == 1);
    return (is_static ? in_statics : in_heap)->words + (place == 1 ? 8 * i : i);
}

LIT_OWN size_t draw_words(const struct run *run, uint64_t dice)
{
    if (!run->shape->has_payload) return 1;
    if (run->scope != ISTHMUS_THREAD) return 64;
    return dice % 16 == 0 ? LIT_PAYLOAD : dice % 8 == 1 ? 16 : 1;
}

/* All but the delays is the same on all PEs. */
LIT_OWN void draw(const struct run *run, uint32_t lane, uint64_t number, struct lit_round *r)
{
    uint64_t dice = mix(seed ^ number << 8 ^ lane), more = mix(dice);
    unsigned n = (unsigned)run->n_pes;
    size_t i = lane * LIT_BATCH + number % LIT_BATCH;
    struct lit_memory *in_heap = &heap[i], *in_statics = &statics[i];
    unsigned place = (unsigned)(mix(seed ^ i) & 3); /* of each batch, as words grow from one to the next */
    memset(r, 0, sizeof *r);
    r->shape = run->shape, r->memory = in_heap;
    r->number = number, r->dice = dice;
    r->me = run->me;
    r->n_pes = run->n_pes;
    r->scope = run->scope;
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
LIT_OWN void meet(struct lit_round *r, uint64_t count)
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

LIT_OWN void show(const struct run *run, const struct lit_round *r, uint64_t (*seen)[LIT_SEEN])
{
    if (KERNEL_COUNT(&n_shown) >= SHOWN) return;
    printf("  %s, %s: round %llu, %llu bytes, T is PE %d, U is PE %d, dice %#llx; seen:\n", run->shape->name,
           name_of(run->mode), (unsigned long long)r->number, (unsigned long long)(r->n_words * sizeof *r->d), r->t,
           r->u, (unsigned long long)r->dice);
    for (int pe = 0; pe < r->n_pes; pe++)
        printf("    PE %d: %llu %llu\n", pe, (unsigned long long)seen[pe][0], (unsigned long long)seen[pe][1]);
}

LIT_OWN uint64_t (*seen_in(const struct lit_round *r))[LIT_SEEN] { return r->memory->seen[r->number / LIT_BATCH % 2]; }

LIT_OWN void send_seen(struct lit_round *r)
{
    for (int i = 0; lit_leads(r) && i < LIT_SEEN; i++) nvshmem_uint64_p(&seen_in(r)[r->me][i], r->seen[i], 0);
}

LIT_OWN void evaluate(const struct run *run, struct lit_round *r)
{
    uint64_t seen[LIT_PES][LIT_SEEN];
    memcpy(seen, seen_in(r), sizeof seen);
    if (run->shape->after != NULL) {
        run->shape->after(r);
        memcpy(seen[0], r->seen, sizeof r->seen);
    }
    if (!run->shape->outcome(seen)) return;
    (void)KERNEL_COUNT(&n_seen);
    if (run->shape->verdict == FORBIDDEN) show(run, r, seen);
}

/* One actor; a group's threads all call it. */
LIT_OWN void act_batch(const struct run *run, uint32_t lane, uint64_t batch)
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

LIT_OWN void act(const struct run *run, uint32_t lane)
{
    for (uint64_t batch = 0; batch * LIT_BATCH < run->rounds; batch++) act_batch(run, lane, batch);
}

KERNEL actors(void *argument)
{
    const struct run *run = (const struct run *)argument;
    bool is_group = run->scope != ISTHMUS_THREAD;
    act(run, isthmus_dev_block_rank() * (is_group ? 1 : isthmus_dev_thread_count()) +
                 (is_group ? 0 : isthmus_dev_thread_rank()));
}

/* ---- a run ---- */

/* What only kernels read: how many PEs they reach through the ring, and the shape as they see it. */
ON_BOTH const struct lit_shape *shape_of_kernels;

KERNEL look(void *argument)
{
    n_ring_pes = (int)isthmus_device_v1.n_ring_pes;
    shape_of_kernels = lit_shape_of(*(const size_t *)argument);
}

static bool is_possible(const struct lit_shape *shape, const struct mode *mode, int n_pes)
{
    int n_least = shape->n_actors > 2 ? shape->n_actors : 2;
    if (n_pes < n_least || n_pes > LIT_PES) return false;
    if (mode->scope != ISTHMUS_THREAD && !shape->has_payload) return false;
    if (shape->is_of_team && mode->host_pe >= 0) return false;
    return !shape->needs_alias || n_ring_pes == 0;
}

/* A collective of a team is called by one actor of each PE. */
static int launch(const struct lit_shape *shape, const struct run *run)
{
    const struct mode *mode = &modes[run->mode];
    bool is_alone = shape->is_of_team;
    uint32_t blocks = is_alone ? 1 : mode->blocks;
    uint32_t threads = is_alone && mode->scope == ISTHMUS_THREAD ? 1 : mode->threads;
#ifndef __CUDACC__
    if (mode->host_pe == run->me) {
        act(run, 0);
        return 0;
    }
    if (mode->has_pthreads) return isthmus_cpu_launch_threads(blocks, threads, actors, (void *)(uintptr_t)run);
#endif
    return kernel_launch(blocks, threads, actors, run, sizeof *run);
}

/* A store buffer is seen at work in one round of a thousand, where the actors load and store themselves. On a GPU the
 * PEs that share it take turns of milliseconds. */
static uint64_t rounds_of(const struct lit_shape *shape)
{
#ifdef __CUDACC__
    (void)shape;
    return rounds;
#else
    return shape->is_rare && n_ring_pes == 0 ? 24 * rounds : rounds;
#endif
}

static void clear(struct lit_memory *memory)
{
#ifdef __CUDACC__
    (void)cudaMemset(memory, 0, N_MEMORY * sizeof *memory);
    (void)cudaDeviceSynchronize();
#else
    memset(memory, 0, N_MEMORY * sizeof *memory);
#endif
}

/* Returns how often the outcome was seen, on PE 0. */
static int run_mode(const struct lit_shape *shape, int mode)
{
    struct run run = {shape_of_kernels, rounds_of(shape), nvshmem_my_pe(), nvshmem_n_pes(), mode, modes[mode].scope};
    clear(statics);
    clear(heap);
    n_seen = 0;
    nvshmem_barrier_all();
    if (launch(shape, &run) != 0) nvshmem_global_exit(3);
    nvshmem_barrier_all();
    return n_seen;
}

/* Returns true if a forbidden outcome was seen. */
static bool run_shape(size_t number)
{
    const struct lit_shape *shape = lit_names_of(number);
    int seen = 0, n_modes = 0;
    if (kernel_launch(1, 1, look, &number, sizeof number) != 0) nvshmem_global_exit(3);
    for (int i = 0; i < N_MODES; i++) {
        if (!is_possible(shape, &modes[i], nvshmem_n_pes())) continue;
        seen += run_mode(shape, i);
        n_modes++;
    }
    if (nvshmem_my_pe() == 0 && n_modes > 0)
        printf("%s (%s): %s outcome %d times, %d kinds of actors, %llu rounds of each\n", shape->name,
               shape->requirement, shape->verdict == FORBIDDEN ? "forbidden" : "allowed", seen, n_modes,
               (unsigned long long)rounds_of(shape));
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

/* The same on all PEs: PE 0's. */
static uint64_t agree_on_seed(void)
{
    uint64_t *agreed = (uint64_t *)nvshmem_malloc(sizeof *agreed);
    nvshmem_uint64_p(agreed, number_of("ISTHMUS_TEST_SEED", (uint64_t)time(NULL) * 0x9e3779b97f4a7c15u),
                     nvshmem_my_pe());
    nvshmem_barrier_all();
    return nvshmem_uint64_g(agreed, 0);
}

/* Memory of the second kind is static data, where that is symmetric. */
static void find_memory(void)
{
#ifdef __CUDACC__
    statics = (struct lit_memory *)nvshmem_calloc(N_MEMORY, sizeof *statics);
#else
    static struct lit_memory memory[N_MEMORY];
    statics = memory;
#endif
    heap = (struct lit_memory *)nvshmem_calloc(N_MEMORY, sizeof *heap);
}

int main(int argc, char **argv)
{
    int n_bad = 0;
    kernel_need_device();
    setvbuf(stdout, NULL, _IOLBF, 0);
    nvshmem_init();
    find_memory();
    rounds = number_of("LITMUS_ROUNDS", 128);
    seed = agree_on_seed();
    for (size_t i = 0; i < lit_n_shapes(); i++)
        if (is_wanted(lit_names_of(i), argc, argv)) n_bad += run_shape(i);
    if (nvshmem_my_pe() == 0) printf("ISTHMUS_TEST_SEED=%#llx\n", (unsigned long long)seed);
    nvshmem_finalize();
    return n_bad > 0;
}
