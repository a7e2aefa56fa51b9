/* R18: arguments that nvshmemx_init_attr accepts and refuses, in a job that a launcher started: structures of version
 * 1, version fields of 0, structs that the program has not initialised, unknown flags, joining a running job. */
#include "check.h"

#include <nvshmem.h>
#include <string.h>

static long flag;

static void check_running(void)
{
    CHECK_EQ(nvshmemx_init_status(), NVSHMEM_STATUS_IS_INITIALIZED);
    pe_know();
    shmem_long_p(&flag, pe.me + 1, pe.right);
    shmem_barrier_all();
    CHECK_EQ(flag, pe.left + 1);
    shmem_barrier_all();
}

int main(void)
{
    nvshmemx_init_attr_t attr = NVSHMEMX_INIT_ATTR_INITIALIZER;
    nvshmemx_init_attr_v1 old = {
        NVSHMEMX_VERSION_OF_(1, nvshmemx_init_attr_v1),
        NULL,
        {NVSHMEMX_VERSION_OF_(1, nvshmemx_init_args_v1), NVSHMEMX_UNIQUEID_ARGS_INITIALIZER, {0}}};
    int provided = -1;
    pe_deadline(PE_DEADLINE_S);

    nvshmem_query_thread(&provided);
    CHECK_EQ(provided, NVSHMEM_THREAD_SERIALIZED); /* of the library, before init */
    CHECK_EQ(nvshmemx_init_status(), NVSHMEM_STATUS_NOT_INITIALIZED);
    CHECK(nvshmemx_init_attr(0x40, &attr) != 0);
    CHECK(nvshmemx_init_attr(NVSHMEMX_INIT_WITH_SHMEM | NVSHMEMX_INIT_WITH_UNIQUEID, &attr) != 0);
    CHECK(nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, NULL) != 0);
    CHECK(nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attr) != 0); /* without an id */
    CHECK(nvshmemx_init_attr(NVSHMEMX_INIT_WITH_MPI_COMM, &attr) != 0); /* without a communicator */
    CHECK_EQ(nvshmemx_init_attr(NVSHMEMX_INIT_THREAD_PES, &attr), NVSHMEMX_ERROR_NOT_SUPPORTED);
    CHECK_EQ(nvshmemx_init_status(), NVSHMEM_STATUS_NOT_INITIALIZED);

    CHECK_EQ(nvshmemx_init_attr(0, (nvshmemx_init_attr_t *)(void *)&old), 0);
    check_running();
    attr.version = attr.args.version = attr.args.uid_args.version = 0;
    CHECK_EQ(nvshmemx_init_attr(NVSHMEMX_INIT_WITH_SHMEM, &attr), 0);
    CHECK_EQ(attr.version, NVSHMEMX_VERSION_OF_(2, nvshmemx_init_attr_t));
    check_running();
    memset(&attr, 0xa5, sizeof attr); /* as a struct on the stack may be; these flags name no field */
    CHECK_EQ(nvshmemx_init_attr(NVSHMEMX_INIT_WITH_SHMEM, &attr), 0);
    CHECK_EQ(attr.args.version, NVSHMEMX_VERSION_OF_(2, nvshmemx_init_args_v2));
    CHECK_EQ(attr.args.uid_args.version, NVSHMEMX_VERSION_OF_(1, nvshmemx_uniqueid_args_v1));
    check_running();
    nvshmem_finalize();
    nvshmem_finalize();
    check_running();
    nvshmemx_hostlib_finalize();
    CHECK_EQ(nvshmemx_init_status(), NVSHMEM_STATUS_NOT_INITIALIZED);

    shmem_init();
    CHECK_EQ(nvshmemx_hostlib_init_attr(NVSHMEMX_INIT_WITH_SHMEM, NULL), 0);
    check_running();
    nvshmemx_hostlib_finalize();
    shmem_finalize();
    return 0;
}
