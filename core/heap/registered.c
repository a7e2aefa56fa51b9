/* core/heap/registered.c: see registered.h.
 * Changes are under a lock. Look-ups are not: they read beside a change, and once more when there was one (the
 * version). Removed buffers and outgrown lists, which they may still be reading, are kept until the end. Every store of
 * a change is a release and every load of a look-up an acquire, so that none of them passes the version. */
#include "core/heap/registered.h"

#include "core/base/atomic.h"
#include "core/transport/memory.h"
#include "core/transport/route.h"
#include "core/transport/segment.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct buffer {
    uintptr_t start, end; /* end: one past the last byte */
    uint32_t kind;
    int32_t device;
    isthmus_lmem *lmem[IST_MAX_TRANSPORTS];
    struct buffer *next; /* of those that are not used */
};

struct list {
    struct list *outgrown; /* the one before */
    size_t room;
    struct buffer *at[]; /* sorted by address, without overlap */
};

static struct {
    pthread_mutex_t lock;
    uint32_t version; /* odd: a change is under way */
    struct list *list;
    size_t n;
    struct buffer *unused;
} table = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The first of n buffers that ends behind `start`: the place of a new one, or the buffer that it overlaps. */
static size_t find(const struct list *list, size_t n, uintptr_t start)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct buffer *buffer = ist_load_acquire(&list->at[middle]);
        if (ist_load_acquire(&buffer->end) <= start)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* ---- look-up ---- */

/* Beside a change the answer may be wrong, and is not used. */
static const struct buffer *look_up(uintptr_t start, size_t length_bytes)
{
    size_t n = ist_load_acquire(&table.n); /* first: the list that is loaded next has at least as much room */
    const struct list *list = ist_load_acquire(&table.list);
    size_t at = n > 0 ? find(list, n, start) : n;
    if (at == n) return NULL;
    const struct buffer *buffer = ist_load_acquire(&list->at[at]);
    uintptr_t end = ist_load_acquire(&buffer->end);
    if (start < ist_load_acquire(&buffer->start) || start > end || length_bytes > end - start) return NULL;
    return buffer;
}

const isthmus_lmem *ist_registered_find(uint32_t transport, const void *addr, size_t length_bytes)
{
    for (;;) {
        uint32_t version = ist_load_acquire(&table.version);
        const struct buffer *buffer = look_up((uintptr_t)addr, length_bytes);
        const isthmus_lmem *found = buffer != NULL ? ist_load_acquire(&buffer->lmem[transport]) : NULL;
        if ((version & 1) == 0 && ist_load_acquire(&table.version) == version) return found;
        ist_pause(); /* a change moves some pointers, no more */
    }
}

bool ist_registered_holds(const void *addr, uint32_t *kind)
{
    for (;;) {
        uint32_t version = ist_load_acquire(&table.version);
        const struct buffer *buffer = look_up((uintptr_t)addr, 1);
        uint32_t found = buffer != NULL ? ist_load_acquire(&buffer->kind) : ISTHMUS_MEM_HOST;
        if ((version & 1) == 0 && ist_load_acquire(&table.version) == version) {
            if (buffer != NULL) *kind = found;
            return buffer != NULL;
        }
        ist_pause();
    }
}

/* ---- transports ---- */

/* The program's own globals may be registered like any memory; the library's own memory is registered already. */
static bool touches_symmetric(uintptr_t start, uintptr_t end)
{
    uint32_t n = ist_load_acquire(&ist_segments.n);
    for (uint32_t s = 0; s < n; s++) {
        uintptr_t base;
        uint64_t length_bytes = ist_segment_range(s, &base);
        bool is_static = s == IST_SEGMENT_STATIC || (s >= IST_SEGMENT_OBJECTS && s < ist_segments.n_at_start);
        if (!is_static && start < base + length_bytes && base < end) return true;
    }
    return false;
}

static void unregister(struct buffer *buffer)
{
    for (uint32_t i = 0; i < ist_registry.n; i++) {
        isthmus_lmem *lmem = buffer->lmem[i];
        ist_store_release(&buffer->lmem[i], NULL);
        if (lmem != NULL) ist_cold_unregister(&ist_registry.list[i], lmem);
    }
}

