/* compat/ompi_constants.h: the constants of Open MPI's shmem.h, which has other values for some than ours has. A test
 * compares them with the header itself. */
#ifndef COMPAT_OMPI_CONSTANTS_H
#define COMPAT_OMPI_CONSTANTS_H

enum { OMPI_CMP_EQ, OMPI_CMP_NE, OMPI_CMP_GT, OMPI_CMP_LE, OMPI_CMP_LT, OMPI_CMP_GE };
enum { OMPI_CTX_PRIVATE = 1, OMPI_CTX_SERIALIZED = 2, OMPI_CTX_NOSTORE = 4 };
enum { OMPI_SYNC_VALUE = -1 }; /* its pSync has one to three elements */

#endif
