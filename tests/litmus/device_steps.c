/* tests/litmus/device_steps.c: the steps of ordering shapes with kernels as actors. See device.h. */
#include "device.h"

#include <sched.h>
#include <time.h>

/* ---- delays ---- */

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void lit_delay(struct lit_round *r)
{
    enum { LONGEST_NS = 2000 };
    r->delays = r->delays * 6364136223846793005u + 1442695040888963407u;
    if ((r->delays >> 40 & 3) != 0) return;
    uint64_t end = now_ns() + (r->delays >> 42) % LONGEST_NS;
    while (now_ns() < end) {}
}

/* ---- the payload ---- */

void lit_fill(struct lit_round *r, uint64_t *words)
{
    for (size_t i = isthmus_dev_rank(r->scope); i < r->n_words; i += isthmus_dev_size(r->scope)) words[i] = lit_new(r);
    isthmus_dev_meet(r->scope);
}

static void put_by_group(struct lit_round *r, uint64_t *payload, const uint64_t *source, int pe)
{
    size_t i = isthmus_dev_rank(r->scope), step = isthmus_dev_size(r->scope);
    if (r->shape->is_nbi) {
        nvshmemx_uint64_put_nbi_block(payload, source, r->n_words, pe);
    } else if ((r->dice >> 12 & 1) != 0) {
        nvshmemx_putmem_block(payload, source, r->n_words * sizeof *source, pe);
    } else { /* each thread its own words: the leader's fence covers them, because it has met the others */
        for (; i < r->n_words; i += step) nvshmem_uint64_p(payload + i, source[i], pe);
    }
}

static void put_one_word(struct lit_round *r, uint64_t *word, int pe)
{
    switch (r->dice >> 12 & 3) {
    case 0: nvshmem_uint64_p(word, lit_new(r), pe); break;
    case 1: nvshmem_uint64_atomic_set(word, lit_new(r), pe); break;
    case 2: (void)nvshmem_uint64_atomic_swap(word, lit_new(r), pe); break;
    default: nvshmem_uint64_put(word, r->memory->source, 1, pe); break;
    }
}

void lit_put_payload(struct lit_round *r, uint64_t *payload, int pe)
{
    uint64_t *source = r->memory->source;
    lit_delay(r);
    lit_fill(r, source);
    if (r->scope != ISTHMUS_THREAD)
        put_by_group(r, payload, source, pe);
    else if (r->shape->is_nbi)
        nvshmem_uint64_put_nbi(payload, source, r->n_words, pe);
    else if (r->n_words == 1)
        put_one_word(r, payload, pe);
    else if ((r->dice >> 12 & 1) != 0)
        nvshmem_uint64_iput(payload, source, 1, 1, r->n_words, pe);
    else
        nvshmem_putmem(payload, source, r->n_words * sizeof *source, pe);
}

/* The device's routine of that name also works in a thread of the host; a host actor is to use the host's. */
void lit_put_signal(struct lit_round *r, uint64_t *payload, uint64_t *signal, int pe)
{
    bool is_set = (r->dice >> 20 & 1) != 0, is_nbi = (r->dice >> 21 & 1) != 0;
    uint64_t *source = r->memory->source, value = is_set ? lit_new(r) : 2;
    size_t bytes = r->n_words * sizeof *source;
    int op = is_set ? NVSHMEM_SIGNAL_SET : NVSHMEM_SIGNAL_ADD;
    lit_delay(r);
    lit_fill(r, source);
    if (lit_is_host())
        shmem_putmem_signal(payload, source, bytes, signal, value, is_set ? SHMEM_SIGNAL_SET : SHMEM_SIGNAL_ADD, pe);
    else if (r->scope != ISTHMUS_THREAD && is_nbi)
        nvshmemx_putmem_signal_nbi_block(payload, source, bytes, signal, value, op, pe);
    else if (r->scope != ISTHMUS_THREAD)
        nvshmemx_putmem_signal_block(payload, source, bytes, signal, value, op, pe);
    else if (is_nbi)
        nvshmem_putmem_signal_nbi(payload, source, bytes, signal, value, op, pe);
    else
        nvshmem_putmem_signal(payload, source, bytes, signal, value, op, pe);
}

