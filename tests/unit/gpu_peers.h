/* tests/unit/gpu_peers.h: for unit tests of what kernels reach: a boot and a transport that exist in the test only.
 * Three PEs of one host have a heap on the host, one on a device that grows by pieces, and perhaps a buffer. Nothing is
 * ever loaded or stored: addresses are numbers. */
#ifndef TESTS_UNIT_GPU_PEERS_H
#define TESTS_UNIT_GPU_PEERS_H

#include "core/transport/choose.h"
#include "core/transport/device_view.h"
#include "core/transport/registry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { N_PES = 3, GRANULE = 1 << 16, HEAP_BYTES = 16 * GRANULE, BUFFER_BYTES = 1 << 13, BUFFER = 4, N_RMEMS = 64 };
#define HOST_HEAP ((char *)0x10000000)
#define DEVICE_HEAP ((char *)0x20000000)
#define BUFFER_AT ((char *)0x30000000)
#define RESERVED ((char *)0x40000000) /* what reserve() gives, and then further on */

/* A key says of what it is, and the transport where it has attached it. */
struct gpu_key {
    int32_t pe;
    uint32_t segment;
    uint64_t offset_bytes;
};
struct isthmus_rmem {
    struct gpu_key key;
    char *view;
    bool is_attached, has_place;
};

static struct {
    struct isthmus_rmem rmems[N_RMEMS];
    int n_rmems, n_reserved, n_attached;
    bool refuses_reserve, refuses_place, fails_place;
    uint32_t buffer_kind;
} gpu;

static isthmus_status gpu_path_open(isthmus_tr *tr, const struct isthmus_peer *peer, isthmus_path **out)
{
    (void)tr;
    *out = (isthmus_path *)(uintptr_t)(peer->pe + 1);
    return ISTHMUS_OK;
}

static void gpu_path_close(isthmus_path *path) { (void)path; }

/* Where a transport has a peer's memory if it chooses itself: another distance for each PE and each piece. */
static char *own_choice(const struct gpu_key *key)
{
    return (char *)(0x100000000u * (uint64_t)(key->pe + 1) + 0x10000000u * key->segment + 2 * key->offset_bytes);
}

static isthmus_status take(const void *key, char *view, bool has_place, isthmus_rmem **out)
{
    assert_in_range(gpu.n_rmems, 0, N_RMEMS - 1);
    struct isthmus_rmem *rmem = &gpu.rmems[gpu.n_rmems++];
    memcpy(&rmem->key, key, sizeof rmem->key);
    rmem->view = view != NULL ? view : own_choice(&rmem->key);
    rmem->is_attached = true;
    rmem->has_place = has_place;
    gpu.n_attached++;
    *out = rmem;
    return ISTHMUS_OK;
}

static isthmus_status gpu_attach(isthmus_path *path, const void *key, size_t key_bytes, isthmus_rmem **out,
                                 void **alias)
{
    (void)path, (void)key_bytes;
    isthmus_status status = take(key, NULL, false, out);
    bool is_host = (*out)->key.segment == IST_SEGMENT_HEAP ||
                   ((*out)->key.segment == BUFFER && gpu.buffer_kind == ISTHMUS_MEM_HOST);
    *alias = is_host ? (*out)->view : NULL;
    return status;
}

static isthmus_status gpu_attach_at(isthmus_path *path, const void *key, size_t key_bytes, void *addr,
                                    isthmus_rmem **out)
{
    (void)path, (void)key_bytes;
    assert_int_equal((uintptr_t)addr % GRANULE, 0);
    if (gpu.refuses_place) return ist_fail(ISTHMUS_ERR_UNSUPPORTED, "not there");
    if (gpu.fails_place) return ist_fail(ISTHMUS_ERR_NO_MEMORY, "no room");
    return take(key, addr, true, out);
}

static void gpu_detach(isthmus_rmem *rmem)
{
    if (rmem == NULL) return;
    assert_true(rmem->is_attached);
    rmem->is_attached = false;
    gpu.n_attached--;
}

