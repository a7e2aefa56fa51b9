/* isthmus/device_rma.h: puts, gets, atomics, signals and order from kernels. See device.h.
 *
 * Memory order of the direct way: p, g and atomics are relaxed accesses at system scope, a signal after a put is a
 * release. Plain copies are ordered by fence and quiet, or by the signal of the same call. */
#ifndef ISTHMUS_DEVICE_RMA_H
#define ISTHMUS_DEVICE_RMA_H

#include <isthmus/device_ring.h>

/* ---- where symmetric memory lies ---- */

#define ISTHMUS_NOT_DIRECT ((int64_t)1)

ISTHMUS_DEVICE int isthmus_dev_is_direct(int64_t delta) { return (delta & ISTHMUS_NOT_DIRECT) == 0; }

ISTHMUS_DEVICE int isthmus_dev_is_within(uint64_t addr, uint64_t length, uint64_t base, uint64_t base_bytes)
{
    return addr - base < base_bytes && length <= base_bytes - (addr - base);
}

ISTHMUS_DEVICE void isthmus_dev_check_pe(int call, const void *addr, int pe)
{
    const struct isthmus_device_state *state = &isthmus_device_v1;
    if (!ISTHMUS_DEVICE_LIKELY((uint32_t)pe < (uint32_t)state->n))
        isthmus_dev_misuse(call, ISTHMUS_MISTAKE_PE, addr, pe);
}

/* Not in the heap, or no PE. What is in no range either is left to the host, which knows all symmetric memory, as far
 * as there is a ring. */
ISTHMUS_DEVICE_COLD int64_t isthmus_dev_delta_elsewhere(int call, const void *addr, uint64_t length, int pe)
{
    const struct isthmus_device_state *state = &isthmus_device_v1;
    uint64_t at = (uint64_t)(uintptr_t)addr;
    isthmus_dev_check_pe(call, addr, pe);
    for (const struct isthmus_device_range *range = state->ranges; range != NULL && range->length_bytes != 0; range++)
        if (isthmus_dev_is_within(at, length, range->base, range->length_bytes)) return range->delta[pe];
    if (state->ring == NULL) isthmus_dev_misuse(call, ISTHMUS_MISTAKE_ADDRESS, addr, pe);
    return ISTHMUS_NOT_DIRECT;
}

/* Returns what to add to a symmetric address of this PE for the same of `pe`; odd: that takes the ring. `call`: for the
 * report of a mistake. */
ISTHMUS_DEVICE int64_t isthmus_dev_delta(int call, const void *addr, uint64_t length, int pe)
{
    const struct isthmus_device_state *state = &isthmus_device_v1;
    if (ISTHMUS_DEVICE_LIKELY(
            isthmus_dev_is_within((uint64_t)(uintptr_t)addr, length, state->heap, state->heap_bytes) &&
            (uint32_t)pe < (uint32_t)state->n))
        return state->delta[pe];
    return isthmus_dev_delta_elsewhere(call, addr, length, pe);
}

/* Returns the address at which this device reaches the object of `pe`, or NULL. */
ISTHMUS_DEVICE void *isthmus_dev_ptr(const void *addr, int pe)
{
    int64_t delta = isthmus_dev_delta(ISTHMUS_CALL_PTR, addr, 1, pe);
    return isthmus_dev_is_direct(delta) ? (char *)(uintptr_t)addr + delta : NULL;
}

/* What a direct access reads or writes at that PE. */
ISTHMUS_DEVICE char *isthmus_dev_far(const void *addr, int64_t delta)
{
    return ISTHMUS_DEVICE_FAR((char *)(uintptr_t)addr + delta);
}

/* ---- copies ---- */

/* As many bytes as `unit`; from and to are multiples of it. */
ISTHMUS_DEVICE void isthmus_dev_copy_unit(char *to, const char *from, size_t unit)
{
    switch (unit) {
    case 1: *(isthmus_u8 *)to = *(const isthmus_u8 *)from; break;
    case 2: *(isthmus_u16 *)(void *)to = *(const isthmus_u16 *)(const void *)from; break;
    case 4: *(isthmus_u32 *)(void *)to = *(const isthmus_u32 *)(const void *)from; break;
    case 8: *(isthmus_u64 *)(void *)to = *(const isthmus_u64 *)(const void *)from; break;
    default: *(isthmus_u128 *)(void *)to = *(const isthmus_u128 *)(const void *)from; break;
    }
}

