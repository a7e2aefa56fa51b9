/* R17: a unique-id job that cannot start, or that loses a PE, ends with a message that names the fault, and in time.
 * The argument selects the fault; expect.sh checks the lines on stderr. "far" behind it: all PEs but that with the root
 * believe that the root is on another host, and have a leader. */
#include "uid_job.h"

#include <fcntl.h>

enum { PES = 4, HOST_AT = 24 /* of core/boot/uid.h: where an id names the host */ };
static const char *fault;
static int is_far;
static long never;

static int is_fault(const char *name) { return strcmp(fault, name) == 0; }

/* The rank and the number of PEs that this process passes. */
static int rank_of(int number) { return is_fault("duplicate") && number == 2 ? 1 : number; }
static int pes_of(int number) { return is_fault("wrong_n") && number == 2 ? PES + 1 : PES; }

/* What this PE prints stays here: its output is a full pipe, and no process reads that. */
static void stop_output(void)
{
    static const char bytes[4096];
    int ends[2];
    CHECK_EQ(pipe(ends), 0);
    CHECK_EQ(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
    while (write(ends[1], bytes, sizeof bytes) > 0) {}
    CHECK_EQ(fcntl(ends[1], F_SETFL, 0), 0);
    CHECK_EQ(dup2(ends[1], STDOUT_FILENO), STDOUT_FILENO);
    CHECK_EQ(setvbuf(stdout, NULL, _IOFBF, BUFSIZ), 0);
    CHECK_EQ(putchar('x'), 'x');
}

static int member(struct uid_job *job, int number)
{
    nvshmemx_uniqueid_t id;
    if (number == 0) uid_job_serve(job);
    uid_job_receive(job, &id);
    if (is_far && number > 0) id.internal[HOST_AT] = (char)(id.internal[HOST_AT] + 1);
    if (is_fault("bad_bytes") && number == 2) memset(id.internal, 0x5a, sizeof id.internal);
    if (is_fault("bad_secret") && number == 2) id.internal[10] = (char)(id.internal[10] + 1);
    if (is_fault("never_comes") && number == 2) return 9;
    int failure = uid_job_join(&id, rank_of(number), pes_of(number));
    if (failure != 0) return 10;
    if (is_fault("killed") && number == 2) raise(SIGKILL);
    if (is_fault("server_killed") && number == 0) raise(SIGKILL);
    if (is_fault("server_stopped_unread") && number > 0) stop_output();
    if (is_fault("stopped") && number == 2) raise(SIGSTOP);
    if (strncmp(fault, "server_stopped", strlen("server_stopped")) == 0 && number == 0) raise(SIGSTOP);
    if (is_fault("exits") && number == 2) exit(3);
    if (is_fault("global_exit") && number == 2) nvshmem_global_exit(7);
    if (is_fault("misuse") && number == 2) shmem_long_p(&never, 1, PES);
    if (number == 3) shmem_barrier_all();
    shmem_long_wait_until(&never, SHMEM_CMP_NE, 0);
    return 0;
}

int main(int argc, char **argv)
{
    struct uid_job job;
    fault = argc > 1 ? argv[1] : "killed";
    is_far = argc > 2;
    uid_job_init(&job);
    for (int i = 0; i < PES; i++) uid_job_fork(&job, member, i);
    for (int i = 0; i < PES; i++) printf("process %d: status %d\n", i, uid_job_wait_one(&job, i));
    return 0;
}
