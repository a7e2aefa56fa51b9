/* tools/isthmus-check-transport/case_data.c: put and get, and what orders and completes them. */
#include "cases.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    GUARD = 0x5a,
    MARGIN = 64,
    SLOTS = 24,
    LARGEST = 1 << 20,
    NBI_OPS = 1000,
    NBI_BYTES = 512,
    FENCE_ROUNDS = 500,
    LOOKS_AT_A_TIME = 256,
    PIECE_BYTES = 256
};

/* ---- sizes and alignments ---- */

static const size_t sizes[] = {1,    2,     3,     4,     5,     6,      7,      8,      9,           12,
                               15,   16,    17,    24,    31,    32,     33,     48,     63,          64,
                               65,   100,   127,   128,   129,   200,    255,    256,    257,         511,
                               512,  513,   1000,  1023,  1024,  1025,   2048,   4095,   4096,        4097,
                               8191, 16384, 65535, 65536, 65537, 262143, 262144, 300001, LARGEST - 1, LARGEST};

struct slot {
    size_t at, remote_misalign, local_misalign; /* the data begins at at + MARGIN + misalign */
};

/* The same on both sides: it depends on the seed and the size only. Large sizes get fewer slots. */
static int draw_slots(size_t size, struct slot *slots)
{
    uint64_t state = ct_seed() + size;
    int n = size <= 4096 ? SLOTS : size <= 65537 ? 6 : 2;
    size_t stride = (size + 2 * MARGIN + 64 + 63) / 64 * 64;
    for (int i = 0; i < n; i++) {
        uint64_t r = ct_random(&state);
        slots[i] = (struct slot){(size_t)i * stride, i < 2 ? 0 : r % 64, i < 1 ? 0 : (r >> 8) % 64};
    }
    return n;
}

static size_t extent_bytes(void) { return 2 * (LARGEST + 4 * MARGIN + 128) + 65536 * 8; }

static bool is_untouched(const uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (bytes[i] != GUARD) return false;
    return true;
}

/* The data of a slot and a margin on both sides. */
static void check_slot(const uint8_t *data, size_t size, uint64_t seed, const char *what)
{
    size_t wrong = ct_pattern_check(data, size, seed);
    CT_CHECK(wrong == size, "%s of %zu bytes at an address ending in %#zx: byte %zu is wrong", what, size,
             (size_t)(uintptr_t)data & 0x3f, wrong);
    CT_CHECK(is_untouched(data - MARGIN, MARGIN) && is_untouched(data + size, MARGIN),
             "%s of %zu bytes at an address ending in %#zx: bytes beside it were written", what, size,
             (size_t)(uintptr_t)data & 0x3f);
}

static uint64_t seed_of(int from, size_t size, int slot)
{
    return (uint64_t)from << 40 ^ (uint64_t)size << 8 ^ (uint64_t)slot;
}

/* Puts one size to process `to`, checks what arrived from `from`, and gets it back. */
static void try_size(struct ct_target *at, struct ct_extent *extent, uint8_t *local, size_t size, int from)
{
    struct slot slots[SLOTS];
    int n = draw_slots(size, slots), me = at->p->pe;
    ct_extent_fill(extent, GUARD);
    ct_meet(at->p);
    for (int i = 0; i < n; i++) {
        uint8_t *source = local + MARGIN + slots[i].local_misalign;
        ct_pattern_fill(source, size, seed_of(me, size, i));
        ct_put(at, slots[i].at + MARGIN + slots[i].remote_misalign, source, size);
        memset(source, 0, size); /* it may be reused */
    }
    ct_quiet(at->p, at->channel);
    ct_meet(at->p);
    const uint8_t *own = ct_extent_view(extent, 0, extent_bytes());
    for (int i = 0; i < n; i++)
        check_slot(own + slots[i].at + MARGIN + slots[i].remote_misalign, size, seed_of(from, size, i), "a put");
    for (int i = 0; i < n; i++) {
        uint8_t *dest = local + MARGIN + slots[i].local_misalign;
        memset(dest - MARGIN, GUARD, size + 2 * MARGIN);
        ct_get(at, slots[i].at + MARGIN + slots[i].remote_misalign, dest, size);
        check_slot(dest, size, seed_of(me, size, i), "a get");
    }
    ct_meet(at->p);
}

