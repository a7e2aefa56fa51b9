/* R17: in a unique-id job PEs wait for a slow one as long as for a start, and not as for a peer that should reply: one
 * PE joins late, and the heap of another takes a while. ISTHMUS_PEER_TIMEOUT is shorter than either. */
#include "uid_job.h"

#include <sys/syscall.h>

enum { PES = 3, LATE = 1, SLOW = 2, SLOW_S = 3 };

static int my_number = -1;

/* In place of libc's, as in a process whose host is slow. */
__attribute__((visibility("default"))) int memfd_create(const char *name, unsigned flags)
{
    if (my_number == SLOW) sleep(SLOW_S);
    my_number = -1; /* once */
    return (int)syscall(SYS_memfd_create, name, flags);
}

static int member(struct uid_job *job, int number)
{
    nvshmemx_uniqueid_t id;
    my_number = number;
    if (number == 0) uid_job_serve(job);
    uid_job_receive(job, &id);
    if (number == LATE) sleep(SLOW_S);
    CHECK_EQ(uid_job_join(&id, number, PES), 0);
    shmem_barrier_all();
    nvshmem_finalize();
    return 0;
}

int main(void)
{
    struct uid_job job;
    uid_job_init(&job);
    for (int i = 0; i < PES; i++) uid_job_fork(&job, member, i);
    for (int i = 0; i < PES; i++) CHECK_EQ(uid_job_wait_one(&job, i), 0);
    return 0;
}
