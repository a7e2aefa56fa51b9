/* The routines of rocSHMEM that have no table to run over: queries, memory, teams, contexts, order. With the argument
 * "uid" it makes a job of itself and a child by a unique id; with any other it ends through rocshmem_global_exit. */
#include <rocshmem/rocshmem.hpp>

#include "../pe/check.h"

using namespace rocshmem;

static void queries()
{
    int provided = -1, major = 0, minor = 0, patch = -1;
    char name[ROCSHMEM_MAX_NAME_LEN] = "";
    rocshmem_query_thread(&provided);
    CHECK_EQ(provided, ROCSHMEM_THREAD_MULTIPLE);
    rocshmem_info_get_version(&major, &minor);
    CHECK_EQ(major, ROCSHMEM_MAJOR_VERSION);
    CHECK_EQ(minor, ROCSHMEM_MINOR_VERSION);
    rocshmem_vendor_get_version_info(&major, &minor, &patch);
    CHECK_EQ(major, ROCSHMEM_VENDOR_MAJOR_VERSION);
    CHECK_EQ(minor, ROCSHMEM_VENDOR_MINOR_VERSION);
    CHECK_EQ(patch, ROCSHMEM_VENDOR_PATCH_VERSION);
    CHECK(rocshmem_hipmodule_init(nullptr, nullptr) != ROCSHMEM_SUCCESS); /* there is no GPU */
    rocshmem_info_get_name(name);
    CHECK(strcmp(name, ROCSHMEM_VENDOR_STRING) == 0);
}

/* A block that the routine made: it is symmetric, and holds what is put there. */
static void check_block(void *block, size_t size_bytes)
{
    CHECK(block != nullptr);
    char source[4096];
    CHECK(size_bytes <= sizeof source);
    memset(source, pe.me + 1, size_bytes);
    rocshmem_putmem(block, source, size_bytes, pe.right);
    rocshmem_barrier_all();
    CHECK_FILLED(block, pe.left + 1, size_bytes);
}

static void memory()
{
    static char buffer[4096];
    void *block = rocshmem_malloc(1000);
    check_block(block, 1000);
    CHECK(rocshmem_ptr(block, pe.me) == block || rocshmem_ptr(block, pe.me) == nullptr);
    rocshmem_free(block);
    block = rocshmem_align(4096, 100);
    CHECK_EQ((uintptr_t)block % 4096, 0);
    check_block(block, 100);
    rocshmem_free(block);
    CHECK_EQ(rocshmem_buffer_register(buffer, sizeof buffer), ROCSHMEM_SUCCESS);
    CHECK(rocshmem_buffer_register(buffer, sizeof buffer) != ROCSHMEM_SUCCESS);
    CHECK(rocshmem_buffer_unregister(buffer + 1) != ROCSHMEM_SUCCESS);
    CHECK_EQ(rocshmem_buffer_unregister(buffer), ROCSHMEM_SUCCESS);
}

static void teams()
{
    rocshmem_team_t all = ROCSHMEM_TEAM_INVALID, none = ROCSHMEM_TEAM_WORLD;
    rocshmem_team_config_t config = {4};
    CHECK_EQ(
        rocshmem_team_split_strided(ROCSHMEM_TEAM_WORLD, pe.n - 1, -1, pe.n, &config, ROCSHMEM_TEAM_NUM_CONTEXTS, &all),
        0);
    CHECK_EQ(rocshmem_team_my_pe(all), pe.n - 1 - pe.me);
    CHECK_EQ(rocshmem_team_n_pes(all), pe.n);
    CHECK_EQ(rocshmem_team_translate_pe(all, 0, ROCSHMEM_TEAM_WORLD), pe.n - 1);
    CHECK_EQ(rocshmem_team_my_pe(ROCSHMEM_TEAM_INVALID), -1);
    CHECK(rocshmem_team_split_strided(ROCSHMEM_TEAM_INVALID, 0, 1, 1, nullptr, 0, &none) != 0);
    CHECK_EQ(none, ROCSHMEM_TEAM_INVALID);
    rocshmem_team_destroy(all);
    rocshmem_team_destroy(none);
}

