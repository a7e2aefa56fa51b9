/* plugins/loopback/lb_mem.c: exposing memory, and mapping that of a peer.
 * A key names a descriptor on offer at the peer and a range in it. All descriptors of a peer are received at the
 * first attach; each is closed as soon as it is mapped. */
#include "plugins/loopback/loopback.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KEY_VERSION = 1 };

/* ---- own memory ---- */

isthmus_status lb_expose(isthmus_tr *tr, const struct isthmus_mem *mem, void *key_out, size_t *key_bytes,
                         isthmus_lmem **out)
{
    const struct isthmus_services *s = tr->services;
    if (mem->kind != ISTHMUS_MEM_HOST || mem->fd < 0)
        return s->fail(s->core, ISTHMUS_ERR_UNSUPPORTED, "peers cannot map memory of kind %u %s", mem->kind,
                       mem->fd < 0 ? "without a descriptor" : "on a device");
    struct lb_key key = {
        .version = KEY_VERSION, .offset_bytes = mem->fd_offset_bytes, .length_bytes = mem->length_bytes};
    if (*key_bytes < sizeof key) {
        size_t room = *key_bytes;
        *key_bytes = sizeof key;
        return s->fail(s->core, ISTHMUS_ERR_LIMIT, "a key takes %zu bytes, but there is room for %zu", sizeof key,
                       room);
    }
    if (mem->length_bytes > tr->expose_limit_bytes - tr->bytes_exposed)
        return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY,
                       "the memory exceeds ISTHMUS_LOOPBACK_EXPOSE_LIMIT by %llu bytes; raise that limit",
                       (unsigned long long)(mem->length_bytes - (tr->expose_limit_bytes - tr->bytes_exposed)));
    struct isthmus_lmem *entry = tr->exposed;
    while (entry < tr->exposed + LB_MAX_EXPOSED && entry->id != 0) entry++;
    if (entry == tr->exposed + LB_MAX_EXPOSED)
        return s->fail(
            s->core, ISTHMUS_ERR_LIMIT,
            "this PE exposes %d ranges of memory already, which is the limit; unregister buffers or allocate fewer, "
            "larger ones",
            LB_MAX_EXPOSED);
    isthmus_status status = fd_pass_offer(tr->server, mem->fd, &key.id);
    if (status != ISTHMUS_OK) return status;
    *entry = (struct isthmus_lmem){.tr = tr, .id = key.id, .addr = mem->addr, .length_bytes = mem->length_bytes};
    tr->bytes_exposed += mem->length_bytes;
    memcpy(key_out, &key, sizeof key);
    *key_bytes = sizeof key;
    *out = entry;
    return ISTHMUS_OK;
}

void lb_unregister(isthmus_lmem *lmem)
{
    if (lmem == NULL || lmem->id == 0) return;
    fd_pass_withdraw(lmem->tr->server, lmem->id);
    lmem->tr->bytes_exposed -= lmem->length_bytes;
    lmem->id = 0;
}

/* ---- a peer's memory ---- */

isthmus_status lb_path_open(isthmus_tr *tr, const struct isthmus_peer *peer, isthmus_path **out)
{
    const struct isthmus_services *s = tr->services;
    isthmus_path *path = calloc(1, sizeof *path);
    if (path == NULL) return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "no memory for the path to PE %d", peer->pe);
    path->tr = tr;
    path->pe = peer->pe;
    path->is_self = peer->pe == s->my_pe;
    if (!path->is_self) {
        struct fd_pass_address address;
        memcpy(&address, peer->card, sizeof address); /* reach() has checked the size */
        isthmus_status status = fd_pass_client_open(s, peer, &address, tr->timeout_s, &path->client);
        if (status != ISTHMUS_OK) {
            free(path);
            return status;
        }
    }
    *out = path;
    return ISTHMUS_OK;
}

void lb_path_close(isthmus_path *path)
{
    if (path == NULL) return;
    fd_pass_client_close(&path->client);
    free(path);
}

static isthmus_status attach_own(isthmus_path *path, const struct lb_key *key, isthmus_rmem *rmem)
{
    isthmus_tr *tr = path->tr;
    for (int i = 0; i < LB_MAX_EXPOSED; i++) {
        if (tr->exposed[i].id != key->id || key->id == 0) continue;
        if (tr->exposed[i].length_bytes < key->length_bytes) break;
        rmem->addr = tr->exposed[i].addr;
        return ISTHMUS_OK;
    }
    return tr->services->fail(
        tr->services->core, ISTHMUS_ERR_INVALID,
        "this PE does not expose memory of that length as number %u; the memory was freed, or its key is damaged",
        key->id);
}

/* How much of a peer's memory this PE can use at all, if it cannot map all of it: blocks lie at the same offsets on all
 * PEs, so a block of a heap lies no further than the own heap reaches. A host may let one PE map less than another. */