static void try_all_sizes(struct ct_process *p, int to, int from)
{
    static struct ct_extent extent;
    struct ct_channel channel;
    uint8_t *local = malloc(LARGEST + 2 * MARGIN + 64);
    CT_NEED(local != NULL, "no memory for %d bytes", LARGEST);
    ct_begin(p, &extent, extent_bytes(), &channel);
    struct ct_target at = {p, &channel, &extent, to};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) try_size(&at, &extent, local, sizes[i], from);
    ct_end(p, &extent, &channel);
    free(local);
}

void ct_case_put_get(struct ct_process *p) { try_all_sizes(p, 1 - p->pe, 1 - p->pe); }

void ct_case_put_get_self(struct ct_process *p) { try_all_sizes(p, p->pe, p->pe); }

/* Each process has a part of every extent. */
void ct_case_all_pairs(struct ct_process *p)
{
    enum { PART = 40000 };
    static struct ct_extent extent;
    static uint8_t buffer[PART];
    struct ct_channel channel;
    ct_begin(p, &extent, (size_t)PART * (size_t)p->n, &channel);
    for (int round = 0; round < 20; round++) {
        for (int to = 0; to < p->n; to++) {
            struct ct_target at = {p, &channel, &extent, to};
            ct_pattern_fill(buffer, PART, seed_of(p->pe, (size_t)to, round));
            ct_put(&at, (uint64_t)p->pe * PART, buffer, PART);
        }
        ct_quiet(p, &channel);
        ct_meet(p);
        for (int from = 0; from < p->n; from++) {
            size_t wrong = ct_pattern_check(ct_extent_view(&extent, (uint64_t)from * PART, PART), PART,
                                            seed_of(from, (size_t)p->pe, round));
            CT_CHECK(wrong == PART, "round %d: byte %zu from process %d is wrong", round, wrong, from);
        }
        ct_meet(p);
    }
    ct_end(p, &extent, &channel);
}

static void check_arrived(const uint8_t *bytes, size_t size, uint64_t seed, const char *what)
{
    size_t wrong = ct_pattern_check(bytes, size, seed);
    CT_CHECK(wrong == size, "%s: byte %zu of %zu is wrong", what, wrong, size);
}

void ct_case_large(struct ct_process *p)
{
    const size_t size = (size_t)64 << 20;
    static struct ct_extent extent;
    struct ct_channel channel;
    ct_begin(p, &extent, size, &channel);
    uint8_t *local = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CT_NEED(local != MAP_FAILED, "mmap of %zu bytes: %s", size, strerror(errno));
    struct ct_target at = {p, &channel, &extent, 1};
    if (p->pe == 0) {
        ct_pattern_fill(local, size, 99);
        ct_put(&at, 0, local, size);
        memset(local, 0, size); /* no socket and no queue takes so much at once: a put that does not wait reads this */
        ct_quiet(p, &channel);
    }
    ct_meet(p);
    if (p->pe == 1)
        check_arrived(ct_extent_view(&extent, 0, size), size, 99,
                      "a put, whose source was overwritten after it had returned");
    if (p->pe == 0) {
        memset(local, 0, size);
        ct_get(&at, 0, local, size);
        check_arrived(local, size, 99, "a get");
    }
    munmap(local, size);
    ct_end(p, &extent, &channel);
}

/* ---- nonblocking, and local operands ---- */

void ct_case_nbi(struct ct_process *p)
{
    static struct ct_extent extent;
    static uint8_t source[NBI_OPS][NBI_BYTES], dest[NBI_OPS][NBI_BYTES];
    struct ct_channel channel;
    ct_begin(p, &extent, sizeof source, &channel);
    struct ct_target at = {p, &channel, &extent, 1 - p->pe};
    for (int i = 0; i < NBI_OPS; i++) {
        ct_pattern_fill(source[i], NBI_BYTES, seed_of(p->pe, 1, i));
        ct_put_nbi(&at, (uint64_t)i * NBI_BYTES, source[i], NBI_BYTES - (size_t)i % 100);
    }
    CT_OK(channel.ops.local_complete(channel.chan, p->path[at.pe]));
    memset(source, 0, sizeof source);
    CT_OK(channel.ops.remote_commit(channel.chan, p->path[at.pe]));
    ct_meet(p);
    for (int i = 0; i < NBI_OPS; i++) {
        size_t n = NBI_BYTES - (size_t)i % 100;
        size_t wrong = ct_pattern_check(ct_extent_view(&extent, (uint64_t)i * NBI_BYTES, n), n, seed_of(at.pe, 1, i));
        CT_CHECK(wrong == n, "operation %d: byte %zu is wrong; its source was changed after local_complete only", i,
                 wrong);
    }
    for (int i = 0; i < NBI_OPS; i++) ct_get_nbi(&at, (uint64_t)i * NBI_BYTES, dest[i], NBI_BYTES - (size_t)i % 100);
    CT_OK(channel.ops.local_complete(channel.chan, NULL));
    for (int i = 0; i < NBI_OPS; i++) {
        size_t n = NBI_BYTES - (size_t)i % 100;
        size_t wrong = ct_pattern_check(dest[i], n, seed_of(p->pe, 1, i));
        CT_CHECK(wrong == n, "byte %zu of get %d is not there after local_complete", wrong, i);
    }
    ct_end(p, &extent, &channel);
}

