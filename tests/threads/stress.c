/* R7: four threads of each PE call every routine that several threads may call, in an order that a seed gives; the
 * results are checked. Arguments: names of parts; none: all of them. See stress.h. */
#include "stress.h"

#include <pthread.h>

long stress_sums[PES_MOST], stress_counters[3], stress_locks[3];
shmem_ctx_t stress_ctx;

static const struct part {
    const char *name;
    void (*run)(struct lane *lane);
} parts[] = {
    {"locks", part_locks},
    {"rma", part_rma},
    {"atomics", part_atomics},
    {"signals", part_signals},
    {"waits", part_waits},
    {"contexts", part_contexts},
    {"shared_context", part_shared_context},
    {"collectives", part_collectives},
    {"large_collectives", part_large_collectives},
    {"large_rma", part_large_rma},
    {"other_faces", part_other_faces},
    {"splits", part_splits},
    {"team_init", part_team_init},
    {"allocations", part_allocations},
    {"symmetric_buffer", part_symmetric_buffer},
    {"start_and_end", part_start_and_end},
    {"buffers", part_buffers},
    {"queries", part_queries},
    {"regions", part_regions},
    {"fork", part_fork},
    {"cancel", part_cancel},
};
enum { N_PARTS = sizeof parts / sizeof parts[0] };

static const struct part *chosen[N_PARTS];
static size_t n_chosen;
static long n_steps, n_locked;

static void *run_lane(void *argument)
{
    struct lane *lane = argument;
    for (lane->step = 1; lane->step <= n_steps; lane->step++) {
        size_t which = random_below(&lane->steps_random, n_chosen);
        if (lane->step <= (long)n_chosen) which = (size_t)(lane->step + 5 * lane->number) % n_chosen; /* each once */
        const struct part *part = chosen[which];
        if (part->run == part_locks) __atomic_fetch_add(&n_locked, STRESS_LOCKED, __ATOMIC_RELAXED);
        part->run(lane);
    }
    return NULL;
}

static void choose(int n, char **names)
{
    for (size_t i = 0; i < N_PARTS; i++) {
        bool is_chosen = n == 0;
        for (int k = 0; k < n; k++) is_chosen = is_chosen || strcmp(names[k], parts[i].name) == 0;
        if (is_chosen) chosen[n_chosen++] = &parts[i];
    }
    CHECK(n_chosen > 0);
}

static void prepare(struct lane *lane, int number)
{
    *lane = (struct lane){.number = number, .steps_random = pe.seed + (uint64_t)number};
    lane->random = pe.seed ^ ((uint64_t)(pe.me * LANES + number) << 32);
    CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, pe.n, NULL, 0, &lane->team), 0);
    CHECK_EQ(nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, 0, 1, pe.n, NULL, 0, &lane->nv), 0);
    CHECK_EQ(ishmem_team_split_strided(ISHMEM_TEAM_WORLD, 0, 1, pe.n, NULL, 0, &lane->is), 0);
    lane->from_left = shmem_calloc(4 * WORDS, sizeof(long));
    lane->words = shmem_calloc(WORDS, sizeof(long));
    lane->source = shmem_calloc(WORDS * PES_MOST, sizeof(long));
    lane->dest = shmem_calloc(2 * WORDS * PES_MOST, sizeof(long));
    lane->large_from_left = shmem_calloc(LARGE, sizeof(long));
    lane->large_source = shmem_calloc((size_t)(LARGE * pe.n), sizeof(long));
    lane->large_dest = shmem_calloc((size_t)(LARGE * pe.n), sizeof(long));
    lane->signal = shmem_calloc(3, sizeof(uint64_t));
    CHECK(lane->signal != NULL);
}

static void check_sums(const struct lane *lanes)
{
    static long mine[2], all[2];
    for (int i = 0; i < LANES; i++) mine[0] += lanes[i].n_added;
    mine[1] = n_locked;
    shmem_barrier_all();
    CHECK_EQ(shmem_long_sum_reduce(SHMEM_TEAM_WORLD, all, mine, 2), 0);
    long added = 0, locked = 0;
    for (int i = 0; i < pe.n; i++) added += shmem_long_atomic_fetch(&stress_sums[i], i);
    for (int i = 0; i < 3; i++) locked += shmem_long_g(&stress_counters[i], i % pe.n);
    CHECK_EQ(added, all[0]);
    CHECK_EQ(locked, all[1]);
    shmem_barrier_all();
}

int main(int argc, char **argv)
{
    static struct lane lanes[LANES];
    pthread_t threads[LANES];
    char seed[24];
    pe_begin_threads();
    CHECK(pe.n <= PES_MOST);
    pe_seed();
    ops_begin(pe.seed);
    memory_begin(pe.seed);
    teams_begin(pe.seed);
    large_begin(pe.seed);
    faces_begin(pe.seed);
    if (pe.me == 0) printf("ISTHMUS_TEST_SEED=%" PRIu64 "\n", pe.seed);
    snprintf(seed, sizeof seed, "%" PRIu64, pe.seed);
    setenv("ISTHMUS_TEST_SEED", seed, 1); /* for the yields of the threads that follow */
    n_steps = pe_part_of(400);
    choose(argc - 1, argv + 1);
    for (int i = 0; i < LANES; i++) prepare(&lanes[i], i);
    CHECK_EQ(shmem_ctx_create(0, &stress_ctx), 0);
    shmem_barrier_all();
    for (int i = 0; i < LANES; i++) CHECK_EQ(pthread_create(&threads[i], NULL, run_lane, &lanes[i]), 0);
    for (int i = 0; i < LANES; i++) CHECK_EQ(pthread_join(threads[i], NULL), 0);
    shmem_ctx_quiet(stress_ctx);
    shmem_ctx_destroy(stress_ctx);
    check_sums(lanes);
    for (int i = 0; i < LANES; i++) shmem_team_destroy(lanes[i].team);
    return pe_end();
}
