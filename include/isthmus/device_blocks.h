/* isthmus/device_blocks.h: strided puts and gets of blocks of elements from kernels. Those of single elements are in
 * device_rma.h. See device.h. */
#ifndef ISTHMUS_DEVICE_BLOCKS_H
#define ISTHMUS_DEVICE_BLOCKS_H

#include <isthmus/device_rma.h>

/* From the beginning of the first block to the end of the last one. stride->nelems: how many blocks, at least 1. */
ISTHMUS_DEVICE uint64_t isthmus_dev_block_span(ptrdiff_t step, const struct isthmus_dev_stride *stride, size_t bsize)
{
    return ((uint64_t)step * (stride->nelems - 1) + bsize) * stride->size;
}

/* The threads of the group take the elements of all blocks in turn. */
ISTHMUS_DEVICE void isthmus_dev_copy_blocks(char *to, const char *from, const struct isthmus_dev_stride *stride,
                                            size_t bsize, int scope)
{
    isthmus_dev_meet(scope);
    for (size_t i = isthmus_dev_rank(scope); i < stride->nelems * bsize; i += isthmus_dev_size(scope)) {
        size_t block = i / bsize, within = i % bsize;
        isthmus_dev_copy_unit(to + (block * (size_t)stride->dest + within) * stride->size,
                              from + (block * (size_t)stride->source + within) * stride->size, stride->size);
    }
    isthmus_dev_meet(scope);
}

/* A request for each block. */
ISTHMUS_DEVICE_COLD_GROUP void isthmus_dev_blocks_by_ring(int op, char *dest, const char *source,
                                                          const struct isthmus_dev_stride *stride, size_t bsize, int pe,
                                                          int scope)
{
    for (size_t i = 0; i < stride->nelems; i++) {
        char *to = dest + i * (size_t)stride->dest * stride->size;
        const char *from = source + i * (size_t)stride->source * stride->size;
        if (op == ISTHMUS_REQUEST_PUT)
            isthmus_dev_move_by_ring(op, to, from, bsize * stride->size, pe, scope, 0);
        else
            isthmus_dev_move_by_ring(op, from, to, bsize * stride->size, pe, scope, 0);
    }
}

/* stride: from one block's beginning to the next one's, in elements, and the number of blocks. */
ISTHMUS_DEVICE void isthmus_dev_ibput(void *dest, const void *source, const struct isthmus_dev_stride *stride,
                                      size_t bsize, int pe, int scope)
{
    if (stride->nelems == 0 || bsize == 0) {
        isthmus_dev_move_nothing(ISTHMUS_CALL_IBPUT, dest, pe, scope);
        return;
    }
    int64_t delta = isthmus_dev_delta(ISTHMUS_CALL_IBPUT, dest, isthmus_dev_block_span(stride->dest, stride, bsize),
                                      pe);
    if (ISTHMUS_DEVICE_LIKELY(isthmus_dev_is_direct(delta)))
        isthmus_dev_copy_blocks(isthmus_dev_far(dest, delta), (const char *)source, stride, bsize, scope);
    else
        isthmus_dev_blocks_by_ring(ISTHMUS_REQUEST_PUT, (char *)dest, (const char *)source, stride, bsize, pe, scope);
}

ISTHMUS_DEVICE void isthmus_dev_ibget(void *dest, const void *source, const struct isthmus_dev_stride *stride,
                                      size_t bsize, int pe, int scope)
{
    if (stride->nelems == 0 || bsize == 0) {
        isthmus_dev_move_nothing(ISTHMUS_CALL_IBGET, source, pe, scope);
        return;
    }
    int64_t delta = isthmus_dev_delta(ISTHMUS_CALL_IBGET, source, isthmus_dev_block_span(stride->source, stride, bsize),
                                      pe);
    if (ISTHMUS_DEVICE_LIKELY(isthmus_dev_is_direct(delta)))
        isthmus_dev_copy_blocks((char *)dest, isthmus_dev_far(source, delta), stride, bsize, scope);
    else
        isthmus_dev_blocks_by_ring(ISTHMUS_REQUEST_GET, (char *)dest, (const char *)source, stride, bsize, pe, scope);
}

#endif
