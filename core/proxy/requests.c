/* core/proxy/requests.c: see batch.h. */
#include "core/proxy/batch.h"

#include "core/base/atomic.h"

#include <stddef.h>
#include <string.h>

#ifdef __SANITIZE_THREAD__
__attribute__((weak)) uint32_t isthmus_cpu_fence_v1; /* or the kernels' (isthmus/device_cpu.h) */
#endif

/* The parts that different sides write are on different lines, and on different pairs of lines. */
enum { LINE_BYTES = 128 };

static uint64_t slot_of(const struct ist_requests *requests, uint64_t ticket)
{
    return ticket & ((UINT64_C(1) << requests->ring.log2_n) - 1);
}

static void look_at(struct ist_requests *requests, uint64_t ticket)
{
    requests->next = ticket;
    requests->slot = requests->ring.slots + ISTHMUS_WIRE_WORDS * slot_of(requests, ticket);
    if (slot_of(requests, ticket) == 0) requests->tag = isthmus_wire_tag(ticket >> requests->ring.log2_n);
}

struct lines {
    char *at;
};

static void *take(struct lines *lines, size_t bytes)
{
    char *taken = lines->at;
    lines->at += (bytes + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
    return taken;
}

/* Both sides have the words of the host, each at addresses of its own. */
static isthmus_status make_words(struct ist_requests *requests, struct isthmus_ring *for_kernels, size_t n)
{
    size_t slot_bytes = ISTHMUS_WIRE_WORDS * sizeof(uint64_t), reply_bytes = ISTHMUS_REPLY_WORDS * sizeof(uint64_t);
    void *view;
    isthmus_status status = ist_kernel_words_alloc(&requests->memory, 5 * LINE_BYTES + n * (slot_bytes + reply_bytes),
                                                   &requests->words, &view);
    if (status != ISTHMUS_OK) return status;
    struct lines sides[] = {{requests->words}, {view}};
    struct isthmus_ring *rings[] = {&requests->ring, for_kernels};
    uint64_t **stops[] = {&requests->stop, &requests->stop_view};
    for (int i = 0; i < 2; i++) {
        rings[i]->consumed = take(&sides[i], sizeof(uint64_t));
        rings[i]->quieted = take(&sides[i], sizeof(uint64_t));
        *stops[i] = take(&sides[i], sizeof(uint64_t));
        rings[i]->slots = take(&sides[i], n * slot_bytes);
        rings[i]->replies = take(&sides[i], n * reply_bytes);
    }
    return ISTHMUS_OK;
}

/* The ring itself, and what only kernels write. */
static isthmus_status make_table(struct ist_requests *requests, struct isthmus_ring *for_kernels, size_t n)
{
    isthmus_status status = ist_kernel_table_alloc(
        &requests->memory, 5 * LINE_BYTES + sizeof *for_kernels + n * sizeof(uint32_t), &requests->table);
    if (status != ISTHMUS_OK) return status;
    struct lines lines = {requests->table};
    requests->for_kernels = take(&lines, sizeof *for_kernels);
    requests->ring.tail = for_kernels->tail = take(&lines, sizeof(uint64_t));
    requests->ring.seen = for_kernels->seen = take(&lines, sizeof(uint64_t));
    requests->ring.quiet = for_kernels->quiet = take(&lines, 2 * sizeof(uint64_t));
    requests->ring.turns = for_kernels->turns = take(&lines, n * sizeof(uint32_t));
    return ist_kernel_copy(&requests->memory, requests->for_kernels, for_kernels, sizeof *for_kernels);
}

isthmus_status ist_requests_init(struct ist_requests *requests, uint32_t log2_n, const struct ist_kernel_memory *memory)
{
    struct isthmus_ring for_kernels = {.log2_n = log2_n};
    memset(requests, 0, sizeof *requests);
    requests->memory = *memory;
    requests->ring.log2_n = log2_n;
    isthmus_status status = make_words(requests, &for_kernels, (size_t)1 << log2_n);
    if (status == ISTHMUS_OK) status = make_table(requests, &for_kernels, (size_t)1 << log2_n);
    if (status == ISTHMUS_OK)
        look_at(requests, 0);
    else
        ist_requests_fini(requests);
    return status;
}

void ist_requests_fini(struct ist_requests *requests)
{
    ist_kernel_table_free(&requests->memory, requests->table);
    ist_kernel_words_free(&requests->memory, requests->words);
    memset(requests, 0, sizeof *requests);
}

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && offsetof(struct isthmus_request, op) == 4 &&
                   offsetof(struct isthmus_request, flags) == 7 && offsetof(struct isthmus_request, remote) == 8 &&
                   sizeof(struct isthmus_request) == ISTHMUS_REQUEST_WORDS * sizeof(uint64_t),
               "a request lies in memory as its words do");

