/* R17: processes that share a unique id are a job, without a launcher. The arguments: how many PEs, and which of them
 * makes the id; -1: the process that starts them, which is none of them. "far": every second PE believes that the
 * server is on another host, and takes the address that the id has for such. */
#include "uid_job.h"

enum { HOST_AT = 24 }; /* of core/boot/uid.h: where an id names the host */

static int n_pes, server, is_far;
static long slots[64];

static int member(struct uid_job *job, int number)
{
    nvshmemx_uniqueid_t id;
    CHECK_EQ(nvshmemx_init_status(), NVSHMEM_STATUS_NOT_INITIALIZED);
    if (number == server) uid_job_serve(job);
    uid_job_receive(job, &id);
    if (is_far && number % 2 == 1) id.internal[HOST_AT] = (char)(id.internal[HOST_AT] + 1);
    CHECK_EQ(uid_job_join(&id, number, n_pes), 0);
    CHECK_EQ(nvshmemx_init_status(), NVSHMEM_STATUS_IS_INITIALIZED);
    CHECK_EQ(pe.me, number);
    CHECK_EQ(pe.n, n_pes);
    for (int to = 0; to < pe.n; to++) shmem_long_p(&slots[pe.me], 1000 * to + pe.me, to);
    long *block = shmem_malloc(64 * sizeof *block);
    for (int to = 0; to < pe.n; to++) shmem_long_p(&block[pe.me], 7000 * to + pe.me, to);
    shmem_barrier_all();
    for (int from = 0; from < pe.n; from++) {
        CHECK_EQ(slots[from], 1000 * pe.me + from);
        CHECK_EQ(block[from], 7000 * pe.me + from);
    }
    shmem_free(block);
    nvshmem_finalize();
    CHECK_EQ(nvshmemx_init_status(), NVSHMEM_STATUS_NOT_INITIALIZED);
    return 0;
}

int main(int argc, char **argv)
{
    struct uid_job job;
    n_pes = argc > 1 ? atoi(argv[1]) : 4;
    server = argc > 2 ? atoi(argv[2]) : 0;
    is_far = argc > 3;
    uid_job_init(&job);
    if (server < 0) uid_job_serve(&job);
    for (int i = 0; i < n_pes; i++) uid_job_fork(&job, member, i);
    for (int i = 0; i < n_pes; i++) CHECK_EQ(uid_job_wait_one(&job, i), 0);
    return 0;
}
