/* plugins/ib/am/am_operand.h: local operands on a device that UCX does not support: moved by way of pinned pieces of host
 * memory, some of which are under way at a time. One part of an operand, in a piece, is a move. The far side may lie on
 * a device too: am_device.c. */
#ifndef ISTHMUS_IB_OPERAND_H
#define ISTHMUS_IB_OPERAND_H

#include "plugins/ib/ib.h"

struct ib_move {
    struct ib_worker *worker;
    struct ib_batch *batch; /* counts it, where UCX moves it by itself */
    char *device;
    uint32_t kind, length_bytes;
    int32_t piece;
    bool is_get;
};

/* Waits for a piece, and copies the data of a put there. The worker's lock is released meanwhile, so that others make
 * progress. `what`: device, kind, length_bytes, is_get. */
isthmus_status ib_move_begin(struct ib_worker *worker, const struct ib_move *what, struct ib_move **out);
char *ib_move_bytes(const struct ib_move *move);

/* Under the lock, once UCX has done its part: copies the data of a get to the device. Returns the status of the whole
 * move. */
ucs_status_t ib_move_end(struct ib_move *move, ucs_status_t status);

#endif
