/* tools/isthmus-check-transport/case_memory.c: exposing memory, keys, attaching. */
#include "cases.h"

#include <string.h>
#include <unistd.h>

enum { GUARD = 0xa5, EXTENT_BYTES = 64 << 10, RANDOM_KEYS = 2000, N_EXTENTS = 8, UNKNOWN_KINDS = 40 };

void ct_case_key_room(struct ct_process *p)
{
    struct ct_extent extent;
    uint8_t room[2 * CT_KEY_ROOM];
    ct_open(p);
    ct_extent_make(p, &extent, EXTENT_BYTES, 0);
    ct_extent_expose(p, &extent);
    size_t needed = extent.key_bytes;
    p->t->unregister_local(extent.lmem);
    isthmus_lmem *const untouched = (isthmus_lmem *)(void *)room;
    for (size_t n = 0; n < needed; n++) {
        size_t length = n;
        isthmus_lmem *lmem = untouched;
        memset(room, GUARD, sizeof room);
        CT_ERROR(p->t->expose(p->tr, &extent.mem, room, &length, &lmem), CT_CODE(ISTHMUS_ERR_LIMIT));
        CT_CHECK(length >= needed && length <= p->traits.key_max_bytes,
                 "with room for %zu bytes it returned %zu as the number needed, but it writes %zu", n, length, needed);
        CT_CHECK(lmem == untouched, "expose failed and wrote to *out; valid: *out as it was");
        for (size_t i = n; i < sizeof room; i++)
            CT_CHECK(room[i] == GUARD, "with room for %zu bytes it wrote byte %zu", n, i);
    }
    memset(room, GUARD, sizeof room);
    size_t exact = needed;
    CT_OK(p->t->expose(p->tr, &extent.mem, room, &exact, &extent.lmem));
    for (size_t i = exact; i < sizeof room; i++)
        CT_CHECK(room[i] == GUARD, "with room for more it returned %zu bytes and wrote byte %zu", exact, i);
    ct_extent_close(p, &extent);
    ct_close(p);
}

static void expect_refused(struct ct_process *p, const struct isthmus_mem *mem)
{
    uint8_t key[CT_KEY_ROOM];
    isthmus_lmem *const untouched = (isthmus_lmem *)(void *)key;
    isthmus_lmem *lmem = untouched;
    size_t key_bytes = sizeof key;
    CT_ERROR(p->t->expose(p->tr, mem, key, &key_bytes, &lmem), CT_CODE(ISTHMUS_ERR_UNSUPPORTED));
    CT_CHECK(lmem == untouched, "expose failed and wrote to *out; valid: *out as it was");
}

/* ISTHMUS_TRAIT_ANY_LOCAL: one registration of no bytes for each kind but the host's. */
static void register_any(struct ct_process *p)
{
    if ((p->traits.traits & ISTHMUS_TRAIT_ANY_LOCAL) == 0) return;
    for (uint32_t kind = ISTHMUS_MEM_HOST + 1; kind < 32; kind++) {
        const struct isthmus_mem mem = {.struct_size = sizeof mem, .kind = kind, .device = -1, .fd = -1};
        isthmus_lmem *lmem = NULL;
        if ((p->traits.kinds_local >> kind & 1) == 0) continue;
        CT_OK(p->t->register_local(p->tr, &mem, &lmem));
        p->t->unregister_local(lmem);
    }
}

void ct_case_unknown_kind(struct ct_process *p)
{
    struct ct_extent extent;
    ct_open(p);
    ct_extent_make(p, &extent, EXTENT_BYTES, 0);
    for (uint32_t kind = 0; kind < UNKNOWN_KINDS; kind++) {
        if (kind < 32 && (p->traits.kinds_expose >> kind & 1) != 0) continue;
        struct isthmus_mem mem = extent.mem;
        mem.kind = kind;
        expect_refused(p, &mem);
        mem.device = 0;
        expect_refused(p, &mem);
    }
    if ((p->traits.kinds_local >> ISTHMUS_MEM_HIP & 1) == 0 && p->plugin.given.register_local != NULL) {
        struct isthmus_mem mem = extent.mem;
        isthmus_lmem *lmem = NULL;
        mem.kind = ISTHMUS_MEM_HIP;
        CT_ERROR(p->t->register_local(p->tr, &mem, &lmem), CT_CODE(ISTHMUS_ERR_UNSUPPORTED));
    }
    register_any(p);
    ct_extent_free(&extent);
    ct_close(p);
}

/* ---- damaged keys ---- */