static isthmus_status gpu_reserve(isthmus_tr *tr, uint32_t kind, int32_t device, uint64_t length_bytes, void **addr)
{
    (void)tr;
    assert_int_equal(kind, ISTHMUS_MEM_CUDA);
    assert_int_equal(device, 0);
    assert_int_equal(length_bytes, HEAP_BYTES + GRANULE);
    if (gpu.refuses_reserve) return ist_fail(ISTHMUS_ERR_NO_MEMORY, "no addresses");
    *addr = RESERVED + (uintptr_t)gpu.n_reserved++ * 2 * HEAP_BYTES + 4096; /* at no granule */
    return ISTHMUS_OK;
}

static void gpu_unreserve(isthmus_tr *tr, void *addr, uint64_t length_bytes)
{
    (void)tr, (void)addr;
    assert_int_equal(length_bytes, HEAP_BYTES + GRANULE);
    gpu.n_reserved--;
}

static uint64_t gpu_granule(isthmus_tr *tr, uint32_t kind, int32_t device)
{
    (void)tr, (void)device;
    return kind == ISTHMUS_MEM_CUDA ? GRANULE : 0;
}

static int32_t gpu_device(isthmus_tr *tr, uint32_t kind)
{
    (void)tr;
    return kind == ISTHMUS_MEM_CUDA ? 0 : -1;
}

static isthmus_status gpu_device_view(const isthmus_rmem *rmem, void **addr)
{
    *addr = rmem->view;
    return ISTHMUS_OK;
}

static isthmus_status gpu_reach(isthmus_tr *tr, const struct isthmus_peer *peer, struct isthmus_reach *out)
{
    (void)tr;
    *out = (struct isthmus_reach){.struct_size = out->struct_size, .latency_ns = 100};
    out->atomics_domain = peer->kind == ISTHMUS_MEM_HOST ? ISTHMUS_DOMAIN_CPU : ISTHMUS_DOMAIN_GPU;
    return ISTHMUS_OK;
}

/* ---- cards: that of a PE, and those of pieces and buffers that were published later ---- */

static void describe(struct ist_card *card, uint32_t slot, struct gpu_key *key, uint32_t kind, uint64_t length_bytes)
{
    struct ist_card_segment *segment = &card->segments[slot];
    segment->id = key->segment;
    segment->kind = kind;
    segment->base = key->offset_bytes;
    segment->length_bytes = length_bytes;
    segment->first_bytes = kind == ISTHMUS_MEM_CUDA && length_bytes == HEAP_BYTES ? GRANULE : length_bytes;
    segment->keys[0] = (struct ist_blob){key, sizeof *key};
}

static isthmus_status gpu_get(ist_boot *boot, int pe, const char *name, void **out, size_t *out_bytes)
{
    struct ist_card_room room;
    struct ist_card card = {.pe = pe, .agreement = "", .n_transports = 1, .n_segments = 1};
    struct gpu_key keys[2] = {{pe, IST_SEGMENT_HEAP, 0}, {pe, IST_SEGMENT_DEVICE, 0}}, later = {.pe = pe};
    unsigned number;
    (void)boot;
    ist_card_use_room(&card, &room);
    memcpy(card.host_name, "here", sizeof "here");
    memcpy(card.transports[0].name, "gpu", sizeof "gpu");
    if (sscanf(name, "card.2.%u", &number) == 1) {
        later.segment = IST_SEGMENT_DEVICE;
        later.offset_bytes = (uint64_t)number * GRANULE;
        describe(&card, 0, &later, ISTHMUS_MEM_CUDA, GRANULE);
    } else if (sscanf(name, "card.late.%u", &number) == 1) {
        later.segment = BUFFER;
        describe(&card, 0, &later, gpu.buffer_kind, BUFFER_BYTES);
    } else {
        card.n_segments = 2;
        describe(&card, 0, &keys[0], ISTHMUS_MEM_HOST, 4096);
        describe(&card, 1, &keys[1], ISTHMUS_MEM_CUDA, HEAP_BYTES);
    }
    return ist_card_write(&card, out, out_bytes);
}

