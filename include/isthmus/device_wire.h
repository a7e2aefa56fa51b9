/* isthmus/device_wire.h: a request of a kernel as it lies in its slot of the ring, for both sides. The words of a slot
 * may arrive one by one and in any order: nothing is assumed of a bus but that it keeps 8 aligned bytes together. So
 * each word carries the tag of the slot's turn. Seven words of a request are shifted by a byte to make room for it; the
 * eighth holds the bytes that were displaced, and a tag. Words of the turn before have another tag, and older ones are
 * gone: a slot is written again only after the host has read all of it. */
#ifndef ISTHMUS_DEVICE_WIRE_H
#define ISTHMUS_DEVICE_WIRE_H

#include <isthmus/device_state.h>

#if defined(__CUDACC__) || defined(__CUDACC_RTC__) || defined(__HIPCC__)
#define ISTHMUS_WIRE static __host__ __device__ __forceinline__
#else
#define ISTHMUS_WIRE static inline __attribute__((unused))
#endif

/* 1 to 255: memory that was never written holds 0. */
ISTHMUS_WIRE uint64_t isthmus_wire_tag(uint64_t turn) { return turn % 255 + 1; }

/* The request as seven words. */
ISTHMUS_WIRE uint64_t isthmus_request_word(const struct isthmus_request *request, int i)
{
    switch (i) {
    case 0:
        return request->pe | (uint64_t)request->op << 32 | (uint64_t)request->amo << 40 |
               (uint64_t)request->bits << 48 | (uint64_t)request->flags << 56;
    case 1: return request->remote;
    case 2: return request->local;
    case 3: return request->length;
    case 4: return request->signal;
    case 5: return request->value;
    default: return request->extra;
    }
}

ISTHMUS_WIRE void isthmus_request_from_words(const uint64_t *words, struct isthmus_request *request)
{
    request->pe = (uint32_t)words[0];
    request->op = (uint8_t)(words[0] >> 32);
    request->amo = (uint8_t)(words[0] >> 40);
    request->bits = (uint8_t)(words[0] >> 48);
    request->flags = (uint8_t)(words[0] >> 56);
    request->remote = words[1];
    request->local = words[2];
    request->length = words[3];
    request->signal = words[4];
    request->value = words[5];
    request->extra = words[6];
}

/* Word i of the slot, 0 to 7, in this order: `displaced` collects the bytes for the last one, and begins as the tag. */
ISTHMUS_WIRE uint64_t isthmus_wire_word(const struct isthmus_request *request, int i, uint64_t tag, uint64_t *displaced)
{
    if (i == ISTHMUS_REQUEST_WORDS) return *displaced;
    uint64_t word = isthmus_request_word(request, i);
    *displaced |= word >> 56 << (8 * (i + 1));
    return word << 8 | tag;
}

/* The seven words of a request whose eight words have all arrived. */
ISTHMUS_WIRE void isthmus_wire_words(const uint64_t *wire, uint64_t *words)
{
    for (int i = 0; i < ISTHMUS_REQUEST_WORDS; i++)
        words[i] = wire[i] >> 8 | wire[ISTHMUS_REQUEST_WORDS] >> (8 * (i + 1)) << 56;
}

/* Returns 1 with the request if all words are of this turn, else 0. */
ISTHMUS_WIRE int isthmus_wire_read(const uint64_t *wire, uint64_t turn, struct isthmus_request *request)
{
    uint64_t words[ISTHMUS_REQUEST_WORDS], wrong = 0, tag = isthmus_wire_tag(turn);
    for (int i = 0; i < ISTHMUS_WIRE_WORDS; i++) wrong |= (wire[i] ^ tag) & 0xff;
    if (wrong != 0) return 0;
    isthmus_wire_words(wire, words);
    isthmus_request_from_words(words, request);
    return 1;
}

#endif