/* On the default context and on one of our own. */
static void order()
{
    auto *word = static_cast<long *>(rocshmem_align(sizeof(long), sizeof(long)));
    rocshmem_ctx_t own = ROCSHMEM_CTX_INVALID;
    CHECK_EQ(rocshmem_ctx_create(0, &own), 0);
    for (long way = 0; way < 2; way++) {
        rocshmem_ctx_t ctx = way == 0 ? ROCSHMEM_CTX_DEFAULT : own;
        long value = 10 * way + pe.me;
        rocshmem_ctx_long_put_nbi(ctx, word, &value, 1, pe.right);
        rocshmem_ctx_fence(ctx);
        rocshmem_fence();
        rocshmem_ctx_quiet(ctx);
        rocshmem_quiet();
        rocshmem_sync_all();
        CHECK_EQ(*word, 10 * way + pe.left);
        rocshmem_sync_all();
    }
    rocshmem_ctx_destroy(own);
    rocshmem_ctx_destroy(ROCSHMEM_CTX_INVALID);
    rocshmem_free(word);
}

/* Wrong arguments return. */
static void wrong_attributes(rocshmem_uniqueid_t *uid)
{
    rocshmem_init_attr_t attr;
    CHECK(rocshmem_set_attr_uniqueid_args(2, 2, uid, &attr) != ROCSHMEM_SUCCESS);
    CHECK_EQ(rocshmem_set_attr_uniqueid_args(0, 1, uid, &attr), ROCSHMEM_SUCCESS);
    CHECK(memcmp(&attr.uid, uid, sizeof *uid) == 0);
    CHECK(rocshmem_init_attr(0, &attr) != ROCSHMEM_SUCCESS);
    CHECK(rocshmem_init_attr(ROCSHMEM_INIT_WITH_MPI_COMM, &attr) != ROCSHMEM_SUCCESS);
    CHECK(rocshmem_init_attr(ROCSHMEM_INIT_WITH_UNIQUEID, nullptr) != ROCSHMEM_SUCCESS);
    attr.rank = 1;
    CHECK(rocshmem_init_attr(ROCSHMEM_INIT_WITH_UNIQUEID, &attr) != ROCSHMEM_SUCCESS);
}

/* A job of two: this process and its child, which gets the id through a pipe. */
static int start_by_uid()
{
    rocshmem_uniqueid_t uid;
    rocshmem_init_attr_t attr;
    int ends[2];
    CHECK_EQ(pipe(ends), 0);
    int rank = fork() == 0;
    if (rank == 0) {
        CHECK_EQ(rocshmem_get_uniqueid(&uid), ROCSHMEM_SUCCESS);
        wrong_attributes(&uid);
        CHECK_EQ(write(ends[1], &uid, sizeof uid), (int)sizeof uid);
    } else {
        CHECK_EQ(read(ends[0], &uid, sizeof uid), (int)sizeof uid);
    }
    CHECK_EQ(rocshmem_set_attr_uniqueid_args(rank, 2, &uid, &attr), ROCSHMEM_SUCCESS);
    CHECK_EQ(rocshmem_init_attr(ROCSHMEM_INIT_WITH_UNIQUEID, &attr), ROCSHMEM_SUCCESS);
    CHECK_EQ(rocshmem_my_pe(), rank);
    CHECK_EQ(rocshmem_n_pes(), 2);
    rocshmem_barrier_all();
    rocshmem_finalize();
    return 0;
}

int main(int argc, char **argv)
{
    pe_deadline(PE_DEADLINE_S);
    if (argc > 1 && strcmp(argv[1], "uid") == 0) return start_by_uid();
    rocshmem_init();
    rocshmem_init(); /* once more: has a finalize of its own */
    rocshmem_finalize();
    pe.me = rocshmem_my_pe();
    pe.n = rocshmem_n_pes();
    pe.right = (pe.me + 1) % pe.n;
    pe.left = (pe.me + pe.n - 1) % pe.n;
    if (argc > 1) rocshmem_global_exit(0);
    queries();
    memory();
    teams();
    order();
    rocshmem_finalize();
    return 0;
}
