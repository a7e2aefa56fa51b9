/* tests/threads/stress_faces.cpp: what nvshmem.h, ishmem.h and rocshmem.hpp add to the parts of the stress job, besides
 * what the programs of tests/rows call in threads. */
#include "stress.h"

#include <ishmemx.h>
#include <nvshmemx.h>
#include <rocshmem/rocshmem.hpp>

using namespace rocshmem;

static rocshmem_team_t teams[LANES]; /* as the other teams of a lane */

void faces_begin(uint64_t seed)
{
    pe_know();
    pe.seed = seed;
    for (rocshmem_team_t &team : teams)
        CHECK_EQ(rocshmem_team_split_strided(ROCSHMEM_TEAM_WORLD, 0, 1, pe.n, nullptr, 0, &team), 0);
}

bool faces_flush(size_t way)
{
    if (way == 0) nvshmemx_flush();
    if (way == 1) nvshmemx_flush_on_stream(nullptr); /* without a GPU the call runs it */
    return way < 2;
}

void faces_complete(size_t way)
{
    switch (way) {
    case 0: nvshmem_quiet(); break;
    case 1: nvshmemx_quiet_on_stream(nullptr), nvshmem_quiet(); break;
    case 2: ishmem_fence(), ishmem_quiet(); break;
    case 3: rocshmem_fence(), rocshmem_quiet(); break;
    case 4: rocshmem_ctx_fence(ROCSHMEM_CTX_DEFAULT), rocshmem_ctx_quiet(ROCSHMEM_CTX_DEFAULT); break;
    default: nvshmem_fence(), rocshmem_quiet_on_stream(nullptr), rocshmem_quiet();
    }
}

/* ---- memory, by one thread ---- */

static void check_blocks(void *const *blocks, size_t n_blocks, size_t n_bytes)
{
    char source[2048];
    CHECK(n_bytes <= sizeof source);
    memset(source, pe.me + 1, sizeof source);
    for (size_t i = 0; i < n_blocks; i++) {
        CHECK(blocks[i] != nullptr);
        nvshmem_putmem(blocks[i], source, n_bytes, pe.right);
    }
    nvshmem_barrier_all();
    for (size_t i = 0; i < n_blocks; i++) CHECK_FILLED(blocks[i], pe.left + 1, n_bytes);
}

void faces_allocate(size_t n_bytes)
{
    if (n_bytes > 2000) n_bytes = 2000;
    void *nv[] = {nvshmem_malloc(n_bytes), nvshmem_align(1024, n_bytes), nvshmem_calloc(n_bytes, 1)};
    void *is[] = {ishmem_malloc(n_bytes), ishmem_align(1024, n_bytes), ishmem_calloc(1, n_bytes)};
    void *roc[] = {rocshmem_malloc(n_bytes), rocshmem_align(1024, n_bytes)};
    CHECK_EQ((uintptr_t)nv[1] % 1024 + (uintptr_t)is[1] % 1024 + (uintptr_t)roc[1] % 1024, 0);
    CHECK_FILLED(nv[2], 0, n_bytes);
    CHECK_FILLED(is[2], 0, n_bytes);
    nvshmem_barrier_all();
    check_blocks(nv, 3, n_bytes);
    check_blocks(is, 3, n_bytes);
    check_blocks(roc, 2, n_bytes);
    for (void *block : nv) nvshmem_free(block);
    for (void *block : is) ishmem_free(block);
    for (void *block : roc) rocshmem_free(block);
}

bool faces_buffer_register(void *buffer, size_t n_bytes)
{
    return rocshmem_buffer_register(buffer, n_bytes) == ROCSHMEM_SUCCESS;
}

bool faces_buffer_unregister(void *buffer) { return rocshmem_buffer_unregister(buffer) == ROCSHMEM_SUCCESS; }

/* ---- start and end inside the job, by one thread ---- */

void faces_start_and_end()
{
    const nvshmemi_version_t version = {3, 8, 0};
    int provided = -1;
    nvshmem_init();
    CHECK_EQ(nvshmem_init_thread(NVSHMEM_THREAD_MULTIPLE, &provided), 0);
    CHECK_EQ(nvshmemx_hostlib_init_attr(0, nullptr), 0);
    CHECK_EQ(nvshmemid_hostlib_init_attr(NVSHMEM_THREAD_MULTIPLE, &provided, 0, nullptr, version, nullptr), 0);
    ishmem_init();
    CHECK_EQ(ishmem_init_thread(ISHMEM_THREAD_MULTIPLE, &provided), 0);
    rocshmem_init();
    rocshmem_finalize();
    ishmem_finalize();
    ishmem_finalize();
    nvshmemid_hostlib_finalize(nullptr, nullptr);
    nvshmemx_hostlib_finalize();
    nvshmem_finalize();
    nvshmem_finalize();
    CHECK_EQ(provided, NVSHMEM_THREAD_MULTIPLE);
}

