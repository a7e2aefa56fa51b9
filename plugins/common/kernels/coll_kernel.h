/* plugins/common/kernels/coll_kernel.h: collectives in a stream as one kernel, on the primitives of isthmus/device.h,
 * for every dialect. Not the launch (the transport's), nor the choice (core/stream/collective.c).
 *
 * A block works with the blocks of its number on the other members and with no other block: it has a row of flags and a
 * part of the data for itself. So the blocks of a grid need not run at once: they are started in the order of their
 * numbers, and the first ones of all members wait for one another only.
 *
 * Flags of one team, in memory of each member's device, zero at first:
 *   word b                            synchronisations of block b so far, for this PE alone. A launch goes on from what
 *                                     the one before it has left there, and so does one that a graph repeats
 *   word BLOCKS + b * most + member   written by block b of that member: its number of synchronisations
 * Numbers only grow, and no word is reset. Every collective begins with a synchronisation, after which sources may be
 * read and destinations written, and ends with one, after which all of that has been done.
 *
 * Operands are combined in the order of the members, the first one on the left, whichever member does it: every member
 * gets the same bits, and a repetition of the call does. */
#ifndef ISTHMUS_KERNELS_COLL_KERNEL_H
#define ISTHMUS_KERNELS_COLL_KERNEL_H

#include "plugins/common/kernels/coll_args.h"

#include <isthmus/device.h>

_Static_assert((int)ISTHMUS_COMBINE_AND == ISTHMUS_DEV_AND && (int)ISTHMUS_COMBINE_PROD == ISTHMUS_DEV_PROD,
               "one list");
_Static_assert((int)ISTHMUS_NUMBER_BFLOAT == ISTHMUS_DEV_BFLOAT, "one list, but for complex numbers");

/* ---- synchronisation ---- */

ISTHMUS_DEVICE void coll_await(const struct coll_args *args, const uint64_t *flag, uint64_t epoch)
{
    uint32_t spins = 0;
    while ((int64_t)(isthmus_dev_load_acquire(flag, 8) - epoch) < 0) {
        if (isthmus_dev_is_over()) isthmus_dev_trap();
        if ((++spins & 255) == 0 && isthmus_dev_load(args->stop, 8) != 0) isthmus_dev_trap();
        isthmus_dev_pause();
    }
}

/* The release of a thread covers what its block has stored and read: they have met before. */
ISTHMUS_DEVICE void coll_sync(const struct coll_args *args, uint64_t *epoch)
{
    uint64_t *row = args->flags + COLL_BLOCKS + (size_t)isthmus_dev_block_rank() * args->most;
    int first = (int)isthmus_dev_rank(ISTHMUS_BLOCK), step = (int)isthmus_dev_size(ISTHMUS_BLOCK);
    ++*epoch;
    isthmus_dev_barrier(ISTHMUS_BLOCK);
    for (int i = first; i < args->n; i += step)
        if (i != args->me)
            isthmus_dev_store_release((uint64_t *)(void *)((char *)(row + args->me) + args->flags_delta[i]), *epoch);
    for (int i = first; i < args->n; i += step)
        if (i != args->me) coll_await(args, row + i, *epoch);
    isthmus_dev_barrier(ISTHMUS_BLOCK);
}

/* ---- moving ---- */

ISTHMUS_DEVICE int coll_after(const struct coll_args *args, int k)
{
    int member = args->me + k;
    return member < args->n ? member : member - args->n;
}

/* Copies this block's part of a range. */
ISTHMUS_DEVICE void coll_copy(char *to, const char *from, uint64_t bytes)
{
    uint64_t part = (bytes + isthmus_dev_block_count() - 1) / isthmus_dev_block_count();
    part = (part + 127) & ~(uint64_t)127;
    uint64_t begin = part * isthmus_dev_block_rank();
    if (begin >= bytes || to == from) return;
    isthmus_dev_copy(to + begin, from + begin, bytes - begin < part ? bytes - begin : part, ISTHMUS_BLOCK);
}

ISTHMUS_DEVICE const char *coll_source_of(const struct coll_args *args, int member)
{
    return args->source + args->data_delta[member];
}

/* Two steps, so that the root sends each byte once: every member reads its share from the root, then those of the
 * others from them. The blocks of one number have the same part of each share. */
