/* R13 and design section 9: however a PE ends, the job ends in order, and soon. exit_paths MODE:
 *   all_leave       all return from main without finalize: that is allowed; earlier operations arrive
 *   one_leaves      the last PE returns from main while the others wait in barrier_all
 *   one_leaves_3    the last PE calls exit(3) there
 *   exit_in_middle  all call exit(3) after operations that nothing has completed
 *   finalize_twice  a second finalize is ignored
 *   abort           the last PE aborts
 *   crash           the last PE touches memory that is not there
 *   by_thread       a thread calls exit(0) after finalize while the first one sleeps in pthread_join
 *   no_calls        init, nothing, return */
#include "check.h"

#include <pthread.h>

static long cell = -1;
static volatile int *volatile nowhere = (volatile int *)8;

static void check_cell(void)
{
    if (cell == pe.left) return;
    fprintf(stderr, "the cell of PE %d is %ld, expected %d\n", pe.me, cell, pe.left);
    _exit(1);
}

static void *exit_from_thread(void *unused)
{
    (void)unused;
    exit(0);
}

static int end_as(const char *mode)
{
    int is_last = pe.me == pe.n - 1;
#define MODE(name) (strcmp(mode, #name) == 0)
    if (MODE(no_calls)) return 0;
    shmem_long_p(&cell, pe.me, pe.right);
    shmem_barrier_all();
    if (MODE(exit_in_middle)) {
        for (int i = 0; i < 100; i++) shmem_long_p(&cell, i, pe.right);
        exit(3);
    }
    check_cell();
    if (MODE(all_leave)) return 0;
    if (MODE(one_leaves) && is_last) return 0;
    if (MODE(one_leaves_3) && is_last) exit(3);
    if (MODE(abort) && is_last) abort();
    if (MODE(crash) && is_last) *nowhere = 1;
    if (!MODE(finalize_twice) && !MODE(by_thread)) shmem_barrier_all();
    shmem_finalize();
    shmem_finalize();
    if (MODE(by_thread)) {
        pthread_t thread;
        CHECK_EQ(pthread_create(&thread, NULL, exit_from_thread, NULL), 0);
        pthread_join(thread, NULL);
    }
    return 0;
}

int main(int argc, char **argv)
{
    pe_begin();
    return end_as(argc > 1 ? argv[1] : "no_calls");
}
