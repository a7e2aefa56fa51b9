/* core/transport/abi.h: makes the tables of a plugin total, so that no call below tests for NULL.
 * Not the loading (registry.h). isthmus/transport.h defines at each slot what an absent one becomes. */
#ifndef IST_TRANSPORT_ABI_H
#define IST_TRANSPORT_ABI_H

#include "core/base/status.h"

/* Copies the part of the plugin's table that both sides have, and fills in emulations. Returns INVALID, with the slot's
 * name in the text, if a required slot is missing. */
isthmus_status ist_abi_complete_transport(const struct isthmus_transport *theirs, struct isthmus_transport *out);

/* A channel: the plugin's object, and its completed data slots by value. */
struct ist_channel {
    isthmus_chan *chan; /* NULL: not open */
    struct isthmus_data_ops ops;
    /* [3rd] by flags; NULL: not supported. A function that fetches may stand for one that does not. */
    isthmus_amo_fn amo[ISTHMUS_AMO_COUNT][ISTHMUS_BITS_COUNT][4];
};

/* Opens a channel and completes its slots. Returns INVALID as above. */
isthmus_status ist_abi_channel_open(const struct isthmus_transport *ops, isthmus_tr *handle, uint32_t thread_mode,
                                    uint64_t ctx_options, struct ist_channel *out);

#endif