ISTHMUS_DEVICE void coll_broadcast_in_steps(const struct coll_args *args, uint64_t *epoch)
{
    uint64_t share = ((args->length + (uint64_t)args->n - 1) / (uint64_t)args->n + 127) & ~(uint64_t)127;
    const char *source = coll_source_of(args, args->root);
    for (int k = 0; k < args->n; k++) {
        int member = coll_after(args, k);
        uint64_t begin = share * (uint64_t)member, left = begin < args->length ? args->length - begin : 0;
        int has_source = k == 0 || args->me == args->root || member == args->root;
        const char *from = has_source ? source : args->dest + args->data_delta[member];
        coll_copy(args->dest + begin, from + begin, left < share ? left : share);
        if (k == 0) coll_sync(args, epoch);
    }
}

enum { COLL_IN_STEPS_BYTES = 1 << 20 };

ISTHMUS_DEVICE void coll_broadcast(const struct coll_args *args, uint64_t *epoch)
{
    if (args->n > 2 && args->length >= COLL_IN_STEPS_BYTES)
        coll_broadcast_in_steps(args, epoch);
    else
        coll_copy(args->dest, coll_source_of(args, args->root), args->length);
}

ISTHMUS_DEVICE void coll_fcollect(const struct coll_args *args)
{
    for (int k = 0; k < args->n; k++) {
        int member = coll_after(args, k);
        coll_copy(args->dest + args->length * (uint64_t)member, coll_source_of(args, member), args->length);
    }
}

ISTHMUS_DEVICE void coll_alltoall(const struct coll_args *args)
{
    for (int k = 0; k < args->n; k++) {
        int member = coll_after(args, k);
        coll_copy(args->dest + args->length * (uint64_t)member,
                  coll_source_of(args, member) + args->length * (uint64_t)args->me, args->length);
    }
}

/* ---- combining ----
 * A unit is what a thread takes at a time: 16 bytes with the elements that are in it, or one element. */

struct __attribute__((aligned(16))) coll_unit {
    uint64_t words[2];
};

union coll_pair {
    uint64_t bits;
    float part[2]; /* the first one in the low half */
};

ISTHMUS_DEVICE double coll_double_of(uint64_t bits)
{
    union isthmus_dev_double number;
    number.bits = bits;
    return number.value;
}

ISTHMUS_DEVICE uint64_t coll_bits_of(double value)
{
    union isthmus_dev_double number;
    number.value = value;
    return number.bits;
}

/* Sums of complex numbers are sums of their parts (core/stream/collective.c). */
ISTHMUS_DEVICE uint64_t coll_multiply_complex(uint64_t a, uint64_t b)
{
    union coll_pair x, y, product;
    x.bits = a, y.bits = b;
    product.part[0] = x.part[0] * y.part[0] - x.part[1] * y.part[1];
    product.part[1] = x.part[0] * y.part[1] + x.part[1] * y.part[0];
    return product.bits;
}

ISTHMUS_DEVICE struct coll_unit coll_multiply_wide_complex(struct coll_unit a, struct coll_unit b)
{
    double x = coll_double_of(a.words[0]), y = coll_double_of(a.words[1]);
    double u = coll_double_of(b.words[0]), v = coll_double_of(b.words[1]);
    struct coll_unit product = {{coll_bits_of(x * u - y * v), coll_bits_of(x * v + y * u)}};
    return product;
}

/* The elements in a word, one by one. A function of its own: it is called for every word, and has every type in it. */
ISTHMUS_DEVICE_APART uint64_t coll_combine_word(struct isthmus_dev_reduce how, uint64_t a, uint64_t b)
{
    uint32_t bits = 8 * (uint32_t)how.size;
    uint64_t combined = 0, mask = ~(uint64_t)0 >> (64 - bits);
    if (how.number == ISTHMUS_NUMBER_COMPLEX) return coll_multiply_complex(a, b);
    for (uint32_t at = 0; at < 64; at += bits)
        combined |= (isthmus_dev_combine(how, a >> at & mask, b >> at & mask) & mask) << at;
    return combined;
}

ISTHMUS_DEVICE struct coll_unit coll_combine(struct isthmus_dev_reduce how, struct coll_unit a, struct coll_unit b)
{
    if (how.size == 16) return coll_multiply_wide_complex(a, b);
    a.words[0] = coll_combine_word(how, a.words[0], b.words[0]);
    a.words[1] = coll_combine_word(how, a.words[1], b.words[1]);
    return a;
}