static const struct ist_boot_ops boot_ops = {.name = "fake", .get = gpu_get};
static int all_pes[N_PES] = {0, 1, 2};
static ist_boot boot = {.ops = &boot_ops, .n_pes = N_PES, .n_local = N_PES, .local_pes = all_pes};

/* ---- this PE ---- */

static struct ist_extent pieces[IST_MAX_EXTENTS];

static void set_segment(uint32_t id, uint32_t kind, char *addr, uint64_t length_bytes)
{
    ist_segments.list[id].name = "memory";
    ist_segments.list[id].mem = (struct isthmus_mem){
        .struct_size = sizeof(struct isthmus_mem), .kind = kind, .addr = addr, .length_bytes = length_bytes};
    ist_segments.list[id].plain_bytes = length_bytes;
    if (id >= ist_segments.n) ist_segments.n = id + 1;
}

/* This PE and, by their cards, all others have one more piece of the heap. */
static void grow(void)
{
    struct ist_segment *heap = &ist_segments.list[IST_SEGMENT_DEVICE];
    uint32_t i = heap->n_extents++;
    pieces[i] = (struct ist_extent){.offset_bytes = (uint64_t)i * GRANULE, .length_bytes = GRANULE, .number = i};
    heap->extents[i] = &pieces[i];
}

static inline void shrink(void) { ist_segments.list[IST_SEGMENT_DEVICE].n_extents--; }

static void show_buffer(uint32_t kind)
{
    gpu.buffer_kind = kind;
    set_segment(BUFFER, kind, BUFFER_AT, BUFFER_BYTES);
    ist_segment_show_late(BUFFER, 1);
}

static int set_up(void **state)
{
    pthread_mutexattr_t attributes;
    struct ist_transport *t = &ist_registry.list[0];
    (void)state;
    memset(&ist_registry, 0, sizeof ist_registry);
    memset(&ist_segments, 0, sizeof ist_segments);
    memset(&gpu, 0, sizeof gpu);
    ist_registry.n = 1;
    memcpy(t->name, "gpu", sizeof "gpu");
    t->state = IST_TRANSPORT_OPEN;
    t->traits.kinds_attach = 1u << ISTHMUS_MEM_HOST | 1u << ISTHMUS_MEM_CUDA;
    t->ops.reach = gpu_reach;
    t->ops.path_open = gpu_path_open;
    t->ops.path_close = gpu_path_close;
    t->ops.attach = gpu_attach;
    t->ops.detach = gpu_detach;
    t->extensions.has_attach_at = true;
    t->extensions.memory.device = gpu_device;
    t->extensions.memory.device_view = gpu_device_view;
    t->extensions.growing = (struct isthmus_growing){
        .reserve = gpu_reserve, .unreserve = gpu_unreserve, .granule = gpu_granule, .attach_at = gpu_attach_at};
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&t->cold, &attributes);
    set_segment(IST_SEGMENT_HEAP, ISTHMUS_MEM_HOST, HOST_HEAP, 4096);
    set_segment(IST_SEGMENT_DEVICE, ISTHMUS_MEM_CUDA, DEVICE_HEAP, HEAP_BYTES);
    ist_segments.n = ist_segments.n_at_start = BUFFER;
    grow();
    assert_int_equal(ist_rows_init(N_PES), ISTHMUS_OK);
    return ist_peers_init(&boot, "card", true);
}

static int tear_down(void **state)
{
    (void)state;
    ist_peers_fini();
    ist_rows_fini();
    memset(&ist_segments, 0, sizeof ist_segments);
    return gpu.n_attached == 0 && gpu.n_reserved == 0 ? 0 : -1; /* all is given back */
}

static inline const struct ist_peer *peer(int pe)
{
    const struct ist_peer *out = NULL;
    assert_int_equal(ist_peer_get(pe, &out), ISTHMUS_OK);
    return out;
}

#endif
