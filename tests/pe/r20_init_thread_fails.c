/* R20: when the job cannot start, shmem_init_thread returns nonzero and does not write `provided`; the program
 * continues, here to a status of its own. */
#include "check.h"

int main(void)
{
    int provided = 123, initialized = 7;
    pe_deadline(PE_DEADLINE_S);
    CHECK(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) != 0);
    CHECK_EQ(provided, 123);
    shmem_query_initialized(&initialized);
    CHECK_EQ(initialized, 0);
    return 9;
}