static void try_key(struct ct_process *p, int pe, const void *key, size_t key_bytes)
{
    isthmus_rmem *const untouched = (isthmus_rmem *)(void *)p;
    isthmus_rmem *rmem = untouched;
    void *alias = p;
    ct_forget_failure();
    isthmus_status status = p->t->attach(p->path[pe], key, key_bytes, &rmem, &alias);
    if (status == ISTHMUS_OK) {
        p->t->detach(rmem); /* a change that names another object that exists; the case does not read it */
        return;
    }
    CT_CHECK(status < 0 && status >= ISTHMUS_ERR_REFUSED, "%d, which is no error code", status);
    CT_CHECK(ct_failure_text()[0] != '\0', "%s without a text: services->fail() was not called",
             ct_status_name(status));
    CT_CHECK(rmem == untouched && alias == p,
             "attach failed (%s) and wrote to *out or *alias; valid: both as they were", ct_status_name(status));
}

static void try_damaged_keys(struct ct_process *p, int pe, const struct ct_blob *good)
{
    uint64_t state = ct_seed() + (uint64_t)p->pe;
    uint8_t key[CT_KEY_ROOM];
    for (size_t cut = 0; cut < good->n_bytes; cut++) try_key(p, pe, good->bytes, cut);
    for (int i = 0; i < RANDOM_KEYS; i++) {
        size_t n_bytes = i % 4 == 0 ? ct_random(&state) % sizeof key : good->n_bytes;
        ct_pattern_fill(key, n_bytes, ct_random(&state));
        if (i % 4 > 1) memcpy(key, good->bytes, good->n_bytes);
        for (uint64_t flips = 1 + ct_random(&state) % 3; n_bytes > 0 && flips > 0; flips--)
            key[ct_random(&state) % n_bytes] ^= (uint8_t)(1u << ct_random(&state) % 8);
        try_key(p, pe, key, n_bytes);
    }
}

void ct_case_damaged_key(struct ct_process *p)
{
    static struct ct_extent extent;
    struct ct_blob keys[CT_MAX_PROCESSES];
    ct_open(p);
    ct_exchange_cards(p);
    ct_extent_make(p, &extent, EXTENT_BYTES, 0);
    ct_extent_expose(p, &extent);
    ct_exchange(p, extent.key, extent.key_bytes, keys);
    for (int pe = 0; pe < p->n; pe++) {
        CT_OK(p->t->path_open(p->tr, &p->peers[pe], &p->path[pe]));
        try_damaged_keys(p, pe, &keys[pe]);
    }
    ct_extent_attach(p, &extent);
    struct ct_channel channel;
    ct_channel_open(p, ISTHMUS_THREAD_ONE, 0, &channel);
    struct ct_target at = {p, &channel, &extent, 1 - p->pe};
    uint64_t value = 42, got = 0;
    ct_put(&at, 0, &value, sizeof value);
    ct_quiet(p, &channel);
    ct_get(&at, 0, &got, sizeof got);
    CT_CHECK(got == value, "%llu was put, %llu came back", (unsigned long long)value, (unsigned long long)got);
    ct_end(p, &extent, &channel);
}

/* ---- several extents, and the order in which they are exposed ---- */

/* Every process writes to its neighbour's extent, and checks what arrived in its own. */
static void use(struct ct_process *p, const struct ct_channel *channel, struct ct_extent *extent, uint64_t seed)
{
    static uint8_t buffer[EXTENT_BYTES];
    int next = (p->pe + 1) % p->n, previous = (p->pe + p->n - 1) % p->n;
    struct ct_target at = {(struct ct_process *)p, channel, extent, next};
    ct_pattern_fill(buffer, extent->length_bytes, seed + (uint64_t)p->pe);
    ct_put(&at, 0, buffer, extent->length_bytes);
    ct_quiet(p, channel);
    ct_meet(p);
    size_t wrong = ct_pattern_check(ct_extent_view(extent, 0, extent->length_bytes), extent->length_bytes,
                                    seed + (uint64_t)previous);
    CT_CHECK(wrong == extent->length_bytes, "byte %zu of this process's memory is not what process %d has put there",
             wrong, previous);
    ct_meet(p);
}

void ct_case_expose_late(struct ct_process *p)
{
    static struct ct_extent first, late;
    struct ct_channel channel;
    ct_begin(p, &first, EXTENT_BYTES, &channel);
    use(p, &channel, &first, 1);
    ct_extent_make(p, &late, EXTENT_BYTES, 0);
    ct_extent_expose(p, &late);
    ct_extent_attach(p, &late);
    use(p, &channel, &late, 2);
    use(p, &channel, &first, 3);
    ct_meet(p);
    ct_extent_detach(p, &late);
    ct_meet(p);
    ct_extent_close(p, &late);
    ct_end(p, &first, &channel);
}

