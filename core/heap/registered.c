/* core/heap/registered.c: see registered.h. */
#include "core/heap/registered.h"

#include "core/transport/segment.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct buffer {
    uintptr_t start, end; /* end: one past the last byte */
    isthmus_lmem *lmem[IST_MAX_TRANSPORTS];
};

/* Sorted by address, without overlap. */
static struct {
    pthread_mutex_t lock;
    struct buffer *list;
    size_t n, room;
} table = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The first buffer that ends behind `start`: where a new one goes, or what it overlaps. */
static size_t find(uintptr_t start)
{
    size_t low = 0, high = table.n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (table.list[middle].end <= start)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The program's own globals are as good as any memory; what the library hands out is registered already. */
static bool touches_symmetric(uintptr_t start, uintptr_t end)
{
    for (uint32_t s = 0; s < ist_segments.n; s++) {
        const struct isthmus_mem *mem = &ist_segments.list[s].mem;
        uintptr_t base = (uintptr_t)mem->addr;
        bool is_static = s >= IST_SEGMENT_STATIC && s < ist_segments.n_at_start;
        if (!is_static && start < base + mem->length_bytes && base < end) return true;
    }
    return false;
}

static void unregister(struct buffer *buffer)
{
    for (uint32_t i = 0; i < ist_registry.n; i++)
        if (buffer->lmem[i] != NULL) ist_registry.list[i].ops.unregister_local(buffer->lmem[i]);
    memset(buffer->lmem, 0, sizeof buffer->lmem);
}

static isthmus_status register_everywhere(struct buffer *buffer)
{
    struct isthmus_mem mem = {
        .struct_size = sizeof mem,
        .kind = ISTHMUS_MEM_HOST,
        .device = -1,
        .fd = -1,
        .addr = (void *)buffer->start,
        .length_bytes = buffer->end - buffer->start,
    };
    for (uint32_t i = 0; i < ist_registry.n; i++) {
        struct ist_transport *t = &ist_registry.list[i];
        if (t->state != IST_TRANSPORT_OPEN || (t->traits.kinds_local >> mem.kind & 1) == 0) continue;
        isthmus_status status = t->ops.register_local(t->handle, &mem, &buffer->lmem[i]);
        if (status != ISTHMUS_OK) {
            buffer->lmem[i] = NULL;
            unregister(buffer);
            return ISTHMUS_ERR_IO;
        }
    }
    return ISTHMUS_OK;
}

static isthmus_status make_room(void)
{
    if (table.n < table.room) return ISTHMUS_OK;
    size_t room = table.room > 0 ? 2 * table.room : 16;
    struct buffer *list = realloc(table.list, room * sizeof *list);
    if (list == NULL) return ist_fail(ISTHMUS_ERR_NO_MEMORY, "no memory for a table of %zu registered buffers", room);
    table.list = list;
    table.room = room;
    return ISTHMUS_OK;
}

static isthmus_status add_locked(uintptr_t start, uintptr_t end)
{
    size_t at = find(start);
    if (at < table.n && table.list[at].start < end)
        return ist_fail(ISTHMUS_ERR_INVALID, "%p to %p is in use by the registered buffer %p to %p", (void *)start,
                        (void *)end, (void *)table.list[at].start, (void *)table.list[at].end);
    isthmus_status status = make_room();
    if (status != ISTHMUS_OK) return status;
    struct buffer buffer = {.start = start, .end = end};
    status = register_everywhere(&buffer);
    if (status != ISTHMUS_OK) return status;
    memmove(&table.list[at + 1], &table.list[at], (table.n - at) * sizeof buffer);
    table.list[at] = buffer;
    table.n++;
    return ISTHMUS_OK;
}

isthmus_status ist_registered_add(void *addr, size_t length_bytes)
{
    uintptr_t start = (uintptr_t)addr, end;
    if (addr == NULL || length_bytes == 0 || __builtin_add_overflow(start, length_bytes, &end))
        return ist_fail(ISTHMUS_ERR_INVALID, "%zu bytes at %p are no buffer", length_bytes, addr);
    if (touches_symmetric(start, end))
        return ist_fail(ISTHMUS_ERR_INVALID, "%p to %p has bytes of the symmetric heap", addr, (void *)end);
    pthread_mutex_lock(&table.lock);
    isthmus_status status = add_locked(start, end);
    pthread_mutex_unlock(&table.lock);
    return status;
}

isthmus_status ist_registered_remove(void *addr)
{
    isthmus_status status = ISTHMUS_OK;
    pthread_mutex_lock(&table.lock);
    size_t at = find((uintptr_t)addr);
    if (at < table.n && table.list[at].start == (uintptr_t)addr) {
        unregister(&table.list[at]);
        table.n--;
        memmove(&table.list[at], &table.list[at + 1], (table.n - at) * sizeof table.list[at]);
    } else {
        status = ist_fail(ISTHMUS_ERR_INVALID, "no registered buffer starts at %p", addr);
    }
    pthread_mutex_unlock(&table.lock);
    return status;
}

void ist_registered_remove_all(void)
{
    pthread_mutex_lock(&table.lock);
    for (size_t i = 0; i < table.n; i++) unregister(&table.list[i]);
    free(table.list);
    table.list = NULL;
    table.n = table.room = 0;
    pthread_mutex_unlock(&table.lock);
}