/* ---- contexts and teams ---- */

void faces_context(struct lane *lane)
{
    long value = stress_value(lane, pe.me, 0), *there = lane->from_left + 3 * WORDS, back = 0;
    rocshmem_ctx_t ctx = ROCSHMEM_CTX_INVALID;
    CHECK_EQ(rocshmem_ctx_create(0, &ctx), 0);
    rocshmem_ctx_long_put_nbi(ctx, there, &value, 1, pe.right);
    rocshmem_ctx_fence(ctx);
    rocshmem_ctx_long_put_nbi(ctx, there + 1, &value, 1, pe.right);
    rocshmem_ctx_quiet(ctx);
    for (int i = 0; i < 2; i++) {
        rocshmem_ctx_long_get(ctx, &back, there + i, 1, pe.right);
        CHECK_EQ(back, value);
    }
    rocshmem_ctx_destroy(ctx);
}

static void split_rocshmem(struct lane *lane)
{
    rocshmem_team_t back = ROCSHMEM_TEAM_INVALID;
    const rocshmem_team_config_t config = {2};
    CHECK_EQ(rocshmem_team_split_strided(teams[lane->number], pe.n - 1, -1, pe.n, &config, ROCSHMEM_TEAM_NUM_CONTEXTS,
                                         &back),
             0);
    CHECK_EQ(rocshmem_team_my_pe(back), pe.n - 1 - pe.me);
    CHECK_EQ(rocshmem_team_n_pes(back), pe.n);
    CHECK_EQ(rocshmem_team_translate_pe(back, 0, ROCSHMEM_TEAM_WORLD), pe.n - 1);
    rocshmem_team_destroy(back);
}

void faces_split(struct lane *lane)
{
    nvshmem_team_t nv_row, nv_column;
    ishmem_team_t is_row, is_column;
    ishmem_team_config_t config = {-1};
    CHECK_EQ(nvshmem_team_split_2d(lane->nv, 2, nullptr, 0, &nv_row, nullptr, 0, &nv_column), 0);
    CHECK_EQ(nvshmem_team_my_pe(nv_row) + 2 * nvshmem_team_my_pe(nv_column), pe.me);
    CHECK_EQ(nvshmem_team_n_pes(lane->nv), pe.n);
    CHECK_EQ(ishmem_team_split_2d(lane->is, 2, nullptr, 0, &is_row, nullptr, 0, &is_column), 0);
    CHECK_EQ(ishmem_team_my_pe(is_row) + 2 * ishmem_team_my_pe(is_column), pe.me);
    CHECK_EQ(ishmem_team_n_pes(lane->is), pe.n);
    CHECK_EQ(ishmem_team_translate_pe(is_row, ishmem_team_my_pe(is_row), ISHMEM_TEAM_WORLD), pe.me);
    CHECK_EQ(ishmem_team_get_config(is_row, ISHMEM_TEAM_NUM_CONTEXTS, &config), 0);
    CHECK_EQ(config.num_contexts, 0);
    nvshmem_team_destroy(nv_column);
    nvshmem_team_destroy(nv_row);
    ishmem_team_destroy(is_column);
    ishmem_team_destroy(is_row);
    split_rocshmem(lane);
}

/* ---- queries ---- */

static void query_nvshmem(const struct lane *lane)
{
    int provided = -1, major = 0, minor = 0, patch = -1;
    char name[NVSHMEM_MAX_NAME_LEN] = "";
    nvshmem_query_thread(&provided);
    CHECK_EQ(provided, NVSHMEM_THREAD_MULTIPLE);
    CHECK_EQ(nvshmemx_init_status(), NVSHMEM_STATUS_IS_INITIALIZED);
    CHECK_EQ(nvshmemid_init_status(), NVSHMEM_STATUS_IS_INITIALIZED);
    CHECK_EQ(nvshmem_my_pe(), pe.me);
    CHECK_EQ(nvshmem_n_pes(), pe.n);
    nvshmem_info_get_version(&major, &minor);
    CHECK_EQ(major, NVSHMEM_MAJOR_VERSION);
    nvshmemx_vendor_get_version_info(&major, &minor, &patch);
    CHECK_EQ(patch, NVSHMEM_VENDOR_PATCH_VERSION);
    nvshmem_info_get_name(name);
    CHECK(strcmp(name, NVSHMEM_VENDOR_STRING) == 0);
    CHECK(nvshmem_ptr(lane->words, pe.me) == lane->words || nvshmem_ptr(lane->words, pe.me) == nullptr);
    CHECK(nvshmemx_mc_ptr(lane->nv, lane->words) == nullptr);
}

