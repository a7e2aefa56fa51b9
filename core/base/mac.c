/* core/base/mac.c: see mac.h. The names are those of the paper: v, and k for the key. */
#include "core/base/mac.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <sys/random.h>

struct sip {
    uint64_t v[4];
};

static uint64_t load_le(const uint8_t *bytes, size_t n)
{
    uint64_t value = 0;
    for (size_t i = 0; i < n; i++) value |= (uint64_t)bytes[i] << 8 * i;
    return value;
}

static void store_le(uint64_t value, uint8_t out[8])
{
    for (unsigned i = 0; i < 8; i++) out[i] = (uint8_t)(value >> 8 * i);
}

static uint64_t rotate(uint64_t value, unsigned bits) { return value << bits | value >> (64 - bits); }

static void rounds(struct sip *s, int n)
{
    uint64_t *v = s->v;
    for (int i = 0; i < n; i++) {
        v[0] += v[1];
        v[1] = rotate(v[1], 13) ^ v[0];
        v[0] = rotate(v[0], 32);
        v[2] += v[3];
        v[3] = rotate(v[3], 16) ^ v[2];
        v[0] += v[3];
        v[3] = rotate(v[3], 21) ^ v[0];
        v[2] += v[1];
        v[1] = rotate(v[1], 17) ^ v[2];
        v[2] = rotate(v[2], 32);
    }
}

static void compress(struct sip *s, uint64_t word)
{
    s->v[3] ^= word;
    rounds(s, 2);
    s->v[0] ^= word;
}

static uint64_t half_of_tag(struct sip *s)
{
    rounds(s, 4);
    return s->v[0] ^ s->v[1] ^ s->v[2] ^ s->v[3];
}

void ist_mac(const uint8_t key[IST_KEY_BYTES], const void *bytes, size_t n_bytes, uint8_t tag[IST_TAG_BYTES])
{
    const uint8_t *at = bytes;
    uint64_t k0 = load_le(key, 8), k1 = load_le(key + 8, 8);
    struct sip s = {{
        k0 ^ UINT64_C(0x736f6d6570736575),
        k1 ^ UINT64_C(0x646f72616e646f6d) ^ 0xee, /* 0xee, here and below: the variant of 128 bits */
        k0 ^ UINT64_C(0x6c7967656e657261),
        k1 ^ UINT64_C(0x7465646279746573),
    }};
    for (size_t left = n_bytes; left >= 8; left -= 8, at += 8) compress(&s, load_le(at, 8));
    compress(&s, load_le(at, n_bytes % 8) | (uint64_t)n_bytes << 56);
    s.v[2] ^= 0xee;
    store_le(half_of_tag(&s), tag);
    s.v[1] ^= 0xdd;
    store_le(half_of_tag(&s), tag + 8);
}

void ist_mac_text(const uint8_t key[IST_KEY_BYTES], const void *bytes, size_t n_bytes, char out[IST_TAG_TEXT_BYTES])
{
    static const char digits[] = "0123456789abcdef";
    uint8_t tag[IST_TAG_BYTES];
    ist_mac(key, bytes, n_bytes, tag);
    for (size_t i = 0; i < sizeof tag; i++) {
        *out++ = digits[tag[i] >> 4];
        *out++ = digits[tag[i] & 15];
    }
    *out = '\0';
}

bool ist_same_bytes(const void *a, const void *b, size_t n_bytes)
{
    const uint8_t *one = a, *other = b;
    uint8_t difference = 0; /* every byte is compared: the loop has no early exit */
    for (size_t i = 0; i < n_bytes; i++) difference |= one[i] ^ other[i];
    return difference == 0;
}

isthmus_status ist_random_bytes(void *out, size_t n_bytes)
{
    for (size_t used = 0; used < n_bytes;) {
        ssize_t n = getrandom((char *)out + used, n_bytes - used, 0);
        if (n < 0 && errno != EINTR) return ist_fail_errno(ISTHMUS_ERR_IO, "no random numbers for a secret: getrandom");
        if (n > 0) used += (size_t)n;
    }
    return ISTHMUS_OK;
}

static unsigned digit_value(char c)
{
    return isdigit((unsigned char)c) ? (unsigned)(c - '0') : (unsigned)(c - 'a' + 10);
}

bool ist_key_parse(const char *text, uint8_t out[IST_KEY_BYTES])
{
    if (strlen(text) != 2 * IST_KEY_BYTES || strspn(text, "0123456789abcdef") != 2 * IST_KEY_BYTES) return false;
    for (size_t i = 0; i < IST_KEY_BYTES; i++)
        out[i] = (uint8_t)(digit_value(text[2 * i]) << 4 | digit_value(text[2 * i + 1]));
    return true;
}
