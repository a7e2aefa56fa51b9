/* The least that a process under a launcher can do: PMIx_Init and PMIx_Finalize.
 * Not a SHMEM program.
 * Read on: startup.py. */
#include <pmix.h>
#include <stdio.h>

int main(void)
{
    pmix_proc_t me;
    pmix_status_t status = PMIx_Init(&me, NULL, 0);
    if (status == PMIX_SUCCESS) status = PMIx_Finalize(NULL, 0);
    if (status != PMIX_SUCCESS) fprintf(stderr, "bare_pmix: %s\n", PMIx_Error_string(status));
    return status != PMIX_SUCCESS;
}
