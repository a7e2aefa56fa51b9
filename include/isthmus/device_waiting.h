/* isthmus/device_waiting.h: a turn of a wait for symmetric memory; and how the host learns of a wait that lasts: the
 * thread describes it in host memory, which reports of a job that hangs read. Not waits for the host (device_ring.h).
 * See device.h.
 *
 * A slot is claimed in device memory, because not every GPU has atomics on host memory. All of this is out of line:
 * until a wait has lasted for ISTHMUS_DEV_LASTS polls, it costs nothing but the counter that every wait has. */
#ifndef ISTHMUS_DEVICE_WAITING_H
#define ISTHMUS_DEVICE_WAITING_H

#include <isthmus/device_ring.h>

/* Polls between two notes of one wait: on a GPU a thirtieth of a second or so. A power of two, at least 256. */
#ifndef ISTHMUS_DEVICE_LASTS
#define ISTHMUS_DEVICE_LASTS (1 << 15)
#endif
enum { ISTHMUS_DEV_LASTS = ISTHMUS_DEVICE_LASTS };

/* A thread in a wait. */
struct isthmus_dev_waiter {
    uint32_t polls;
    uint32_t place; /* 0: not noted; its slot + 1; or counted, with no slot */
};
enum { ISTHMUS_DEV_COUNTED = ISTHMUS_WAIT_SLOTS + 1 };

/* ---- slots ---- */

/* A claim that fails shows the slot as taken for a moment, to threads that may then find no other: they are counted. */
ISTHMUS_DEVICE uint32_t isthmus_dev_claim_place(uint64_t *waiters)
{
    for (uint32_t place = 1; place <= ISTHMUS_WAIT_SLOTS; place++) {
        if (isthmus_dev_load_device(waiters + place) != 0) continue;
        if (isthmus_dev_add_device(waiters + place, 1) == 0) return place;
        (void)isthmus_dev_add_device(waiters + place, (uint64_t)-1);
    }
    return ISTHMUS_DEV_COUNTED;
}

/* Each thread shows the host what it reads behind its own change, and reads again behind the store: the last store of
 * all is by a thread that has found no later change. */
ISTHMUS_DEVICE void isthmus_dev_count_other(uint64_t *waits, uint64_t *waiters, uint64_t change)
{
    uint64_t shown;
    (void)isthmus_dev_add_device(waiters, change);
    do {
        shown = isthmus_dev_load_device(waiters);
        isthmus_dev_store(waits + ISTHMUS_WAITS_OTHERS, shown, 8);
        isthmus_dev_drain();
    } while (isthmus_dev_load_device(waiters) != shown);
}

ISTHMUS_DEVICE uint64_t *isthmus_dev_wait_slot(uint64_t *waits, uint32_t place)
{
    return waits + ISTHMUS_WAITS_SLOTS + ISTHMUS_WAIT_WORDS * (size_t)(place - 1);
}

/* Notes a wait, or a later value in its note. what, pe: ISTHMUS_WAIT_WHAT, ISTHMUS_WAIT_PE. Returns the place. */
ISTHMUS_DEVICE_COLD uint32_t isthmus_dev_note_wait(struct isthmus_dev_waiter waiter, uint64_t what, const void *addr,
                                                   uint64_t value, uint64_t seen, int pe)
{
    uint64_t *waits = isthmus_device_v1.waits, *waiters = isthmus_device_v1.waiters;
    int is_new = waiter.place == 0;
    if (waits == NULL) return 0;
    if (is_new) waiter.place = isthmus_dev_claim_place(waiters);
    if (waiter.place == ISTHMUS_DEV_COUNTED) {
        if (is_new) isthmus_dev_count_other(waits, waiters, 1);
        return ISTHMUS_DEV_COUNTED;
    }
    uint64_t *slot = isthmus_dev_wait_slot(waits, waiter.place);
    if (is_new) isthmus_dev_fence(); /* after the end of the note before */
    isthmus_dev_store(slot + ISTHMUS_WAIT_SEEN, seen, 8);
    isthmus_dev_store(slot + ISTHMUS_WAIT_POLLS, waiter.polls, 8);
    if (!is_new) return waiter.place;
    isthmus_dev_store(slot + ISTHMUS_WAIT_WHAT, what, 8);
    isthmus_dev_store(slot + ISTHMUS_WAIT_ADDRESS, (uint64_t)(uintptr_t)addr, 8);
    isthmus_dev_store(slot + ISTHMUS_WAIT_VALUE, value, 8);
    isthmus_dev_store(slot + ISTHMUS_WAIT_THREAD, (uint64_t)isthmus_dev_block_rank() << 32 | isthmus_dev_thread_rank(),
                      8);
    isthmus_dev_store(slot + ISTHMUS_WAIT_PE, (uint64_t)(int64_t)pe, 8);
    isthmus_dev_store_release(slot + ISTHMUS_WAIT_VALID, 1); /* pairs with the acquire of what reads it on the host */
    return waiter.place;
}

ISTHMUS_DEVICE_COLD void isthmus_dev_withdraw_wait(uint32_t place)
{
    uint64_t *waits = isthmus_device_v1.waits, *waiters = isthmus_device_v1.waiters;
    if (waits == NULL) return; /* finalize has come in between */
    if (place == ISTHMUS_DEV_COUNTED) {
        isthmus_dev_count_other(waits, waiters, (uint64_t)-1);
        return;
    }
    isthmus_dev_store(isthmus_dev_wait_slot(waits, place) + ISTHMUS_WAIT_VALID, 0, 8);
    isthmus_dev_fence(); /* before the note of the thread that takes the slot next */
    (void)isthmus_dev_add_device(waiters + place, (uint64_t)-1);
}

/* ---- turns ---- */

/* The kernel stops instead of waiting. On processors the program goes on. */
ISTHMUS_DEVICE void isthmus_dev_give_up_wait(const struct isthmus_dev_waiter *waiter)
{
    if (waiter->place != 0) isthmus_dev_withdraw_wait(waiter->place);
    isthmus_dev_trap();
}

/* One turn of a wait that another thread, of this kernel or of another PE, has to end. Returns 1 if it has lasted, and
 * the caller is to note it, with what it has seen. */
ISTHMUS_DEVICE int isthmus_dev_wait_turn(struct isthmus_dev_waiter *waiter)
{
    if (isthmus_dev_is_over()) isthmus_dev_give_up_wait(waiter);
    isthmus_dev_pause();
    if ((++waiter->polls & 255) != 0) return 0;
    if (isthmus_dev_must_stop()) isthmus_dev_give_up_wait(waiter);
    return (waiter->polls & (ISTHMUS_DEV_LASTS - 1)) == 0;
}

/* Behind the last turn. */
ISTHMUS_DEVICE void isthmus_dev_wait_over(const struct isthmus_dev_waiter *waiter)
{
    if (waiter->place != 0) isthmus_dev_withdraw_wait(waiter->place);
}

#endif
