/* isthmus/inline.h: the fast paths of shmem.h that are compiled into the program: element access and atomics on peers
 * whose memory this PE can load and store, and the ordering calls while nothing else is in use.
 * Programs do not include it; shmem.h does, when the compiler optimises and ISTHMUS_NO_INLINE is not defined. Every
 * unusual case calls the routine in the library, which does the same work from the start.
 *
 * The struct is ABI of the library: fields are added at its end only. It is read-only between init and finalize, except
 * for `default_used`, the rows, which change when a peer is used for the first time, and `small`, which becomes empty
 * when the program registers memory that the processor cannot touch. */
#ifndef ISTHMUS_INLINE_H
#define ISTHMUS_INLINE_H

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

/* Never emitted: these are inlined wherever they are used, also into inline functions with external linkage. */
#define ISTHMUS_FAST_ extern __inline__ __attribute__((gnu_inline, always_inline))

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

ISTHMUS_FAST_ size_t isthmus_column_(const struct isthmus_bounds *bounds, uint64_t at)
{
    size_t in_heap = at - bounds->heap_base < bounds->heap_length;
    size_t in_statics = at - bounds->statics_base < bounds->statics_length;
    return in_heap + 2 * in_statics;
}

/* Returns the entry of a row for an aligned element of 1 << log2_size bytes at addr, or 0 if there is none. Rotating
 * brings the low bits of a misaligned address to the top, where they fail the comparison that is made anyway. */
ISTHMUS_FAST_ size_t isthmus_element_column_(const struct isthmus_fast *fast, const volatile void *addr,
                                             unsigned log2_size)
{
    uint64_t at = (uint64_t)(uintptr_t)addr;
    if (log2_size > 0) at = at >> log2_size | at << (64 - log2_size);
    return isthmus_column_(&fast->element[log2_size], at);
}

ISTHMUS_FAST_ intptr_t isthmus_delta_(const struct isthmus_fast *fast, size_t column, int pe)
{
    if (__builtin_expect((uint32_t)pe >= fast->n_pes, 0)) return 1;
    /* Acquire: pairs with the release that publishes a peer's mapping on its first use; an ordinary load on x86-64. */
    return __atomic_load_n(&fast->rows[(uint32_t)pe].delta[column], __ATOMIC_ACQUIRE);
}

#define ISTHMUS_LOG2_(size) ((size) == 1 ? 0u : (size) == 2 ? 1u : (size) == 4 ? 2u : (size) == 8 ? 3u : 4u)

/* Returns the address of an element of `size` bytes on pe, or NULL if the library has to be called. */
ISTHMUS_FAST_ void *isthmus_element_(const volatile void *addr, size_t size, int pe)
{
    const struct isthmus_fast *fast = isthmus_fast_();
    intptr_t delta = isthmus_delta_(fast, isthmus_element_column_(fast, addr, ISTHMUS_LOG2_(size)), pe);
    return __builtin_expect((delta & 1) == 0, 1) ? (void *)((uintptr_t)addr + (uintptr_t)delta) : NULL;
}

/* The same for a copy of up to ISTHMUS_SMALL_BYTES at any alignment. */
ISTHMUS_FAST_ void *isthmus_small_(const volatile void *addr, int pe)
{
    const struct isthmus_fast *fast = isthmus_fast_();
    intptr_t delta = isthmus_delta_(fast, isthmus_column_(&fast->small, (uint64_t)(uintptr_t)addr), pe);
    return __builtin_expect((delta & 1) == 0, 1) ? (void *)((uintptr_t)addr + (uintptr_t)delta) : NULL;
}

/* Returns true if the default context's ordering calls have only aliased accesses to order. */
ISTHMUS_FAST_ int isthmus_order_is_simple_(void)
{
    return __builtin_expect(__atomic_load_n(&isthmus_fast_()->default_used, __ATOMIC_RELAXED) == 0, 1) != 0;
}

/* Earlier stores become visible to every PE of the host: a locked instruction on a line that is in the cache anyway, an
 * eighth of what mfence takes. */
ISTHMUS_FAST_ void isthmus_publish_stores_(void)
{
#if defined(__x86_64__)
    __asm__ __volatile__("lock; orl $0, (%%rsp)" ::: "memory", "cc");
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

#ifdef __cplusplus
}
#endif

#endif
