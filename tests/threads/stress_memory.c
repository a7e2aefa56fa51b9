/* tests/threads/stress_memory.c: the parts of the stress job that make memory and ask about it. */
#include "stress.h"

#include <pthread.h>
#include <sys/mman.h>

void memory_begin(uint64_t seed)
{
    pe_know();
    pe.seed = seed;
}

/* ---- symmetric memory, by one thread beside the puts of others ---- */

static void check_block(const long *block, size_t n, long value)
{
    CHECK(block != NULL);
    for (size_t i = 0; i < n; i++) CHECK_EQ(block[i], value);
}

static void grow_a_block(size_t n)
{
    long *block = shmem_calloc(n, sizeof *block), *aligned = shmem_align(256, n);
    check_block(block, n, 0);
    CHECK(aligned != NULL);
    CHECK_EQ((uintptr_t)aligned % 256, 0);
    shmem_sync_all(); /* all have checked */
    for (size_t i = 0; i < n; i += 100) shmem_long_p(&block[i], pe.me, pe.right);
    shmem_barrier_all();
    CHECK_EQ(block[0], pe.left);
    block = shmem_realloc(block, 2 * n * sizeof *block);
    CHECK(block != NULL);
    CHECK_EQ(block[0], pe.left);
    shmem_sync_all();
    shmem_free(aligned);
    shmem_free(block);
}

static void allocate_by_other_names(size_t n)
{
    long *block = shmem_malloc(n * sizeof *block), *old = shmalloc(n * sizeof *old), *aligned = shmemalign(512, n);
    long *word = shmem_malloc_with_hints(sizeof *word, SHMEM_MALLOC_ATOMICS_REMOTE | SHMEM_MALLOC_SIGNAL_REMOTE);
    CHECK(block != NULL && old != NULL && aligned != NULL && word != NULL);
    CHECK_EQ((uintptr_t)aligned % 512, 0);
    for (size_t i = 0; i < n; i++) block[i] = old[i] = 7;
    *word = 0;
    shmem_sync_all();
    shmem_long_atomic_add(word, 1 + pe.me, pe.right);
    shmem_long_p(&old[n - 1], pe.me, pe.right);
    shmem_barrier_all();
    CHECK_EQ(*word, 1 + pe.left);
    old = shrealloc(old, 3 * n * sizeof *old);
    check_block(old, n - 1, 7);
    CHECK_EQ(old[n - 1], pe.left);
    check_block(block, n, 7);
    shfree(old);
    shfree(aligned);
    shmem_free(word);
    shmem_free(block);
}

void part_allocations(struct lane *lane)
{
    if (lane->number != 0) return;
    size_t n = 2 + random_below(&lane->steps_random, 2000);
    switch (random_below(&lane->steps_random, 3)) {
    case 0: grow_a_block(n); break;
    case 1: allocate_by_other_names(n); break;
    default: faces_allocate(n);
    }
}

void part_start_and_end(struct lane *lane)
{
    int provided = -1;
    if (lane->number != 0) return;
    CHECK_EQ(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided), 0);
    CHECK_EQ(provided, SHMEM_THREAD_MULTIPLE);
    start_pes(0); /* the job has started: no effect */
    faces_start_and_end();
    shmem_finalize();
    shmem_init();
    shmem_finalize();
    CHECK_EQ(shmem_my_pe(), pe.me);
}

/* ---- memory of the program ---- */

static long *map(size_t n_bytes)
{
    void *at = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(at != MAP_FAILED);
    return at;
}

/* It becomes symmetric and private again, with its content. */
void part_symmetric_buffer(struct lane *lane)
{
    enum { BYTES = 64 << 10, N = BYTES / sizeof(long) };
    if (lane->number != 0) return;
    long *mine = map(BYTES), *at;
    for (int i = 0; i < N; i++) mine[i] = stress_large_value(lane, pe.me, i);
    if (lane->step % 2 == 0)
        at = nvshmemx_buffer_register_symmetric(mine, BYTES, 0);
    else
        at = nvshmemx_buffer_register_symmetric_at_preferred_address(mine, BYTES, mine, 0);
    CHECK(at == mine);
    CHECK_EQ(shmem_long_g(&at[7], pe.right), stress_large_value(lane, pe.right, 7));
    shmem_sync_all();
    shmem_long_put_nbi(at, &at[N / 2], N / 2, pe.right);
    shmem_barrier_all();
    CHECK_EQ(nvshmemx_buffer_unregister_symmetric(at, BYTES), 0);
    for (int i = 0; i < N / 2; i++) CHECK_EQ(mine[i], stress_large_value(lane, pe.left, N / 2 + i));
    for (int i = N / 2; i < N; i++) CHECK_EQ(mine[i], stress_large_value(lane, pe.me, i));
    munmap(mine, BYTES);
}

/* The threads of the program agree that none has a registered buffer while one of them unregisters all. */
static pthread_rwlock_t registered = PTHREAD_RWLOCK_INITIALIZER;