static uint64_t usable_bytes(const isthmus_tr *tr, uint64_t length_bytes)
{
    uint64_t longest = 0;
    for (int i = 0; i < LB_MAX_EXPOSED; i++)
        if (tr->exposed[i].id != 0 && tr->exposed[i].length_bytes > longest) longest = tr->exposed[i].length_bytes;
    return longest > 0 && longest < length_bytes ? longest : length_bytes;
}

/* Then what a PE maps of one peer, and cannot use, would be missing for the next one. */
static int has_few_addresses(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

static void *map_peer(int fd, uint64_t offset_bytes, uint64_t length_bytes)
{
    return mmap(NULL, length_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, (off_t)offset_bytes);
}

static isthmus_status attach_peer(isthmus_path *path, const struct lb_key *key, isthmus_rmem *rmem)
{
    const struct isthmus_services *s = path->tr->services;
    int fd;
    isthmus_status status = fd_pass_client_take(&path->client, key->id, &fd);
    if (status != ISTHMUS_OK) return status;
    struct stat about;
    if (fstat(fd, &about) != 0 || (uint64_t)about.st_size < key->offset_bytes + key->length_bytes) {
        status = s->fail(
            s->core, ISTHMUS_ERR_VERSION,
            "the memory of PE %d is shorter than its key states; use one version of this plugin on all PEs", path->pe);
    } else {
        if (has_few_addresses()) rmem->length_bytes = usable_bytes(path->tr, rmem->length_bytes);
        void *addr = map_peer(fd, key->offset_bytes, rmem->length_bytes);
        if (addr == MAP_FAILED && errno == ENOMEM) {
            rmem->length_bytes = usable_bytes(path->tr, rmem->length_bytes);
            addr = map_peer(fd, key->offset_bytes, rmem->length_bytes);
        }
        if (addr == MAP_FAILED)
            status = s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "mmap of %llu bytes of PE %d: %s%s",
                             (unsigned long long)key->length_bytes, path->pe, strerror(errno),
                             errno == ENOMEM ? "; raise 'ulimit -v' or vm.max_map_count" : "");
        else
            rmem->addr = addr;
    }
    close(fd);
    rmem->is_mapped = 1;
    return status;
}

isthmus_status lb_key_read(const struct isthmus_services *s, int32_t pe, const void *bytes, size_t n_bytes,
                           struct lb_key *out)
{
    struct lb_key key;
    if (n_bytes != sizeof key)
        return s->fail(s->core, ISTHMUS_ERR_VERSION,
                       "a key of PE %d has %zu bytes instead of %zu; use one version of this plugin on all PEs", pe,
                       n_bytes, sizeof key);
    memcpy(&key, bytes, sizeof key);
    if (key.version != KEY_VERSION)
        return s->fail(
            s->core, ISTHMUS_ERR_VERSION,
            "a key of PE %d is of version %u, but this plugin reads version %d; use one version of it on all PEs", pe,
            key.version, KEY_VERSION);
    if (key.length_bytes == 0 || key.offset_bytes > INT64_MAX || key.length_bytes > INT64_MAX - key.offset_bytes ||
        key.offset_bytes % (uint64_t)sysconf(_SC_PAGESIZE) != 0)
        return s->fail(s->core, ISTHMUS_ERR_VERSION,
                       "a key of PE %d is damaged: %llu bytes at offset %llu exceed any file", pe,
                       (unsigned long long)key.length_bytes, (unsigned long long)key.offset_bytes);
    *out = key;
    return ISTHMUS_OK;
}

isthmus_status lb_attach(isthmus_path *path, const void *key_in, size_t key_bytes, isthmus_rmem **out, void **alias)
{
    const struct isthmus_services *s = path->tr->services;
    struct lb_key key = {.id = 0};
    isthmus_status status = lb_key_read(s, path->pe, key_in, key_bytes, &key);
    if (status != ISTHMUS_OK) return status;
    isthmus_rmem *rmem = calloc(1, sizeof *rmem);
    if (rmem == NULL) return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "no memory for an extent of PE %d", path->pe);
    rmem->tr = path->tr;
    rmem->length_bytes = key.length_bytes;
    status = path->is_self ? attach_own(path, &key, rmem) : attach_peer(path, &key, rmem);
    if (status != ISTHMUS_OK) {
        free(rmem);
        return status;
    }
    if (rmem->is_mapped) path->tr->bytes_mapped += rmem->length_bytes;
    *alias = rmem->addr;
    *out = rmem;
    return ISTHMUS_OK;
}

void lb_detach(isthmus_rmem *rmem)
{
    if (rmem == NULL) return;
    if (rmem->is_mapped) {
        munmap(rmem->addr, rmem->length_bytes);
        rmem->tr->bytes_mapped -= rmem->length_bytes;
    }
    free(rmem);
}
