/* isthmus/device_wire.h: a request of a kernel as it lies in its slot of the ring, for both sides. The words of a slot
 * may arrive one by one and in any order: nothing is assumed of a bus but that it keeps 8 aligned bytes together. So
 * each word carries the tag of the slot's turn. Seven words of a request are shifted by a byte to make room for it; the
 * eighth holds the bytes that were displaced, and a tag. Words of the turn before have another tag, and older ones are
 * gone: a slot is written again only after the host has read all of it. */
#ifndef ISTHMUS_DEVICE_WIRE_H
#define ISTHMUS_DEVICE_WIRE_H

#include <isthmus/device_state.h>

#ifdef ISTHMUS_GPU_COMPILER
#define ISTHMUS_WIRE static __host__ __device__ __forceinline__
#else
#define ISTHMUS_WIRE static inline __attribute__((unused))
#endif

/* 1 to 128: memory that was never written holds 0. */
ISTHMUS_WIRE uint32_t isthmus_wire_tag(uint64_t turn) { return ((uint32_t)turn & 127) + 1; }

/* A request is read here as it lies in memory, the lowest byte first. The reads are volatile so that no compiler for
 * GPUs has all words in registers at a time: the kernel around them would get fewer threads for it. */
typedef uint8_t __attribute__((may_alias)) isthmus_wire_byte;
typedef uint32_t __attribute__((may_alias)) isthmus_wire_half;
typedef uint64_t __attribute__((may_alias)) isthmus_wire_part;

/* Word i of the slot, 0 to 6. */
ISTHMUS_WIRE uint64_t isthmus_wire_word(const struct isthmus_request *request, int i, uint32_t tag)
{
    const volatile isthmus_wire_half *half = (const volatile isthmus_wire_half *)(const void *)request + 2 * i;
    uint32_t low = half[0], high = half[1];
    return (uint64_t)(high << 8 | low >> 24) << 32 | (low << 8 | tag);
}

/* Word 7: the uppermost bytes of the others. */
ISTHMUS_WIRE uint64_t isthmus_wire_last_word(const struct isthmus_request *request, uint32_t tag)
{
    const volatile isthmus_wire_byte *bytes = (const volatile isthmus_wire_byte *)(const void *)request;
    uint64_t word = tag;
    for (int i = 0; i < ISTHMUS_REQUEST_WORDS; i++) word |= (uint64_t)bytes[8 * i + 7] << (8 * (i + 1));
    return word;
}

/* The seven words of a request whose eight words have all arrived. */
ISTHMUS_WIRE void isthmus_wire_words(const uint64_t *wire, isthmus_wire_part *words)
{
    for (int i = 0; i < ISTHMUS_REQUEST_WORDS; i++)
        words[i] = wire[i] >> 8 | wire[ISTHMUS_REQUEST_WORDS] >> (8 * (i + 1)) << 56;
}

/* Returns 1 with the request if all words have the tag of this turn, else 0. */
ISTHMUS_WIRE int isthmus_wire_read(const uint64_t *wire, uint64_t tag, struct isthmus_request *request)
{
    uint64_t wrong = 0;
    isthmus_wire_part *words = (isthmus_wire_part *)(void *)request;
    for (int i = 0; i < ISTHMUS_WIRE_WORDS; i++) wrong |= wire[i] ^ tag;
    if ((wrong & 0xff) != 0) return 0;
    isthmus_wire_words(wire, words);
    return 1;
}

#endif
