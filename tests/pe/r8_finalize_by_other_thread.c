/* R8: only the thread that initialised may finalise. If another thread does, the program is erroneous; it must not
 * crash or hang: here it works. */
#include "check.h"

#include <pthread.h>

static int cell;

static void *finalize(void *unused)
{
    shmem_finalize();
    return unused;
}

int main(void)
{
    pthread_t thread;
    pe_begin_threads();
    shmem_int_p(&cell, pe.me + 1, pe.right);
    CHECK_EQ(pthread_create(&thread, NULL, finalize, NULL), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK_EQ(cell, pe.left + 1);
    return 0;
}
