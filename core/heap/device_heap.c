/* core/heap/device_heap.c: see heap.h. */
#include "core/heap/heap.h"

#include "core/base/log.h"
#include "core/transport/memory.h"
#include "core/transport/places.h"
#include "core/transport/segment.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MAX_ALIGN_BYTES ((uint64_t)1 << 30)   /* of a heap that grows: as on the host */
#define FIXED_ALIGN_BYTES ((uint64_t)4096)    /* of every allocation of a driver */
#define USUAL_FIXED_BYTES ((uint64_t)1 << 30) /* of a heap that does not grow */

struct ist_device_heap ist_device_heap;

static struct {
    const struct ist_memory_keeper *keeper;
    void *reserved; /* the result of reserve(), before it was aligned */
    uint64_t reserved_bytes;
    struct isthmus_mem pieces[IST_MAX_EXTENTS];
    uint32_t n_pieces;
} owned;

/* ---- which kind ---- */

/* The face's own maker first. */
static uint32_t nearest_device(enum ist_face face)
{
    static const uint32_t orders[][IST_MEM_KINDS - 1] = {
        [IST_FACE_SHMEM] = {ISTHMUS_MEM_CUDA, ISTHMUS_MEM_ZE, ISTHMUS_MEM_HIP},
        [IST_FACE_NVSHMEM] = {ISTHMUS_MEM_CUDA, ISTHMUS_MEM_HIP, ISTHMUS_MEM_ZE},
        [IST_FACE_ISHMEM] = {ISTHMUS_MEM_ZE, ISTHMUS_MEM_CUDA, ISTHMUS_MEM_HIP},
        [IST_FACE_ROCSHMEM] = {ISTHMUS_MEM_HIP, ISTHMUS_MEM_CUDA, ISTHMUS_MEM_ZE},
    };
    for (uint32_t i = 0; i < IST_MEM_KINDS - 1; i++)
        if (ist_memory_ask(orders[face][i]) != NULL) return orders[face][i];
    return ISTHMUS_MEM_HOST;
}

isthmus_status ist_device_heap_choose(const struct ist_config *config, uint32_t *kind)
{
    *kind = ISTHMUS_MEM_HOST;
    if (config->heap_kind == IST_HEAP_HOST || (config->heap_kind == IST_HEAP_AUTO && config->face == IST_FACE_SHMEM))
        return ISTHMUS_OK;
    if (config->heap_kind == IST_HEAP_AUTO || config->heap_kind == IST_HEAP_DEVICE) {
        *kind = nearest_device(config->face);
        return ISTHMUS_OK;
    }
    *kind = (uint32_t)(config->heap_kind - IST_HEAP_HOST);
    if (ist_memory_ask(*kind) != NULL) return ISTHMUS_OK;
    char reasons[800];
    ist_memory_why_not(*kind, reasons, sizeof reasons);
    return ist_fail(ISTHMUS_ERR_NO_DEVICE,
                    "ISTHMUS_HEAP_KIND is %s, but no transport of this PE allocates such memory: %s",
                    ist_memory_kind_name(*kind), reasons);
}

/* A kind that no transport allocates is an error when the heap is opened, and not here: others may be loaded later. */
isthmus_status ist_device_heap_publish(const struct ist_config *config)
{
    uint32_t kind;
    bool is_known = ist_device_heap_choose(config, &kind) == ISTHMUS_OK && kind != ISTHMUS_MEM_HOST;
    if (!is_known) return ist_places_publish_device(ISTHMUS_MEM_HOST, NULL);
    return ist_places_publish_device(kind, ist_memory_pci_address(kind));
}

/* ---- addresses and memory ---- */

static uint64_t round_up(uint64_t bytes, uint64_t to) { return (bytes + to - 1) / to * to; }

/* Takes as many addresses as it can get, at least as many as requested. */
static isthmus_status reserve(uint64_t size_bytes, uint64_t usual_bytes)
{
    const struct ist_memory_keeper *keeper = owned.keeper;
    uint64_t granule = ist_device_heap.granule_bytes, align = granule > MAX_ALIGN_BYTES ? granule : MAX_ALIGN_BYTES;
    uint64_t least = round_up(size_bytes > 0 ? size_bytes : granule, granule);
    uint64_t length = least > usual_bytes ? least : round_up(usual_bytes, granule);
    isthmus_status status;
    for (;; length = length / 2 > least ? round_up(length / 2, granule) : least) {
        status = keeper->growing->reserve(keeper->transport->handle, ist_device_heap.kind, ist_device_heap.device,
                                          length + align, &owned.reserved);
        if (status == ISTHMUS_OK || length == least) break;
    }
    if (status != ISTHMUS_OK) return status;
    owned.reserved_bytes = length + align;
    ist_device_heap.base = (char *)owned.reserved +
                           (round_up((uintptr_t)owned.reserved, align) - (uintptr_t)owned.reserved);
    ist_device_heap.length_bytes = length;
    ist_device_heap.align_bytes = MAX_ALIGN_BYTES;
    return ISTHMUS_OK;
}