/* `bytes`, a multiple of `unit`, by all threads of the group; four of the widest loads are under way at a time. */
ISTHMUS_DEVICE void isthmus_dev_copy_units(char *to, const char *from, size_t bytes, uint32_t unit, int scope)
{
    uint32_t step = isthmus_dev_size(scope) * unit, first = isthmus_dev_rank(scope) * unit;
    int64_t left = (int64_t)bytes - first;
    to += first, from += first;
    ISTHMUS_DEVICE_ROLLED
    for (; unit == 16 && left > 3 * (int64_t)step; left -= 4 * (int64_t)step) {
        isthmus_u128 part[4];
        ISTHMUS_DEVICE_KEEP(from, to);
        ISTHMUS_DEVICE_UNROLL
        for (int k = 0; k < 4; k++, from += step) part[k] = *(const isthmus_u128 *)(const void *)from;
        ISTHMUS_DEVICE_UNROLL
        for (int k = 0; k < 4; k++, to += step) *(isthmus_u128 *)(void *)to = part[k];
    }
    ISTHMUS_DEVICE_ROLLED
    for (; left > 0; left -= step, to += step, from += step) isthmus_dev_copy_unit(to, from, unit);
}

/* What lies before the first multiple of `unit`, and after the last one, by one thread in narrower units. */
ISTHMUS_DEVICE void isthmus_dev_copy_edges(char *to, const char *from, size_t bytes, uint32_t unit)
{
    for (uint32_t narrow = 1; narrow < unit; narrow *= 2) {
        if (((uint64_t)(uintptr_t)to & narrow) == 0 || bytes < narrow) continue;
        isthmus_dev_copy_unit(to, from, narrow);
        to += narrow, from += narrow, bytes -= narrow;
    }
    size_t inner = bytes & ~(size_t)(unit - 1);
    to += inner, from += inner;
    for (uint32_t narrow = unit / 2; narrow > 0; narrow /= 2) {
        if ((bytes & narrow) == 0) continue;
        isthmus_dev_copy_unit(to, from, narrow);
        to += narrow, from += narrow;
    }
}

/* In the widest units that both addresses allow. An element that is as wide as a type and aligned is so written at
 * once. */
ISTHMUS_DEVICE void isthmus_dev_copy(char *to, const char *from, size_t bytes, int scope)
{
    uint32_t apart = ((uint32_t)(uintptr_t)to ^ (uint32_t)(uintptr_t)from) | 16, unit = apart & (0 - apart);
    uint32_t head = (0 - (uint32_t)(uintptr_t)to) & (unit - 1);
    if (isthmus_dev_is_leader(scope)) isthmus_dev_copy_edges(to, from, bytes, unit);
    if (bytes < head + unit) return;
    to += head, from += head, bytes = (bytes - head) & ~(size_t)(unit - 1);
    switch (unit) { /* constant in each of them */
    case 16: isthmus_dev_copy_units(to, from, bytes, 16, scope); break;
    case 8: isthmus_dev_copy_units(to, from, bytes, 8, scope); break;
    case 4: isthmus_dev_copy_units(to, from, bytes, 4, scope); break;
    case 2: isthmus_dev_copy_units(to, from, bytes, 2, scope); break;
    default: isthmus_dev_copy_units(to, from, bytes, 1, scope); break;
    }
}

/* ---- requests ---- */

ISTHMUS_DEVICE struct isthmus_request isthmus_dev_request_of(int op, const void *remote, const void *local,
                                                             uint64_t length, int pe)
{
    struct isthmus_request request = {
        (uint32_t)pe, (uint8_t)op, 0, 0, 0, (uint64_t)(uintptr_t)remote, (uint64_t)(uintptr_t)local, length, 0, 0, 0};
    return request;
}

/* The leader makes the request for its group, and waits unless the call is nonblocking. The fence orders what the group
 * has stored: the host reads the source. */
ISTHMUS_DEVICE void isthmus_dev_submit(struct isthmus_request *request, int scope, int is_nbi)
{
    isthmus_dev_meet(scope);
    if (isthmus_dev_is_leader(scope)) {
        isthmus_dev_fence();
        if (is_nbi)
            (void)isthmus_dev_post(request);
        else
            (void)isthmus_dev_request(request);
    }
    isthmus_dev_meet(scope);
}

