/* core/memory/symmetric_buffers.c: see malloc.h. */
#include "core/memory/malloc.h"

#include "core/base/log.h"
#include "core/base/maps.h"
#include "core/coll/algorithms.h"
#include "core/coll/sync.h"
#include "core/heap/registered.h"
#include "core/heap/static_data.h"
#include "core/ops/target.h"
#include "core/transport/memory.h"
#include "core/transport/peer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct buffer {
    struct isthmus_mem mem;
    struct ist_static_data data; /* of host memory: how it became symmetric */
    uint32_t segment;
};

static struct {
    ist_boot *boot;
    char card_key[64];
    uint32_t calls; /* the same on all PEs; numbers the buffers */
    struct buffer list[IST_MAX_SEGMENTS];
    uint32_t n;
} buffers;

void ist_buffers_init(ist_boot *boot, const char *card_key)
{
    buffers.boot = boot;
    snprintf(buffers.card_key, sizeof buffers.card_key, "%s", card_key);
    buffers.calls = buffers.n = 0;
}

/* ---- checks of the kind of memory ---- */

/* Private, anonymous, readable and writable, and neither stack nor the allocator's heap. */
static bool is_plain(const struct ist_mapping *mapping)
{
    const bool is_nameless = mapping->name[0] == '\0' || strncmp(mapping->name, "[anon:", 6) == 0;
    return mapping->prot == (PROT_READ | PROT_WRITE) && !mapping->is_shared && mapping->inode == 0 && is_nameless;
}

static isthmus_status check_mappings(const void *addr, size_t length_bytes)
{
    uintptr_t start = (uintptr_t)addr, end = start + length_bytes, covered = start; /* so far */
    struct ist_maps maps;
    struct ist_mapping mapping;
    if (!ist_maps_open(&maps))
        return ist_fail_errno(ISTHMUS_ERR_IO, "cannot tell what is mapped at %p: /proc/thread-self/maps", addr);
    while (covered < end && ist_maps_next(&maps, &mapping))
        if (is_plain(&mapping) && mapping.start <= covered && covered < mapping.end) covered = mapping.end;
    ist_maps_close(&maps);
    if (covered >= end) return ISTHMUS_OK;
    return ist_fail(
        ISTHMUS_ERR_INVALID,
        "%zu bytes at %p are not private anonymous memory; valid: memory of mmap with MAP_PRIVATE and MAP_ANONYMOUS",
        length_bytes, addr);
}

static isthmus_status check_memory(const void *addr, size_t length_bytes)
{
    uintptr_t start = (uintptr_t)addr, end, page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
    if (addr == NULL || length_bytes == 0 || start % page_bytes != 0 || length_bytes % page_bytes != 0 ||
        __builtin_add_overflow(start, length_bytes, &end))
        return ist_fail(ISTHMUS_ERR_INVALID, "%zu bytes at %p are not whole pages; valid: multiples of %zu bytes",
                        length_bytes, addr, (size_t)page_bytes);
    if (ist_registered_overlaps(addr, length_bytes)) /* a transport would keep the pages that are replaced */
        return ist_fail(ISTHMUS_ERR_INVALID, "some of %zu bytes at %p is a registered buffer; unregister that before",
                        length_bytes, addr);
    return check_mappings(addr, length_bytes);
}

/* Memory of a device is symmetric where it lies, if all of it was allocated as one, in pieces that can be mapped. */
static isthmus_status check_device_memory(const void *addr, size_t length_bytes, const struct isthmus_mem *mem)
{
    const struct ist_memory_keeper *keeper = ist_memory_ask(mem->kind);
    uint64_t granule = keeper != NULL ? keeper->growing->granule(keeper->transport->handle, mem->kind, mem->device) : 0;
    if (granule == 0)
        return ist_fail(
            ISTHMUS_ERR_INVALID,
            "no transport of this PE makes memory of kind %s symmetric; isthmus-info prints what each transport "
            "supports",
            ist_memory_kind_name(mem->kind));
    if (length_bytes == 0 || length_bytes % granule != 0)
        return ist_fail(ISTHMUS_ERR_INVALID,
                        "%zu bytes at %p are not whole pieces of device memory; valid: multiples of %" PRIu64 " bytes",
                        length_bytes, addr, granule);
    for (size_t at = 0; at < length_bytes; at += granule) /* symmetric memory consists of whole pieces */
        if (ist_segment_of((const char *)addr + at, 1) >= 0)
            return ist_fail(
                ISTHMUS_ERR_INVALID,
                "some of %zu bytes at %p is symmetric already; valid: memory outside of the heap and of other "
                "symmetric buffers",
                length_bytes, addr);
    uint64_t offset = (uintptr_t)addr - (uintptr_t)mem->addr;
    if (offset < mem->length_bytes && length_bytes <= mem->length_bytes - offset) return ISTHMUS_OK;
    return ist_fail(ISTHMUS_ERR_INVALID,
                    "%zu bytes at %p exceed their allocation; valid: the allocation or a part of it", length_bytes,
                    addr);
}

/* ---- there ---- */

