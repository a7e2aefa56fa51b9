/* isthmus/inline.h: the fast paths: element access, short copies and atomics on peers whose memory this PE can load and
 * store, and the ordering calls while nothing else is in use. They are compiled into programs, by shmem.h when the
 * compiler optimises and ISTHMUS_NO_INLINE is not defined, and into the library's own routines. Each function returns 0
 * in every unusual case; the caller then does all of the work in another way.
 *
 * For example shmem_long_p(dest, value, pe), whose row in the table of routines has the flag `inline`:
 *   in a program     isthmus_p_(isthmus_row_(pe), dest, &value, sizeof(long)); if that returns 0, a call of the routine
 *                    in the library. The generator writes this line into isthmus/shmem_inline.h of the build tree.
 *   in the library   ist_entry_p(&ist_ctx_default, dest, &value, ...), which the generator writes into
 *                    shmem_routines.c of the build tree. It calls ist_p: isthmus_p_ again; if that returns 0,
 *                    ist_p_slow.
 *
 * The struct is ABI of the library: fields are added at its end only. It is read-only between init and finalize, except
 * for `default_used`, the rows, which change when a peer is used for the first time, and `small`, which becomes empty
 * when the program registers memory that the processor cannot touch. */
#ifndef ISTHMUS_INLINE_H
#define ISTHMUS_INLINE_H

#include <isthmus/amo_cpu.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* For one PE: the offset that, added to a symmetric address of this PE, gives the address of that PE's memory. An entry
 * without an alias is odd; true deltas are multiples of the page size. One test of one bit so covers a PE that is not
 * connected yet, one that takes a call of the transport, and, through entry 0, addresses that are not symmetric or
 * misaligned. */
struct isthmus_row {
    intptr_t delta[4]; /* [0] never an alias, [1] heap, [2] static data, [3] unused */
};

#define ISTHMUS_NO_ALIAS ((intptr_t)1) /* of the odd values the one that the library uses */

/* Where the heap and the static data lie, divided by an element's width: bases are multiples of the page size. */
struct isthmus_bounds {
    uint64_t heap_base, heap_length, statics_base, statics_length;
};

struct isthmus_fast {
    uint32_t struct_size;
    uint32_t n_pes;                   /* 0: not initialised, or inlined paths are switched off */
    const struct isthmus_row *rows;   /* n_pes of them */
    uint32_t default_used;            /* not 0: ordering calls on the default context have more to do than stores */
    uint32_t reserved[11];            /* to the end of the cache line */
    struct isthmus_bounds element[5]; /* of 1, 2, 4, 8 and 16 bytes */
    struct isthmus_bounds small; /* a copy of up to ISTHMUS_SMALL_BYTES that starts in these stays in the segment */
};

#define ISTHMUS_SMALL_BYTES 256

extern struct isthmus_fast isthmus_fast_v1;

/* Its address. Through the global offset table by hand: a plain reference would make the linker copy the struct into
 * the executable. Not volatile, so that a loop loads it once. */
ISTHMUS_FAST_ const struct isthmus_fast *isthmus_fast_(void)
{
#if defined(__x86_64__) && !defined(ISTHMUS_LIBRARY)
    const struct isthmus_fast *fast;
    __asm__("movq isthmus_fast_v1@GOTPCREL(%%rip), %0" : "=r"(fast));
    return fast;
#elif defined(__aarch64__) && !defined(ISTHMUS_LIBRARY)
    const struct isthmus_fast *fast;
    __asm__("adrp %0, :got:isthmus_fast_v1\n\tldr %0, [%0, :got_lo12:isthmus_fast_v1]" : "=r"(fast));
    return fast;
#else
    return &isthmus_fast_v1;
#endif
}

/* ---- the address on a peer: the row of the PE, and the entry that a symmetric address selects ---- */

ISTHMUS_FAST_ int isthmus_in_heap_(const struct isthmus_bounds *bounds, uint64_t at)
{
    /* A branch, although both tests could be computed: one call in a program mostly has elements of one segment, so
     * that the processor predicts it, and an element in the heap saves four instructions. */
    return __builtin_expect(at - bounds->heap_base < bounds->heap_length, 1) != 0;
}

ISTHMUS_FAST_ size_t isthmus_column_(const struct isthmus_bounds *bounds, uint64_t at)
{
    if (isthmus_in_heap_(bounds, at)) return 1;
    return at - bounds->statics_base < bounds->statics_length ? 2 : 0;
}

/* An address as the bounds of aligned elements of 1 << log2_size bytes have it. Rotating brings the low bits of a
 * misaligned address to the top, where they fail the comparison that is made anyway. */
