/* R19: ishmemx_init_attr in a job that a launcher started: each member of the attributes, and what the library returns
 * for it. */
#include "check.h"

#include <ishmemx.h>

static void check_running(int runtime)
{
    int is_initialized = -1, provided = -1;
    ishmem_query_initialized(&is_initialized);
    CHECK_EQ(is_initialized, 1);
    ishmem_query_thread(&provided);
    CHECK(provided >= ISHMEM_THREAD_SINGLE && provided <= ISHMEM_THREAD_MULTIPLE);
    CHECK_EQ(ishmemx_runtime_get_type(), runtime);
    ishmem_finalize();
    ishmemx_query_initialized(&is_initialized);
    CHECK_EQ(is_initialized, 0);
    CHECK_EQ(ishmemx_runtime_get_type(), ISHMEMX_RUNTIME_INVALID);
}

int main(void)
{
    ishmemx_attr_t attr = ISHMEMX_ATTR_INITIALIZER;
    pe_deadline(PE_DEADLINE_S);
    CHECK_EQ(ishmemx_runtime_get_type(), ISHMEMX_RUNTIME_INVALID);
    ishmem_init();
    check_running(ISHMEMX_RUNTIME_OPENSHMEM);
    for (int runtime = ISHMEMX_RUNTIME_MPI; runtime <= ISHMEMX_RUNTIME_PMI; runtime++) {
        attr.runtime = (ishmemx_runtime_type_t)runtime;
        attr.initialize_runtime = runtime != ISHMEMX_RUNTIME_OPENSHMEM;
        attr.gpu = !attr.gpu;
        ishmemx_init_attr(&attr);
        check_running(runtime);
    }
    return 0;
}
