/* tcp_mem.c: extents of this PE, and those of peers. Nothing is registered or mapped: an extent is a number that its
 * owner finds in a list. */
#include "tcp.h"

#include <stdlib.h>
#include <string.h>

/* ---- this PE's memory ---- */

static isthmus_status write_key(const struct isthmus_services *s, const isthmus_lmem *lmem, void *out,
                                size_t *out_bytes)
{
    struct tcp_key key = {TCP_MAGIC_KEY, TCP_VERSION_WIRE, lmem->extent, lmem->length_bytes, 0};
    size_t room = *out_bytes;
    *out_bytes = sizeof key;
    if (room < sizeof key)
        return s->fail(s->core, ISTHMUS_ERR_LIMIT, "a key takes %zu bytes, there is room for %zu", sizeof key, room);
    key.checksum = tcp_checksum(&key, offsetof(struct tcp_key, checksum));
    memcpy(out, &key, sizeof key);
    return ISTHMUS_OK;
}

isthmus_status tcp_expose(isthmus_tr *tr, const struct isthmus_mem *mem, void *key, size_t *key_bytes,
                          isthmus_lmem **out)
{
    const struct isthmus_services *s = tr->services;
    if (mem->kind != ISTHMUS_MEM_HOST)
        return s->fail(s->core, ISTHMUS_ERR_UNSUPPORTED, "memory of kind %u; this transport takes host memory only",
                       mem->kind);
    isthmus_lmem *lmem = calloc(1, sizeof *lmem);
    if (lmem == NULL) return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "no memory for an extent");
    *lmem = (isthmus_lmem){.tr = tr, .addr = mem->addr, .length_bytes = mem->length_bytes};
    pthread_mutex_lock(&tr->extents_lock);
    lmem->extent = ++tr->newest_extent;
    isthmus_status status = write_key(s, lmem, key, key_bytes);
    if (status == ISTHMUS_OK) {
        lmem->next = tr->extents;
        tr->extents = lmem;
        *out = lmem;
    }
    pthread_mutex_unlock(&tr->extents_lock);
    if (status != ISTHMUS_OK) free(lmem);
    return status;
}

void tcp_unregister(isthmus_lmem *lmem)
{
    if (lmem == NULL) return;
    isthmus_tr *tr = lmem->tr;
    pthread_mutex_lock(&tr->extents_lock);
    isthmus_lmem **at = &tr->extents;
    while (*at != lmem) at = &(*at)->next;
    *at = lmem->next;
    pthread_mutex_unlock(&tr->extents_lock);
    free(lmem);
}

char *tcp_extent_find(isthmus_tr *tr, uint64_t extent, uint64_t offset_bytes, uint64_t length_bytes)
{
    char *found = NULL;
    pthread_mutex_lock(&tr->extents_lock);
    for (const isthmus_lmem *e = tr->extents; e != NULL && found == NULL; e = e->next)
        if (e->extent == extent && offset_bytes <= e->length_bytes && length_bytes <= e->length_bytes - offset_bytes)
            found = e->addr + offset_bytes;
    pthread_mutex_unlock(&tr->extents_lock);
    return found;
}

/* ---- a peer's ---- */

/* Returns OK if the peer knows the extent. Keys arrive from other processes: nothing in them is trusted. */
static isthmus_status check_extent(isthmus_path *path, const struct tcp_key *key, isthmus_rmem *rmem)
{
    const struct isthmus_services *s = path->tr->services;
    bool is_there;
    if (path->fd < 0) {
        rmem->addr = tcp_extent_find(path->tr, key->extent, 0, key->length_bytes);
        is_there = rmem->addr != NULL;
    } else {
        const struct tcp_request request = {
            .kind = TCP_CHECK, .extent = key->extent, .length_bytes = key->length_bytes};
        struct tcp_reply reply;
        isthmus_status status = tcp_ask(path, &request, &reply, NULL, 0);
        if (status != ISTHMUS_OK) return status;
        is_there = !reply.is_refused;
    }
    if (is_there) return ISTHMUS_OK;
    return s->fail(s->core, ISTHMUS_ERR_INVALID, "PE %d exposes no extent %llu of %llu bytes", path->pe,
                   (unsigned long long)key->extent, (unsigned long long)key->length_bytes);
}

isthmus_status tcp_attach(isthmus_path *path, const void *key_in, size_t key_bytes, isthmus_rmem **out, void **alias)
{
    const struct isthmus_services *s = path->tr->services;
    struct tcp_key key;
    if (key_bytes != sizeof key)
        return s->fail(s->core, ISTHMUS_ERR_VERSION, "a key of PE %d has %zu bytes instead of %zu", path->pe, key_bytes,
                       sizeof key);
    memcpy(&key, key_in, sizeof key);
    if (key.magic != TCP_MAGIC_KEY || key.version != TCP_VERSION_WIRE ||
        key.checksum != tcp_checksum(&key, offsetof(struct tcp_key, checksum)))
        return s->fail(s->core, ISTHMUS_ERR_VERSION, "a key of PE %d is damaged, or of another version than %d",
                       path->pe, TCP_VERSION_WIRE);
    isthmus_rmem *rmem = calloc(1, sizeof *rmem);
    if (rmem == NULL) return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "no memory for an extent of PE %d", path->pe);
    *rmem = (isthmus_rmem){.path = path, .extent = key.extent, .length_bytes = key.length_bytes};
    isthmus_status status = check_extent(path, &key, rmem);
    if (status != ISTHMUS_OK) {
        free(rmem);
        return status;
    }
    *out = rmem;
    *alias = rmem->addr; /* NULL but for the own PE's */
    return ISTHMUS_OK;
}

void tcp_detach(isthmus_rmem *rmem) { free(rmem); }
