/* The routines of NVSHMEM that have no table to run over: queries, memory, teams, ordering, and routines for GPUs only.
 * With an argument it ends through nvshmem_global_exit. */
#include "../pe/nv.h"

static void queries()
{
    int provided = -1, major = 0, minor = 0, patch = -1;
    char name[NVSHMEM_MAX_NAME_LEN] = "";
    nvshmem_query_thread(&provided);
    CHECK(provided >= NVSHMEM_THREAD_SINGLE && provided <= NVSHMEM_THREAD_MULTIPLE);
    CHECK_EQ(nvshmemx_init_status(), NVSHMEM_STATUS_IS_INITIALIZED);
    CHECK(nvshmem_my_pe() >= 0 && nvshmem_my_pe() < nvshmem_n_pes());
    nvshmem_info_get_version(&major, &minor);
    CHECK_EQ(major, NVSHMEM_MAJOR_VERSION);
    CHECK_EQ(minor, NVSHMEM_MINOR_VERSION);
    nvshmem_info_get_name(name);
    CHECK(strcmp(name, NVSHMEM_VENDOR_STRING) == 0);
    nvshmemx_vendor_get_version_info(&major, &minor, &patch);
    CHECK_EQ(major, NVSHMEM_VENDOR_MAJOR_VERSION);
    CHECK_EQ(minor, NVSHMEM_VENDOR_MINOR_VERSION);
    CHECK_EQ(patch, NVSHMEM_VENDOR_PATCH_VERSION);
}

/* A block that the routine made: it is symmetric, and holds what is put there. */
static void check_block(void *block, size_t size_bytes)
{
    CHECK(block != NULL);
    void *source = nvshmem_malloc(size_bytes);
    memset(source, pe.me + 1, size_bytes);
    nvshmem_putmem(block, source, size_bytes, pe.right);
    nvshmem_barrier_all();
    CHECK_FILLED(block, pe.left + 1, size_bytes);
    nvshmem_free(source);
}

static void memory()
{
    void *block = nvshmem_malloc(1000);
    check_block(block, 1000);
    CHECK(nvshmem_ptr(block, pe.me) == block || nvshmem_ptr(block, pe.me) == NULL);
    CHECK(nvshmemx_mc_ptr(NVSHMEM_TEAM_WORLD, block) == NULL); /* needs a switch with multicast */
    nvshmem_free(block);
    block = nvshmem_align(4096, 100);
    CHECK_EQ((uintptr_t)block % 4096, 0);
    check_block(block, 100);
    nvshmem_free(block);
    block = nvshmem_calloc(10, 10);
    CHECK_FILLED(block, 0, 100);
    nvshmem_free(block);
    nvshmem_free(NULL);
    CHECK(nvshmem_malloc(0) == NULL);
}

static void buffers()
{
    static char buffer[4096];
    CHECK_EQ(nvshmemx_buffer_register(buffer, sizeof buffer), 0);
    CHECK_EQ(nvshmemx_buffer_register(buffer, sizeof buffer), NVSHMEMX_ERROR_INVALID_VALUE);
    CHECK_EQ(nvshmemx_buffer_unregister(buffer + 1), NVSHMEMX_ERROR_INVALID_VALUE);
    CHECK_EQ(nvshmemx_buffer_unregister(buffer), 0);
    CHECK_EQ(nvshmemx_buffer_register(buffer, 100), 0);
    nvshmemx_buffer_unregister_all();
    CHECK_EQ(nvshmemx_buffer_unregister(buffer), NVSHMEMX_ERROR_INVALID_VALUE);
}