/* Relaxed: every word shows by itself whether it has arrived. */
bool ist_requests_take(struct ist_requests *requests, struct isthmus_request *out)
{
    uint64_t wire[ISTHMUS_WIRE_WORDS];
    wire[0] = ist_load_relaxed(requests->slot);
    if (((wire[0] ^ requests->tag) & 0xff) != 0) return false;
    for (int i = 1; i < ISTHMUS_WIRE_WORDS; i++) wire[i] = ist_load_relaxed(requests->slot + i);
    if (!isthmus_wire_read(wire, requests->tag, out)) return false;
    ist_order_requests();
    look_at(requests, requests->next + 1);
    return true;
}

void ist_requests_consume(struct ist_requests *requests)
{
    /* Release: pairs with the acquire in isthmus_dev_await_room(). */
    ist_store_release(requests->ring.consumed, requests->next);
}

void ist_requests_reply(struct ist_requests *requests, uint64_t ticket, uint64_t value)
{
    uint64_t *reply = requests->ring.replies + ISTHMUS_REPLY_WORDS * slot_of(requests, ticket);
    ist_store_relaxed(reply, value);
    ist_store_release(reply + 1, ticket + 1); /* pairs with the acquire in isthmus_dev_request() */
}

void ist_requests_quieted(struct ist_requests *requests, uint64_t ticket)
{
    ist_store_release(requests->ring.quieted, ticket); /* pairs with the acquire in isthmus_dev_quiet_ring() */
}

uint64_t ist_requests_are_quiet_below(const struct ist_requests *requests)
{
    return ist_load_acquire(requests->ring.quieted); /* pairs with the release in ist_requests_quieted() */
}

/* Of the `n` tickets from `first` on, which are of one turn: returns the one behind the newest that has arrived. */
static uint64_t posted_in_turn(const struct ist_requests *requests, uint64_t first, uint64_t n)
{
    const uint64_t *slot = requests->ring.slots + ISTHMUS_WIRE_WORDS * slot_of(requests, first);
    const uint8_t tag = (uint8_t)isthmus_wire_tag(first >> requests->ring.log2_n);
    uint64_t posted = first;
    for (uint64_t i = 0; i < n; i++, slot += ISTHMUS_WIRE_WORDS)
        if ((uint8_t)ist_load_relaxed(slot) == tag) posted = first + i + 1;
    return posted;
}

/* The tail has that number too, but lies on the device. A kernel that has ended has written all words of its requests,
 * perhaps behind a slot that another kernel is about to write. Slots that the server frees meanwhile are below
 * `consumed` afterwards. */
uint64_t ist_requests_posted(const struct ist_requests *requests)
{
    const uint64_t n = UINT64_C(1) << requests->ring.log2_n;
    const uint64_t first = ist_load_acquire(requests->ring.consumed), n_of_next = slot_of(requests, first);
    uint64_t posted = posted_in_turn(requests, first, n - n_of_next);
    if (n_of_next > 0) {
        const uint64_t next = first + n - n_of_next, in_next = posted_in_turn(requests, next, n_of_next);
        if (in_next != next) posted = in_next;
    }
    const uint64_t consumed = ist_load_acquire(requests->ring.consumed); /* pairs with ist_requests_consume() */
    return (int64_t)(consumed - posted) > 0 ? consumed : posted;
}

/* Of a device that has failed no request is left to wait for. */
uint64_t ist_requests_tail(const struct ist_requests *requests)
{
    uint64_t tail;
    if (requests->memory.kernels == NULL) return ist_load_relaxed(requests->ring.tail);
    isthmus_status status = ist_kernel_copy(&requests->memory, &tail, requests->ring.tail, sizeof tail);
    return status == ISTHMUS_OK ? tail : 0;
}
