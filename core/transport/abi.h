/* core/transport/abi.h: makes the tables of a plugin total, so that no call below tests for NULL.
 * Not the loading (registry.h). What an absent slot becomes is said at the slot in isthmus/transport.h. */
#ifndef IST_TRANSPORT_ABI_H
#define IST_TRANSPORT_ABI_H

#include "core/base/status.h"

/* Copy as much of the plugin's table as both sides know and fill in emulations. INVALID: a required slot is missing; the
 * text names it. */
isthmus_status ist_abi_complete_transport(const struct isthmus_transport *theirs, struct isthmus_transport *out);

/* A channel: the plugin's object, and its completed data slots by value. */
struct ist_channel {
    isthmus_chan *chan; /* NULL: not open */
    struct isthmus_data_ops ops;
    isthmus_amo_fn amo[ISTHMUS_AMO_COUNT][ISTHMUS_BITS_COUNT][4]; /* [3rd] by flags; NULL: it has none. A function that
                                                                     fetches may stand for one that does not */
};

/* Open a channel and complete its slots. INVALID as above. */
isthmus_status ist_abi_channel_open(const struct isthmus_transport *ops, isthmus_tr *handle, uint32_t thread_mode,
                                    uint64_t ctx_options, struct ist_channel *out);

#endif
