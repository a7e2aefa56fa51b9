/* tests/cpu_device/late_module.c: a module with a kernel, for late.c. */
#define ISTHMUS_DEVICE_CPU
#include <isthmus/device_cpu_launch.h>
#include <nvshmem.h>

__attribute__((visibility("default"))) int put_number(long *to);

static void put(void *to)
{
    nvshmem_long_p(to, 41 + nvshmem_my_pe(), 1 - nvshmem_my_pe());
    nvshmem_quiet();
}

int put_number(long *to) { return isthmus_cpu_launch(1, 1, put, to); }