ISTHMUS_FAST_ uint64_t isthmus_element_number_(const volatile void *addr, unsigned log2_size)
{
    uint64_t at = (uint64_t)(uintptr_t)addr;
    return log2_size > 0 ? at >> log2_size | at << (64 - log2_size) : at;
}

ISTHMUS_FAST_ unsigned isthmus_log2_(size_t size) /* constant wherever it is called */
{
    return size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : size == 8 ? 3 : 4;
}

/* Returns the row of a PE; NULL if there is no such PE, or if inlined paths are switched off. */
ISTHMUS_FAST_ const struct isthmus_row *isthmus_row_(int pe)
{
    const struct isthmus_fast *fast = isthmus_fast_();
    if (__builtin_expect((uint32_t)pe >= fast->n_pes, 0)) return NULL;
    const struct isthmus_row *row = &fast->rows[(uint32_t)pe];
    if (row == NULL) __builtin_unreachable(); /* the test of the result costs nothing here */
    return row;
}

ISTHMUS_FAST_ intptr_t isthmus_delta_(const struct isthmus_row *row, size_t column)
{
    /* Acquire: pairs with the release that publishes a peer's mapping on its first use; an ordinary load on x86-64. */
    return __atomic_load_n(&row->delta[column], __ATOMIC_ACQUIRE);
}

/* Returns the address that an entry of a row gives, or NULL if there is no alias. */
ISTHMUS_FAST_ void *isthmus_alias_(intptr_t delta, const volatile void *addr)
{
    if (__builtin_expect((delta & ISTHMUS_NO_ALIAS) != 0, 0)) return NULL;
    void *alias = (void *)((uintptr_t)addr + (uintptr_t)delta);
    if (alias == NULL) __builtin_unreachable(); /* the test of this result costs nothing either */
    return alias;
}

/* Returns the alias of addr, which these bounds have as `at`, or NULL. The heap has a load of its own: one load for
 * both segments needs the number of the entry, and with it a register more than compare_swap has. */
ISTHMUS_FAST_ void *isthmus_within_(const struct isthmus_row *row, const struct isthmus_bounds *bounds, uint64_t at,
                                    const volatile void *addr)
{
    intptr_t delta = isthmus_in_heap_(bounds, at) ? isthmus_delta_(row, 1)
                                                  : isthmus_delta_(row, isthmus_column_(bounds, at));
    return isthmus_alias_(delta, addr);
}

/* Returns the address of an element of `size` bytes on the row's PE, or NULL. */
ISTHMUS_FAST_ void *isthmus_element_(const struct isthmus_row *row, const volatile void *addr, size_t size)
{
    if (__builtin_expect(row == NULL, 0)) return NULL;
    const unsigned log2_size = isthmus_log2_(size);
    return isthmus_within_(row, &isthmus_fast_()->element[log2_size], isthmus_element_number_(addr, log2_size), addr);
}

/* The same for a copy of up to ISTHMUS_SMALL_BYTES at any alignment. */
ISTHMUS_FAST_ void *isthmus_small_(const struct isthmus_row *row, const volatile void *addr)
{
    if (__builtin_expect(row == NULL, 0)) return NULL;
    return isthmus_within_(row, &isthmus_fast_()->small, (uint64_t)(uintptr_t)addr, addr);
}

/* ---- barriers ---- */

/* Earlier stores become visible to every PE of the host: a locked instruction on a line that is in the cache anyway, an
 * eighth of what mfence takes. It is below the stack pointer, because at it lies the return address, and the return
 * would wait for the locked instruction. What may lie there is unchanged: 0 is or'ed to it. */
ISTHMUS_FAST_ void isthmus_publish_stores_(void)
{
#if defined(__x86_64__)
    __asm__ __volatile__("lock; orl $0, -8(%%rsp)" ::: "memory", "cc");
#else
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

/* Earlier stores reach every PE before later ones, and earlier loads are done before later stores: a flag that
 * announces "read" must not overtake the reads. x86-64 keeps both orders, so only the compiler is held back. */
ISTHMUS_FAST_ void isthmus_order_stores_(void)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
#if !defined(__x86_64__)
    __atomic_thread_fence(__ATOMIC_ACQ_REL);
#endif
}

/* Earlier loads are done before later accesses. x86-64 keeps that order, so only the compiler is held back; programs
 * that are built for ThreadSanitizer, which knows no fences, include this too. */
ISTHMUS_FAST_ void isthmus_order_loads_(void)
{
    __atomic_signal_fence(__ATOMIC_ACQUIRE);
#if !defined(__x86_64__)
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
#endif
}

/* ---- what is stored and loaded there ---- */

