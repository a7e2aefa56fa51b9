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
    of_devices();
    nvshmem_barrier_all();
    if (argc > 1) nvshmem_global_exit(0);
    return nv_end();
}
