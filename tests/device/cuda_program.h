/* tests/device/cuda_program.h: the part of a program that allocates memory by CUDA, on the double of its driver. In a
 * file of its own, because nvshmem.h, where there is a toolkit, and Isthmus's declarations of the driver define types
 * of the same names. */
#ifndef TESTS_DEVICE_CUDA_PROGRAM_H
#define TESTS_DEVICE_CUDA_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

enum { PROGRAM_GRANULE = 2 << 20 };

/* Opens the driver that the library has loaded from this file, and reserves addresses of so many granules. Returns
 * false on error. */
bool program_open(const char *driver_file, int granules);
void program_close(void);
void program_enter(void); /* in other threads that call what is below; they need not leave */

/* A piece of so many granules, behind that many of the reserved ones; for_export: it has a descriptor. */
long *program_map(int at, int granules, bool for_export);

/* The same, in memory of the host that devices use as theirs; the processor is given no access. */
long *program_map_on_host(int at, int granules);

/* One piece of so many granules, mapped twice, side by side. */
long *program_map_twice(int at, int granules);

/* A granule of the driver's older kind of memory. */
long *program_alloc(void);
void program_free(long *addr);

void program_copy(void *dest, const void *source, size_t bytes);
long program_word(const long *addr);

#endif