void ct_case_registered_buffers(struct ct_process *p)
{
    enum { PART = 20000 };
    static struct ct_extent extent;
    static uint8_t bytes[PART];
    struct ct_channel channel;
    ct_begin(p, &extent, (size_t)4 * PART, &channel);
    int next = 1 - p->pe;
    struct ct_extent local;
    isthmus_lmem *lmem = NULL;
    ct_extent_make_host(p, &local, PART, 0);
    CT_OK(p->t->register_local(p->tr, &local.mem, &lmem));
    const struct isthmus_data_ops *ops = &channel.ops;

    ct_pattern_fill(local.base, PART, 1);
    CT_OK(ops->put(channel.chan, p->path[next], extent.rmem[next], 0, local.base, lmem, PART));
    ct_pattern_fill(bytes, PART, 2);
    ct_extent_write(&extent, (uint64_t)3 * PART, bytes, PART);
    CT_OK(ops->put(channel.chan, p->path[next], extent.rmem[next], PART, extent.base + 3 * PART, extent.lmem, PART));
    ct_quiet(p, &channel);
    ct_meet(p);
    check_arrived(ct_extent_view(&extent, 0, PART), PART, 1, "a put from registered memory");
    check_arrived(ct_extent_view(&extent, PART, PART), PART, 2, "a put from an exposed extent");

    CT_OK(ops->get(channel.chan, p->path[next], extent.rmem[next], PART, local.base, lmem, PART));
    check_arrived((const uint8_t *)local.base, PART, 2, "a get to registered memory");
    CT_OK(ops->get(channel.chan, p->path[next], extent.rmem[next], 0, extent.base + 2 * PART, extent.lmem, PART));
    check_arrived(ct_extent_view(&extent, (uint64_t)2 * PART, PART), PART, 1, "a get to an exposed extent");
    p->t->unregister_local(lmem);
    ct_extent_free(&local);
    ct_end(p, &extent, &channel);
}

/* Tables of constants, files: memory that this process may not write. */
static const uint8_t *read_only_copy(const uint8_t *bytes, size_t n_bytes, bool is_file)
{
    int fd = memfd_create("read only", MFD_CLOEXEC);
    CT_NEED(fd >= 0 && write(fd, bytes, n_bytes) == (ssize_t)n_bytes, "memfd of %zu bytes: %s", n_bytes,
            strerror(errno));
    void *at = mmap(NULL, n_bytes, PROT_READ, is_file ? MAP_SHARED : MAP_PRIVATE, fd, 0);
    CT_NEED(at != MAP_FAILED, "mmap of %zu bytes: %s", n_bytes, strerror(errno));
    close(fd);
    return at;
}

enum { BY_SLOT_PUT, BY_SLOT_PUT_NBI, BY_SLOT_PUT_SIGNAL, PUT_SLOTS };

static void put_by(const struct ct_target *at, int slot, const uint8_t *source, size_t n_bytes)
{
    const uint64_t data = 64;
    if (slot == BY_SLOT_PUT) ct_put(at, data, source, n_bytes);
    if (slot == BY_SLOT_PUT_NBI) ct_put_nbi(at, data, source, n_bytes);
    if (slot == BY_SLOT_PUT_SIGNAL)
        ct_put_signal(&(struct ct_put_signal){.to = at,
                                              .signal_to = at,
                                              .offset_bytes = data,
                                              .source = source,
                                              .length_bytes = n_bytes,
                                              .op = ISTHMUS_AMO_ADD,
                                              .value = 1});
}

