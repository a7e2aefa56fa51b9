/* core/ops/transfer.h: what a call moves, and for which routine: one description for every path that is not the fast
 * one. The fast paths (rma.h, amo.h) have the same values in registers. */
#ifndef IST_OPS_TRANSFER_H
#define IST_OPS_TRANSFER_H

#include "core/ctx/ctx.h"

enum ist_transfer_kind { IST_TRANSFER_GET, IST_TRANSFER_PUT, IST_TRANSFER_ATOMIC };

/* Fields that a call does not use are 0. */
struct ist_transfer {
    const char *routine;   /* as the program called it */
    ist_ctx *ctx;          /* of an operation with one PE */
    struct ist_team *team; /* of a collective */
    int pe;                /* a member of the context's team; of a collective: its root, if it has one */
    enum ist_transfer_kind kind;
    char *dest; /* of an atomic: its word */
    const char *source;
    void *fetch; /* buffer of a nonblocking atomic; NULL: there is none */
    size_t length_bytes;
    size_t align_bytes;   /* of the symmetric side; 0: any */
    const char *far_name; /* argument of the symmetric side, if it is not the usual one */
    bool is_nbi;
    bool is_fetch; /* an atomic that changes nothing */
    bool is_block; /* one of several of a strided put or get */
    /* The data of a put with signal, whose flag is that signal, or the signal itself, whose data is of the same
     * call. */
    bool has_signal;
    bool any_length; /* a collective to which each PE may pass a length of its own */
};

IST_INLINE struct ist_transfer ist_transfer_put(ist_ctx *ctx, void *dest, const void *source, size_t length_bytes,
                                                int pe, const char *routine)
{
    return (struct ist_transfer){.routine = routine,
                                 .ctx = ctx,
                                 .pe = pe,
                                 .kind = IST_TRANSFER_PUT,
                                 .dest = dest,
                                 .source = source,
                                 .length_bytes = length_bytes};
}

IST_INLINE struct ist_transfer ist_transfer_get(ist_ctx *ctx, void *dest, const void *source, size_t length_bytes,
                                                int pe, const char *routine)
{
    struct ist_transfer t = ist_transfer_put(ctx, dest, source, length_bytes, pe, routine);
    t.kind = IST_TRANSFER_GET;
    return t;
}

/* Of an operation with one PE, for a call of a cold function: where only a copy leaves the function, the fields of
 * `t` stay in registers on its other paths. Field by field, because compilers keep in memory what is copied whole. */
IST_INLINE struct ist_transfer ist_transfer_copy(const struct ist_transfer *t)
{
    return (struct ist_transfer){.routine = t->routine,
                                 .ctx = t->ctx,
                                 .pe = t->pe,
                                 .kind = t->kind,
                                 .dest = t->dest,
                                 .source = t->source,
                                 .fetch = t->fetch,
                                 .length_bytes = t->length_bytes,
                                 .align_bytes = t->align_bytes,
                                 .far_name = t->far_name,
                                 .is_nbi = t->is_nbi,
                                 .is_fetch = t->is_fetch,
                                 .is_block = t->is_block,
                                 .has_signal = t->has_signal};
}

/* The side on the other PE, by this PE's symmetric address. */
IST_INLINE const char *ist_transfer_far(const struct ist_transfer *t)
{
    return t->kind == IST_TRANSFER_GET ? t->source : t->dest;
}

static inline const char *ist_transfer_far_name(const struct ist_transfer *t)
{
    if (t->far_name != NULL) return t->far_name;
    return t->kind == IST_TRANSFER_GET || t->is_fetch ? "source" : "dest";
}

/* The side on this PE; NULL: a value, and no buffer of the program. */
IST_INLINE char *ist_transfer_near(const struct ist_transfer *t)
{
    if (t->kind == IST_TRANSFER_GET) return t->dest;
    return t->kind == IST_TRANSFER_PUT ? (char *)(uintptr_t)t->source : t->fetch;
}

static inline const char *ist_transfer_near_name(const struct ist_transfer *t)
{
    if (t->kind == IST_TRANSFER_GET) return "dest";
    return t->kind == IST_TRANSFER_PUT ? "source" : "fetch";
}

#endif
