/* core/transport/route.c: the tables behind route.h. */
#include "core/transport/route.h"

#include <stdlib.h>
#include <string.h>

struct ist_windows ist_windows;

/* Protected: programs access it through their offset tables, the library itself directly. */
__attribute__((visibility("protected"), aligned(64))) struct isthmus_fast isthmus_fast_v1 = {
    .struct_size = sizeof(struct isthmus_fast), .default_used = IST_FAST_OFF};
struct isthmus_row *ist_rows;

isthmus_status ist_rows_init(int n_pes)
{
    size_t bytes = ((size_t)n_pes * sizeof *ist_rows + 63) / 64 * 64;
    struct isthmus_row *rows = aligned_alloc(64, bytes);
    if (rows == NULL) return ist_fail_memory("the routes to %d PEs", n_pes);
    for (int pe = 0; pe < n_pes; pe++)
        for (int column = 0; column < 4; column++) rows[pe].delta[column] = ISTHMUS_NO_ALIAS;
    ist_rows = rows;
    return ISTHMUS_OK;
}

void ist_rows_fini(void)
{
    free(ist_rows);
    ist_rows = NULL;
    memset(&ist_windows, 0, sizeof ist_windows);
    memset(isthmus_fast_v1.element, 0, sizeof isthmus_fast_v1.element);
    memset(&isthmus_fast_v1.small, 0, sizeof isthmus_fast_v1.small);
    ist_device_memory_is_here = false;
}

uint32_t ist_fast_idle; /* 0, or IST_FAST_OFF while programs must not take inlined paths */

void ist_fast_paths_forbid(void) { ist_fast_idle = IST_FAST_OFF; }

void ist_fast_paths_set(int n_pes)
{
    if (ist_fast_idle != 0) n_pes = 0;
    isthmus_fast_v1.rows = ist_rows;
    isthmus_fast_v1.default_used = n_pes > 0 ? 0 : IST_FAST_OFF;
    __atomic_store_n(&isthmus_fast_v1.n_pes, (uint32_t)n_pes, __ATOMIC_RELEASE);
}

bool ist_device_memory_is_here;

/* Safe beside other threads' copies: a thread gets such memory only after this call. */
void ist_expect_device_memory(void)
{
    __atomic_store_n(&ist_device_memory_is_here, true, __ATOMIC_RELAXED);
    __atomic_store_n(&isthmus_fast_v1.small.heap_length, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&isthmus_fast_v1.small.statics_length, 0, __ATOMIC_RELAXED);
}

void ist_fast_paths_close(void)
{
    ist_fast_paths_set(0);
    memset(isthmus_fast_v1.element, 0, sizeof isthmus_fast_v1.element);
    memset(&isthmus_fast_v1.small, 0, sizeof isthmus_fast_v1.small);
}

static uint64_t small_length(uint64_t length_bytes)
{
    if (ist_has_device_memory()) return 0;
    return length_bytes > IST_SMALL_BYTES ? length_bytes - IST_SMALL_BYTES : 0;
}

void ist_window_set_heap(const void *base, uint64_t length_bytes)
{
    ist_windows.heap = (struct ist_window){(uintptr_t)base, length_bytes};
    for (unsigned log2_size = 0; log2_size < 5; log2_size++) {
        isthmus_fast_v1.element[log2_size].heap_base = (uintptr_t)base >> log2_size;
        isthmus_fast_v1.element[log2_size].heap_length = length_bytes >> log2_size;
    }
    isthmus_fast_v1.small.heap_base = (uintptr_t)base;
    isthmus_fast_v1.small.heap_length = small_length(length_bytes);
}

void ist_window_set_statics(const void *base, uint64_t length_bytes)
{
    ist_windows.statics = (struct ist_window){(uintptr_t)base, length_bytes};
    for (unsigned log2_size = 0; log2_size < 5; log2_size++) {
        isthmus_fast_v1.element[log2_size].statics_base = (uintptr_t)base >> log2_size;
        isthmus_fast_v1.element[log2_size].statics_length = length_bytes >> log2_size;
    }
    isthmus_fast_v1.small.statics_base = (uintptr_t)base;
    isthmus_fast_v1.small.statics_length = small_length(length_bytes);
}