void ct_case_read_only_source(struct ct_process *p)
{
    static const size_t lengths[] = {8, 63, 512, 4096, 9000, 65536, LARGEST};
    static struct ct_extent extent;
    static uint8_t bytes[LARGEST];
    struct ct_channel channel;
    ct_begin(p, &extent, 64 + LARGEST, &channel);
    const struct ct_target at = {p, &channel, &extent, 1};
    int n_slots = channel.ops.put_signal != NULL ? PUT_SLOTS : BY_SLOT_PUT_SIGNAL;
    for (int i = 0; i < n_slots * 2 * (int)(sizeof lengths / sizeof *lengths); i++) {
        size_t n = lengths[i / 2 / n_slots];
        if (p->pe == 0) {
            ct_pattern_fill(bytes, n, (uint64_t)i);
            const uint8_t *source = read_only_copy(bytes, n, i % 2 == 0);
            put_by(&at, i / 2 % n_slots, source, n);
            ct_quiet(p, &channel);
            munmap((void *)(uintptr_t)source, n);
        }
        ct_meet(p);
        if (p->pe == 1) check_arrived(ct_extent_view(&extent, 64, n), n, (uint64_t)i, "a put from read-only memory");
        ct_meet(p);
    }
    ct_end(p, &extent, &channel);
}

/* ---- order ---- */

static uint64_t wait_for(struct ct_extent *extent, uint64_t value)
{
    for (int looks = 0; ct_extent_load(extent, 0) < value; looks++)
        if (looks % LOOKS_AT_A_TIME == 0) sched_yield(); /* polls closely, to catch a brief wrong value */
    return value;
}

/* Returns false if there is no such operation, or none that the owner may load meanwhile. */
static bool set_word(const struct ct_target *at, uint64_t offset_bytes, uint64_t value)
{
    const struct ct_amo set = {.op = ISTHMUS_AMO_SET, .bits = ISTHMUS_BITS64, .operand = value};
    return at->p->reach[at->pe].atomics_domain == ISTHMUS_DOMAIN_CPU && ct_amo(at, offset_bytes, &set, NULL);
}

enum { BY_PUT, BY_ATOMICS, BY_PUT_TOO, BY_PUT_NBI, PAYLOADS };

static void send_payload(const struct ct_target *at, uint64_t round, uint64_t *payload, size_t n_bytes)
{
    for (size_t i = 0; i < n_bytes / 8; i++) payload[i] = round;
    for (size_t from = 0; from < n_bytes; from += PIECE_BYTES) {
        size_t n = n_bytes - from < PIECE_BYTES ? n_bytes - from : PIECE_BYTES;
        if (round % PAYLOADS == BY_ATOMICS && set_word(at, 64 + from, round))
            for (size_t i = 8; i < n; i += 8) (void)set_word(at, 64 + from + i, round);
        else if (round % PAYLOADS == BY_PUT_NBI)
            ct_put_nbi(at, 64 + from, (char *)payload + from, n);
        else
            ct_put(at, 64 + from, (char *)payload + from, n);
    }
}

/* Payload, fence, flag; the reader replies with a flag of its own. Each kind of payload with each kind of flag and of
 * fence. */
static void send_round(struct ct_target *at, uint64_t round, uint64_t *payload, size_t n_bytes)
{
    const struct isthmus_data_ops *ops = &at->channel->ops;
    send_payload(at, round, payload, n_bytes);
    CT_OK(ops->fence(at->channel->chan, round / PAYLOADS % 2 == 0 ? NULL : at->p->path[at->pe]));
    if (round / PAYLOADS % 4 < 2 || !set_word(at, 0, round)) ct_put(at, 0, &round, sizeof round);
    CT_OK(ops->local_complete(at->channel->chan, NULL));
    CT_OK(ops->remote_commit(at->channel->chan, NULL));
}

void ct_case_fence(struct ct_process *p)
{
    enum { PAYLOAD = 4096 };
    static struct ct_extent extent;
    static uint64_t payload[PAYLOAD / 8];
    struct ct_channel channel;
    ct_begin(p, &extent, PAYLOAD + 64, &channel);
    struct ct_target at = {p, &channel, &extent, 1 - p->pe};
    for (uint64_t round = 1; round <= FENCE_ROUNDS; round++) {
        size_t n_bytes = round % PAYLOADS == BY_ATOMICS ? 64 : round % 5 != 1 ? PAYLOAD : 8;
        if (p->pe == 0) {
            send_round(&at, round, payload, n_bytes);
            (void)wait_for(&extent, round);
            continue;
        }
        (void)wait_for(&extent, round);
        const uint64_t *came = (const uint64_t *)(const void *)ct_extent_view(&extent, 64, n_bytes);
        for (size_t i = 0; i < n_bytes / 8; i++)
            CT_CHECK(came[i] == round,
                     "round %llu: the flag is here, word %zu of what was put before it is of round %llu",
                     (unsigned long long)round, i, (unsigned long long)came[i]);
        ct_put(&at, 0, &round, sizeof round);
        ct_quiet(p, &channel);
    }
    ct_end(p, &extent, &channel);
}

