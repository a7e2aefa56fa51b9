/* R8: the main thread has ended by pthread_exit before the second one initialises and finalizes the library; the
 * process ends with its last thread, with status 0.
 * Usage: r8_main_thread_ends [again | late]: two sessions; main ends after its session, and another thread after it. */
#include "check.h"

#include <pthread.h>
#include <stdbool.h>

static pthread_t main_thread;
static bool is_twice, is_late;
static long static_word;

static void session(void)
{
    pe_begin();
    long *word = shmem_calloc(1, sizeof *word);
    CHECK(word != NULL);
    shmem_long_p(word, pe.me + 1, pe.right);
    shmem_long_p(&static_word, pe.me + 1, pe.right);
    shmem_barrier_all();
    CHECK_EQ(*word, pe.left + 1);
    CHECK_EQ(static_word, pe.left + 1);
    shmem_free(word);
    shmem_finalize();
}

static void *run(void *unused)
{
    CHECK_EQ(pthread_join(main_thread, NULL), 0);
    if (!is_late) session();
    if (is_twice) session();
    printf("sessions ended\n");
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t second;
    is_twice = argc > 1 && strcmp(argv[1], "again") == 0;
    is_late = argc > 1 && strcmp(argv[1], "late") == 0;
    if (is_late) session();
    main_thread = pthread_self();
    CHECK_EQ(pthread_create(&second, NULL, run, NULL), 0);
    CHECK_EQ(pthread_detach(second), 0);
    pthread_exit(NULL);
}
