/* tests/doubles/kinds/kinds_far.c: peers' memory of the double's device, and the data slots on it. */
#include "tests/doubles/kinds/kinds.h"

#include <isthmus/amo_cpu.h>
#include <isthmus/inline.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { TIMEOUT_S = 30 };

struct isthmus_chan {
    char unused;
};

isthmus_status kinds_path_open(isthmus_tr *tr, const struct isthmus_peer *peer, isthmus_path **out)
{
    const struct isthmus_services *s = tr->services;
    isthmus_path *path = calloc(1, sizeof *path);
    if (path == NULL) return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "no memory for the path to PE %d", peer->pe);
    path->tr = tr;
    path->pe = peer->pe;
    path->is_self = peer->pe == s->my_pe;
    snprintf(path->host_name, sizeof path->host_name, "%s", peer->host_name);
    memcpy(&path->address, peer->card, sizeof path->address);
    *out = path;
    return ISTHMUS_OK;
}

void kinds_path_close(isthmus_path *path)
{
    if (path == NULL) return;
    fd_pass_bundle_close(&path->bundle);
    free(path);
}

static isthmus_status map_peer(isthmus_path *path, const struct kinds_key *key, isthmus_rmem *rmem)
{
    const struct isthmus_services *s = path->tr->services;
    struct isthmus_peer peer = {.struct_size = sizeof peer, .pe = path->pe, .host_name = path->host_name};
    int fd = fd_pass_bundle_take(&path->bundle, (uint32_t)key->id);
    if (fd < 0) {
        fd_pass_bundle_close(&path->bundle);
        isthmus_status status = fd_pass_fetch(s, &peer, &path->address, TIMEOUT_S, &path->bundle);
        if (status != ISTHMUS_OK) return status;
        fd = fd_pass_bundle_take(&path->bundle, (uint32_t)key->id);
    }
    if (fd < 0) return s->fail(s->core, ISTHMUS_ERR_INVALID, "PE %d does not offer that", path->pe);
    uint64_t file_bytes = rmem->is_held ? kinds_held_file_bytes(key->length_bytes) : key->length_bytes;
    void *addr = mmap(NULL, file_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (addr == MAP_FAILED) return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "no addresses for memory of a peer");
    rmem->hidden = addr;
    rmem->is_mapped = 1;
    return ISTHMUS_OK;
}

isthmus_status kinds_attach(isthmus_path *path, const void *key_in, size_t key_bytes, isthmus_rmem **out, void **alias)
{
    const struct isthmus_services *s = path->tr->services;
    struct kinds_key key;
    isthmus_rmem *rmem = calloc(1, sizeof *rmem);
    if (rmem == NULL || key_bytes != sizeof key) {
        free(rmem);
        return s->fail(s->core, ISTHMUS_ERR_VERSION, "a key of %zu bytes", key_bytes);
    }
    memcpy(&key, key_in, sizeof key);
    rmem->length_bytes = key.length_bytes;
    rmem->hidden = key.hidden;
    rmem->is_held = key.is_held != 0 && !path->is_self;
    isthmus_status status = path->is_self ? ISTHMUS_OK : map_peer(path, &key, rmem);
    if (status != ISTHMUS_OK) {
        free(rmem);
        return status;
    }
    *alias = NULL;
    *out = rmem;
    return ISTHMUS_OK;
}

void kinds_detach(isthmus_rmem *rmem)
{
    if (rmem == NULL) return;
    if (rmem->is_mapped)
        munmap(rmem->hidden, rmem->is_held ? kinds_held_file_bytes(rmem->length_bytes) : rmem->length_bytes);
    free(rmem);
}

/* ---- data: complete on return ---- */

/* Of a registered operand; unregistered memory is the host's. */
static char *operand(const void *addr, const isthmus_lmem *lmem)
{
    return (char *)(uintptr_t)addr + (lmem != NULL ? lmem->hidden_offset : 0);
}

static void read_through(const isthmus_rmem *remote, uint64_t offset, uint64_t length_bytes)
{
    struct kinds_held held = kinds_held_at(remote->hidden, remote->length_bytes);
    if (remote->is_held) kinds_held_apply(&held, offset, length_bytes);
}

