/* core/transport/abi.h: makes the tables of a plugin total, so that no call below tests for NULL: the main table when
 * the plugin is loaded, its extensions when the transport is open, and the data slots when a channel opens.
 * Not the loading (registry.h). isthmus/transport.h defines at each slot what an absent one becomes. */
#ifndef IST_TRANSPORT_ABI_H
#define IST_TRANSPORT_ABI_H

#include "core/base/status.h"

#include <stdbool.h>

/* Copies the part of the plugin's table that both sides have, and fills in emulations. Returns INVALID, with the slot's
 * name in the text, if a required slot is missing. */
isthmus_status ist_abi_complete_transport(const struct isthmus_transport *theirs, struct isthmus_transport *out);

/* The extensions of an open transport. Every slot can be called, those of a group that the transport does not have too:
 * it then knows no memory but the host's, allocates nothing that grows, and lists no devices and no library. Only
 * `stream` and `collectives` are empty unless has_streams and has_collectives. */
struct ist_extensions {
    bool has_memory;      /* memory.1: a driver manages memory of this PE */
    bool has_flush;       /* there: writes past that driver are visible only after a flush */
    bool has_amo_list;    /* there: many atomics at once */
    bool has_attach_at;   /* growing.1: peers' extents at addresses of this PE's choice */
    bool has_streams;     /* stream.1: the program's streams run operations */
    bool has_kernels;     /* device.1: kernels on this PE's device can make calls */
    bool has_collectives; /* collectives.1: a collective in a stream is one kernel */
    bool has_devices;     /* devices.1: there is a list of devices, which may be empty */
    struct isthmus_memory memory;
    struct isthmus_growing growing;
    struct isthmus_stream stream;
    struct isthmus_kernels kernels;
    struct isthmus_collectives collectives;
    struct isthmus_devices devices;
    struct isthmus_library library;
};

/* Reads the extensions of a transport whose main table is complete, and fills in what absent slots become. Warns about
 * a group that lacks a required slot, and leaves it out. */
void ist_abi_complete_extensions(const struct isthmus_transport *ops, isthmus_tr *handle, struct ist_extensions *out);

/* A channel: the plugin's object, and its completed data slots by value. */
struct ist_channel {
    isthmus_chan *chan; /* NULL: not open */
    struct isthmus_data_ops ops;
    bool has_commit; /* commit_start is there, or nothing has to be committed: it never returns UNSUPPORTED */
    /* [3rd] by flags; NULL: not supported. A function that fetches may stand for one that does not. */
    isthmus_amo_fn amo[ISTHMUS_AMO_COUNT][ISTHMUS_BITS_COUNT][4];
};

/* Opens a channel and completes its slots. Returns INVALID as above. */
isthmus_status ist_abi_channel_open(const struct isthmus_transport *ops, isthmus_tr *handle, uint32_t thread_mode,
                                    uint64_t ctx_options, struct ist_channel *out);

#endif