static isthmus_status register_with(uint32_t transport, const struct isthmus_mem *mem, struct buffer *buffer)
{
    struct ist_transport *t = &ist_registry.list[transport];
    isthmus_lmem *lmem = NULL;
    if (t->state != IST_TRANSPORT_OPEN || (t->traits.kinds_local >> mem->kind & 1) == 0) return ISTHMUS_OK;
    isthmus_status status = ist_cold_register(t, mem, &lmem);
    if (status == ISTHMUS_OK) ist_store_release(&buffer->lmem[transport], lmem);
    return status;
}

static isthmus_status register_everywhere(struct buffer *buffer)
{
    struct isthmus_mem mem = {
        .struct_size = sizeof mem,
        .kind = buffer->kind,
        .device = buffer->device,
        .fd = -1,
        .addr = (void *)buffer->start,
        .length_bytes = buffer->end - buffer->start,
    };
    for (uint32_t i = 0; i < ist_registry.n; i++) {
        if (register_with(i, &mem, buffer) == ISTHMUS_OK) continue;
        unregister(buffer);
        return ISTHMUS_ERR_IO;
    }
    return ISTHMUS_OK;
}

/* ---- changes: under the lock ---- */

static void begin_change(void) { ist_store_release(&table.version, table.version + 1); }
static void end_change(void) { ist_store_release(&table.version, table.version + 1); }

static void insert(size_t at, struct buffer *buffer)
{
    begin_change();
    for (size_t i = table.n; i > at; i--) ist_store_release(&table.list->at[i], table.list->at[i - 1]);
    ist_store_release(&table.list->at[at], buffer);
    ist_store_release(&table.n, table.n + 1);
    end_change();
}

static struct buffer *take_out(size_t at)
{
    struct buffer *buffer = table.list->at[at];
    begin_change();
    for (size_t i = at; i + 1 < table.n; i++) ist_store_release(&table.list->at[i], table.list->at[i + 1]);
    ist_store_release(&table.n, table.n - 1);
    end_change();
    return buffer;
}

/* The old list stays: look-ups may be in it. All of them together are as long as the last. */
static bool make_room(void)
{
    size_t before = table.list != NULL ? table.list->room : 0, room = before > 0 ? 2 * before : 16;
    if (table.n < before) return true;
    struct list *list = malloc(sizeof *list + room * sizeof *list->at);
    if (list == NULL) return false;
    list->outgrown = table.list;
    list->room = room;
    if (table.n > 0) memcpy(list->at, table.list->at, table.n * sizeof *list->at);
    ist_store_release(&table.list, list);
    return true;
}

static struct buffer *buffer_create(uintptr_t start, uintptr_t end, const struct isthmus_mem *mem)
{
    struct buffer *buffer = table.unused;
    if (buffer != NULL)
        table.unused = buffer->next;
    else
        buffer = calloc(1, sizeof *buffer);
    if (buffer == NULL) return NULL;
    ist_store_release(&buffer->start, start);
    ist_store_release(&buffer->end, end);
    ist_store_release(&buffer->kind, mem->kind);
    buffer->device = mem->device;
    return buffer;
}

static void buffer_put_back(struct buffer *buffer)
{
    buffer->next = table.unused;
    table.unused = buffer;
}

/* Of memory of a device: it can be copied, and all of the range is allocated. */
static isthmus_status check_device_memory(uintptr_t start, uintptr_t end, const struct isthmus_mem *mem)
{
    uintptr_t first = (uintptr_t)mem->addr, last = first + mem->length_bytes;
    if (mem->kind == ISTHMUS_MEM_HOST) return ISTHMUS_OK;
    if (start < first || end > last)
        return ist_fail(ISTHMUS_ERR_INVALID,
                        "the buffer %p to %p exceeds its allocation %p to %p; register that or a part of it",
                        (void *)start, (void *)end, (void *)first, (void *)last);
    if (ist_memory_ask(mem->kind) == NULL)
        return ist_fail(ISTHMUS_ERR_IO, "no transport copies memory of kind %s", ist_memory_kind_name(mem->kind));
    return ISTHMUS_OK;
}