/* Elements that a wait may poll are written at once, as a device would. */
static void copy(char *dest, const char *source, size_t length_bytes)
{
    if (length_bytes == 8 && ((uintptr_t)dest | (uintptr_t)source) % 8 == 0)
        __atomic_store_n((uint64_t *)(void *)dest, *(const uint64_t *)(const void *)source, __ATOMIC_RELEASE);
    else
        memmove(dest, source, length_bytes);
}

static isthmus_status put(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset,
                          const void *source, const isthmus_lmem *source_mem, size_t length_bytes)
{
    (void)chan, (void)path;
    struct kinds_held held = kinds_held_at(remote->hidden, remote->length_bytes);
    if (remote->is_held)
        kinds_held_write(&held, offset, operand(source, source_mem), length_bytes);
    else
        copy(remote->hidden + offset, operand(source, source_mem), length_bytes);
    return ISTHMUS_OK;
}

static isthmus_status get(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset,
                          void *dest, const isthmus_lmem *dest_mem, size_t length_bytes)
{
    (void)chan, (void)path;
    read_through(remote, offset, length_bytes);
    copy(operand(dest, dest_mem), remote->hidden + offset, length_bytes);
    return ISTHMUS_OK;
}

/* Of 32 and 64 bits, as devices have them. */
#define AMO(op, bits)                                                                                                  \
    static isthmus_status amo_##op##_##bits(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote,        \
                                            uint64_t offset, uint64_t operand, uint64_t compare, void *fetched)        \
    {                                                                                                                  \
        (void)chan, (void)path;                                                                                        \
        read_through(remote, offset, (bits) / 8);                                                                      \
        uint##bits##_t *at = (uint##bits##_t *)(void *)(remote->hidden + offset);                                      \
        uint64_t old = isthmus_amo_cpu_##bits(ISTHMUS_AMO_##op, at, (uint##bits##_t)operand, (uint##bits##_t)compare); \
        if (fetched != NULL) *(uint##bits##_t *)fetched = (uint##bits##_t)old;                                         \
        return ISTHMUS_OK;                                                                                             \
    }
#define WIDTHS(op) AMO(op, 32) AMO(op, 64)
WIDTHS(FETCH)
WIDTHS(SET)
WIDTHS(SWAP)
WIDTHS(COMPARE_SWAP)
WIDTHS(ADD)
WIDTHS(AND)
WIDTHS(OR)
#define ROW(op) [ISTHMUS_AMO_##op] = {NULL, NULL, amo_##op##_32, amo_##op##_64}
/* Without XOR, so that the core's emulation is tested. */
static const isthmus_amo_fn amo_table[ISTHMUS_AMO_COUNT][ISTHMUS_BITS_COUNT] = {
    ROW(FETCH), ROW(SET), ROW(SWAP), ROW(COMPARE_SWAP), ROW(ADD), ROW(AND), ROW(OR)};

static isthmus_amo_fn amo_entry(isthmus_chan *chan, uint32_t op, uint32_t bits, uint32_t flags)
{
    (void)chan, (void)flags;
    return op < ISTHMUS_AMO_COUNT && bits < ISTHMUS_BITS_COUNT ? amo_table[op][bits] : NULL;
}

static isthmus_status order(isthmus_chan *chan, isthmus_path *path)
{
    (void)chan, (void)path;
    isthmus_publish_stores_();
    return ISTHMUS_OK;
}

isthmus_status kinds_channel_open(isthmus_tr *tr, uint32_t thread_mode, uint64_t ctx_options, isthmus_chan **out,
                                  struct isthmus_data_ops *ops)
{
    static isthmus_chan the_channel;
    (void)tr, (void)thread_mode, (void)ctx_options;
    ops->put = put;
    ops->get = get;
    ops->amo_entry = amo_entry;
    ops->fence = order;
    ops->remote_commit = order;
    *out = &the_channel;
    return ISTHMUS_OK;
}

void kinds_channel_close(isthmus_chan *chan) { (void)chan; }
