/* isthmus/device_ring.h: a kernel's side of the ring: requests, replies, fence and quiet.
 * Not the host's side, which is in the library.
 *
 * A slot passes through these hands, each of which waits for the one before:
 *   1. The thread with ticket t waits until the host has read the request n tickets before (consumed), and until the
 *      thread of that request has read its reply (turns).
 *   2. It writes the eight words. Each of them carries the tag of the turn, so that no order among them is needed.
 *   3. The host has seen all eight: it reads the request and counts it as consumed.
 *   4. If a reply was requested, the host writes it, and the thread reads it.
 *   5. The thread gives the slot to the next turn. The host is not involved, and no acknowledgement crosses the bus.
 * Step 5 is a word for each slot and not a mark that is set while a reply is awaited: setting such a mark would have to
 * be ordered before the words, by a fence that most requests do not need otherwise. */
#ifndef ISTHMUS_DEVICE_RING_H
#define ISTHMUS_DEVICE_RING_H

#include <isthmus/device_group.h>
#include <isthmus/device_wire.h>

ISTHMUS_DEVICE int isthmus_dev_must_stop(void)
{
    const uint64_t *stop = isthmus_device_v1.stop;
    return stop != NULL && isthmus_dev_load(stop, 8) != 0;
}

/* One turn of a wait for the host. Now and then it looks whether the job ends. Waits that another thread of the kernel
 * may have to end are in device_waiting.h: they may be given up. A thread with a ticket uses its slot to the end, or
 * all later requests would wait. */
ISTHMUS_DEVICE void isthmus_dev_spin(uint32_t *spins)
{
    if ((++*spins & 255) == 0 && isthmus_dev_must_stop()) isthmus_dev_trap();
    isthmus_dev_pause();
}

/* ---- a slot ----
 * Each wait is a function of its own, and none is inlined, so that a kernel has room for one of them at a time. */

ISTHMUS_DEVICE uint32_t isthmus_dev_slot(const struct isthmus_ring *ring, uint64_t ticket)
{
    return (uint32_t)ticket & ((1u << ring->log2_n) - 1);
}

ISTHMUS_DEVICE uint32_t isthmus_dev_turn(const struct isthmus_ring *ring, uint64_t ticket)
{
    return (uint32_t)(ticket >> ring->log2_n);
}

/* Waits until the host has read what the slot of this ticket held. Acquire and release on `seen`: the host's read of
 * the slot is so ordered before the writes of a thread that has not loaded `consumed` itself. */
ISTHMUS_DEVICE_APART void isthmus_dev_await_room(uint64_t ticket)
{
    const struct isthmus_ring *ring = isthmus_device_v1.ring;
    uint64_t before = ticket - ((uint64_t)1 << ring->log2_n), consumed;
    uint32_t spins = 0;
    if (ISTHMUS_DEVICE_LIKELY((int64_t)(before - isthmus_dev_load_device(ring->seen)) < 0)) return;
    while ((int64_t)(before - (consumed = isthmus_dev_load_acquire(ring->consumed, 8))) >= 0) isthmus_dev_spin(&spins);
    /* Another thread may have stored a newer value: an older one costs a load, no more. */
    isthmus_dev_store_device(ring->seen, consumed);
}

/* Waits until the thread of the turn before has given up the slot. */
ISTHMUS_DEVICE_APART void isthmus_dev_await_turn(uint64_t ticket)
{
    const struct isthmus_ring *ring = isthmus_device_v1.ring;
    const uint32_t *at = ring->turns + isthmus_dev_slot(ring, ticket);
    uint32_t turn = isthmus_dev_turn(ring, ticket), spins = 0;
    while (isthmus_dev_load_turn(at) != turn) isthmus_dev_spin(&spins);
}

ISTHMUS_DEVICE_APART void isthmus_dev_fill_slot(const struct isthmus_request *request, uint64_t ticket)
{
    const struct isthmus_ring *ring = isthmus_device_v1.ring;
    uint64_t *words = ring->slots + ISTHMUS_WIRE_WORDS * (size_t)isthmus_dev_slot(ring, ticket);
    uint32_t tag = isthmus_wire_tag(isthmus_dev_turn(ring, ticket));
    ISTHMUS_DEVICE_ROLLED
    for (int i = 0; i < 6; i += 2)
        isthmus_dev_store_pair(words + i, isthmus_wire_word(request, i, tag), isthmus_wire_word(request, i + 1, tag));
    isthmus_dev_store_pair(words + 6, isthmus_wire_word(request, 6, tag), isthmus_wire_last_word(request, tag));
}

/* Writes a request with a ticket of its own. Returns the ticket; the caller still holds the slot. */
ISTHMUS_DEVICE uint64_t isthmus_dev_write(const struct isthmus_request *request)
{
    uint64_t ticket = isthmus_dev_add_device(isthmus_device_v1.ring->tail, 1);
    isthmus_dev_await_room(ticket);
    isthmus_dev_await_turn(ticket);
    isthmus_dev_fill_slot(request, ticket);
    return ticket;
}

/* Gives the slot to the next turn. */
ISTHMUS_DEVICE void isthmus_dev_give_slot(uint64_t ticket)
{
    const struct isthmus_ring *ring = isthmus_device_v1.ring;
    isthmus_dev_store_turn(ring->turns + isthmus_dev_slot(ring, ticket), isthmus_dev_turn(ring, ticket) + 1);
}

