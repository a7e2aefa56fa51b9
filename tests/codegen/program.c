/* tests/codegen/program.c: fast paths of a program, inlined from shmem.h: one function each, for count.py and order.py.
 * Not run. */
#include <shmem.h>
#include <stdint.h>

void program_long_p(long *dest, long value, int pe);
long program_long_g(const long *source, int pe);
void program_putmem_8(void *dest, const void *source, int pe);
void program_getmem_8(void *dest, const void *source, int pe);
long program_fetch(const long *source, int pe);
long program_fetch_add(long *dest, long value, int pe);
long program_compare_swap(long *dest, long cond, long value, int pe);
void program_atomic_set(uint64_t *dest, uint64_t value, int pe);
void program_quiet(void);
void program_fence(void);
void program_local_complete(void);
void program_remote_commit(void);

void program_long_p(long *dest, long value, int pe) { shmem_long_p(dest, value, pe); }
long program_long_g(const long *source, int pe) { return shmem_long_g(source, pe); }
void program_putmem_8(void *dest, const void *source, int pe) { shmem_putmem(dest, source, 8, pe); }
void program_getmem_8(void *dest, const void *source, int pe) { shmem_getmem(dest, source, 8, pe); }
long program_fetch(const long *source, int pe) { return shmem_long_atomic_fetch(source, pe); }
long program_fetch_add(long *dest, long value, int pe) { return shmem_long_atomic_fetch_add(dest, value, pe); }

long program_compare_swap(long *dest, long cond, long value, int pe)
{
    return shmem_long_atomic_compare_swap(dest, cond, value, pe);
}

void program_atomic_set(uint64_t *dest, uint64_t value, int pe) { shmem_uint64_atomic_set(dest, value, pe); }
void program_quiet(void) { shmem_quiet(); }
void program_fence(void) { shmem_fence(); }
void program_local_complete(void) { shmem_local_complete(); }
void program_remote_commit(void) { shmem_remote_commit(); }