/* ---- elements ---- */

ISTHMUS_DEVICE_COLD void isthmus_dev_p_by_ring(void *dest, uint64_t bits, size_t size, int pe)
{
    struct isthmus_request request = isthmus_dev_request_of(ISTHMUS_REQUEST_P, dest, NULL, size, pe);
    request.bits = (uint8_t)(8 * size);
    request.value = bits;
    (void)isthmus_dev_post(&request);
}

ISTHMUS_DEVICE_COLD uint64_t isthmus_dev_g_by_ring(const void *source, size_t size, int pe)
{
    struct isthmus_request request = isthmus_dev_request_of(ISTHMUS_REQUEST_G, source, NULL, size, pe);
    request.bits = (uint8_t)(8 * size);
    return isthmus_dev_request(&request);
}

/* size: 1, 2, 4 or 8. call: that of the program, which may be a collective. */
ISTHMUS_DEVICE void isthmus_dev_p_for(int call, void *dest, uint64_t bits, size_t size, int pe)
{
    int64_t delta = isthmus_dev_delta(call, dest, size, pe);
    if (ISTHMUS_DEVICE_LIKELY(isthmus_dev_is_direct(delta)))
        isthmus_dev_store((char *)dest + delta, bits, size);
    else
        isthmus_dev_p_by_ring(dest, bits, size, pe);
}

ISTHMUS_DEVICE uint64_t isthmus_dev_g_for(int call, const void *source, size_t size, int pe)
{
    int64_t delta = isthmus_dev_delta(call, source, size, pe);
    if (ISTHMUS_DEVICE_LIKELY(isthmus_dev_is_direct(delta)))
        return isthmus_dev_load((const char *)source + delta, size);
    return isthmus_dev_g_by_ring(source, size, pe);
}

ISTHMUS_DEVICE void isthmus_dev_p(void *dest, uint64_t bits, size_t size, int pe)
{
    isthmus_dev_p_for(ISTHMUS_CALL_P, dest, bits, size, pe);
}

ISTHMUS_DEVICE uint64_t isthmus_dev_g(const void *source, size_t size, int pe)
{
    return isthmus_dev_g_for(ISTHMUS_CALL_G, source, size, pe);
}

/* ---- operands that the host does not reach ----
 * A thread's variables and a block's shared memory. The leader takes them through the words of requests: in elements as
 * wide as the symmetric address and the length allow. So the operand is the caller's again on return, and fetched data
 * there, also after a nonblocking call.
 * `left` is what remains of a request: pe, remote, local and length. It is volatile, hence in memory: in registers it
 * would come on top of those that the ring takes, in every kernel that puts. */

ISTHMUS_DEVICE size_t isthmus_dev_next_bytes(const volatile struct isthmus_request *left)
{
    size_t size = 8;
    while (size > left->length || (left->remote & (size - 1)) != 0) size /= 2;
    return size;
}

ISTHMUS_DEVICE void isthmus_dev_pass(volatile struct isthmus_request *left, size_t size)
{
    left->remote = left->remote + size;
    left->local = left->local + size;
    left->length = left->length - size;
}

ISTHMUS_DEVICE void isthmus_dev_put_private(volatile struct isthmus_request *left)
{
    while (left->length > 0) {
        const isthmus_u8 *source = (const isthmus_u8 *)(uintptr_t)left->local;
        size_t size = isthmus_dev_next_bytes(left);
        struct isthmus_request p = {left->pe, ISTHMUS_REQUEST_P, 0, (uint8_t)(8 * size), 0, left->remote, 0, size, 0, 0,
                                    0};
        ISTHMUS_DEVICE_ROLLED
        for (size_t i = 0; i < size; i++) p.value |= (uint64_t)source[i] << (8 * i);
        isthmus_dev_pass(left, size);
        (void)isthmus_dev_post(&p);
    }
}

