/* tests/litmus/device_steps.c: the steps of ordering shapes with kernels as actors. See device.h. */
#include "device.h"

#include <time.h>

/* ---- delays ---- */

#ifdef __CUDACC__
LIT_OWN uint64_t now_ns(void) { return (uint64_t)clock64() / 2; } /* about */
#else
static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
#endif

LIT_SHARED void lit_delay(struct lit_round *r)
{
    enum { LONGEST_NS = 2000 };
    r->delays = r->delays * 6364136223846793005u + 1442695040888963407u;
    if ((r->delays >> 40 & 3) != 0) return;
    uint64_t end = now_ns() + (r->delays >> 42) % LONGEST_NS;
    while (now_ns() < end) {}
}

/* ---- the payload ---- */

LIT_SHARED void lit_fill(struct lit_round *r, uint64_t *words)
{
    for (size_t i = isthmus_dev_rank(r->scope); i < r->n_words; i += isthmus_dev_size(r->scope)) words[i] = lit_new(r);
    isthmus_dev_meet(r->scope);
}

LIT_OWN void put_by_group(struct lit_round *r, uint64_t *payload, const uint64_t *source, int pe)
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

LIT_OWN void put_one_word(struct lit_round *r, uint64_t *word, int pe)
{
    switch (r->dice >> 12 & 3) {
    case 0: nvshmem_uint64_p(word, lit_new(r), pe); break;
    case 1: nvshmem_uint64_atomic_set(word, lit_new(r), pe); break;
    case 2: (void)nvshmem_uint64_atomic_swap(word, lit_new(r), pe); break;
    default: nvshmem_uint64_put(word, r->memory->source, 1, pe); break;
    }
}

LIT_SHARED void lit_put_payload(struct lit_round *r, uint64_t *payload, int pe)
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

#ifndef __CUDACC__
/* The device's routine of that name also works in a thread of the host; a host actor is to use the host's. */
static void put_signal_by_host(struct lit_round *r, uint64_t *payload, uint64_t *signal, int pe)
{
    bool is_set = (r->dice >> 20 & 1) != 0;
    shmem_putmem_signal(payload, r->memory->source, r->n_words * sizeof *payload, signal, is_set ? lit_new(r) : 2,
                        is_set ? SHMEM_SIGNAL_SET : SHMEM_SIGNAL_ADD, pe);
}
#else
LIT_OWN void put_signal_by_host(struct lit_round *, uint64_t *, uint64_t *, int) {}
#endif

LIT_SHARED void lit_put_signal(struct lit_round *r, uint64_t *payload, uint64_t *signal, int pe)
{
    bool is_set = (r->dice >> 20 & 1) != 0, is_nbi = (r->dice >> 21 & 1) != 0;
    uint64_t *source = r->memory->source, value = is_set ? lit_new(r) : 2;
    size_t bytes = r->n_words * sizeof *source;
    int op = is_set ? NVSHMEM_SIGNAL_SET : NVSHMEM_SIGNAL_ADD;
    lit_delay(r);
    lit_fill(r, source);
    if (lit_is_host())
        put_signal_by_host(r, payload, signal, pe);
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

LIT_SHARED void lit_order(struct lit_round *r, enum lit_order order)
{
    lit_delay(r);
    isthmus_dev_meet(r->scope);
    if (lit_leads(r) && order == FENCE) nvshmem_fence();
    if (lit_leads(r) && order == QUIET) nvshmem_quiet();
    lit_delay(r);
}

/* ---- flags ---- */

/* From lit_new() of the batch before to that of this one. */
LIT_SHARED void lit_raise(struct lit_round *r, uint64_t *flag, int pe)
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

LIT_SHARED void lit_await_at_least(uint64_t *word, uint64_t value)
{
#ifndef __CUDACC__
    if (lit_is_host()) {
        shmem_uint64_wait_until(word, SHMEM_CMP_GE, value);
        return;
    }
#endif
    nvshmem_uint64_wait_until(word, NVSHMEM_CMP_GE, value);
}

LIT_SHARED bool lit_is_at_least(uint64_t *word, uint64_t value)
{
#ifndef __CUDACC__
    if (lit_is_host()) return shmem_uint64_test(word, SHMEM_CMP_GE, value) != 0;
#endif
    return nvshmem_uint64_test(word, NVSHMEM_CMP_GE, value) != 0;
}

LIT_OWN void await_by_device(struct lit_round *r, uint64_t *flag)
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

LIT_SHARED void lit_await(struct lit_round *r, uint64_t *flag)
{
    if (lit_is_host())
        lit_await_at_least(flag, lit_new(r));
    else if (lit_leads(r))
        await_by_device(r, flag);
    isthmus_dev_meet(r->scope);
}

/* ---- what has arrived ---- */

LIT_SHARED uint64_t lit_stale_here(struct lit_round *r, const uint64_t *payload)
{
    uint64_t stale = 0;
    for (size_t i = isthmus_dev_rank(r->scope); i < r->n_words; i += isthmus_dev_size(r->scope))
        stale += payload[i] < lit_new(r);
    if (stale > 0) (void)isthmus_dev_add_device(&r->memory->stale, stale);
    isthmus_dev_meet(r->scope);
    return lit_leads(r) ? isthmus_dev_amo(ISTHMUS_DEV_AMO_SWAP, &r->memory->stale, 0, 0, 8) : 0;
}

LIT_SHARED uint64_t lit_stale_at(struct lit_round *r, const uint64_t *payload, int pe)
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
