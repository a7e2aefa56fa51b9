/* compat/nvshmem_host.c: the variables of libnvshmem_host.so.3 that programs and NVSHMEM's device library name, with
 * their sizes. Its routines are made by tools/api_compat.py. */
#pragma GCC visibility push(default)

extern long nvshmem_error; /* nothing sets it in NVSHMEM either */
extern int nvshmem_selected_device_transport;

#pragma GCC visibility pop

long nvshmem_error;
int nvshmem_selected_device_transport; /* 0: requests of kernels go through the host's proxy */
