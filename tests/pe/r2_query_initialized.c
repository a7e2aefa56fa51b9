/* R2: shmem_query_initialized may be called before init, after finalize and from any thread; init may be the second
 * call. */
#include "check.h"

#include <pthread.h>

static void *query(void *out)
{
    shmem_query_initialized((int *)out);
    return NULL;
}

static int queried_by_thread(void)
{
    pthread_t thread;
    int initialized = -1;
    CHECK_EQ(pthread_create(&thread, NULL, query, &initialized), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    return initialized;
}

static int queried(void)
{
    int initialized = -1;
    shmem_query_initialized(&initialized);
    return initialized;
}

int main(void)
{
    CHECK_EQ(queried(), 0);
    CHECK_EQ(queried_by_thread(), 0);
    pe_begin();
    CHECK(queried() != 0);
    CHECK(queried_by_thread() > 0);
    shmem_finalize();
    CHECK_EQ(queried(), 0);
    CHECK_EQ(queried_by_thread(), 0);
    return 0;
}