static void teams()
{
    nvshmem_team_t all = nv_team_backwards(), row = NVSHMEM_TEAM_INVALID, column = NVSHMEM_TEAM_INVALID;
    nvshmem_team_config_t config = NVSHMEM_TEAM_CONFIG_INITIALIZER;
    CHECK_EQ(nvshmem_team_my_pe(all), pe.n - 1 - pe.me);
    CHECK_EQ(nvshmem_team_n_pes(all), pe.n);
    CHECK_EQ(nvshmem_team_translate_pe(all, 0, NVSHMEM_TEAM_WORLD), pe.n - 1);
    config.num_contexts = -1;
    nvshmem_team_get_config(all, &config);
    CHECK_EQ(config.num_contexts, 0);
    CHECK_EQ(nvshmem_team_split_2d(all, 2, NULL, 0, &row, NULL, 0, &column), 0);
    CHECK_EQ(nvshmem_team_my_pe(row), nvshmem_team_my_pe(all) % 2);
    CHECK_EQ(nvshmem_team_my_pe(column), nvshmem_team_my_pe(all) / 2);
    nvshmem_team_destroy(row);
    nvshmem_team_destroy(column);
    nvshmem_team_destroy(all);
}

static void order()
{
    long *word = static_cast<long *>(nv_symmetric(2 * sizeof *word));
    cudaStream_t stream = NULL;
    for (long way = 1; way <= 3; way++) {
        word[1] = 10 * way + pe.me;
        nvshmem_long_put_nbi(&word[0], &word[1], 1, pe.right);
        if (way == 1) nvshmem_fence();
        if (way == 2) nvshmemx_quiet_on_stream(stream);
        nvshmem_quiet();
        nvshmem_sync_all();
        CHECK_EQ(word[0], 10 * way + pe.left);
        nvshmem_sync_all();
    }
    nvshmem_free(word);
}

/* The halves of order(): a source that was flushed may change, and its data is there after a quiet. */
static void flush()
{
    enum { WORDS = 1000 };
    long *words = static_cast<long *>(nv_symmetric(WORDS * sizeof *words));
    static long source[WORDS];
    for (int way = 0; way < 2; way++) {
        for (long i = 0; i < WORDS; i++) source[i] = 10 * i + pe.me + way;
        nvshmem_long_put_nbi(words, source, WORDS, pe.right);
        if (way == 0) nvshmemx_flush();
        if (way == 1) nvshmemx_flush_on_stream(NULL);
        memset(source, -1, sizeof source);
        nvshmem_barrier_all();
        for (long i = 0; i < WORDS; i++) CHECK_EQ(words[i], 10 * i + pe.left + way);
        nvshmem_barrier_all();
    }
    nvshmem_free(words);
}

static void counted_signal()
{
    uint64_t *signal = static_cast<uint64_t *>(nv_symmetric(sizeof *signal));
    nvshmemx_signal_op(signal, 5, NVSHMEM_SIGNAL_ADD, pe.right);
    nvshmem_barrier_all();
    CHECK_EQ(nvshmem_signal_fetch(signal), 5);
    nvshmemx_signal_counted_reset(signal);
    CHECK_EQ(nvshmem_signal_fetch(signal), 0);
    nvshmem_free(signal);
}

