/* tools/isthmus-check-transport/slots.c: the data slots as cases call them. See contract.h. */
#include "contract.h"

#include <string.h>

void ct_put(const struct ct_target *at, uint64_t offset_bytes, const void *source, size_t length_bytes)
{
    CT_OK(at->channel->ops.put(at->channel->chan, at->p->path[at->pe], at->extent->rmem[at->pe], offset_bytes, source,
                               NULL, length_bytes));
}

void ct_get(const struct ct_target *at, uint64_t offset_bytes, void *dest, size_t length_bytes)
{
    CT_OK(at->channel->ops.get(at->channel->chan, at->p->path[at->pe], at->extent->rmem[at->pe], offset_bytes, dest,
                               NULL, length_bytes));
}

/* AGAIN: nothing was started. */
static bool try_again(const struct ct_target *at, isthmus_status status)
{
    const struct isthmus_data_ops *ops = &at->channel->ops;
    if (status != ISTHMUS_ERR_AGAIN) return false;
    if (ops->poll != NULL) (void)ops->poll(at->channel->chan);
    if (!at->channel->is_proxy) (void)ct_progress(at->p);
    return true;
}

void ct_put_nbi(const struct ct_target *at, uint64_t offset_bytes, const void *source, size_t length_bytes)
{
    isthmus_status status;
    ct_enter("ops.put_nbi()");
    do {
        status = at->channel->ops.put_nbi(at->channel->chan, at->p->path[at->pe], at->extent->rmem[at->pe],
                                          offset_bytes, source, NULL, length_bytes);
    } while (try_again(at, status));
    CT_OK_OF("put_nbi", status);
}

void ct_get_nbi(const struct ct_target *at, uint64_t offset_bytes, void *dest, size_t length_bytes)
{
    isthmus_status status;
    ct_enter("ops.get_nbi()");
    do {
        status = at->channel->ops.get_nbi(at->channel->chan, at->p->path[at->pe], at->extent->rmem[at->pe],
                                          offset_bytes, dest, NULL, length_bytes);
    } while (try_again(at, status));
    CT_OK_OF("get_nbi", status);
}

bool ct_has_amo(const struct ct_channel *channel, uint32_t op, uint32_t bits, uint32_t flags)
{
    return channel->ops.amo_entry(channel->chan, op, bits, flags) != NULL;
}

bool ct_amo(const struct ct_target *at, uint64_t offset_bytes, const struct ct_amo *amo, void *fetched)
{
    isthmus_amo_fn fn = at->channel->ops.amo_entry(at->channel->chan, amo->op, amo->bits, amo->flags);
    if (fn == NULL) return false;
    isthmus_status status;
    ct_enter("ops.amo_entry()");
    do {
        status = fn(at->channel->chan, at->p->path[at->pe], at->extent->rmem[at->pe], offset_bytes, amo->operand,
                    amo->compare, fetched);
    } while ((amo->flags & ISTHMUS_AMO_NBI) != 0 && try_again(at, status));
    CT_OK_OF("amo_entry", status);
    return true;
}

void ct_fence(const struct ct_channel *channel, isthmus_path *path) { CT_OK(channel->ops.fence(channel->chan, path)); }

/* ---- optional slots: what a transport declines is done in another way, as a core does it ---- */

static void in_parts(const struct ct_put_signal *what)
{
    const struct ct_target *to = what->to;
    const struct ct_amo update = {.op = what->op, .bits = ISTHMUS_BITS64, .operand = what->value};
    ct_put(to, what->offset_bytes, what->source, what->length_bytes);
    ct_fence(to->channel, to->p->path[to->pe]);
    if (!ct_amo(what->signal_to, what->signal_offset_bytes, &update, NULL))
        CT_RULE("amo_entry", "a transport with put_signal has the atomic operation, too", false,
                "amo_entry returned NULL for operation %u on 64 bits", what->op);
}

static isthmus_status call_put_signal(const struct ct_put_signal *what)
{
    const struct ct_target *to = what->to;
    const struct isthmus_put_signal all = {.struct_size = sizeof all,
                                           .flags = what->flags,
                                           .remote = to->extent->rmem[to->pe],
                                           .remote_offset_bytes = what->offset_bytes,
                                           .source = what->source,
                                           .length_bytes = what->length_bytes,
                                           .signal = what->signal_to->extent->rmem[to->pe],
                                           .signal_offset_bytes = what->signal_offset_bytes,
                                           .value = what->value,
                                           .op = what->op};
    return to->channel->ops.put_signal(to->channel->chan, to->p->path[to->pe], &all);
}

void ct_put_signal(const struct ct_put_signal *what)
{
    isthmus_status status;
    ct_enter("ops.put_signal()");
    while ((status = call_put_signal(what)) == ISTHMUS_ERR_AGAIN) {
        CT_RULE("put_signal", "only nonblocking calls return AGAIN", (what->flags & ISTHMUS_PUT_SIGNAL_NBI) != 0,
                "a call without ISTHMUS_PUT_SIGNAL_NBI returned AGAIN");
        (void)ct_progress(what->to->p);
    }
    if (status == ISTHMUS_ERR_UNSUPPORTED)
        in_parts(what);
    else
        CT_OK_OF("put_signal", status);
}