static void query_ishmem(const struct lane *lane)
{
    int initialized = 0, provided = -1, major = 0, minor = 0;
    unsigned long times[2] = {0};
    char name[ISHMEM_MAX_NAME_LEN] = "";
    ishmemx_query_initialized(&initialized);
    CHECK_EQ(initialized, 1);
    ishmem_query_initialized(&initialized);
    CHECK_EQ(initialized, 1);
    ishmem_query_thread(&provided);
    CHECK_EQ(provided, ISHMEM_THREAD_MULTIPLE);
    CHECK(ishmemx_runtime_get_type() <= ISHMEMX_RUNTIME_INVALID);
    CHECK_EQ(ishmem_my_pe(), pe.me);
    CHECK_EQ(ishmem_n_pes(), pe.n);
    ishmem_info_get_version(&major, &minor);
    CHECK_EQ(major, ISHMEM_MAJOR_VERSION);
    ishmem_info_get_name(name);
    CHECK(strcmp(name, ISHMEM_VENDOR_STRING) == 0);
    CHECK(ishmem_ptr(lane->words, pe.me) == lane->words || ishmem_ptr(lane->words, pe.me) == nullptr);
    ishmemx_timestamp(ishmemx_ts_handle(&times[0]));
    ishmemx_timestamp_nbi(ishmemx_ts_handle(&times[1]));
    CHECK(times[0] != 0 && times[1] >= times[0]);
    ishmemx_nop();
    ishmemx_nop_no_r();
    ishmemx_debug_test();
    ishmemx_print(__FILE__, __LINE__, __func__, "a line of the log", ISHMEMX_PRINT_DEBUG);
    ishmemx_print_as(__FILE__, __LINE__, __func__, "another one", ISHMEMX_PRINT_DEBUG);
}

static void query_rocshmem(const struct lane *lane)
{
    int provided = -1, major = 0, minor = 0, patch = -1;
    char name[ROCSHMEM_MAX_NAME_LEN] = "";
    rocshmem_query_thread(&provided);
    CHECK_EQ(provided, ROCSHMEM_THREAD_MULTIPLE);
    CHECK_EQ(rocshmem_my_pe(), pe.me);
    CHECK_EQ(rocshmem_n_pes(), pe.n);
    rocshmem_info_get_version(&major, &minor);
    CHECK_EQ(major, ROCSHMEM_MAJOR_VERSION);
    rocshmem_vendor_get_version_info(&major, &minor, &patch);
    CHECK_EQ(patch, ROCSHMEM_VENDOR_PATCH_VERSION);
    rocshmem_info_get_name(name);
    CHECK(strcmp(name, ROCSHMEM_VENDOR_STRING) == 0);
    CHECK(rocshmem_ptr(lane->words, pe.me) == lane->words || rocshmem_ptr(lane->words, pe.me) == nullptr);
}

/* Without a GPU these report so. */
static void query_devices()
{
    nvshmemx_qp_handle_t *queues = nullptr;
    int grid = 0;
    CHECK_EQ(nvshmemx_cumodule_init(nullptr), NVSHMEMX_ERROR_NOT_SUPPORTED);
    CHECK_EQ(nvshmemx_cumodule_finalize(nullptr), NVSHMEMX_ERROR_NOT_SUPPORTED);
    CHECK_EQ(nvshmemx_culibrary_init(nullptr), NVSHMEMX_ERROR_NOT_SUPPORTED);
    CHECK_EQ(nvshmemx_culibrary_finalize(nullptr), NVSHMEMX_ERROR_NOT_SUPPORTED);
    CHECK_EQ(nvshmemx_qp_create(1, &queues), NVSHMEMX_ERROR_NOT_SUPPORTED);
    CHECK_EQ(nvshmemx_collective_launch(nullptr, 1, 1, nullptr, 0, nullptr), NVSHMEMX_ERROR_NOT_SUPPORTED);
    CHECK_EQ(nvshmemx_collective_launch_query_gridsize(nullptr, 1, nullptr, 0, &grid), NVSHMEMX_ERROR_NOT_SUPPORTED);
    CHECK(rocshmem_hipmodule_init(nullptr, nullptr) != ROCSHMEM_SUCCESS);
}

void faces_queries(struct lane *lane)
{
    query_nvshmem(lane);
    query_ishmem(lane);
    query_rocshmem(lane);
    query_devices();
}
