/* tests/faults/memory_routines.c: the public routines that allocate, each with what has to be there before it and what
 * undoes it. */
#include "tests/faults/memory_ends.h"

#include "tests/pe/check.h"

#include <nvshmem.h>
#include <shmemx.h>
#include <sys/mman.h>

enum { LARGE = 1 << 17, PAGES = 1 << 16, MANY = 64 };

static long cell, word, lock, flags[MANY];
static uint64_t arrived;
struct made made;

void routines_know_pe(void) { pe_know(); }

/* ---- the heap: FAILED, or where the block lies ---- */

long where(const void *block) { return block == NULL ? FAILED : (long)((uintptr_t)block - (uintptr_t)made.blocks[0]); }

static long keep(void *block)
{
    if (block != NULL) made.blocks[made.n] = block;
    return where(block);
}

static long malloc_small(void) { return keep(shmem_malloc(96)); }
static long calloc_small(void) { return keep(shmem_calloc(3, 40)); }
static long align_some(void) { return keep(shmem_align(4096, 200)); }
static long hints(void) { return keep(shmem_malloc_with_hints(100, SHMEM_MALLOC_ATOMICS_REMOTE)); }
static long malloc_growing(void) { return keep(shmem_malloc((size_t)100 << 20)); }

/* Blocks 1 to MOST_BLOCKS - 1 exist. */
static long resize(size_t bytes)
{
    void *block = shmem_realloc(made.blocks[made.n], bytes);
    if (block != NULL) made.blocks[made.n] = block;
    return where(block);
}
static long realloc_more(void) { return resize(3000); }
static long realloc_less(void) { return resize(50); }

static void free_block(void) { shmem_free(made.blocks[made.n]); }
static void free_blocks(void)
{
    while (made.n > 1) shmem_free(made.blocks[--made.n]);
}
static void make_blocks(void)
{
    for (made.n = 1; made.n < MOST_BLOCKS; made.n++) made.blocks[made.n] = shmem_malloc(96);
    made.n = 1;
}
static void free_all_blocks(void)
{
    made.n = MOST_BLOCKS;
    free_blocks();
}

/* ---- buffers ---- */

static void map_pages(void)
{
    made.pages = mmap(NULL, PAGES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(made.pages != MAP_FAILED);
    memset(made.pages, 5, PAGES);
}
static void unmap_pages(void) { CHECK_EQ(munmap(made.pages, PAGES), 0); }
static void intact(void) { CHECK_FILLED(made.pages, 5, PAGES); }

static long register_local(void)
{
    int failed = nvshmemx_buffer_register(made.pages, PAGES);
    intact();
    return failed ? FAILED : 0;
}
static void unregister_local(void) { CHECK_EQ(nvshmemx_buffer_unregister(made.pages), 0); }
/* Fresh pages: those of a buffer that met no memory on its way back stay shared, and cannot be registered again. */
static long register_symmetric(void)
{
    CHECK(mmap(made.pages, PAGES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
          made.pages);
    memset(made.pages, 5, PAGES);
    void *at = nvshmemx_buffer_register_symmetric(made.pages, PAGES, 0);
    intact();
    return at == made.pages ? 0 : FAILED;
}
static void unregister_symmetric(void)
{
    CHECK_EQ(nvshmemx_buffer_unregister_symmetric(made.pages, PAGES), 0);
    intact();
}
static void make_symmetric(void)
{
    map_pages();
    CHECK_EQ(register_symmetric(), 0);
}
static void end_symmetric(void)
{
    unregister_symmetric();
    unmap_pages();
}
static long make_private(void)
{
    if (nvshmemx_buffer_unregister_symmetric(made.pages, PAGES) != 0) return FAILED;
    intact();
    return 0;
}
static void symmetric_again(void) { CHECK_EQ(register_symmetric(), 0); }
static long use_symmetric(void)
{
    long *at = made.pages;
    for (int to = 0; to < pe.n; to++) shmem_long_p(at + pe.me, at[pe.me], to);
    shmem_quiet();
    return 0;
}

/* ---- contexts ---- */

static long create(long options) { return shmem_ctx_create(options, &made.ctx) == 0 ? 0 : FAILED; }
static long create_shared(void) { return create(0); }
static long create_private(void) { return create(SHMEM_CTX_PRIVATE); }
static long create_serialized(void) { return create(SHMEM_CTX_SERIALIZED); }
static long create_nostore(void) { return create(SHMEM_CTX_NOSTORE | SHMEM_CTX_PRIVATE); }
static long create_of_team(void) { return shmem_team_create_ctx(made.odd, 0, &made.ctx) == 0 ? 0 : FAILED; }
static void destroy(void) { shmem_ctx_destroy(made.ctx); }
static void create_ctx(void) { CHECK_EQ(create(SHMEM_CTX_PRIVATE), 0); }

static void through(shmem_ctx_t ctx)
{
    long back[N];
    for (int i = 0; i < N; i++) source[i] = 7 * pe.me + i;
    for (int i = 0; i < pe.n; i++) {
        int to = (pe.me + i) % pe.n;
        shmem_ctx_long_p(ctx, &word, 1, to);
        shmem_ctx_long_put(ctx, dest + pe.me * N, source, N, to);
        shmem_ctx_long_put_nbi(ctx, dest + pe.me * N, source, N, to);
        shmem_ctx_long_atomic_inc(ctx, &cell, to);
        shmem_ctx_quiet(ctx);
        shmem_ctx_long_get(ctx, back, dest + pe.me * N, N, to);
        CHECK_BYTES(back, source, sizeof back);
        (void)shmem_ctx_long_atomic_fetch_add(ctx, &cell, 1, to);
    }
}
static long use_ctx(void) { return through(made.ctx), 0; }

/* ---- teams ---- */

/* Every PE but the last one, backwards: a list. */
static void make_odd(void)
{
    made.odd = SHMEM_TEAM_INVALID;
    CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, pe.n - 1, -1, pe.n, NULL, 0, &made.odd), 0);
}
static void end_odd(void) { shmem_team_destroy(made.odd); }

