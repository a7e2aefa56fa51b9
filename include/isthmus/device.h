/* isthmus/device.h: SHMEM from kernels: everything that kernels call, stated once for every device compiler. Each
 * dialect has a header of primitives (device_cpu.h, device_cuda.h, device_hip.h, device_nvptx.h, device_sycl.hpp); the
 * operations are in the common subset of C and C++ on these. nvshmem_device.h and ishmem_device.hpp have the typed
 * names on top. Nothing is linked: the state of a module is one object, isthmus_device_v1, which the library fills.
 *
 * A routine is called by one thread, or by all threads of its warp or block with equal arguments; then it counts as one
 * call. Memory of a PE that the device reaches is loaded and stored directly; the rest goes through the ring
 * (device_ring.h) to a thread of the host. */
#ifndef ISTHMUS_DEVICE_H
#define ISTHMUS_DEVICE_H

#include <isthmus/device_blocks.h>
#include <isthmus/device_coll.h>
#include <isthmus/device_group.h>
#include <isthmus/device_ring.h>
#include <isthmus/device_rma.h>
#include <isthmus/device_scan.h>
#include <isthmus/device_wait.h>

#endif
