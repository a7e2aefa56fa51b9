/* R6: four increasing levels; query_thread returns what init_thread provides, and nesting does not lower it. */
#include "check.h"

static int queried(void)
{
    int level = -1;
    shmem_query_thread(&level);
    return level;
}

int main(void)
{
    CHECK(SHMEM_THREAD_SINGLE < SHMEM_THREAD_FUNNELED);
    CHECK(SHMEM_THREAD_FUNNELED < SHMEM_THREAD_SERIALIZED);
    CHECK(SHMEM_THREAD_SERIALIZED < SHMEM_THREAD_MULTIPLE);
    for (int level = SHMEM_THREAD_SINGLE; level <= SHMEM_THREAD_MULTIPLE; level++) {
        int provided = -1, nested = -1;
        pe_deadline(PE_DEADLINE_S);
        CHECK_EQ(shmem_init_thread(level, &provided), 0);
        CHECK(provided >= level); /* at least: a guarantee of this library */
        CHECK_EQ(queried(), provided);
        CHECK_EQ(shmem_init_thread(SHMEM_THREAD_SINGLE, &nested), 0);
        CHECK(nested >= provided);
        CHECK_EQ(queried(), nested);
        shmem_init();
        CHECK(queried() >= nested);
        for (int i = 0; i < 3; i++) shmem_finalize();
    }
    return 0;
}