static long split_strided(void)
{
    made.inner = SHMEM_TEAM_INVALID;
    int failed = shmem_team_split_strided(SHMEM_TEAM_WORLD, pe.n - 1, -1, pe.n, NULL, 0, &made.inner);
    CHECK((failed == 0) == (made.inner != SHMEM_TEAM_INVALID));
    return failed == 0 ? 0 : FAILED;
}
static void end_strided(void)
{
    long sum = 0;
    source[0] = 1;
    CHECK_EQ(shmem_long_sum_reduce(made.inner, dest, source, 1), 0);
    sum = dest[0];
    CHECK_EQ(sum, pe.n);
    shmem_team_destroy(made.inner);
}
static long split_2d(void)
{
    made.row = made.column = SHMEM_TEAM_INVALID;
    int failed = shmem_team_split_2d(SHMEM_TEAM_WORLD, 2, NULL, 0, &made.row, NULL, 0, &made.column);
    CHECK((failed == 0) == (made.row != SHMEM_TEAM_INVALID));
    CHECK((failed == 0) == (made.column != SHMEM_TEAM_INVALID));
    return failed == 0 ? 0 : FAILED;
}
static void end_2d(void)
{
    shmem_team_destroy(made.row);
    shmem_team_destroy(made.column);
}

/* An order that is no progression: 0, 2, 1, 3, 5, 4 ... */
static int odd_place(int pe_number)
{
    int in_three = pe_number % 3;
    if (pe.n < 3 || pe_number / 3 * 3 + 3 > pe.n) return pe_number;
    return pe_number / 3 * 3 + (in_three == 0 ? 0 : 3 - in_three);
}

static long team_init(void)
{
    nvshmem_team_config_t config = NVSHMEM_TEAM_CONFIG_INITIALIZER;
    nvshmem_team_t team = NVSHMEM_TEAM_INVALID;
    config.uniqueid = made.id;
    int failed = nvshmemx_team_init(&team, &config, NVSHMEM_TEAM_CONFIG_MASK_UNIQUEID, pe.n, odd_place(pe.me));
    CHECK((failed == 0) == (team != NVSHMEM_TEAM_INVALID));
    if (failed == 0) nvshmem_team_destroy(team);
    return failed == 0 ? 0 : FAILED;
}
void share_id(void)
{
    static uint64_t id;
    static int maker;
    shmem_barrier_all();
    if (maker == pe.me) CHECK_EQ(nvshmemx_team_get_uniqueid((nvshmemx_team_uniqueid_t *)&id), 0);
    shmem_barrier_all();
    uint64_t fresh = shmem_uint64_g(&id, maker);
    made.id = fresh;
    maker = (maker + 1) % pe.n;
    shmem_barrier_all();
}

static void split_irregular(void)
{
    nvshmem_team_config_t config = NVSHMEM_TEAM_CONFIG_INITIALIZER;
    nvshmem_team_t team;
    share_id();
    config.uniqueid = made.id;
    CHECK_EQ(nvshmemx_team_init(&team, &config, NVSHMEM_TEAM_CONFIG_MASK_UNIQUEID, pe.n, odd_place(pe.me)), 0);
    made.odd = (shmem_team_t)(intptr_t)(team + 1);
}
static long split_list(void)
{
    made.inner = SHMEM_TEAM_INVALID;
    int failed = shmem_team_split_strided(made.odd, 0, 1, pe.n, NULL, 0, &made.inner);
    CHECK((failed == 0) == (made.inner != SHMEM_TEAM_INVALID));
    return failed == 0 ? 0 : FAILED;
}
static long destroy_team(void)
{
    shmem_team_destroy(made.inner);
    return 0;
}
static void make_inner(void) { CHECK_EQ(split_strided(), 0); }
static void inner_again(void) { make_inner(); }

