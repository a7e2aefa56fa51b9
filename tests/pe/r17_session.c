/* R17: with NVSHMEM_BOOTSTRAP_UID_SESSION_ID every process makes the id for itself, and PE 0 serves at that place; it
 * may start last. An id is invalid when its job is over. */
#include "footprint.h"
#include "uid_job.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

enum { PES = 3 };
static long sum;

/* A free port. */
static void choose_place(void)
{
    char place[60];
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK_EQ(bind(fd, (struct sockaddr *)&address, length), 0);
    CHECK_EQ(getsockname(fd, (struct sockaddr *)&address, &length), 0);
    close(fd);
    snprintf(place, sizeof place, "localhost:%d", ntohs(address.sin_port));
    setenv("NVSHMEM_BOOTSTRAP_UID_SESSION_ID", place, 1);
}

static int member(struct uid_job *job, int number)
{
    nvshmemx_uniqueid_t id;
    char byte = 0;
    CHECK_EQ(nvshmemx_get_uniqueid(&id), 0);
    if (number == 0) CHECK_EQ(read(job->ready[0], &byte, 1), 1); /* start last: when another PE is about to join */
    if (number == 1) CHECK_EQ(write(job->ready[1], &byte, 1), 1);
    CHECK_EQ(uid_job_join(&id, number, PES), 0);
    for (int to = 0; to < PES; to++) shmem_long_atomic_add(&sum, 1, to);
    shmem_barrier_all();
    CHECK_EQ(sum, PES);
    nvshmem_finalize();
    return 0;
}

/* One job after the other in one process, each with an id of its own; an old id is invalid. */
static int again(struct uid_job *job, int number)
{
    nvshmemx_uniqueid_t id, old;
    int n_files = footprint_descriptors(), n_threads = footprint_threads();
    (void)job, (void)number;
    for (int round = 0; round < 3; round++) {
        CHECK_EQ(nvshmemx_get_uniqueid(&id), 0);
        CHECK_EQ(uid_job_join(&id, 0, 1), 0);
        nvshmem_finalize();
        CHECK_EQ(footprint_descriptors(), n_files); /* R9 */
        CHECK_EQ(footprint_threads(), n_threads);
        if (round > 0) CHECK(memcmp(&id, &old, sizeof id) != 0);
        old = id;
    }
    return uid_job_join(&old, 0, 1) != 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    struct uid_job job;
    int is_session = argc < 2 || strcmp(argv[1], "again") != 0;
    if (is_session) choose_place();
    uid_job_init(&job);
    for (int i = 0; i < (is_session ? PES : 1); i++) uid_job_fork(&job, is_session ? member : again, i);
    for (int i = 0; i < (is_session ? PES : 1); i++) CHECK_EQ(uid_job_wait_one(&job, i), 0);
    return 0;
}
