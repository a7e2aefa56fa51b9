/* R17: the start of a unique-id job on several hosts costs its root a number of messages that grows as the number of
 * PEs, and not as its square. Two jobs, one with four times as many PEs as the other: each PE starts, enters a barrier
 * with the others and ends. All PEs but that with the root believe that the root is on another host, and have a leader;
 * ISTHMUS_PRETEND_HOSTS spreads them. The counts are in what the library logs. */
#include "uid_job.h"

enum { FEW = 8, MANY = 32, HOST_AT = 24 /* of core/boot/uid.h: where an id names the host */ };

static int n_pes;
static char log_file[] = "/tmp/start_cost.XXXXXX";

static int member(struct uid_job *job, int number)
{
    nvshmemx_uniqueid_t id;
    if (number == 0) uid_job_serve(job);
    uid_job_receive(job, &id);
    if (number > 0) id.internal[HOST_AT] = (char)(id.internal[HOST_AT] + 1);
    CHECK_EQ(uid_job_join(&id, number, n_pes), 0);
    shmem_barrier_all();
    nvshmem_finalize();
    return 0;
}

/* Messages that the root has received. */
static long run_job(int n)
{
    struct uid_job job;
    long messages = 0;
    char line[512];
    n_pes = n;
    CHECK_EQ(truncate(log_file, 0), 0);
    uid_job_init(&job);
    for (int i = 0; i < n; i++) uid_job_fork(&job, member, i);
    for (int i = 0; i < n; i++) CHECK_EQ(uid_job_wait_one(&job, i), 0);
    FILE *file = fopen(log_file, "r");
    CHECK(file != NULL);
    while (fgets(line, sizeof line, file) != NULL) {
        const char *found = strstr(line, "the root of ");
        int n_served;
        if (found != NULL && sscanf(found, "the root of %d PEs has received %ld messages", &n_served, &messages) == 2)
            CHECK_EQ(n_served, n);
    }
    fclose(file);
    printf("%d PEs: %ld messages\n", n, messages);
    fflush(stdout); /* otherwise the children of the next job print it too */
    return messages;
}

int main(void)
{
    int fd = mkstemp(log_file);
    CHECK(fd >= 0);
    close(fd);
    setenv("ISTHMUS_LOG", "info", 1);
    setenv("ISTHMUS_LOG_FILE", log_file, 1);
    long few = run_job(FEW), many = run_job(MANY);
    unlink(log_file);
    CHECK(few >= FEW && many >= MANY);
    CHECK(many <=
          few * (MANY / FEW) * 3 / 2); /* four times as many, and some for the logarithm; the square: sixteen times */
    return 0;
}
