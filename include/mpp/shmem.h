/* mpp/shmem.h: the header under the name of OpenSHMEM 1.0. */
#ifndef MPP_SHMEM_H
#define MPP_SHMEM_H
#include <shmem.h>
#endif