/* bytes: of the unit; 16 with an address that is a multiple of it, or an element's. */
ISTHMUS_DEVICE struct coll_unit coll_load(const char *from, uint32_t bytes, int is_vector)
{
    struct coll_unit unit = {{0, 0}};
    switch (bytes) {
    case 1: unit.words[0] = isthmus_dev_load(from, 1); break;
    case 2: unit.words[0] = isthmus_dev_load(from, 2); break;
    case 4: unit.words[0] = isthmus_dev_load(from, 4); break;
    case 8: unit.words[0] = isthmus_dev_load(from, 8); break;
    default:
        if (is_vector) {
            isthmus_dev_copy_unit((char *)&unit, from, 16);
        } else {
            unit.words[0] = isthmus_dev_load(from, 8);
            unit.words[1] = isthmus_dev_load(from + 8, 8);
        }
    }
    return unit;
}

ISTHMUS_DEVICE void coll_store(char *to, struct coll_unit unit, uint32_t bytes, int is_vector)
{
    switch (bytes) {
    case 1: isthmus_dev_store(to, unit.words[0], 1); break;
    case 2: isthmus_dev_store(to, unit.words[0], 2); break;
    case 4: isthmus_dev_store(to, unit.words[0], 4); break;
    case 8: isthmus_dev_store(to, unit.words[0], 8); break;
    default:
        if (is_vector) {
            isthmus_dev_copy_unit(to, (const char *)&unit, 16);
        } else {
            isthmus_dev_store(to, unit.words[0], 8);
            isthmus_dev_store(to + 8, unit.words[1], 8);
        }
    }
}

/* A reduction of `n` units that begin `begin` bytes into the data. */
struct coll_part {
    struct isthmus_dev_reduce how;
    uint64_t begin, n;
    uint32_t bytes; /* of a unit */
    int is_vector;  /* addresses are multiples of 16 */
};

enum { COLL_AT_ONCE = 4 };

/* Combines units i, i + step, ... below `end`, at most COLL_AT_ONCE of them: their loads from a member are under way
 * together. Returns how many there were. */
ISTHMUS_DEVICE int coll_pull(const struct coll_args *args, const struct coll_part *part, const char *source, uint64_t i,
                             uint64_t step, uint64_t end, struct coll_unit *out)
{
    struct coll_unit next[COLL_AT_ONCE] = {{{0, 0}}, {{0, 0}}, {{0, 0}}, {{0, 0}}};
    uint64_t left = i < end ? (end - i + step - 1) / step : 0;
    int n = left < COLL_AT_ONCE ? (int)left : COLL_AT_ONCE;
    ISTHMUS_DEVICE_ROLLED
    for (int member = 0; member < args->n; member++) {
        const char *from = source + args->data_delta[member] + part->begin;
        ISTHMUS_DEVICE_UNROLL
        for (int k = 0; k < COLL_AT_ONCE; k++)
            if (k < n) next[k] = coll_load(from + (i + (uint64_t)k * step) * part->bytes, part->bytes, part->is_vector);
        ISTHMUS_DEVICE_UNROLL
        for (int k = 0; k < COLL_AT_ONCE; k++)
            if (k < n) out[k] = member == 0 ? next[k] : coll_combine(part->how, out[k], next[k]);
    }
    return n;
}

ISTHMUS_DEVICE void coll_put_results(const struct coll_part *part, char *dest, uint64_t i, uint64_t step, int n,
                                     const struct coll_unit *results)
{
    ISTHMUS_DEVICE_UNROLL
    for (int k = 0; k < COLL_AT_ONCE; k++)
        if (k < n)
            coll_store(dest + part->begin + (i + (uint64_t)k * step) * part->bytes, results[k], part->bytes,
                       part->is_vector);
}

/* Every member computes all of the part for itself. In place, results replace what others still have to read: the
 * blocks of one number go through the same units in step, and store after all of them have read. */
ISTHMUS_DEVICE void coll_reduce_for_me(const struct coll_args *args, const struct coll_part *part, const char *source,
                                       uint64_t *epoch)
{
    struct coll_unit results[COLL_AT_ONCE] = {{{0, 0}}, {{0, 0}}, {{0, 0}}, {{0, 0}}};
    uint64_t threads = isthmus_dev_size(ISTHMUS_BLOCK), step = threads * isthmus_dev_block_count();
    uint64_t first = isthmus_dev_block_rank() * threads, me = isthmus_dev_rank(ISTHMUS_BLOCK);
    for (; first < part->n; first += COLL_AT_ONCE * step) {
        int n = coll_pull(args, part, source, first + me, step, part->n, results);
        if (args->dest == args->source) coll_sync(args, epoch);
        coll_put_results(part, args->dest, first + me, step, n, results);
    }
}

