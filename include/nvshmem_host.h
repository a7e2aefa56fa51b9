/* nvshmem_host.h: the host's part of nvshmem.h and nvshmemx.h, without anything for a device. */
#ifndef NVSHMEM_HOST_H
#define NVSHMEM_HOST_H

#include <nvshmem.h>

#endif
