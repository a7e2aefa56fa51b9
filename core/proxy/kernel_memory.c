/* core/proxy/kernel_memory.c: see kernel_memory.h. */
#include "core/proxy/kernel_memory.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGN_BYTES = 128 }; /* two lines: processors fetch lines in pairs */

static isthmus_status allocate(size_t bytes, void **addr)
{
    bytes = (bytes + ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES;
    void *memory = aligned_alloc(ALIGN_BYTES, bytes);
    if (memory == NULL) return ist_fail_memory("%zu bytes that kernels access", bytes);
    *addr = memset(memory, 0, bytes);
    return ISTHMUS_OK;
}

isthmus_status ist_kernel_words_alloc(const struct ist_kernel_memory *m, size_t bytes, void **addr, void **view)
{
    if (m->kernels != NULL) return m->kernels->host_alloc(m->tr, bytes, addr, view);
    isthmus_status status = allocate(bytes, addr);
    if (status == ISTHMUS_OK) *view = *addr;
    return status;
}

void ist_kernel_words_free(const struct ist_kernel_memory *m, void *addr)
{
    if (m->kernels != NULL)
        m->kernels->host_free(m->tr, addr);
    else
        free(addr);
}

isthmus_status ist_kernel_table_alloc(const struct ist_kernel_memory *m, size_t bytes, void **addr)
{
    return m->kernels != NULL ? m->kernels->device_alloc(m->tr, bytes, addr) : allocate(bytes, addr);
}

void ist_kernel_table_free(const struct ist_kernel_memory *m, void *addr)
{
    if (m->kernels != NULL)
        m->kernels->device_free(m->tr, addr);
    else
        free(addr);
}

isthmus_status ist_kernel_copy(const struct ist_kernel_memory *m, void *dest, const void *source, size_t bytes)
{
    if (m->kernels != NULL) return m->memory->copy(m->tr, dest, source, bytes);
    memcpy(dest, source, bytes);
    return ISTHMUS_OK;
}
