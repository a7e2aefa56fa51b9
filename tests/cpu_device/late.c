/* tests/cpu_device/late.c: a module with kernels that is loaded after a buffer has become symmetric: its kernels reach
 * that buffer. This program has no kernels of its own.
 *     late MODULE, on two PEs */
#include <dlfcn.h>
#include <nvshmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
    nvshmem_init();
    long *buffer = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (argc < 2 || nvshmemx_buffer_register_symmetric(buffer, bytes, 0) != buffer) return 2;
    void *module = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    int (*put_number)(long *to) = NULL;
    if (module != NULL) *(void **)&put_number = dlsym(module, "put_number");
    if (put_number == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 2;
    }
    if (put_number(&buffer[1]) != 0) return 1;
    nvshmem_barrier_all();
    int is_wrong = buffer[1] != 42 - nvshmem_my_pe();
    nvshmem_barrier_all();
    dlclose(module);
    nvshmem_finalize();
    return is_wrong;
}