/* ---- order ---- */

void lit_order(struct lit_round *r, enum lit_order order)
{
    lit_delay(r);
    isthmus_dev_meet(r->scope);
    if (lit_leads(r) && order == FENCE) nvshmem_fence();
    if (lit_leads(r) && order == QUIET) nvshmem_quiet();
    lit_delay(r);
}

/* ---- flags ---- */

/* From lit_new() of the batch before to that of this one. */
void lit_raise(struct lit_round *r, uint64_t *flag, int pe)
{
    uint64_t value = lit_new(r);
    if (!lit_leads(r)) return;
    switch (r->dice >> 4 & 7) {
    case 0: nvshmem_uint64_atomic_add(flag, 2, pe); break;
    case 1: (void)nvshmem_uint64_atomic_fetch_add(flag, 2, pe); break;
    case 2: nvshmemx_signal_op(flag, value, NVSHMEM_SIGNAL_SET, pe); break;
    case 3: nvshmemx_signal_op(flag, 2, NVSHMEM_SIGNAL_ADD, pe); break;
    case 4: nvshmem_uint64_atomic_set(flag, value, pe); break;
    case 5: (void)nvshmem_uint64_atomic_compare_swap(flag, value - 2, value, pe); break;
    default: nvshmem_uint64_p(flag, value, pe); break;
    }
}

void lit_await_at_least(uint64_t *word, uint64_t value)
{
    if (lit_is_host())
        shmem_uint64_wait_until(word, SHMEM_CMP_GE, value);
    else
        nvshmem_uint64_wait_until(word, NVSHMEM_CMP_GE, value);
}

static void await_by_device(struct lit_round *r, uint64_t *flag)
{
    uint64_t value = lit_new(r);
    switch (r->dice >> 7 & 3) {
    case 0: nvshmem_uint64_wait_until(flag, NVSHMEM_CMP_EQ, value); break;
    case 1: (void)nvshmem_signal_wait_until(flag, NVSHMEM_CMP_GE, value); break;
    case 2: (void)nvshmem_uint64_wait_until_any(flag, 1, NULL, NVSHMEM_CMP_GE, value); break;
    default:
        while (!nvshmem_uint64_test(flag, NVSHMEM_CMP_EQ, value)) isthmus_dev_pause();
        break;
    }
}

void lit_await(struct lit_round *r, uint64_t *flag)
{
    if (lit_is_host())
        shmem_uint64_wait_until(flag, SHMEM_CMP_GE, lit_new(r));
    else if (lit_leads(r))
        await_by_device(r, flag);
    isthmus_dev_meet(r->scope);
}

/* ---- what has arrived ---- */

uint64_t lit_stale_here(struct lit_round *r, const uint64_t *payload)
{
    uint64_t stale = 0;
    for (size_t i = isthmus_dev_rank(r->scope); i < r->n_words; i += isthmus_dev_size(r->scope))
        stale += payload[i] < lit_new(r);
    if (stale > 0) (void)__atomic_fetch_add(&r->memory->stale, stale, __ATOMIC_RELAXED);
    isthmus_dev_meet(r->scope);
    return lit_leads(r) ? __atomic_exchange_n(&r->memory->stale, 0, __ATOMIC_RELAXED) : 0;
}

uint64_t lit_stale_at(struct lit_round *r, const uint64_t *payload, int pe)
{
    uint64_t *copy = r->memory->copy;
    if (r->scope != ISTHMUS_THREAD) {
        nvshmemx_getmem_block(copy, payload, r->n_words * sizeof *copy, pe);
    } else if (r->n_words == 1 && (r->dice >> 16 & 1) != 0) {
        *copy = nvshmem_uint64_g(payload, pe);
    } else if ((r->dice >> 17 & 1) != 0) {
        nvshmem_getmem_nbi(copy, payload, r->n_words * sizeof *copy, pe);
        nvshmem_quiet();
    } else {
        nvshmem_uint64_get(copy, payload, r->n_words, pe);
    }
    return lit_stale_here(r, copy);
}
