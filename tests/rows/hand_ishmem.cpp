/* The routines of Intel SHMEM that have no table to run over: queries, memory, teams, ordering, utilities. */
#include <ishmem.h>
#include <ishmemx.h>

#include "../pe/check.h"

static void queries()
{
    int initialized = 0, provided = -1, major = 0, minor = 0;
    char name[ISHMEM_MAX_NAME_LEN] = "";
    ishmemx_query_initialized(&initialized);
    CHECK_EQ(initialized, 1);
    initialized = 0;
    ishmem_query_initialized(&initialized);
    CHECK_EQ(initialized, 1);
    ishmem_query_thread(&provided);
    CHECK(provided >= ISHMEM_THREAD_SINGLE && provided <= ISHMEM_THREAD_MULTIPLE);
    CHECK(ishmemx_runtime_get_type() <= ISHMEMX_RUNTIME_INVALID);
    ishmem_info_get_version(&major, &minor);
    CHECK_EQ(major, ISHMEM_MAJOR_VERSION);
    CHECK_EQ(minor, ISHMEM_MINOR_VERSION);
    ishmem_info_get_name(name);
    CHECK(strcmp(name, ISHMEM_VENDOR_STRING) == 0);
}

/* A block that the routine made: it is symmetric, and holds what is put there. */
static void check_block(void *block, size_t size_bytes)
{
    CHECK(block != nullptr);
    char source[4096];
    CHECK(size_bytes <= sizeof source);
    memset(source, pe.me + 1, size_bytes);
    ishmem_putmem(block, source, size_bytes, pe.right);
    ishmem_barrier_all();
    CHECK_FILLED(block, pe.left + 1, size_bytes);
}

static void memory()
{
    void *block = ishmem_malloc(1000);
    check_block(block, 1000);
    CHECK(ishmem_ptr(block, pe.me) == block || ishmem_ptr(block, pe.me) == nullptr);
    ishmem_free(block);
    block = ishmem_align(4096, 100);
    CHECK_EQ((uintptr_t)block % 4096, 0);
    check_block(block, 100);
    ishmem_free(block);
    block = ishmem_calloc(10, 10);
    CHECK_FILLED(block, 0, 100);
    ishmem_barrier_all();
    check_block(block, 100);
    ishmem_free(block);
}

static void teams()
{
    ishmem_team_t all = ISHMEM_TEAM_INVALID, row = ISHMEM_TEAM_INVALID, column = ISHMEM_TEAM_INVALID;
    ishmem_team_config_t config = {4}; /* accepted; there are no contexts */
    CHECK_EQ(ishmem_team_split_strided(ISHMEM_TEAM_WORLD, pe.n - 1, -1, pe.n, &config, ISHMEM_TEAM_NUM_CONTEXTS, &all),
             0);
    CHECK_EQ(ishmem_team_my_pe(all), pe.n - 1 - pe.me);
    CHECK_EQ(ishmem_team_n_pes(all), pe.n);
    CHECK_EQ(ishmem_team_translate_pe(all, 0, ISHMEM_TEAM_WORLD), pe.n - 1);
    CHECK_EQ(ishmem_team_get_config(all, 0, nullptr), 0);
    CHECK(ishmem_team_get_config(ISHMEM_TEAM_INVALID, ISHMEM_TEAM_NUM_CONTEXTS, &config) != 0);
    CHECK_EQ(ishmem_team_split_2d(all, 2, nullptr, 0, &row, nullptr, 0, &column), 0);
    CHECK_EQ(ishmem_team_my_pe(row), ishmem_team_my_pe(all) % 2);
    CHECK_EQ(ishmem_team_my_pe(column), ishmem_team_my_pe(all) / 2);
    CHECK_EQ(ishmem_team_translate_pe(ISHMEMX_TEAM_NODE, ishmem_team_my_pe(ISHMEMX_TEAM_NODE), ISHMEM_TEAM_WORLD),
             pe.me);
    ishmem_team_destroy(row);
    ishmem_team_destroy(column);
    ishmem_team_destroy(all);
}

static void order()
{
    auto *word = static_cast<long *>(ishmem_calloc(1, sizeof(long)));
    for (long way = 0; way < 2; way++) {
        long value = 10 * way + pe.me;
        ishmem_put_nbi(word, &value, 1, pe.right);
        if (way == 1) ishmem_fence();
        ishmem_quiet();
        ishmem_sync_all();
        CHECK_EQ(*word, 10 * way + pe.left);
        ishmem_sync_all();
    }
    ishmem_free(word);
}

static void utilities()
{
    auto *times = static_cast<unsigned long *>(ishmem_calloc(2, sizeof(unsigned long)));
    ishmemx_nop();
    ishmemx_nop_no_r();
    ishmemx_debug_test();
    ishmemx_timestamp(ishmemx_ts_handle(&times[0]));
    ishmemx_timestamp_nbi(ishmemx_ts_handle(&times[1]));
    ishmem_quiet();
    CHECK(times[0] != 0 && times[1] >= times[0]);
    ishmemx_print("a line\n");
    ishmemx_print("a line of the error output\n", ISHMEMX_PRINT_STDERR);
    ishmemx_print(__FILE__, __LINE__, __func__, "a line with its place\n", ISHMEMX_PRINT_STDOUT);
    ishmemx_print_as(__FILE__, __LINE__, __func__, "the same\n", ISHMEMX_PRINT_STDERR);
    ishmem_free(times);
}

int main()
{
    int provided = -1;
    pe_deadline(PE_DEADLINE_S);
    ishmem_init();
    CHECK_EQ(ishmem_init_thread(ISHMEM_THREAD_SINGLE, &provided), 0); /* once more: has a finalize of its own */
    ishmem_finalize();
    pe.me = ishmem_my_pe();
    pe.n = ishmem_n_pes();
    pe.right = (pe.me + 1) % pe.n;
    pe.left = (pe.me + pe.n - 1) % pe.n;
    queries();
    memory();
    teams();
    order();
    utilities();
    ishmem_finalize();
    return 0;
}