void ct_put_more(const struct ct_target *at, uint64_t offset_bytes, const void *source, size_t length_bytes)
{
    static _Thread_local uint8_t own[CT_MOST_MORE_BYTES];
    const struct isthmus_data_ops *ops = &at->channel->ops;
    memcpy(own, source, length_bytes);
    ct_enter("ops.put_more()");
    isthmus_status status = ops->put_more(at->channel->chan, at->p->path[at->pe], at->extent->rmem[at->pe],
                                          offset_bytes, own, NULL, length_bytes);
    if (status == ISTHMUS_ERR_UNSUPPORTED)
        ct_put(at, offset_bytes, own, length_bytes);
    else
        CT_OK_OF("put_more", status);
    memset(own, 0xee, sizeof own);
}

void ct_post(const struct ct_channel *channel)
{
    ct_enter("ops.post()");
    CT_OK_OF("post", channel->ops.post(channel->chan));
}

/* ---- every way to write a word ---- */

static const struct {
    const char *name, *slot;
} ways[] = {[CT_BY_PUT] = {"a put", "put"},
            [CT_BY_PUT_NBI] = {"a nonblocking put", "put_nbi"},
            [CT_BY_SET] = {"an atomic set", "amo_entry"},
            [CT_BY_SWAP_NBI] = {"a nonblocking atomic swap", "amo_entry"},
            [CT_BY_SIGNAL] = {"the update of a put_signal", "put_signal"},
            [CT_BY_SIGNAL_NBI] = {"the update of a nonblocking put_signal", "put_signal"},
            [CT_BY_SIGNAL_DATA] = {"the data of a put_signal", "put_signal"},
            [CT_BY_NOTIFY] = {"a notify", "notify"},
            [CT_BY_PUT_MORE] = {"a put_more", "put_more"}};

const char *ct_way_name(int way) { return ways[way].name; }
const char *ct_way_slot(int way) { return ways[way].slot; }

/* Sources and fetched values of nonblocking operations. */
static uint64_t *borrowed(uint64_t value)
{
    static uint64_t words[CT_MOST_WORDS];
    static uint32_t n;
    uint64_t *word = &words[__atomic_fetch_add(&n, 1, __ATOMIC_RELAXED) % CT_MOST_WORDS];
    *word = value;
    return word;
}

static bool by_put_signal(const struct ct_word *w, int way, uint64_t value)
{
    bool is_data = way == CT_BY_SIGNAL_DATA;
    if (w->at.channel->ops.put_signal == NULL) return false;
    ct_put_signal(&(struct ct_put_signal){.to = &w->at,
                                          .signal_to = &w->at,
                                          .offset_bytes = is_data ? w->offset_bytes : w->beside_bytes,
                                          .signal_offset_bytes = is_data ? w->beside_bytes : w->offset_bytes,
                                          .source = borrowed(value),
                                          .length_bytes = sizeof value,
                                          .value = value,
                                          .op = ISTHMUS_AMO_SET,
                                          .flags = way == CT_BY_SIGNAL_NBI ? ISTHMUS_PUT_SIGNAL_NBI : 0});
    return true;
}

static bool by_amo(const struct ct_word *w, int way, uint64_t value)
{
    const struct ct_amo set = {.op = ISTHMUS_AMO_SET, .bits = ISTHMUS_BITS64, .operand = value};
    const struct ct_amo swap = {.op = ISTHMUS_AMO_SWAP,
                                .bits = ISTHMUS_BITS64,
                                .flags = ISTHMUS_AMO_FETCHING | ISTHMUS_AMO_NBI,
                                .operand = value};
    if (way == CT_BY_SET) return ct_amo(&w->at, w->offset_bytes, &set, NULL);
    return ct_amo(&w->at, w->offset_bytes, &swap, borrowed(0));
}

bool ct_write_word(const struct ct_word *w, int way, uint64_t value)
{
    const struct ct_target *at = &w->at;
    const struct isthmus_data_ops *ops = &at->channel->ops;
    switch (way) {
    case CT_BY_PUT: ct_put(at, w->offset_bytes, &value, sizeof value); return true;
    case CT_BY_PUT_NBI: ct_put_nbi(at, w->offset_bytes, borrowed(value), sizeof value); return true;
    case CT_BY_SET:
    case CT_BY_SWAP_NBI: return by_amo(w, way, value);
    case CT_BY_NOTIFY:
        if (ops->notify == NULL) return false;
        CT_OK(ops->notify(at->channel->chan, at->p->path[at->pe], at->extent->rmem[at->pe], w->offset_bytes, value));
        return true;
    case CT_BY_PUT_MORE:
        if (ops->put_more == NULL) return false;
        ct_put_more(at, w->offset_bytes, &value, sizeof value);
        return true;
    default: return by_put_signal(w, way, value);
    }
}
