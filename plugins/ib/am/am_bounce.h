/* plugins/ib/am/am_bounce.h: a few pieces of host memory, pinned for a device: data copied from or to the device lies in
 * one while UCX moves it. The caller holds its own lock. */
#ifndef ISTHMUS_IB_PIECES_H
#define ISTHMUS_IB_PIECES_H

#include <isthmus/transport.h>

enum { IB_N_PIECES = 4, IB_PIECE_BYTES = 256 << 10 };

struct ib_pieces {
    char *memory;
    uint32_t free; /* bits */
    uint32_t pinned_kind;
    isthmus_lmem *pinned;
};

/* For memory of this kind; nothing to do where they are there already. In cold slots only, as all pinning. */
isthmus_status ib_pieces_make(const struct isthmus_services *s, struct ib_pieces *pieces, uint32_t kind);

/* The transport that has pinned them may be closed before this one. They can be made, and so pinned, again. */
void ib_pieces_unpin(const struct isthmus_services *s, struct ib_pieces *pieces);
void ib_pieces_free(struct ib_pieces *pieces); /* not pinned any more */

static inline int32_t ib_pieces_take(struct ib_pieces *pieces) /* -1: none is free */
{
    if (pieces->free == 0) return -1;
    int32_t piece = __builtin_ctz(pieces->free);
    pieces->free &= pieces->free - 1;
    return piece;
}

static inline void ib_pieces_give(struct ib_pieces *pieces, int32_t piece) { pieces->free |= 1u << piece; }

static inline char *ib_piece(const struct ib_pieces *pieces, int32_t piece)
{
    return pieces->memory + (size_t)piece * (size_t)IB_PIECE_BYTES;
}

#endif