/* The bits of a value of up to 8 bytes, in the low end. `size` is constant, so that a register move remains. */
ISTHMUS_FAST_ uint64_t isthmus_bits_of_(const void *value, size_t size)
{
    uint64_t bits = 0;
    __builtin_memcpy(&bits, value, size < sizeof bits ? size : sizeof bits);
    return bits;
}

ISTHMUS_FAST_ void isthmus_bits_to_(void *result, uint64_t bits, size_t size)
{
    __builtin_memcpy(result, &bits, size < sizeof bits ? size : sizeof bits);
}

/* One store, in no order: puts have none without a fence. */
ISTHMUS_FAST_ void isthmus_store_(void *at, uint64_t bits, size_t size)
{
    switch (size) {
    case 1: __atomic_store_n((isthmus_word8 *)at, (uint8_t)bits, __ATOMIC_RELAXED); break;
    case 2: __atomic_store_n((isthmus_word16 *)at, (uint16_t)bits, __ATOMIC_RELAXED); break;
    case 4: __atomic_store_n((isthmus_word32 *)at, (uint32_t)bits, __ATOMIC_RELAXED); break;
    default: __atomic_store_n((isthmus_word64 *)at, bits, __ATOMIC_RELAXED); break;
    }
}

/* One load, before all later accesses: a blocking read is done when it returns. Pairs with the fence, quiet or atomic
 * between the writer's accesses; an ordinary load on x86-64. */
ISTHMUS_FAST_ uint64_t isthmus_load_(const void *at, size_t size)
{
    switch (size) {
    case 1: return __atomic_load_n((const isthmus_word8 *)at, __ATOMIC_ACQUIRE);
    case 2: return __atomic_load_n((const isthmus_word16 *)at, __ATOMIC_ACQUIRE);
    case 4: return __atomic_load_n((const isthmus_word32 *)at, __ATOMIC_ACQUIRE);
    default: return __atomic_load_n((const isthmus_word64 *)at, __ATOMIC_ACQUIRE);
    }
}

/* Up to ISTHMUS_SMALL_BYTES; every byte is written once, and 1, 2, 4 or 8 bytes by one store: a peer that waits for the
 * last word of a short put, and resets it at once, must not find it set again. Of a constant length the compiler makes
 * the fewest moves itself. */
ISTHMUS_FAST_ void isthmus_copy_small_(void *dest, const void *source, size_t length_bytes)
{
    char *to = (char *)dest;
    const char *from = (const char *)source;
    if (__builtin_constant_p(length_bytes)) {
        __builtin_memcpy(dest, source, length_bytes);
        return;
    }
    for (; length_bytes >= 16; to += 16, from += 16, length_bytes -= 16) __builtin_memcpy(to, from, 16);
    if (length_bytes & 8) {
        __builtin_memcpy(to, from, 8);
        to += 8, from += 8;
    }
    if (length_bytes & 4) {
        __builtin_memcpy(to, from, 4);
        to += 4, from += 4;
    }
    if (length_bytes & 2) {
        __builtin_memcpy(to, from, 2);
        to += 2, from += 2;
    }
    if (length_bytes & 1) *to = *from;
}

/* ---- put and get ----
 * All return 1 if the work is done, 0 if nothing was. A value and a result are given by their addresses. */

ISTHMUS_FAST_ int isthmus_p_(const struct isthmus_row *row, void *dest, const void *value, size_t size)
{
    void *at = size <= 8 ? isthmus_element_(row, dest, size) : NULL;
    if (__builtin_expect(at == NULL, 0)) return 0;
    isthmus_store_(at, isthmus_bits_of_(value, size), size);
    return 1;
}

ISTHMUS_FAST_ int isthmus_g_(const struct isthmus_row *row, void *result, const void *source, size_t size)
{
    const void *at = size <= 8 ? isthmus_element_(row, source, size) : NULL;
    if (__builtin_expect(at == NULL, 0)) return 0;
    isthmus_bits_to_(result, isthmus_load_(at, size), size);
    return 1;
}

ISTHMUS_FAST_ int isthmus_put_(const struct isthmus_row *row, void *dest, const void *source, size_t length_bytes)
{
    void *at = isthmus_small_(row, dest);
    if (__builtin_expect(at == NULL || source == NULL || length_bytes > ISTHMUS_SMALL_BYTES, 0)) return 0;
    isthmus_copy_small_(at, source, length_bytes);
    return 1;
}

/* The loads are in no order yet. */
ISTHMUS_FAST_ int isthmus_get_nbi_(const struct isthmus_row *row, void *dest, const void *source, size_t length_bytes)
{
    const void *at = isthmus_small_(row, source);
    if (__builtin_expect(at == NULL || dest == NULL || length_bytes > ISTHMUS_SMALL_BYTES, 0)) return 0;
    isthmus_copy_small_(dest, at, length_bytes);
    return 1;
}

