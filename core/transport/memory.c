/* core/transport/memory.c: see memory.h. */
#include "core/transport/memory.h"

#include <stdio.h>
#include <string.h>

static struct ist_memory_keeper keepers[IST_MEM_KINDS];

/* One that is shorter than the first version is none. */
const struct isthmus_memory *ist_memory_extension(const struct ist_transport *t)
{
    const struct isthmus_memory *memory = t->ops.extension(t->handle, "memory.1");
    return memory != NULL && memory->struct_size >= sizeof *memory ? memory : NULL;
}

static const struct isthmus_growing *growing_of(const struct ist_transport *t)
{
    const struct isthmus_growing *growing = t->ops.extension(t->handle, "growing.1");
    return growing != NULL && growing->struct_size >= sizeof *growing ? growing : NULL;
}

/* NULL: it keeps memory of this kind. */
static const char *why_no_keeper(const struct ist_transport *t, uint32_t kind)
{
    uint32_t bit = 1u << kind, needed = t->traits.kinds_alloc & t->traits.kinds_local;
    if (t->state != IST_TRANSPORT_OPEN) return t->why;
    if ((needed & bit) == 0) return "it does not allocate memory of this kind";
    const struct isthmus_memory *memory = ist_memory_extension(t);
    if (memory == NULL) return "it allocates memory of this kind and cannot copy it (extension memory.1)";
    return memory->device(t->handle, kind) < 0 ? "this PE has no device of this kind" : NULL;
}

/* Written once, before anybody has memory of that kind to copy. */
const struct ist_memory_keeper *ist_memory_ask(uint32_t kind)
{
    struct ist_memory_keeper *keeper = &keepers[kind];
    for (uint32_t i = 0; keeper->memory == NULL && i < ist_registry.n; i++) {
        const struct ist_transport *t = &ist_registry.list[i];
        if (why_no_keeper(t, kind) == NULL)
            *keeper = (struct ist_memory_keeper){t, ist_memory_extension(t), growing_of(t)};
    }
    return keeper->memory != NULL ? keeper : NULL;
}

void ist_memory_forget(void) { memset(keepers, 0, sizeof keepers); }

const char *ist_memory_kind_name(uint32_t kind)
{
    static const char *const names[IST_MEM_KINDS] = {"host", "cuda", "ze", "hip"};
    return kind < IST_MEM_KINDS ? names[kind] : "unknown";
}

void ist_memory_why_not(uint32_t kind, char *out, size_t room)
{
    size_t used = 0;
    snprintf(out, room, "there is no transport plugin");
    for (uint32_t i = 0; i < ist_registry.n && used < room; i++) {
        const char *why = why_no_keeper(&ist_registry.list[i], kind);
        used += (size_t)snprintf(out + used, room - used, "%s%s: %s", i > 0 ? "; " : "", ist_registry.list[i].name,
                                 why != NULL ? why : "it does");
    }
}

isthmus_status ist_memory_at(const void *addr, struct isthmus_mem *out)
{
    for (uint32_t i = 0; i < ist_registry.n; i++) {
        const struct ist_transport *t = &ist_registry.list[i];
        const struct isthmus_memory *memory = t->state == IST_TRANSPORT_OPEN ? ist_memory_extension(t) : NULL;
        struct isthmus_mem found = {.struct_size = sizeof found, .device = -1, .fd = -1};
        if (memory == NULL) continue;
        isthmus_status status = memory->kind_of(t->handle, addr, &found);
        if (status != ISTHMUS_OK) return status;
        if (found.kind == ISTHMUS_MEM_HOST) continue;
        *out = found;
        return ISTHMUS_OK;
    }
    *out = (struct isthmus_mem){.struct_size = sizeof *out, .kind = ISTHMUS_MEM_HOST, .device = -1, .fd = -1};
    return ISTHMUS_OK;
}

isthmus_status ist_memory_copy(uint32_t kind, void *dest, const void *source, size_t length_bytes)
{
    const struct ist_memory_keeper *keeper = &keepers[kind];
    if (keeper->memory == NULL)
        return ist_fail(ISTHMUS_ERR_UNSUPPORTED, "no transport copies memory of kind %s", ist_memory_kind_name(kind));
    return keeper->memory->copy(keeper->transport->handle, dest, source, length_bytes);
}