ISTHMUS_DEVICE void isthmus_dev_get_private(volatile struct isthmus_request *left)
{
    while (left->length > 0) {
        size_t size = isthmus_dev_next_bytes(left);
        struct isthmus_request g = {left->pe, ISTHMUS_REQUEST_G, 0, (uint8_t)(8 * size), 0, left->remote, 0, size, 0, 0,
                                    0};
        uint64_t bits = isthmus_dev_request(&g);
        isthmus_u8 *dest = (isthmus_u8 *)(uintptr_t)left->local;
        size = isthmus_dev_next_bytes(left);
        ISTHMUS_DEVICE_ROLLED
        for (size_t i = 0; i < size; i++) dest[i] = (isthmus_u8)(bits >> (8 * i));
        isthmus_dev_pass(left, size);
    }
}

/* Of a PUT, PUT_SIGNAL or GET. A fence puts the signal behind the data. Inline: each function on the way to the ring
 * keeps registers of its caller. */
ISTHMUS_DEVICE void isthmus_dev_move_private(volatile struct isthmus_request *request)
{
    if (request->op == ISTHMUS_REQUEST_GET) {
        isthmus_dev_get_private(request);
        return;
    }
    isthmus_dev_put_private(request);
    if (request->op != ISTHMUS_REQUEST_PUT_SIGNAL) return;
    isthmus_dev_ring_fence();
    struct isthmus_request update = {
        request->pe, ISTHMUS_REQUEST_AMO, request->amo, request->bits, 0, request->signal, 0, 8, 0, request->value, 0};
    (void)isthmus_dev_post(&update);
}

/* Elements whose beginnings are so many bytes apart at both sides. */
ISTHMUS_DEVICE_COLD void isthmus_dev_strided_private(volatile struct isthmus_request *strided, size_t size, size_t far,
                                                     size_t near)
{
    volatile size_t element_bytes = size, far_step = far, near_step = near;
    while (strided->length > 0) {
        struct isthmus_request one = {strided->pe,    ISTHMUS_REQUEST_PUT, 0, 0, 0, strided->remote,
                                      strided->local, element_bytes,       0, 0, 0};
        if (strided->op == ISTHMUS_REQUEST_IGET) one.op = ISTHMUS_REQUEST_GET;
        isthmus_dev_move_private(&one);
        strided->remote = strided->remote + far_step;
        strided->local = strided->local + near_step;
        strided->length = strided->length - 1;
    }
}

/* ---- blocks of memory ---- */

/* As isthmus_dev_submit(), of a local operand in any memory. */
ISTHMUS_DEVICE void isthmus_dev_submit_any(struct isthmus_request *request, int scope, int is_nbi)
{
    if (request->length == 0 || !isthmus_dev_is_private((const void *)(uintptr_t)request->local)) {
        isthmus_dev_submit(request, scope, is_nbi);
        return;
    }
    isthmus_dev_meet(scope);
    if (isthmus_dev_is_leader(scope)) isthmus_dev_move_private(request);
    isthmus_dev_meet(scope);
}

ISTHMUS_DEVICE_COLD_GROUP void isthmus_dev_move_by_ring(int op, const void *remote, const void *local, size_t bytes,
                                                        int pe, int scope, int is_nbi)
{
    struct isthmus_request request = isthmus_dev_request_of(op, remote, local, bytes, pe);
    isthmus_dev_submit_any(&request, scope, is_nbi);
}

/* Nothing is moved, whatever the addresses are. */
ISTHMUS_DEVICE void isthmus_dev_move_nothing(int call, const void *addr, int pe, int scope)
{
    isthmus_dev_check_pe(call, addr, pe);
    isthmus_dev_meet(scope);
}

/* Completion as in nvshmem.h: a blocking put returns when source may be reused. */
ISTHMUS_DEVICE void isthmus_dev_put_for(int call, void *dest, const void *source, size_t bytes, int pe, int scope,
                                        int is_nbi)
{
    if (bytes == 0) {
        isthmus_dev_move_nothing(call, dest, pe, scope);
        return;
    }
    int64_t delta = isthmus_dev_delta(call, dest, bytes, pe);
    if (ISTHMUS_DEVICE_LIKELY(isthmus_dev_is_direct(delta))) {
        isthmus_dev_meet(scope);
        isthmus_dev_copy(isthmus_dev_far(dest, delta), (const char *)source, bytes, scope);
        isthmus_dev_meet(scope);
    } else {
        isthmus_dev_move_by_ring(ISTHMUS_REQUEST_PUT, dest, source, bytes, pe, scope, is_nbi);
    }
}

