/* isthmus/copy_cpu.h: bulk copies to and from memory that other PEs see, at the machine's speed and in order.
 * Not for a few bytes, where a call costs more than the copy.
 *
 * Which copy is fastest depends on the size (GB/s on one core of a Zen 4 with 32 MiB of shared cache). Fresh: buffers
 * of 2 to 32 MiB that were not used before.
 *                      512 B  8 KiB  128 KiB  2 MiB  8 MiB  14 MiB  32 MiB   fresh
 *     memmove            111    107       58     48     41      24      15     14 to 9
 *     rep movsb           49    107       58     48     41      24      12     14 to 10
 *     past the cache       5     23       28     28     28      28      20     21 to 16
 * So the C library's memmove (which itself chooses between vectors and rep movsb) up to a size at which the data would
 * push itself out of the cache, and from there on stores that go past it. */
#ifndef ISTHMUS_COPY_CPU_H
#define ISTHMUS_COPY_CPU_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/* Past the cache from this size on. */
#define ISTHMUS_COPY_PAST_CACHE_BYTES ((size_t)12 << 20)

/* From this size on memmove too may use such stores: three quarters of the shared cache divided by its threads is no
 * less on any processor that we know. */
#define ISTHMUS_COPY_NEEDS_FENCE_BYTES ((size_t)256 << 10)

#if defined(__SSE2__)
static inline void isthmus_copy_past_cache_(char *dest, const char *source, size_t length_bytes)
{
    size_t head = (64 - ((uintptr_t)dest & 63)) & 63; /* whole lines of dest from here on */
    memcpy(dest, source, head);
    dest += head, source += head, length_bytes -= head;
    for (; length_bytes >= 64; dest += 64, source += 64, length_bytes -= 64) {
        __m128i a = _mm_loadu_si128((const __m128i *)(const void *)source);
        __m128i b = _mm_loadu_si128((const __m128i *)(const void *)(source + 16));
        __m128i c = _mm_loadu_si128((const __m128i *)(const void *)(source + 32));
        __m128i d = _mm_loadu_si128((const __m128i *)(const void *)(source + 48));
        _mm_stream_si128((__m128i *)(void *)dest, a);
        _mm_stream_si128((__m128i *)(void *)(dest + 16), b);
        _mm_stream_si128((__m128i *)(void *)(dest + 32), c);
        _mm_stream_si128((__m128i *)(void *)(dest + 48), d);
    }
    memcpy(dest, source, length_bytes);
}
#endif

/* The ranges may be the same (a put to oneself), but not overlap otherwise. */
static inline void isthmus_copy_cpu(void *dest, const void *source, size_t length_bytes)
{
#if defined(__SSE2__)
    if (length_bytes >= ISTHMUS_COPY_PAST_CACHE_BYTES && dest != source)
        isthmus_copy_past_cache_((char *)dest, (const char *)source, length_bytes);
    else
        memmove(dest, source, length_bytes);
    /* Such stores are weakly ordered; a flag that is written next must not overtake them. Elsewhere (below) no store of
     * memmove is ordered less than any other, those past the cache (stnp on ARM64) included: the fence orders all of
     * them. */
    if (length_bytes >= ISTHMUS_COPY_NEEDS_FENCE_BYTES) _mm_sfence();
#else
    memmove(dest, source, length_bytes);
#endif
}

#endif