bool ist_registered_overlaps(const void *addr, size_t length_bytes)
{
    pthread_mutex_lock(&table.lock);
    size_t at = table.n > 0 ? find(table.list, table.n, (uintptr_t)addr) : 0;
    bool overlaps = at < table.n && table.list->at[at]->start < (uintptr_t)addr + length_bytes;
    pthread_mutex_unlock(&table.lock);
    return overlaps;
}

static isthmus_status add_locked(uintptr_t start, uintptr_t end, const struct isthmus_mem *mem)
{
    size_t at = table.n > 0 ? find(table.list, table.n, start) : 0;
    if (at < table.n && table.list->at[at]->start < end)
        return ist_fail(ISTHMUS_ERR_INVALID,
                        "the buffer %p to %p overlaps the registered buffer %p to %p; unregister that one before",
                        (void *)start, (void *)end, (void *)table.list->at[at]->start, (void *)table.list->at[at]->end);
    struct buffer *buffer = make_room() ? buffer_create(start, end, mem) : NULL;
    if (buffer == NULL) return ist_fail_memory("a table of %zu registered buffers", table.n + 1);
    isthmus_status status = register_everywhere(buffer);
    if (status != ISTHMUS_OK) {
        buffer_put_back(buffer);
        return status;
    }
    if (mem->kind != ISTHMUS_MEM_HOST) ist_expect_device_memory();
    insert(at, buffer);
    return ISTHMUS_OK;
}

isthmus_status ist_registered_add(void *addr, size_t length_bytes)
{
    uintptr_t start = (uintptr_t)addr, end;
    if (addr == NULL || length_bytes == 0 || __builtin_add_overflow(start, length_bytes, &end))
        return ist_fail(ISTHMUS_ERR_INVALID,
                        "%zu bytes at %p cannot be registered; valid: 1 and more bytes, within the address space",
                        length_bytes, addr);
    if (touches_symmetric(start, end))
        return ist_fail(
            ISTHMUS_ERR_INVALID,
            "the buffer %p to %p contains bytes of the symmetric heap, which need no registration; register other "
            "memory",
            addr, (void *)end);
    struct isthmus_mem mem;
    isthmus_status status = ist_memory_at(addr, &mem);
    if (status != ISTHMUS_OK) return status == ISTHMUS_ERR_UNSUPPORTED ? ISTHMUS_ERR_INVALID : ISTHMUS_ERR_IO;
    status = check_device_memory(start, end, &mem);
    if (status != ISTHMUS_OK) return status;
    pthread_mutex_lock(&table.lock);
    status = add_locked(start, end, &mem);
    pthread_mutex_unlock(&table.lock);
    return status;
}

isthmus_status ist_registered_remove(void *addr)
{
    isthmus_status status = ISTHMUS_OK;
    pthread_mutex_lock(&table.lock);
    size_t at = table.n > 0 ? find(table.list, table.n, (uintptr_t)addr) : 0;
    if (at < table.n && table.list->at[at]->start == (uintptr_t)addr) {
        struct buffer *buffer = take_out(at);
        unregister(buffer);
        buffer_put_back(buffer);
    } else {
        status = ist_fail(ISTHMUS_ERR_INVALID,
                          "no registered buffer starts at %p; valid: the address that was registered", addr);
    }
    pthread_mutex_unlock(&table.lock);
    return status;
}

void ist_registered_remove_all(void)
{
    pthread_mutex_lock(&table.lock);
    while (table.n > 0) {
        struct buffer *buffer = take_out(table.n - 1);
        unregister(buffer);
        buffer_put_back(buffer);
    }
    pthread_mutex_unlock(&table.lock);
}

void ist_registered_fini(void)
{
    ist_registered_remove_all();
    for (struct buffer *next; table.unused != NULL; table.unused = next) {
        next = table.unused->next;
        free(table.unused);
    }
    for (struct list *older; table.list != NULL; table.list = older) {
        older = table.list->outgrown;
        free(table.list);
    }
}