/* Every member computes a share for all. No other thread of any member touches these elements: dest may be source. */
ISTHMUS_DEVICE void coll_reduce_for_all(const struct coll_args *args, const struct coll_part *part)
{
    struct coll_unit results[COLL_AT_ONCE] = {{{0, 0}}, {{0, 0}}, {{0, 0}}, {{0, 0}}};
    uint64_t share = (part->n + (uint64_t)args->n - 1) / (uint64_t)args->n, begin = share * (uint64_t)args->me;
    uint64_t end = begin + share < part->n ? begin + share : part->n;
    uint64_t threads = isthmus_dev_size(ISTHMUS_BLOCK), step = threads * isthmus_dev_block_count();
    uint64_t i = begin + isthmus_dev_block_rank() * threads + isthmus_dev_rank(ISTHMUS_BLOCK);
    for (; i < end; i += COLL_AT_ONCE * step) {
        int n = coll_pull(args, part, args->source, i, step, end, results);
        ISTHMUS_DEVICE_ROLLED
        for (int k = 0; k < args->n; k++)
            coll_put_results(part, args->dest + args->data_delta[coll_after(args, k)], i, step, n, results);
    }
}

/* As many units of 16 bytes as there are, if addresses allow that, and the rest by elements. Returns the number of
 * parts. */
ISTHMUS_DEVICE int coll_parts(const struct coll_args *args, struct coll_part parts[2])
{
    uint64_t all = (uint64_t)(uintptr_t)args->dest | (uint64_t)(uintptr_t)args->source;
    if (args->what == ISTHMUS_COLLECTIVE_REDUCESCATTER) all |= args->length;
    uint64_t wide = (all & 15) == 0 ? args->length & ~(uint64_t)15 : 0;
    struct isthmus_dev_reduce how = {(int)args->op, (int)args->number, args->size};
    struct coll_part vectors = {how, 0, wide / 16, 16, 1};
    struct coll_part elements = {how, wide, (args->length - wide) / args->size, args->size, 0};
    parts[0] = vectors, parts[1] = elements;
    return elements.n > 0 ? 2 : 1;
}

/* Below that, stores to all members and the wait for them cost more than a few more loads. */
enum { COLL_ONE_SHOT_BYTES = 16 << 10 };

/* Returns whether members still have to wait for one another: in place and each for itself, all have read what they
 * read before one of them has stored. */
ISTHMUS_DEVICE int coll_reduce(const struct coll_args *args, uint64_t *epoch)
{
    struct coll_part parts[2];
    int n = coll_parts(args, parts);
    int is_shared = args->what == ISTHMUS_COLLECTIVE_REDUCE && args->length > COLL_ONE_SHOT_BYTES;
    const char *source = args->source;
    if (args->what == ISTHMUS_COLLECTIVE_REDUCESCATTER) source += args->length * (uint64_t)args->me;
    for (int k = 0; k < n; k++)
        if (is_shared)
            coll_reduce_for_all(args, &parts[k]);
        else
            coll_reduce_for_me(args, &parts[k], source, epoch);
    return is_shared || args->dest != args->source;
}

/* ---- the kernel ---- */

ISTHMUS_DEVICE void coll_run(const struct coll_args *args)
{
    uint64_t *count = args->flags + isthmus_dev_block_rank(), epoch = isthmus_dev_load_device(count);
    int has_more = args->what != ISTHMUS_COLLECTIVE_SYNC;
    coll_sync(args, &epoch);
    switch (args->what) {
    case ISTHMUS_COLLECTIVE_BROADCAST: coll_broadcast(args, &epoch); break;
    case ISTHMUS_COLLECTIVE_FCOLLECT: coll_fcollect(args); break;
    case ISTHMUS_COLLECTIVE_ALLTOALL: coll_alltoall(args); break;
    case ISTHMUS_COLLECTIVE_REDUCE:
    case ISTHMUS_COLLECTIVE_REDUCESCATTER: has_more = coll_reduce(args, &epoch); break;
    default: break;
    }
    if (has_more) coll_sync(args, &epoch);
    if (isthmus_dev_is_leader(ISTHMUS_BLOCK)) isthmus_dev_store_device(count, epoch);
}

#endif
