/* plugins/ib/am/am_bounce.c: see am_bounce.h. */
#include "plugins/ib/am/am_bounce.h"

#include <stdlib.h>

enum { PIECE_ALIGN = 4096 };

/* Pinning is for speed: memory that cannot be pinned is copied all the same. */
isthmus_status ib_pieces_make(const struct isthmus_services *s, struct ib_pieces *pieces, uint32_t kind)
{
    size_t length_bytes = (size_t)IB_N_PIECES * (size_t)IB_PIECE_BYTES;
    if (pieces->memory == NULL) {
        pieces->memory = aligned_alloc(PIECE_ALIGN, length_bytes);
        if (pieces->memory == NULL)
            return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "no memory for what goes to and from a device");
        pieces->free = (1u << IB_N_PIECES) - 1;
    }
    if (pieces->pinned == NULL &&
        s->memory_pin(s->core, kind, pieces->memory, length_bytes, &pieces->pinned) == ISTHMUS_OK)
        pieces->pinned_kind = kind;
    return ISTHMUS_OK;
}

void ib_pieces_unpin(const struct isthmus_services *s, struct ib_pieces *pieces)
{
    s->memory_unpin(s->core, pieces->pinned_kind, pieces->pinned);
    pieces->pinned = NULL;
}

void ib_pieces_free(struct ib_pieces *pieces)
{
    free(pieces->memory);
    pieces->memory = NULL;
}