static void use_buffer(struct lane *lane, long *buffer)
{
    for (int i = 0; i < LARGE; i++) buffer[i] = stress_large_value(lane, pe.me, i);
    shmem_long_put(lane->large_from_left, buffer, LARGE, pe.right);
    shmem_quiet();
    memset(buffer, 0, LARGE * sizeof *buffer);
    shmem_long_get(buffer, lane->large_from_left, LARGE, pe.right);
    for (int i = 0; i < LARGE; i++) CHECK_EQ(buffer[i], stress_large_value(lane, pe.me, i));
}

void part_buffers(struct lane *lane)
{
    static long buffers[LANES][LARGE];
    long *buffer = buffers[lane->number];
    bool is_rocshmem = random_below(&lane->random, 2) == 0;
    if (random_below(&lane->random, 4) == 0) {
        CHECK_EQ(pthread_rwlock_wrlock(&registered), 0);
        CHECK_EQ(nvshmemx_buffer_register(buffer, sizeof buffers[0]), 0);
        nvshmemx_buffer_unregister_all();
        CHECK_EQ(nvshmemx_buffer_unregister(buffer), NVSHMEMX_ERROR_INVALID_VALUE);
        pthread_rwlock_unlock(&registered);
    }
    CHECK_EQ(pthread_rwlock_rdlock(&registered), 0);
    if (is_rocshmem)
        CHECK(faces_buffer_register(buffer, sizeof buffers[0]));
    else
        CHECK_EQ(nvshmemx_buffer_register(buffer, sizeof buffers[0]), 0);
    use_buffer(lane, buffer);
    if (is_rocshmem)
        CHECK(faces_buffer_unregister(buffer));
    else
        CHECK_EQ(nvshmemx_buffer_unregister(buffer), 0);
    pthread_rwlock_unlock(&registered);
}

/* ---- queries ---- */

static void query_the_job(void)
{
    int major = 0, minor = 0, initialized = 0, provided = -1;
    char name[SHMEM_MAX_NAME_LEN] = "";
    shmem_query_initialized(&initialized);
    CHECK_EQ(initialized, 1);
    shmem_query_thread(&provided);
    CHECK_EQ(provided, SHMEM_THREAD_MULTIPLE);
    shmem_info_get_version(&major, &minor);
    CHECK_EQ(major, SHMEM_MAJOR_VERSION);
    shmem_info_get_name(name);
    CHECK(strcmp(name, SHMEM_VENDOR_STRING) == 0);
    CHECK_EQ(shmem_my_pe(), pe.me);
    CHECK_EQ(shmem_n_pes(), pe.n);
    CHECK_EQ(_my_pe(), pe.me);
    CHECK_EQ(_num_pes(), pe.n);
    CHECK(shmemx_visibility() == SHMEMX_VISIBILITY_LOCAL || shmemx_visibility() == SHMEMX_VISIBILITY_GLOBAL);
    CHECK(shmemx_transport_name(pe.right) != NULL);
    CHECK(shmemx_wtime() >= 0);
    CHECK(shmemx_nodename()[0] != '\0');
    shmemx_register_gettid(NULL);
    shmem_pcontrol(provided);
}

/* For machines without coherent caches; no effect. */
static void caches(struct lane *lane)
{
    shmem_set_cache_inv();
    shmem_set_cache_line_inv(lane->words);
    shmem_clear_cache_inv();
    shmem_clear_cache_line_inv(lane->words);
    shmem_udcflush();
    shmem_udcflush_line(lane->words);
}

void part_queries(struct lane *lane)
{
    int to = (int)random_below(&lane->random, (size_t)pe.n);
    long *alias = shmem_ptr(lane->words, to);
    CHECK(shmem_team_ptr(lane->team, lane->words, to) == alias);
    if (to == pe.me) CHECK(alias == lane->words);
    CHECK(shmem_addr_accessible(lane->words, to));
    CHECK(shmem_pe_accessible(to));
    CHECK_EQ(shmem_team_my_pe(lane->team), pe.me);
    CHECK_EQ(shmem_team_n_pes(lane->team), pe.n);
    CHECK_EQ(shmem_team_translate_pe(lane->team, to, SHMEM_TEAM_WORLD), to);
    query_the_job();
    caches(lane);
    faces_queries(lane);
}

/* A region belongs to its thread. */
void part_regions(struct lane *lane)
{
    nvshmemx_region_attrs_t attrs = NVSHMEMX_REGION_ATTRS_INITIALIZER;
    nvshmemx_region_handle_t handle = 0;
    int active = -1;
    long *there = lane->from_left + WORDS, back[WORDS];
    CHECK_EQ(nvshmemx_region_is_active(0, &active), 0);
    CHECK_EQ(active, 0);
    attrs.hints = NVSHMEMX_REGION_HINT_BATCH_RMA;
    CHECK_EQ(nvshmemx_region_start(&handle, &attrs), 0);
    for (int i = 0; i < WORDS; i++) nvshmem_long_p(&there[i], stress_value(lane, pe.me, i), pe.right);
    CHECK_EQ(nvshmemx_region_is_active(NVSHMEMX_REGION_HINT_BATCH_RMA, &active), 0);
    CHECK_EQ(active, 1);
    CHECK_EQ(nvshmemx_region_stop(handle), 0);
    nvshmem_quiet();
    nvshmem_long_get(back, there, WORDS, pe.right);
    for (int i = 0; i < WORDS; i++) CHECK_EQ(back[i], stress_value(lane, pe.me, i));
}