ISTHMUS_DEVICE void isthmus_dev_put(void *dest, const void *source, size_t bytes, int pe, int scope, int is_nbi)
{
    isthmus_dev_put_for(ISTHMUS_CALL_PUT, dest, source, bytes, pe, scope, is_nbi);
}

ISTHMUS_DEVICE void isthmus_dev_get(void *dest, const void *source, size_t bytes, int pe, int scope, int is_nbi)
{
    if (bytes == 0) {
        isthmus_dev_move_nothing(ISTHMUS_CALL_GET, source, pe, scope);
        return;
    }
    int64_t delta = isthmus_dev_delta(ISTHMUS_CALL_GET, source, bytes, pe);
    if (ISTHMUS_DEVICE_LIKELY(isthmus_dev_is_direct(delta))) {
        isthmus_dev_meet(scope);
        isthmus_dev_copy((char *)dest, isthmus_dev_far(source, delta), bytes, scope);
        isthmus_dev_meet(scope);
    } else {
        isthmus_dev_move_by_ring(ISTHMUS_REQUEST_GET, source, dest, bytes, pe, scope, is_nbi);
    }
}

/* Strides in elements, at least 1; size: 1 to 16, a power of two. */
struct isthmus_dev_stride {
    ptrdiff_t dest, source;
    size_t nelems, size;
};

/* nelems: at least 1. */
ISTHMUS_DEVICE uint64_t isthmus_dev_span(ptrdiff_t stride, size_t nelems, size_t size)
{
    return ((uint64_t)stride * (nelems - 1) + 1) * size;
}

ISTHMUS_DEVICE void isthmus_dev_copy_strided(char *to, const char *from, const struct isthmus_dev_stride *stride,
                                             int scope)
{
    size_t to_step = (size_t)stride->dest * stride->size, from_step = (size_t)stride->source * stride->size;
    for (size_t i = isthmus_dev_rank(scope); i < stride->nelems; i += isthmus_dev_size(scope))
        isthmus_dev_copy_unit(to + i * to_step, from + i * from_step, stride->size);
}

ISTHMUS_DEVICE_COLD_GROUP void isthmus_dev_strided_by_ring(int op, const void *remote, const void *local,
                                                           const struct isthmus_dev_stride *stride, int pe, int scope)
{
    struct isthmus_request request = isthmus_dev_request_of(op, remote, local, stride->nelems, pe);
    request.bits = (uint8_t)(8 * stride->size);
    request.value = (uint64_t)stride->dest;
    request.extra = (uint64_t)stride->source;
    if (!isthmus_dev_is_private(local)) {
        isthmus_dev_submit(&request, scope, 0);
        return;
    }
    size_t to = (size_t)stride->dest * stride->size, from = (size_t)stride->source * stride->size;
    isthmus_dev_meet(scope);
    if (isthmus_dev_is_leader(scope) && op == ISTHMUS_REQUEST_IPUT)
        isthmus_dev_strided_private(&request, stride->size, to, from);
    else if (isthmus_dev_is_leader(scope))
        isthmus_dev_strided_private(&request, stride->size, from, to);
    isthmus_dev_meet(scope);
}

ISTHMUS_DEVICE void isthmus_dev_iput(void *dest, const void *source, const struct isthmus_dev_stride *stride, int pe,
                                     int scope)
{
    if (stride->nelems == 0) {
        isthmus_dev_move_nothing(ISTHMUS_CALL_IPUT, dest, pe, scope);
        return;
    }
    int64_t delta = isthmus_dev_delta(ISTHMUS_CALL_IPUT, dest,
                                      isthmus_dev_span(stride->dest, stride->nelems, stride->size), pe);
    if (ISTHMUS_DEVICE_LIKELY(isthmus_dev_is_direct(delta))) {
        isthmus_dev_meet(scope);
        isthmus_dev_copy_strided(isthmus_dev_far(dest, delta), (const char *)source, stride, scope);
        isthmus_dev_meet(scope);
    } else {
        isthmus_dev_strided_by_ring(ISTHMUS_REQUEST_IPUT, dest, source, stride, pe, scope);
    }
}

