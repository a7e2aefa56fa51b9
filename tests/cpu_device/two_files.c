/* tests/cpu_device/two_files.c: the other file of two_files.cpp. */
#define ISTHMUS_DEVICE_CPU
#include <nvshmem.h>

void add_in_c(long *counter);
void add_in_c(long *counter) { (void)nvshmem_long_atomic_fetch_add(counter, 2, 0); }