/* ---- collectives ---- */

void collect_all(shmem_team_t team, size_t n)
{
    int size = shmem_team_n_pes(team);
    long *from = shmem_malloc((size_t)size * n * sizeof *from), *to = shmem_malloc((size_t)size * n * sizeof *to);
    CHECK(from != NULL && to != NULL);
    for (size_t i = 0; i < (size_t)size * n; i++) from[i] = 1;
    shmem_barrier_all();
    if (pe.me == run.victim && run.attempt > 0) arm(run.attempt, run.stays);
    CHECK_EQ(shmem_broadcastmem(team, to, from, n * sizeof *from, size - 1), 0);
    CHECK_EQ(shmem_long_sum_reduce(team, to, from, n), 0);
    CHECK_EQ(to[n - 1], size);
    CHECK_EQ(shmem_long_sum_reduce(team, from, from, n), 0);
    CHECK_EQ(from[n - 1], size);
    CHECK_EQ(shmem_double_max_reduce(team, (double *)to, (double *)from, n), 0);
    CHECK_EQ(shmem_long_fcollect(team, to, from, n), 0);
    CHECK_EQ(to[(size_t)size * n - 1], size);
    CHECK_EQ(shmem_long_collect(team, to, from, n - (size_t)shmem_team_my_pe(team) % 2), 0);
    CHECK_EQ(shmem_long_alltoall(team, to, from, n), 0);
    CHECK_EQ(shmem_long_alltoalls(team, to, from, 2, 1, n < 800 ? n / 2 : 400), 0); /* a message for each element */
    CHECK_EQ(shmem_team_sync(team), 0);
    if (run.attempt > 0) run.failures += mine[1] = disarm();
    shmem_barrier_all();
    shmem_free(from);
    shmem_free(to);
}
static long collectives(void) { return collect_all(SHMEM_TEAM_WORLD, 40), 0; }
static long large_collectives(void) { return collect_all(SHMEM_TEAM_WORLD, LARGE), 0; }
static long team_collectives(void) { return collect_all(made.odd, 40), 0; }
static long large_team_collectives(void) { return collect_all(made.odd, LARGE), 0; }

/* ---- locks and waits ---- */

static long locks(void)
{
    shmem_set_lock(&lock);
    shmem_clear_lock(&lock);
    while (shmem_test_lock(&lock) != 0) continue;
    shmem_clear_lock(&lock);
    return 0;
}

static long waits(void)
{
    static long now;
    long values[MANY];
    size_t indices[MANY];
    int status[MANY] = {0};
    now++;
    for (int i = 0; i < MANY; i++) values[i] = now;
    for (int i = 0; i < MANY; i++) shmem_long_p(&flags[i], now, pe.right);
    shmem_long_wait_until_all_vector(flags, MANY, NULL, SHMEM_CMP_EQ, values);
    CHECK_EQ(shmem_long_wait_until_some_vector(flags, MANY, indices, status, SHMEM_CMP_EQ, values), MANY);
    CHECK_EQ(shmem_long_test_some_vector(flags, MANY, indices, status, SHMEM_CMP_EQ, values), MANY);
    CHECK_EQ(shmem_long_test_all(flags, MANY, NULL, SHMEM_CMP_EQ, now), 1);
    CHECK(shmem_long_wait_until_any(flags, MANY, NULL, SHMEM_CMP_EQ, now) < MANY);
    return 0;
}

/* ---- once in a job ---- */

static long contact_put(void)
{
    for (int to = 0; to < pe.n; to++) shmem_long_p(&flags[pe.me], 1, to);
    shmem_quiet();
    return 0;
}
static long contact_get(void)
{
    for (int to = 0; to < pe.n; to++) CHECK_EQ(shmem_long_g(&flags[MANY - 1], to), 0);
    return 0;
}
static long contact_atomic(void)
{
    for (int to = 0; to < pe.n; to++) CHECK(shmem_long_atomic_fetch_inc(&cell, to) >= 0);
    return 0;
}
static long contact_all(void) { return through(SHMEM_CTX_DEFAULT), 0; }
static long contact_strided(void)
{
    long back[N];
    for (int to = 0; to < pe.n; to++) {
        shmem_long_iput(dest + pe.me * N, source, 2, 1, N / 2, to);
        shmem_long_iget(back, dest, 1, 2, N / 2, to);
        shmem_long_put_signal(dest + pe.me * N, source, N, &arrived, 1, SHMEM_SIGNAL_ADD, to);
    }
    shmem_quiet();
    return 0;
}
static long barrier(void) { return shmem_barrier_all(), 0; }