/* ---- requests ---- */

/* A request without a reply. Returns its ticket. What it refers to (the source of a put) was ordered before by a
 * fence of the caller. */
ISTHMUS_DEVICE_APART uint64_t isthmus_dev_post(const struct isthmus_request *request)
{
    uint64_t ticket = isthmus_dev_write(request);
    isthmus_dev_give_slot(ticket);
    return ticket;
}

/* A request with a reply. Returns the reply's value; the acquire orders what the host has done before, for a get. */
ISTHMUS_DEVICE_APART uint64_t isthmus_dev_request(struct isthmus_request *request)
{
    const struct isthmus_ring *ring = isthmus_device_v1.ring;
    request->flags |= ISTHMUS_REQUEST_REPLY;
    uint64_t ticket = isthmus_dev_write(request);
    const uint64_t *reply = ring->replies + ISTHMUS_REPLY_WORDS * (size_t)isthmus_dev_slot(ring, ticket);
    uint32_t spins = 0;
    while (isthmus_dev_load_acquire(reply + 1, 8) != ticket + 1) isthmus_dev_spin(&spins);
    uint64_t value = isthmus_dev_load(reply, 8);
    isthmus_dev_give_slot(ticket);
    return value;
}

/* Requests that only pass through: the reply is the host's clock in nanoseconds. Without a ring there is none. */
ISTHMUS_DEVICE uint64_t isthmus_dev_host_clock(void)
{
    struct isthmus_request request = {0, ISTHMUS_REQUEST_CLOCK, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    isthmus_dev_check_state(ISTHMUS_CALL_CLOCK);
    return isthmus_device_v1.ring != NULL ? isthmus_dev_request(&request) : 0;
}

ISTHMUS_DEVICE void isthmus_dev_post_nothing(void)
{
    struct isthmus_request request = {0, ISTHMUS_REQUEST_CLOCK, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    isthmus_dev_check_state(ISTHMUS_CALL_CLOCK);
    if (isthmus_device_v1.ring != NULL) (void)isthmus_dev_post(&request);
}

/* ---- writes of adapters ----
 * A kernel that has seen a flag may not see yet what an adapter has written before it, unless the device orders such
 * writes. Then the host flushes them before the kernel goes on. */

ISTHMUS_DEVICE_COLD void isthmus_dev_flush_by_ring(void)
{
    struct isthmus_request request = {0, ISTHMUS_REQUEST_FLUSH, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    if (isthmus_device_v1.ring != NULL) (void)isthmus_dev_request(&request);
}

ISTHMUS_DEVICE int isthmus_dev_must_flush(void)
{
    return !ISTHMUS_DEVICE_LIKELY((isthmus_device_v1.flags & ISTHMUS_DEVICE_FLUSHES) == 0);
}

/* Behind each wait that has ended, and each test that holds. */
ISTHMUS_DEVICE void isthmus_dev_flush_writes(void)
{
    if (isthmus_dev_must_flush()) isthmus_dev_flush_by_ring();
}

/* ---- order ---- */

/* Returns 1 if all requests below this ticket are known to be complete. */
ISTHMUS_DEVICE int isthmus_dev_is_quiet(const struct isthmus_ring *ring, uint64_t before)
{
    return (int64_t)(before - isthmus_dev_load_device(ring->quiet + 1)) <= 0;
}

/* Waits until all requests below `before` are complete. One request of a thread serves all threads that wait: a thread
 * that finds one under way which comes after its own requests writes none. */
ISTHMUS_DEVICE_COLD void isthmus_dev_quiet_ring(const struct isthmus_ring *ring, uint64_t before)
{
    uint32_t spins = 0;
    uint64_t quieted;
    if ((int64_t)(isthmus_dev_load_device(ring->quiet) - before) <= 0) {
        struct isthmus_request request = {0, ISTHMUS_REQUEST_QUIET, 0, 0, 0, 0, 0, 0, 0, 0, 0};
        isthmus_dev_store_device(ring->quiet, isthmus_dev_post(&request) + 1);
    }
    while ((int64_t)(before - (quieted = isthmus_dev_load_acquire(ring->quieted, 8))) > 0) isthmus_dev_spin(&spins);
    isthmus_dev_store_device(ring->quiet + 1, quieted);
}

/* The ring's part of a quiet, and of a fence. Requests of this thread, and those that happened before, are below the
 * tail. */
ISTHMUS_DEVICE void isthmus_dev_ring_quiet(void)
{
    const struct isthmus_ring *ring = isthmus_device_v1.ring;
    if (ring == NULL) return;
    uint64_t before = isthmus_dev_load_device(ring->tail);
    if (!isthmus_dev_is_quiet(ring, before)) isthmus_dev_quiet_ring(ring, before);
}

ISTHMUS_DEVICE void isthmus_dev_ring_fence(void)
{
    const struct isthmus_ring *ring = isthmus_device_v1.ring;
    if (ring == NULL || isthmus_dev_is_quiet(ring, isthmus_dev_load_device(ring->tail))) return;
    struct isthmus_request request = {0, ISTHMUS_REQUEST_FENCE, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    (void)isthmus_dev_post(&request);
}

#endif