/* Process 0 puts to process 1; the owner loads it, and process 2 gets it where the transport promises that. */
void ct_case_remote_commit(struct ct_process *p)
{
    static struct ct_extent extent;
    struct ct_channel channel;
    ct_begin(p, &extent, 4096, &channel);
    struct ct_target at = {p, &channel, &extent, 1};
    for (uint64_t round = 1; round <= 300; round++) {
        uint64_t got = round;
        if (p->pe == 0) {
            ct_put(&at, 8 * (round % 100), &round, sizeof round);
            CT_OK(channel.ops.remote_commit(channel.chan, round % 2 == 0 ? NULL : p->path[1]));
        }
        ct_meet(p);
        if (p->pe == 1) got = ct_extent_load(&extent, 8 * (round % 100));
        if (p->pe == 2 && p->reach[1].visibility == ISTHMUS_VISIBLE_EVERYONE)
            ct_get(&at, 8 * (round % 100), &got, sizeof got);
        CT_CHECK(got == round, "round %llu: process %d finds %llu after the commit", (unsigned long long)round, p->pe,
                 (unsigned long long)got);
        ct_meet(p);
    }
    ct_end(p, &extent, &channel);
}

/* The target's program waits for a message outside of the transport. Only its progress thread, which sleeps on the
 * descriptor of arm(), does what the initiator needs: memory exposed late is attached now, too. */
void ct_case_target_without_calls(struct ct_process *p)
{
    enum { BYTES = 30000 };
    static struct ct_extent extent, late;
    static struct ct_blob keys[CT_MAX_PROCESSES];
    static uint8_t buffer[BYTES], back[BYTES];
    struct ct_channel channel;
    ct_begin(p, &extent, 64, &channel);
    ct_extent_make(p, &late, 64 + BYTES, 0);
    ct_extent_expose(p, &late);
    ct_exchange(p, late.key, late.key_bytes, keys);
    if (p->pe == 0) {
        struct ct_target at = {p, &channel, &late, 1};
        struct ct_amo add = {
            .op = ISTHMUS_AMO_ADD, .bits = ISTHMUS_BITS64, .flags = ISTHMUS_AMO_FETCHING, .operand = 3};
        void *alias = NULL;
        uint64_t old = 1;
        CT_OK(p->t->attach(p->path[1], keys[1].bytes, keys[1].n_bytes, &late.rmem[1], &alias));
        ct_pattern_fill(buffer, BYTES, 8);
        ct_put(&at, 64, buffer, BYTES);
        ct_quiet(p, &channel);
        ct_get(&at, 64, back, BYTES);
        check_arrived(back, BYTES, 8, "a get");
        if (ct_amo(&at, 0, &add, &old))
            CT_CHECK(old == 0, "the fetched value is %llu, expected 0", (unsigned long long)old);
        ct_quiet(p, &channel);
        ct_extent_detach(p, &late);
    }
    ct_meet(p);
    ct_extent_close(p, &late);
    ct_end(p, &extent, &channel);
}

/* The target waits for a message outside of the transport, and its progress thread has ended. */
void ct_case_no_target(struct ct_process *p)
{
    static struct ct_extent extent;
    static uint8_t buffer[50000], back[sizeof buffer];
    struct ct_channel channel;
    ct_begin(p, &extent, 2 * sizeof buffer, &channel);
    if ((p->reach[1].caps & ISTHMUS_CAP_NO_TARGET) == 0)
        ct_skip("%s needs the target's progress, and does not set ISTHMUS_CAP_NO_TARGET", p->t->name);
    ct_progress_stop(p);
    ct_meet(p);
    if (p->pe == 0) {
        struct ct_target at = {p, &channel, &extent, 1};
        struct ct_amo add = {
            .op = ISTHMUS_AMO_ADD, .bits = ISTHMUS_BITS64, .flags = ISTHMUS_AMO_FETCHING, .operand = 3};
        uint64_t old = 1;
        ct_pattern_fill(buffer, sizeof buffer, 4);
        ct_put_nbi(&at, 64, buffer, sizeof buffer);
        ct_quiet(p, &channel);
        ct_get(&at, 64, back, sizeof back);
        check_arrived(back, sizeof back, 4, "a get");
        if (ct_amo(&at, 0, &add, &old))
            CT_CHECK(old == 0, "the fetched value is %llu, expected 0", (unsigned long long)old);
        ct_quiet(p, &channel);
    }
    ct_end(p, &extent, &channel);
}
