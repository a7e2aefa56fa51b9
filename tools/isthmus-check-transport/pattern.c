/* tools/isthmus-check-transport/pattern.c: see contract.h. Bytes that differ from place to place, so that a copy that
 * is shifted, short or from elsewhere shows. */
#include "contract.h"

#include <stdlib.h>
#include <time.h>

static uint64_t mix(uint64_t x) /* splitmix64 */
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

uint64_t ct_random(uint64_t *state) { return mix(*state += 0x9e3779b97f4a7c15u); }

/* Never 0, which is what unwritten memory holds. */
uint8_t ct_pattern_byte(uint64_t seed, size_t i)
{
    uint64_t block = mix(seed + (i / 8 + 1) * 0x9e3779b97f4a7c15u);
    return (uint8_t)(block >> 8 * (i % 8)) | 1;
}

void ct_pattern_fill(void *bytes, size_t n_bytes, uint64_t seed)
{
    uint8_t *b = bytes;
    for (size_t i = 0; i < n_bytes; i++) b[i] = ct_pattern_byte(seed, i);
}

size_t ct_pattern_check(const void *bytes, size_t n_bytes, uint64_t seed)
{
    const uint8_t *b = bytes;
    for (size_t i = 0; i < n_bytes; i++)
        if (b[i] != ct_pattern_byte(seed, i)) return i;
    return n_bytes;
}

static uint64_t seed; /* made before the processes fork, so that they share it */

void ct_set_seed(uint64_t value) { seed = value; }

uint64_t ct_seed(void)
{
    if (seed != 0) return seed;
    const char *text = getenv("ISTHMUS_TEST_SEED");
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    seed = text != NULL ? strtoull(text, NULL, 0) : mix((uint64_t)now.tv_sec * 1000000007u + (uint64_t)now.tv_nsec);
    if (seed == 0) seed = 1;
    return seed;
}
