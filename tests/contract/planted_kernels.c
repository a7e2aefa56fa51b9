/* tests/contract/planted_kernels.c: see planted.h. Bugs of device.1. Loopback lacks it: it exists with these and those
 * of collectives.1 only, in memory of the host. */
#include "planted.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGN = 128 };

static isthmus_status allocate(uint64_t length_bytes, bool is_zeroed, void **addr)
{
    size_t rounded = ((size_t)length_bytes + ALIGN - 1) / ALIGN * ALIGN;
    void *memory = aligned_alloc(ALIGN, rounded);
    if (memory == NULL) return planted_services->fail(planted_services->core, ISTHMUS_ERR_NO_MEMORY, "no memory");
    *addr = memset(memory, is_zeroed ? 0 : 1, rounded);
    return ISTHMUS_OK;
}

static isthmus_status host_alloc(isthmus_tr *tr, uint64_t length_bytes, void **addr, void **view)
{
    (void)tr;
    isthmus_status status = allocate(length_bytes, true, addr);
    if (status == ISTHMUS_OK) *view = planted_has("view_is_askew") ? (char *)*addr + 1 : *addr;
    return status;
}

static isthmus_status device_alloc(isthmus_tr *tr, uint64_t length_bytes, void **addr)
{
    (void)tr;
    return allocate(length_bytes, !planted_has("kernels_get_dirt"), addr);
}

static void free_it(isthmus_tr *tr, void *addr)
{
    (void)tr;
    free(addr);
}

static isthmus_status find(isthmus_tr *tr, uint32_t code, void *handle, const char *name, void **addr,
                           uint64_t *length_bytes)
{
    (void)tr, (void)code, (void)handle, (void)name;
    if (planted_has("finds_in_nothing")) *addr = NULL, *length_bytes = 0;
    return planted_services->fail(planted_services->core, ISTHMUS_ERR_INVALID, "there is no such code");
}

static isthmus_status call(isthmus_tr *tr, void (*function)(void *), void *argument)
{
    (void)tr;
    function(argument);
    if (planted_has("calls_twice")) function(argument);
    return ISTHMUS_OK;
}

static isthmus_status copy(isthmus_tr *tr, void *dest, const void *source, size_t length_bytes)
{
    (void)tr;
    memcpy(dest, source, length_bytes);
    return ISTHMUS_OK;
}

const void *planted_kernels_extension(const char *name)
{
    static const struct isthmus_kernels kernels = {
        .struct_size = sizeof kernels,
        .host_alloc = host_alloc,
        .host_free = free_it,
        .device_alloc = device_alloc,
        .device_free = free_it,
        .find = find,
        .call = call,
    };
    static const struct isthmus_memory memory = {.struct_size = sizeof memory, .copy = copy};
    bool is_there = planted_has("view_is_askew") || planted_has("kernels_get_dirt") ||
                    planted_has("finds_in_nothing") || planted_has("calls_twice") || planted_has_collectives();
    if (!is_there) return NULL;
    if (strcmp(name, "memory.1") == 0) return &memory;
    return strcmp(name, "device.1") == 0 ? &kernels : NULL;
}
