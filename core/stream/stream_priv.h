/* core/stream/stream_priv.h: shared by the files of this folder. */
#ifndef IST_STREAM_STREAM_PRIV_H
#define IST_STREAM_STREAM_PRIV_H

#include "core/stream/stream.h"
#include "core/transport/registry.h"

enum { IST_ITEM_WORDS = 8192 };

/* The transport that keeps the heap; written at start only. */
extern struct ist_streams {
    const struct ist_transport *transport; /* NULL: streams are names */
    const struct isthmus_stream *ops;
    const struct isthmus_memory *memory;
    uint32_t kind;          /* of its memory */
    uint32_t number;        /* in the registry */
    struct isthmus_mem mem; /* on the device: the words of items (item.c), and behind them the flags of meeting.c */
} ist_streams;

#endif