static isthmus_status allocate(uint64_t size_bytes)
{
    const struct ist_transport *t = owned.keeper->transport;
    struct isthmus_mem *mem = &owned.pieces[0];
    uint64_t length = round_up(size_bytes > 0 ? size_bytes : USUAL_FIXED_BYTES, FIXED_ALIGN_BYTES);
    *mem = (struct isthmus_mem){.struct_size = sizeof *mem, .fd = -1};
    isthmus_status status = t->ops.mem_alloc(t->handle, ist_device_heap.kind, ist_device_heap.device, length, mem);
    if (status != ISTHMUS_OK) return status;
    owned.n_pieces = 1;
    if ((uintptr_t)mem->addr % FIXED_ALIGN_BYTES != 0)
        return ist_fail(ISTHMUS_ERR_UNSUPPORTED,
                        "transport %s allocated memory at %p, which is no multiple of %" PRIu64, t->name, mem->addr,
                        FIXED_ALIGN_BYTES);
    ist_device_heap.base = mem->addr;
    ist_device_heap.length_bytes = ist_device_heap.filled_bytes = mem->length_bytes; /* rounded up, maybe */
    ist_device_heap.align_bytes = FIXED_ALIGN_BYTES;
    return ISTHMUS_OK;
}

isthmus_status ist_device_heap_fill(uint64_t length_bytes, struct isthmus_mem *piece)
{
    if (owned.n_pieces == IST_MAX_EXTENTS)
        return ist_fail(ISTHMUS_ERR_LIMIT,
                        "the symmetric heap cannot grow in more than %d steps; raise ISTHMUS_HEAP_SIZE",
                        IST_MAX_EXTENTS);
    struct isthmus_mem *mem = &owned.pieces[owned.n_pieces];
    *mem = (struct isthmus_mem){.struct_size = sizeof *mem, .fd = -1};
    isthmus_status status = owned.keeper->growing->commit(
        owned.keeper->transport->handle, ist_device_heap.base + ist_device_heap.filled_bytes, length_bytes, mem);
    if (status != ISTHMUS_OK) return status;
    owned.n_pieces++;
    ist_device_heap.filled_bytes += length_bytes;
    *piece = *mem;
    return ISTHMUS_OK;
}

static isthmus_status fail_first(isthmus_status status, uint64_t size_bytes)
{
    char why[400];
    snprintf(why, sizeof why, "%s", ist_fail_text());
    return ist_fail(
        status, "cannot allocate a symmetric heap of %" PRIu64 " MiB (ISTHMUS_HEAP_SIZE) in memory of device %d: %s",
        size_bytes >> 20, ist_device_heap.device, why);
}

isthmus_status ist_device_heap_open(uint32_t kind, const struct ist_config *config)
{
    uint64_t size_bytes = config->heap_size_bytes;
    const struct ist_memory_keeper *keeper = ist_memory_ask(kind);
    isthmus_tr *tr = keeper->transport->handle;
    owned.keeper = keeper;
    ist_device_heap.kind = kind;
    ist_device_heap.device = keeper->memory->device(tr, kind);
    snprintf(ist_device_heap.keeper, sizeof ist_device_heap.keeper, "%s", keeper->transport->name);
    if (config->heap_grows) ist_device_heap.granule_bytes = keeper->growing->granule(tr, kind, ist_device_heap.device);
    struct isthmus_mem first;
    bool grows = ist_device_heap.granule_bytes > 0;
    if (grows) ist_device_heap.step_bytes = round_up(config->heap_step_bytes, ist_device_heap.granule_bytes);
    isthmus_status status = grows ? reserve(size_bytes, config->heap_reserve_bytes) : allocate(size_bytes);
    if (status == ISTHMUS_OK && grows && size_bytes > 0)
        status = ist_device_heap_fill(round_up(size_bytes, ist_device_heap.granule_bytes), &first);
    return status == ISTHMUS_OK || size_bytes == 0 ? status : fail_first(status, size_bytes);
}

const struct isthmus_mem *ist_device_heap_first(void) { return owned.n_pieces > 0 ? &owned.pieces[0] : NULL; }

void ist_device_heap_unfill(void)
{
    const struct isthmus_mem *mem = &owned.pieces[--owned.n_pieces];
    ist_device_heap.filled_bytes -= mem->length_bytes;
    owned.keeper->transport->ops.mem_free(owned.keeper->transport->handle, mem);
}

void ist_device_heap_close(void)
{
    while (owned.n_pieces > 0) ist_device_heap_unfill();
    if (owned.reserved != NULL)
        owned.keeper->growing->unreserve(owned.keeper->transport->handle, owned.reserved, owned.reserved_bytes);
    memset(&owned, 0, sizeof owned);
    memset(&ist_device_heap, 0, sizeof ist_device_heap);
}