ISTHMUS_DEVICE void isthmus_dev_iget(void *dest, const void *source, const struct isthmus_dev_stride *stride, int pe,
                                     int scope)
{
    if (stride->nelems == 0) {
        isthmus_dev_move_nothing(ISTHMUS_CALL_IGET, source, pe, scope);
        return;
    }
    int64_t delta = isthmus_dev_delta(ISTHMUS_CALL_IGET, source,
                                      isthmus_dev_span(stride->source, stride->nelems, stride->size), pe);
    if (ISTHMUS_DEVICE_LIKELY(isthmus_dev_is_direct(delta))) {
        isthmus_dev_meet(scope);
        isthmus_dev_copy_strided((char *)dest, isthmus_dev_far(source, delta), stride, scope);
        isthmus_dev_meet(scope);
    } else {
        isthmus_dev_strided_by_ring(ISTHMUS_REQUEST_IGET, source, dest, stride, pe, scope);
    }
}

/* ---- atomics ---- */

struct isthmus_dev_amo {
    uint32_t op;   /* ISTHMUS_DEV_AMO_ */
    uint32_t size; /* 4 or 8 bytes */
    uint64_t operand, compare;
};

ISTHMUS_DEVICE_COLD uint64_t isthmus_dev_atomic_by_ring(void *dest, struct isthmus_dev_amo amo, int pe, int is_fetching)
{
    struct isthmus_request request = isthmus_dev_request_of(ISTHMUS_REQUEST_AMO, dest, NULL, amo.size, pe);
    request.amo = (uint8_t)amo.op;
    request.bits = (uint8_t)(8 * amo.size);
    request.value = amo.operand;
    request.extra = amo.compare;
    if (is_fetching) return isthmus_dev_request(&request);
    (void)isthmus_dev_post(&request);
    return 0;
}

/* Returns the old value if is_fetching. */
ISTHMUS_DEVICE uint64_t isthmus_dev_atomic(void *dest, struct isthmus_dev_amo amo, int pe, int is_fetching)
{
    int64_t delta = isthmus_dev_delta(ISTHMUS_CALL_ATOMIC, dest, amo.size, pe);
    if (ISTHMUS_DEVICE_LIKELY(isthmus_dev_is_direct(delta)))
        return isthmus_dev_amo(amo.op, (char *)dest + delta, amo.operand, amo.compare, amo.size);
    return isthmus_dev_atomic_by_ring(dest, amo, pe, is_fetching);
}

/* ---- signals ---- */

struct isthmus_dev_signal {
    uint64_t *addr;
    uint64_t value;
    uint32_t op; /* ISTHMUS_DEV_AMO_SET or ISTHMUS_DEV_AMO_ADD */
};

ISTHMUS_DEVICE void isthmus_dev_signal_op(struct isthmus_dev_signal signal, int pe)
{
    struct isthmus_dev_amo amo = {signal.op, 8, signal.value, 0};
    (void)isthmus_dev_atomic(signal.addr, amo, pe, 0);
}

ISTHMUS_DEVICE_COLD_GROUP void isthmus_dev_put_signal_by_ring(void *dest, const void *source, size_t bytes,
                                                              struct isthmus_dev_signal signal, int pe, int scope,
                                                              int is_nbi)
{
    struct isthmus_request request = isthmus_dev_request_of(ISTHMUS_REQUEST_PUT_SIGNAL, dest, source, bytes, pe);
    request.amo = (uint8_t)signal.op;
    request.bits = 64;
    request.signal = (uint64_t)(uintptr_t)signal.addr;
    request.value = signal.value;
    isthmus_dev_submit_any(&request, scope, is_nbi);
}

/* The signal changes after the data of this call has arrived: the leader's release covers what its group has stored. */
ISTHMUS_DEVICE void isthmus_dev_put_signal(void *dest, const void *source, size_t bytes,
                                           struct isthmus_dev_signal signal, int pe, int scope, int is_nbi)
{
    int64_t signal_delta = isthmus_dev_delta(ISTHMUS_CALL_PUT_SIGNAL, signal.addr, 8, pe);
    int64_t delta = bytes > 0 ? isthmus_dev_delta(ISTHMUS_CALL_PUT_SIGNAL, dest, bytes, pe) : signal_delta;
    if (!ISTHMUS_DEVICE_LIKELY(isthmus_dev_is_direct(delta | signal_delta))) {
        isthmus_dev_put_signal_by_ring(dest, source, bytes, signal, pe, scope, is_nbi);
        return;
    }
    uint64_t *at = (uint64_t *)(void *)((char *)signal.addr + signal_delta);
    isthmus_dev_meet(scope);
    if (bytes > 0) isthmus_dev_copy(isthmus_dev_far(dest, delta), (const char *)source, bytes, scope);
    isthmus_dev_meet(scope);
    if (!isthmus_dev_is_leader(scope)) return;
    if (signal.op == ISTHMUS_DEV_AMO_SET)
        isthmus_dev_store_release(at, signal.value);
    else
        isthmus_dev_add_release(at, signal.value);
}

