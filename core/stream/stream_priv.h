/* core/stream/stream_priv.h: what the files of this folder share. */
#ifndef IST_STREAM_STREAM_PRIV_H
#define IST_STREAM_STREAM_PRIV_H

#include "core/stream/stream.h"
#include "core/transport/registry.h"

/* The transport that keeps the heap; written at start only. */
extern struct ist_streams {
    const struct ist_transport *transport; /* NULL: streams are names */
    const struct isthmus_stream *ops;
    const struct isthmus_memory *memory;
    uint32_t kind;   /* of its memory */
    uint32_t number; /* in the registry */
} ist_streams;

#endif