static isthmus_status make_on_host(void *addr, size_t length_bytes, struct buffer *out)
{
    isthmus_status status = check_memory(addr, length_bytes);
    if (status == ISTHMUS_OK) status = ist_static_range_init(&out->data, addr, length_bytes);
    if (status != ISTHMUS_OK) return status;
    out->mem = (struct isthmus_mem){
        .struct_size = sizeof out->mem,
        .kind = ISTHMUS_MEM_HOST,
        .device = -1,
        .fd = out->data.fd,
        .addr = out->data.base,
        .length_bytes = out->data.length_bytes,
    };
    return ISTHMUS_OK;
}

static isthmus_status make_on_device(void *addr, size_t length_bytes, struct buffer *out)
{
    isthmus_status status = check_device_memory(addr, length_bytes, &out->mem);
    out->mem.addr = addr;
    out->mem.length_bytes = length_bytes;
    return status;
}

static isthmus_status make(void *addr, size_t length_bytes, struct buffer *out)
{
    memset(out, 0, sizeof *out);
    isthmus_status status = ist_memory_at(addr, &out->mem);
    if (status != ISTHMUS_OK) return status;
    bool is_on_host = out->mem.kind == ISTHMUS_MEM_HOST;
    status = is_on_host ? make_on_host(addr, length_bytes, out) : make_on_device(addr, length_bytes, out);
    if (status != ISTHMUS_OK) return status;
    if (!is_on_host) ist_expect_device_memory();
    status = ist_segment_expose_late(buffers.boot, buffers.card_key, buffers.calls, "a symmetric buffer", &out->mem,
                                     &out->segment);
    if (status != ISTHMUS_OK && is_on_host) ist_static_data_fini(&out->data);
    return status;
}

static void unmake(struct buffer *buffer)
{
    ist_segment_withdraw_late(buffers.boot, buffers.card_key, buffer->segment);
    if (buffer->mem.kind == ISTHMUS_MEM_HOST) ist_static_data_fini(&buffer->data);
}

/* Memory of one kind on all PEs: collectives treat it alike. A missing kind counts as host memory. */
static bool is_of_one_kind(uint32_t kind, const char *routine)
{
    uint64_t most = ist_doubling_max(&ist_team_world, kind, routine);
    uint64_t least = IST_MEM_KINDS - ist_doubling_max(&ist_team_world, IST_MEM_KINDS - kind, routine);
    return most == least;
}

isthmus_status ist_buffer_make_symmetric(void *addr, size_t length_bytes, bool is_wanted, const char *routine)
{
    struct buffer buffer = {.segment = 0};
    ist_require_ctx(&ist_ctx_default, routine);
    buffers.calls++;
    isthmus_status status = is_wanted ? make(addr, length_bytes, &buffer) : ISTHMUS_ERR_INVALID;
    if (is_wanted && status != ISTHMUS_OK) ist_warn("%s: %s", routine, ist_fail_text());
    bool is_alike = is_of_one_kind(buffer.mem.kind, routine);
    if (status == ISTHMUS_OK && !is_alike)
        ist_warn("%s: the buffers are not of one kind of memory on all PEs; that of this PE is of kind %s", routine,
                 ist_memory_kind_name(buffer.mem.kind));
    if (!ist_malloc_agree(status == ISTHMUS_OK && is_alike, routine)) {
        if (status == ISTHMUS_OK) unmake(&buffer); /* no peer is attached: it was never shown */
        return status != ISTHMUS_OK
                   ? status
                   : ist_fail(ISTHMUS_ERR_INVALID,
                              "another PE cannot make its buffer symmetric, or has it in another kind of memory; its "
                              "warning has the reason");
    }
    ist_segment_show_late(buffer.segment, buffers.calls);
    buffers.list[buffers.n++] = buffer;
    return ISTHMUS_OK;
}

/* ---- and back ---- */

static struct buffer *find(const void *addr, size_t length_bytes)
{
    for (uint32_t i = 0; i < buffers.n; i++)
        if (buffers.list[i].mem.addr == addr && buffers.list[i].mem.length_bytes == length_bytes)
            return &buffers.list[i];
    return NULL;
}

isthmus_status ist_buffer_make_private(void *addr, size_t length_bytes, const char *routine)
{
    ist_require_ctx(&ist_ctx_default, routine);
    struct buffer *buffer = find(addr, length_bytes);
    if (!ist_malloc_agree(buffer != NULL, routine))
        return ist_fail(ISTHMUS_ERR_INVALID,
                        "%zu bytes at %p are not a symmetric buffer on each PE; valid: the address and length of the "
                        "registration, on all PEs",
                        length_bytes, addr);
    ist_segment_show_late(buffer->segment, 0);
    ist_peers_detach(buffer->segment);
    ist_barrier_all(routine); /* from here on no peer is attached */
    unmake(buffer);
    *buffer = buffers.list[--buffers.n];
    return ISTHMUS_OK;
}

void ist_buffers_fini(void)
{
    while (buffers.n > 0) {
        struct buffer *last = &buffers.list[--buffers.n];
        if (last->mem.kind == ISTHMUS_MEM_HOST) ist_static_data_fini(&last->data);
    }
    buffers.boot = NULL;
}