/* ---- order ---- */

/* A fence in the ring orders requests only: a direct store that follows to the same PE would overtake them. Where a PE
 * is reached both ways, they are completed instead. Later fetches come after earlier stores, too: hence a drain. */
ISTHMUS_DEVICE void isthmus_dev_order(int scope)
{
    isthmus_dev_meet(scope);
    if (isthmus_dev_is_leader(scope)) {
        if ((isthmus_device_v1.flags & ISTHMUS_DEVICE_MIXED) != 0)
            isthmus_dev_ring_quiet();
        else
            isthmus_dev_ring_fence();
        isthmus_dev_drain();
    }
    isthmus_dev_meet(scope);
}

ISTHMUS_DEVICE void isthmus_dev_quiet(int scope)
{
    isthmus_dev_meet(scope);
    if (isthmus_dev_is_leader(scope)) {
        isthmus_dev_ring_quiet();
        isthmus_dev_drain();
    }
    isthmus_dev_meet(scope);
}

/* ---- PEs ---- */

/* NULL: no team of this PE. Without a state there are no teams, and the kernel ends: `call` is for the report. */
ISTHMUS_DEVICE struct isthmus_device_team *isthmus_dev_team(int call, int32_t handle)
{
    const struct isthmus_device_state *state = &isthmus_device_v1;
    if (ISTHMUS_DEVICE_LIKELY((uint32_t)handle < state->n_teams))
        return state->teams[handle].n != 0 ? state->teams + handle : NULL;
    isthmus_dev_check_state(call);
    return NULL;
}

ISTHMUS_DEVICE int isthmus_dev_team_to_world(const struct isthmus_device_team *team, int pe)
{
    return team->list != NULL ? team->list[pe] : team->start + pe * team->stride;
}

ISTHMUS_DEVICE int isthmus_dev_team_my_pe(int32_t handle)
{
    const struct isthmus_device_team *team = isthmus_dev_team(ISTHMUS_CALL_TEAM, handle);
    return team != NULL ? team->me : -1;
}

ISTHMUS_DEVICE int isthmus_dev_team_n_pes(int32_t handle)
{
    const struct isthmus_device_team *team = isthmus_dev_team(ISTHMUS_CALL_TEAM, handle);
    return team != NULL ? team->n : -1;
}

/* Returns the number of member `pe` of one team in the other; -1: none. */
ISTHMUS_DEVICE int isthmus_dev_team_translate(int32_t from_handle, int pe, int32_t to_handle)
{
    const struct isthmus_device_team *from = isthmus_dev_team(ISTHMUS_CALL_TEAM, from_handle),
                                     *to = isthmus_dev_team(ISTHMUS_CALL_TEAM, to_handle);
    if (from == NULL || to == NULL || pe < 0 || pe >= from->n) return -1;
    int world = isthmus_dev_team_to_world(from, pe);
    for (int i = 0; i < to->n; i++)
        if (isthmus_dev_team_to_world(to, i) == world) return i;
    return -1;
}

/* Ends the job. The host's thread sees to it if there is a ring; else the kernel stops, and the library learns of it in
 * the host's next call. */
ISTHMUS_DEVICE_COLD void isthmus_dev_global_exit(int code)
{
    struct isthmus_request request = isthmus_dev_request_of(ISTHMUS_REQUEST_EXIT, NULL, NULL, 0, 0);
    request.value = (uint64_t)(int64_t)code;
    if (isthmus_device_v1.ring == NULL) isthmus_dev_misuse(ISTHMUS_CALL_GLOBAL_EXIT, ISTHMUS_MISTAKE_EXIT, NULL, code);
    (void)isthmus_dev_request(&request);
    isthmus_dev_trap();
}

#endif
