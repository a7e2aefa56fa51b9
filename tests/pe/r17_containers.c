/* R17: PEs in containers with process numbers of their own, which share the network of their host: all have the number
 * 1. The one that serves the id is known all the same, and waits in finalize until the others have left. */
#include "uid_job.h"

#include <sys/syscall.h>
#include <unistd.h>

enum { PES = 4, SLOW = 1 };

#define REPLACES __attribute__((visibility("default")))

static int is_slow; /* this PE, in finalize */

/* In place of libc's. */
REPLACES pid_t getpid(void) { return 1; }

REPLACES int close(int fd)
{
    if (is_slow) sleep(1);
    is_slow = 0;
    return (int)syscall(SYS_close, fd);
}

static int member(struct uid_job *job, int number)
{
    nvshmemx_uniqueid_t id;
    if (number == 0) uid_job_serve(job);
    uid_job_receive(job, &id);
    if (number == SLOW) sleep(1); /* it joins last, and so its number is the last one that the server sees */
    CHECK_EQ(uid_job_join(&id, number, PES), 0);
    shmem_barrier_all();
    is_slow = number == SLOW;
    nvshmem_finalize();
    _exit(0); /* without the exit handlers, in which a server would wait again */
}

int main(void)
{
    struct uid_job job;
    uid_job_init(&job);
    for (int i = 0; i < PES; i++) uid_job_fork(&job, member, i);
    for (int i = 0; i < PES; i++) CHECK_EQ(uid_job_wait_one(&job, i), 0);
    return 0;
}
