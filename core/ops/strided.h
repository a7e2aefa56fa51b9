/* core/ops/strided.h: puts and gets of blocks that lie at regular distances on both sides.
 * iput and iget are the case of one element per block. Strides are in elements, as in the specification. */
#ifndef IST_OPS_STRIDED_H
#define IST_OPS_STRIDED_H

#include "core/ctx/ctx.h"

struct ist_stride {
    ptrdiff_t dest, source; /* elements from the start of one block to the next */
    size_t block_nelems, n_blocks;
    size_t size; /* bytes of an element */
};

void ist_strided_put(ist_ctx *ctx, void *dest, const void *source, const struct ist_stride *stride, int pe,
                     const char *routine);
void ist_strided_get(ist_ctx *ctx, void *dest, const void *source, const struct ist_stride *stride, int pe,
                     const char *routine);

#endif
