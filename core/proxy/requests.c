/* core/proxy/requests.c: see requests.h. */
#include "core/proxy/requests.h"

#include "core/base/atomic.h"

#include <stdlib.h>
#include <string.h>

#ifdef __SANITIZE_THREAD__
__attribute__((weak)) uint32_t isthmus_cpu_fence_v1; /* or the kernels' (isthmus/device_cpu.h) */
#endif

/* The parts that different sides write are on different lines, and on different pairs of lines. */
enum { LINE_BYTES = 128, N_WORDS = 5 };

isthmus_status ist_requests_init(struct ist_requests *requests, uint32_t log2_n)
{
    size_t n = (size_t)1 << log2_n, slot_bytes = ISTHMUS_WIRE_WORDS * sizeof(uint64_t);
    size_t reply_bytes = ISTHMUS_REPLY_WORDS * sizeof(uint64_t), turn_bytes = sizeof(uint32_t);
    size_t bytes = N_WORDS * LINE_BYTES + n * (slot_bytes + reply_bytes + turn_bytes);
    bytes = (bytes + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
    char *at = aligned_alloc(LINE_BYTES, bytes);
    memset(requests, 0, sizeof *requests);
    if (at == NULL) return ist_fail_memory("a ring of %zu requests", n);
    memset(at, 0, bytes);
    requests->memory = at;
    uint64_t **words[N_WORDS] = {&requests->ring.consumed, &requests->ring.quieted, &requests->ring.tail,
                                 &requests->ring.seen, &requests->ring.quiet};
    for (int i = 0; i < N_WORDS; i++, at += LINE_BYTES) *words[i] = (uint64_t *)(void *)at;
    requests->ring.slots = (uint64_t *)(void *)at;
    requests->ring.replies = (uint64_t *)(void *)(at + n * slot_bytes);
    requests->ring.turns = (uint32_t *)(void *)(at + n * (slot_bytes + reply_bytes));
    requests->ring.log2_n = log2_n;
    return ISTHMUS_OK;
}

void ist_requests_fini(struct ist_requests *requests)
{
    free(requests->memory);
    memset(requests, 0, sizeof *requests);
}

static uint64_t slot_of(const struct ist_requests *requests, uint64_t ticket)
{
    return ticket & ((UINT64_C(1) << requests->ring.log2_n) - 1);
}

/* Relaxed: every word shows by itself whether it has arrived. */
bool ist_requests_take(struct ist_requests *requests, struct isthmus_request *out)
{
    const struct isthmus_ring *ring = &requests->ring;
    const uint64_t *slot = ring->slots + ISTHMUS_WIRE_WORDS * slot_of(requests, requests->next);
    uint64_t turn = requests->next >> ring->log2_n, wire[ISTHMUS_WIRE_WORDS];
    for (int i = 0; i < ISTHMUS_WIRE_WORDS; i++) {
        wire[i] = ist_load_relaxed(slot + i);
        if ((wire[i] & 0xff) != isthmus_wire_tag(turn)) return false;
    }
    ist_order_requests();
    requests->next++;
    return isthmus_wire_read(wire, turn, out) != 0;
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

bool ist_requests_are_coming(const struct ist_requests *requests)
{
    return ist_load_relaxed(requests->ring.tail) != requests->next;
}