static long team_shared(void) { return shmem_team_n_pes(SHMEM_TEAM_SHARED); }
static long team_node(void) { return shmem_team_n_pes(SHMEMX_TEAM_NODE); }
static long team_same_mype(void) { return nvshmem_team_n_pes(NVSHMEMX_TEAM_SAME_MYPE_NODE); }

void connect_to_all(void)
{
    through(SHMEM_CTX_DEFAULT);
    contact_strided();
    shmem_barrier_all();
    run.attempt = 0;
    collect_all(SHMEM_TEAM_WORLD, 2);
    locks();
}

/* ---- the table ---- */

const struct routine routines[] = {
    {"malloc", malloc_small, free_block, NULL, free_blocks, 0, MOST_BLOCKS - 1},
    {"calloc", calloc_small, free_block, NULL, free_blocks, 0, MOST_BLOCKS - 1},
    {"align", align_some, free_block, NULL, free_blocks, 0, MOST_BLOCKS - 1},
    {"hints", hints, free_block, NULL, free_blocks, 0, MOST_BLOCKS - 1},
    {"realloc_more", realloc_more, NULL, make_blocks, free_all_blocks, 0, MOST_BLOCKS - 1},
    {"realloc_less", realloc_less, NULL, make_blocks, free_all_blocks, 0, MOST_BLOCKS - 1},
    {"grow", malloc_growing, free_block, NULL, free_blocks, ONCE, 0},
    {"buffer", register_local, unregister_local, map_pages, unmap_pages, ALONE, 0},
    {"symmetric", register_symmetric, unregister_symmetric, map_pages, unmap_pages, 0, 0},
    {"private", make_private, symmetric_again, make_symmetric, end_symmetric, FAR, 0},
    {"use_symmetric", use_symmetric, NULL, make_symmetric, NULL, MAY_END | ONCE, 0},
    {"ctx", create_shared, destroy, NULL, NULL, ALONE, 0},
    {"ctx_private", create_private, destroy, NULL, NULL, ALONE, 0},
    {"ctx_serialized", create_serialized, destroy, NULL, NULL, ALONE, 0},
    {"ctx_nostore", create_nostore, destroy, NULL, NULL, ALONE, 0},
    {"ctx_team", create_of_team, destroy, make_odd, end_odd, ALONE, 0},
    {"ctx_use", use_ctx, NULL, create_ctx, NULL, MAY_END | ONCE, 0},
    {"split_strided", split_strided, end_strided, NULL, NULL, 0, 0},
    {"split_2d", split_2d, end_2d, NULL, NULL, 0, 0},
    {"split_list", split_list, end_strided, split_irregular, end_odd, 0, 0},
    {"team_init", team_init, NULL, share_id, NULL, USES_ID, 0},
    {"team_destroy", destroy_team, inner_again, make_inner, end_strided, 0, 0},
    {"team_shared", team_shared, NULL, NULL, NULL, MAY_END | ONCE | COLD, 0},
    {"team_node", team_node, NULL, NULL, NULL, MAY_END | ONCE | COLD, 0},
    {"team_same_mype", team_same_mype, NULL, NULL, NULL, MAY_END | ONCE | COLD, 0},
    {"collectives", collectives, NULL, NULL, NULL, MAY_END | ARMS, 0},
    {"large_collectives", large_collectives, NULL, NULL, NULL, MAY_END | ARMS, 0},
    {"team_collectives", team_collectives, NULL, make_odd, end_odd, MAY_END | ARMS, 0},
    {"large_team_collectives", large_team_collectives, NULL, make_odd, end_odd, MAY_END | ARMS, 0},
    {"locks", locks, NULL, NULL, NULL, MAY_END, 0},
    {"waits", waits, NULL, NULL, NULL, MAY_END, 0},
    {"put", contact_put, NULL, NULL, NULL, MAY_END | ONCE | COLD, 0},
    {"get", contact_get, NULL, NULL, NULL, MAY_END | ONCE | COLD, 0},
    {"atomic", contact_atomic, NULL, NULL, NULL, MAY_END | ONCE | COLD, 0},
    {"strided", contact_strided, NULL, NULL, NULL, MAY_END | ONCE | COLD, 0},
    {"all", contact_all, NULL, NULL, NULL, MAY_END | ONCE | COLD, 0},
    {"barrier", barrier, NULL, NULL, NULL, MAY_END | ONCE | COLD, 0},
    {"init", NULL, NULL, NULL, NULL, MAY_END | ONCE | COLD, 0},
    {"init_thread", NULL, NULL, NULL, NULL, MAY_END | ONCE | COLD, 0},
    {"finalize", NULL, NULL, NULL, NULL, MAY_END | ONCE, 0},
};

const size_t n_routines = sizeof routines / sizeof *routines;
