/* R10: threads write to global variables beside init and finalize of a job by unique id, and no write is lost. The
 * library has threads of its own then: the one that serves the id, and each PE's connection to it.
 * Usage: r10_writers [blocked|unreadable]: blocked: the program has a thread that blocks all signals, so that no write
 * can be held back; the library warns of it. unreadable: finalize has no descriptor to read which threads do: no
 * warning, because such a process has, or will have, a message of its own about its descriptors. */
#include "uid_job.h"

#include <pthread.h>
#include <stdbool.h>
#include <sys/resource.h>

enum { PES = 2, PAGE_LONGS = 512, PAGES = 1024, ROUNDS = 6 }; /* 4 MiB: a move takes a while */

static volatile long words[PAGES][PAGE_LONGS];
static bool is_stopping;
static long n_lost, n_written;
static bool has_blocker, has_no_descriptor;

static void *write_words(void *of_thread)
{
    long *last = of_thread, n = 0, n_missing = 0; /* not static data */
    while (!__atomic_load_n(&is_stopping, __ATOMIC_RELAXED)) {
        const int page = (int)(n % PAGES * 61 % PAGES);
        n_missing += words[page][0] != last[page];
        words[page][0] = last[page] = ++n;
        if (n == 1) __atomic_store_n(&n_written, 1, __ATOMIC_RELAXED);
    }
    for (int page = 0; page < PAGES; page++) n_missing += words[page][0] != last[page];
    n_lost = n_missing;
    n_written = n;
    return NULL;
}

static void *wait_blocked(void *end)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    pthread_barrier_wait(end); /* it has begun */
    pthread_barrier_wait(end);
    return NULL;
}

static void use_up_descriptors(void)
{
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &(struct rlimit){.rlim_cur = 128, .rlim_max = 128}), 0);
    while (dup(STDERR_FILENO) >= 0) continue;
}

static int member(struct uid_job *job, int number)
{
    nvshmemx_uniqueid_t id;
    pthread_barrier_t *end = malloc(sizeof *end);
    pthread_t writer, blocker;
    long *last = calloc(PAGES, sizeof *last);
    CHECK(last != NULL && end != NULL);
    pthread_barrier_init(end, NULL, 2);
    if (has_blocker) {
        CHECK_EQ(pthread_create(&blocker, NULL, wait_blocked, end), 0);
        pthread_barrier_wait(end);
    }
    if (number == 0) uid_job_serve(job);
    uid_job_receive(job, &id);
    CHECK_EQ(pthread_create(&writer, NULL, write_words, last), 0);
    while (__atomic_load_n(&n_written, __ATOMIC_RELAXED) == 0) sched_yield(); /* until then it blocks signals */
    CHECK_EQ(uid_job_join(&id, number, PES), 0);
    nvshmem_barrier_all();
    if (has_no_descriptor) use_up_descriptors();
    nvshmem_finalize();
    __atomic_store_n(&is_stopping, true, __ATOMIC_RELAXED);
    CHECK_EQ(pthread_join(writer, NULL), 0);
    if (has_blocker) pthread_barrier_wait(end), pthread_join(blocker, NULL);
    if (n_lost != 0 && !has_blocker && !has_no_descriptor)
        check_fail(__FILE__, __LINE__, "%ld of %ld writes are lost", n_lost, n_written);
    free(last);
    free(end);
    return 0;
}

int main(int argc, char **argv)
{
    has_blocker = argc > 1 && strcmp(argv[1], "blocked") == 0;
    has_no_descriptor = argc > 1 && strcmp(argv[1], "unreadable") == 0;
    for (int round = 0; round < (has_blocker ? 1 : ROUNDS); round++) {
        struct uid_job job;
        uid_job_init(&job);
        for (int i = 0; i < PES; i++) uid_job_fork(&job, member, i);
        for (int i = 0; i < PES; i++) CHECK_EQ(uid_job_wait_one(&job, i), 0);
    }
    return 0;
}
