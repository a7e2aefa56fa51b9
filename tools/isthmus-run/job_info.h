/* The job's facts that PEs can get from the PMIx server.
 * Not what PEs send each other; that goes through the library's own store.
 * Read on in job_info.c. */
#ifndef ISTHMUS_RUN_JOB_INFO_H
#define ISTHMUS_RUN_JOB_INFO_H

#include <pmix_common.h>

/* Registers the job's facts and all its PEs with the library. */
pmix_status_t job_info_register(const pmix_nspace_t job, int n_pes);

#endif