static void regions()
{
    const uint32_t unknown = 0x80;
    nvshmemx_region_handle_t handle = 0, other = 0;
    nvshmemx_region_attrs_t attrs = NVSHMEMX_REGION_ATTRS_INITIALIZER;
    int active = -1;
    CHECK_EQ(nvshmemx_region_is_active(0, &active), 0);
    CHECK_EQ(active, 0);
    CHECK_EQ(nvshmemx_region_stop(0), NVSHMEMX_ERROR_INVALID_VALUE);
    CHECK_EQ(nvshmemx_region_start(NULL, NULL), NVSHMEMX_ERROR_INVALID_VALUE);
    attrs.hints = unknown;
    CHECK_EQ(nvshmemx_region_start(&handle, &attrs), NVSHMEMX_ERROR_INVALID_VALUE);
    attrs.hints = NVSHMEMX_REGION_HINT_BATCH_RMA;
    CHECK_EQ(nvshmemx_region_start(&handle, &attrs), 0);
    CHECK_EQ(nvshmemx_region_start(&other, NULL), NVSHMEMX_ERROR_INVALID_VALUE); /* inside a region */
    CHECK_EQ(nvshmemx_region_is_active(NVSHMEMX_REGION_HINT_BATCH_RMA, &active), 0);
    CHECK_EQ(active, 1);
    CHECK_EQ(nvshmemx_region_is_active(unknown, &active), NVSHMEMX_ERROR_INVALID_VALUE);
    CHECK_EQ(nvshmemx_region_stop(handle + 1), NVSHMEMX_ERROR_INVALID_VALUE);
    CHECK_EQ(nvshmemx_region_stop(handle), 0);
    CHECK_EQ(nvshmemx_region_start(&other, NULL), 0);
    CHECK(other != handle);
    CHECK_EQ(nvshmemx_region_is_active(0, &active), 0);
    CHECK_EQ(active, 1);
    CHECK_EQ(nvshmemx_region_is_active(NVSHMEMX_REGION_HINT_BATCH_RMA, &active), 0);
    CHECK_EQ(active, 0);
    CHECK_EQ(nvshmemx_region_stop(other), 0);
}

/* What a program calls that was compiled with NVSHMEM's headers: once more, inside the job. */
static void as_device_library()
{
    const nvshmemi_version_t version = {3, 8, 0};
    int provided = -1;
    CHECK_EQ(nvshmemid_hostlib_init_attr(NVSHMEM_THREAD_MULTIPLE, &provided, 0, NULL, version, NULL), 0);
    CHECK_EQ(provided, NVSHMEM_THREAD_MULTIPLE);
    CHECK_EQ(nvshmemid_init_status(), NVSHMEM_STATUS_IS_INITIALIZED);
    CHECK_EQ(nvshmemid_hostlib_init_attr(NVSHMEM_THREAD_SINGLE, NULL, 64, NULL, version, NULL),
             NVSHMEMX_ERROR_INVALID_VALUE);
    nvshmemid_hostlib_finalize(NULL, NULL);
    CHECK_EQ(nvshmemid_init_status(), NVSHMEM_STATUS_IS_INITIALIZED); /* the outer one */
}

/* Without a GPU these report so. */
static void of_devices()
{
    nvshmemx_qp_handle_t *queues = NULL;
    int grid = 0;
    CHECK_EQ(nvshmemx_cumodule_init(NULL), NVSHMEMX_ERROR_NOT_SUPPORTED);
    CHECK_EQ(nvshmemx_cumodule_finalize(NULL), NVSHMEMX_ERROR_NOT_SUPPORTED);
    CHECK_EQ(nvshmemx_culibrary_init(NULL), NVSHMEMX_ERROR_NOT_SUPPORTED);
    CHECK_EQ(nvshmemx_culibrary_finalize(NULL), NVSHMEMX_ERROR_NOT_SUPPORTED);
    CHECK_EQ(nvshmemx_qp_create(1, &queues), NVSHMEMX_ERROR_NOT_SUPPORTED);
    CHECK(queues == NULL);
    CHECK_EQ(nvshmemx_collective_launch(NULL, 1, 1, NULL, 0, NULL), NVSHMEMX_ERROR_NOT_SUPPORTED);
    CHECK_EQ(nvshmemx_collective_launch_query_gridsize(NULL, 1, NULL, 0, &grid), NVSHMEMX_ERROR_NOT_SUPPORTED);
}

int main(int argc, char **)
{
    int provided = -1;
    nv_begin();
    CHECK_EQ(nvshmem_init_thread(NVSHMEM_THREAD_SINGLE, &provided), 0); /* once more: has a finalize of its own */
    nvshmem_finalize();
    queries();
    memory();
    buffers();
    teams();
    order();
    flush();
    counted_signal();
    regions();
    of_devices();
    as_device_library();
    nvshmem_barrier_all();
    if (argc > 1) nvshmem_global_exit(0);
    return nv_end();
}