ISTHMUS_FAST_ int isthmus_get_(const struct isthmus_row *row, void *dest, const void *source, size_t length_bytes)
{
    if (!isthmus_get_nbi_(row, dest, source, length_bytes)) return 0;
    isthmus_order_loads_();
    return 1;
}

/* Programs inline copies of a constant length only: those are a few moves, others a loop. */
ISTHMUS_FAST_ int isthmus_put_elements_(const struct isthmus_row *row, void *dest, const void *source, size_t nelems,
                                        size_t size)
{
    if (!__builtin_constant_p(nelems) || nelems > ISTHMUS_SMALL_BYTES / size) return 0;
    return isthmus_put_(row, dest, source, nelems * size);
}

ISTHMUS_FAST_ int isthmus_get_elements_(const struct isthmus_row *row, void *dest, const void *source, size_t nelems,
                                        size_t size)
{
    if (!__builtin_constant_p(nelems) || nelems > ISTHMUS_SMALL_BYTES / size) return 0;
    return isthmus_get_(row, dest, source, nelems * size);
}

/* ---- atomics ----
 * As above; amo_cpu.h executes them. */

/* The old value goes to *result, unless that is NULL. */
ISTHMUS_FAST_ int isthmus_amo_(const struct isthmus_row *row, uint32_t op, void *result, void *dest, uint64_t operand,
                               uint64_t compare, size_t size)
{
    void *at = isthmus_element_(row, dest, size);
    if (__builtin_expect(at == NULL, 0)) return 0;
    uint64_t old = isthmus_amo_cpu(op, at, operand, compare, size);
    if (result != NULL) isthmus_bits_to_(result, old, size);
    return 1;
}

/* With the arguments of the routines, as the generator passes them. */

ISTHMUS_FAST_ int isthmus_update_(const struct isthmus_row *row, uint32_t op, void *dest, const void *value,
                                  size_t size)
{
    return isthmus_amo_(row, op, NULL, dest, isthmus_bits_of_(value, size), 0, size);
}

ISTHMUS_FAST_ int isthmus_fetch_update_(const struct isthmus_row *row, uint32_t op, void *result, void *dest,
                                        const void *value, size_t size)
{
    return isthmus_amo_(row, op, result, dest, isthmus_bits_of_(value, size), 0, size);
}

ISTHMUS_FAST_ int isthmus_fetch_(const struct isthmus_row *row, void *result, const void *source, size_t size)
{
    return isthmus_amo_(row, ISTHMUS_AMO_FETCH, result, (void *)(uintptr_t)source, 0, 0, size);
}

ISTHMUS_FAST_ int isthmus_inc_(const struct isthmus_row *row, void *dest, size_t size)
{
    return isthmus_amo_(row, ISTHMUS_AMO_ADD, NULL, dest, 1, 0, size);
}

ISTHMUS_FAST_ int isthmus_fetch_inc_(const struct isthmus_row *row, void *result, void *dest, size_t size)
{
    return isthmus_amo_(row, ISTHMUS_AMO_ADD, result, dest, 1, 0, size);
}

ISTHMUS_FAST_ int isthmus_compare_swap_(const struct isthmus_row *row, void *result, void *dest, const void *cond,
                                        const void *value, size_t size)
{
    return isthmus_amo_(row, ISTHMUS_AMO_COMPARE_SWAP, result, dest, isthmus_bits_of_(value, size),
                        isthmus_bits_of_(cond, size), size);
}

/* ---- order ---- */

/* Returns true if the default context's ordering calls have only aliased accesses to order. */
ISTHMUS_FAST_ int isthmus_order_is_simple_(void)
{
    return __builtin_expect(__atomic_load_n(&isthmus_fast_()->default_used, __ATOMIC_RELAXED) == 0, 1) != 0;
}

/* The ordering calls. Each is done, and returns 1, if there are only aliased accesses to order. */
ISTHMUS_FAST_ int isthmus_fence_(int is_simple)
{
    isthmus_order_stores_();
    return is_simple;
}

ISTHMUS_FAST_ int isthmus_quiet_(int is_simple)
{
    if (is_simple) isthmus_publish_stores_();
    return is_simple;
}

ISTHMUS_FAST_ int isthmus_local_complete_(int is_simple)
{
    if (is_simple) isthmus_order_loads_();
    return is_simple;
}

ISTHMUS_FAST_ int isthmus_remote_commit_(int is_simple)
{
    if (is_simple) isthmus_publish_stores_();
    return is_simple;
}

#ifdef __cplusplus
}
#endif

#endif
