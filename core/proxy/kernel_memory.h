/* core/proxy/kernel_memory.h: memory that kernels share with the host: words of the host, which both sides poll and
 * write while both run, and tables on the device, which kernels read often or write alone. Where kernels run on
 * processors both are plain memory. Not what lies there: batch.h, tables.h. */
#ifndef IST_PROXY_KERNEL_MEMORY_H
#define IST_PROXY_KERNEL_MEMORY_H

#include "core/base/status.h"

#include <isthmus/transport.h>

/* Whose memory; all NULL: that of processors. */
struct ist_kernel_memory {
    const struct isthmus_kernels *kernels;
    const struct isthmus_memory *memory;
    isthmus_tr *tr;
};

/* Zeroed words of the host: *addr for the host, *view for kernels. */
isthmus_status ist_kernel_words_alloc(const struct ist_kernel_memory *m, size_t bytes, void **addr, void **view);
void ist_kernel_words_free(const struct ist_kernel_memory *m, void *addr); /* accepts NULL */

/* A zeroed table, at its address for kernels; the host accesses it by ist_kernel_copy() only. */
isthmus_status ist_kernel_table_alloc(const struct ist_kernel_memory *m, size_t bytes, void **addr);
void ist_kernel_table_free(const struct ist_kernel_memory *m, void *addr); /* accepts NULL */

/* From or to a table, or the state of a module; complete on return, while kernels run. */
isthmus_status ist_kernel_copy(const struct ist_kernel_memory *m, void *dest, const void *source, size_t bytes);

#endif
