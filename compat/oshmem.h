/* compat/oshmem.h: what becomes of arguments that are constants of Open MPI's shmem.h. */
#ifndef COMPAT_OSHMEM_H
#define COMPAT_OSHMEM_H

#include "compat/ompi_constants.h"
#include "core/coll/split.h"

#include <shmem.h>

#pragma GCC visibility push(default)

_Static_assert((int)SHMEM_CMP_EQ == OMPI_CMP_EQ && (int)SHMEM_CMP_NE == OMPI_CMP_NE, "these are passed as they are");
_Static_assert((int)SHMEM_CMP_GT == OMPI_CMP_GT && (int)SHMEM_CMP_LT == OMPI_CMP_LT, "these too");

/* A value that is none of Open MPI's is passed on, and reported there. */
static inline int cmp_of_ompi(int cmp)
{
    if (cmp == OMPI_CMP_LE) return SHMEM_CMP_LE;
    return cmp == OMPI_CMP_GE ? SHMEM_CMP_GE : cmp;
}

static inline long options_of_ompi(long options)
{
    long others = options & ~(long)(OMPI_CTX_PRIVATE | OMPI_CTX_SERIALIZED | OMPI_CTX_NOSTORE);
    return others | (options & OMPI_CTX_PRIVATE ? SHMEM_CTX_PRIVATE : 0) |
           (options & OMPI_CTX_SERIALIZED ? SHMEM_CTX_SERIALIZED : 0) |
           (options & OMPI_CTX_NOSTORE ? SHMEM_CTX_NOSTORE : 0);
}

#endif