void ct_case_attach_twice(struct ct_process *p)
{
    static struct ct_extent extent, twin;
    struct ct_channel channel;
    ct_begin(p, &extent, EXTENT_BYTES, &channel);
    twin = extent;
    ct_extent_attach(p, &twin);
    use(p, &channel, &twin, 1);
    use(p, &channel, &extent, 2);
    ct_extent_detach(p, &extent);
    use(p, &channel, &twin, 3);
    memcpy(extent.rmem, twin.rmem, sizeof extent.rmem);
    ct_end(p, &extent, &channel);
}

void ct_case_many_extents(struct ct_process *p)
{
    static struct ct_extent extents[N_EXTENTS];
    struct ct_channel channel;
    ct_open(p);
    ct_exchange_cards(p);
    for (int i = 0; i < N_EXTENTS; i++) { /* the longest is attached first: a put to it in place of another one fits */
        ct_extent_make(p, &extents[i], EXTENT_BYTES - (size_t)(N_EXTENTS - 1 - i) * 4096, 0);
        ct_extent_expose(p, &extents[i]);
    }
    for (int i = N_EXTENTS - 1; i >= 0; i--) ct_extent_attach(p, &extents[i]);
    ct_channel_open(p, ISTHMUS_THREAD_ONE, 0, &channel);
    for (int i = 0; i < N_EXTENTS; i++) use(p, &channel, &extents[i], (uint64_t)i);
    for (int i = 0; i < N_EXTENTS; i++) {
        uint64_t seed = (uint64_t)i + (uint64_t)(1 - p->pe);
        size_t wrong = ct_pattern_check(ct_extent_view(&extents[i], 0, extents[i].length_bytes),
                                        extents[i].length_bytes, seed);
        CT_CHECK(wrong == extents[i].length_bytes, "byte %zu of extent %d was changed by puts to others", wrong, i);
    }
    ct_meet(p);
    for (int i = 1; i < N_EXTENTS; i++) ct_extent_detach(p, &extents[i]);
    ct_meet(p);
    for (int i = 1; i < N_EXTENTS; i++) ct_extent_close(p, &extents[i]);
    ct_end(p, &extents[0], &channel);
}

/* A page before and a page after the extent are the process's own. */
void ct_case_part_of_memory(struct ct_process *p)
{
    static struct ct_extent extent;
    struct ct_channel channel;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    ct_open(p);
    ct_exchange_cards(p);
    ct_extent_make(p, &extent, EXTENT_BYTES, page);
    if (!ct_extent_is_host(&extent)) ct_skip("bytes beside an extent of device memory cannot be read");
    memset(extent.mapping, GUARD, extent.mapping_bytes);
    ct_extent_expose(p, &extent);
    ct_extent_attach(p, &extent);
    ct_channel_open(p, ISTHMUS_THREAD_ONE, 0, &channel);
    use(p, &channel, &extent, 5);
    const uint8_t *all = extent.mapping;
    for (size_t i = 0; i < extent.mapping_bytes; i++) {
        if (i >= page && i < page + EXTENT_BYTES) continue;
        CT_CHECK(all[i] == GUARD, "byte %td from the extent's start was written", (ptrdiff_t)i - (ptrdiff_t)page);
    }
    ct_end(p, &extent, &channel);
}

/* Stores by one side, gets by the other, and loads of what was put. */
void ct_case_alias(struct ct_process *p)
{
    static struct ct_extent extent;
    static uint8_t buffer[EXTENT_BYTES];
    struct ct_channel channel;
    ct_begin(p, &extent, EXTENT_BYTES, &channel);
    int next = (p->pe + 1) % p->n, previous = (p->pe + p->n - 1) % p->n;
    if (extent.alias[next] == NULL) ct_skip("%s maps no peer's memory", p->t->name);
    ct_pattern_fill(extent.alias[next], EXTENT_BYTES, 10 + (uint64_t)p->pe);
    ct_quiet(p, &channel);
    ct_meet(p);
    size_t wrong = ct_pattern_check(extent.base, EXTENT_BYTES, 10 + (uint64_t)previous);
    CT_CHECK(wrong == EXTENT_BYTES, "byte %zu of what process %d stored through its alias is not here", wrong,
             previous);
    struct ct_target own = {p, &channel, &extent, p->pe};
    ct_get(&own, 0, buffer, EXTENT_BYTES);
    wrong = ct_pattern_check(buffer, EXTENT_BYTES, 10 + (uint64_t)previous);
    CT_CHECK(wrong == EXTENT_BYTES, "byte %zu of a get from this process is not what a load finds there", wrong);
    ct_meet(p);
    use(p, &channel, &extent, 20);
    wrong = ct_pattern_check(extent.alias[next], EXTENT_BYTES, 20 + (uint64_t)p->pe);
    CT_CHECK(wrong == EXTENT_BYTES, "a load of byte %zu through the alias does not return what was put there", wrong);
    ct_end(p, &extent, &channel);
}
