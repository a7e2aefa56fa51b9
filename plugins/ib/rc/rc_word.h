/* plugins/ib/rc/rc_word.h: each atomic on a word of 64 bits, made of the two that every adapter with atomics has, fetch
 * and add, and compare and swap, and of the masked ones that some adapters have besides. Not about narrower words: an
 * adapter would write the rest of the 64 bits too, and overwrite a plain store there. */
#ifndef ISTHMUS_IB_RC_WORD_H
#define ISTHMUS_IB_RC_WORD_H

#include <isthmus/transport.h>

#include <stdbool.h>

/* One operation of an adapter; each returns the old value. The last two are the masked ones. */
struct ib_word_op {
    enum {
        IB_FETCH_ADD,
        IB_COMPARE_SWAP,
        IB_MASKED_SWAP, /* replaces the bits of `mask`, whatever the word is */
        IB_MASKED_ADD   /* no bit of `mask` passes a carry on */
    } op;
    uint64_t operand, compare, mask;
};

/* Has the adapter execute an operation on one word, and waits for the old value. */
struct ib_word {
    isthmus_status (*execute)(void *arg, const struct ib_word_op *op, uint64_t *old);
    void *arg;
    bool has_masked; /* the adapter has masked operations */
};

static inline struct ib_word_op ib_word_masked(uint32_t op, uint64_t operand)
{
    switch (op) {
    case ISTHMUS_AMO_AND: return (struct ib_word_op){.op = IB_MASKED_SWAP, .mask = ~operand};
    case ISTHMUS_AMO_OR: return (struct ib_word_op){.op = IB_MASKED_SWAP, .operand = operand, .mask = operand};
    case ISTHMUS_AMO_XOR: return (struct ib_word_op){.op = IB_MASKED_ADD, .operand = operand, .mask = UINT64_MAX};
    default: return (struct ib_word_op){.op = IB_MASKED_SWAP, .operand = operand, .mask = UINT64_MAX}; /* SET, SWAP */
    }
}

/* Returns true if a single operation executes the atomic `op` (ISTHMUS_AMO_): which one. */
static inline bool ib_word_is_single(uint32_t op, uint64_t operand, uint64_t compare, bool has_masked,
                                     struct ib_word_op *out)
{
    switch (op) {
    case ISTHMUS_AMO_FETCH: *out = (struct ib_word_op){.op = IB_FETCH_ADD}; return true;
    case ISTHMUS_AMO_ADD: *out = (struct ib_word_op){.op = IB_FETCH_ADD, .operand = operand}; return true;
    case ISTHMUS_AMO_COMPARE_SWAP: *out = (struct ib_word_op){IB_COMPARE_SWAP, operand, compare, 0}; return true;
    default: *out = ib_word_masked(op, operand); return has_masked;
    }
}

static inline uint64_t ib_word_after(uint32_t op, uint64_t old, uint64_t operand)
{
    switch (op) {
    case ISTHMUS_AMO_AND: return old & operand;
    case ISTHMUS_AMO_OR: return old | operand;
    case ISTHMUS_AMO_XOR: return old ^ operand;
    default: return operand; /* SET, SWAP */
    }
}

/* Fetches the value, then swaps until no other PE has changed the word in between: a swap that fails returns the new
 * value. */
static inline isthmus_status ib_word_swap_loop(const struct ib_word *word, uint32_t op, uint64_t operand, uint64_t *old)
{
    const struct ib_word_op fetch = {.op = IB_FETCH_ADD};
    uint64_t seen = 0;
    isthmus_status status = word->execute(word->arg, &fetch, &seen);
    while (status == ISTHMUS_OK) {
        struct ib_word_op swap = {IB_COMPARE_SWAP, ib_word_after(op, seen, operand), seen, 0};
        if (swap.operand == swap.compare) break; /* nothing to write, and the fetch was atomic */
        status = word->execute(word->arg, &swap, &seen);
        if (seen == swap.compare) break;
    }
    *old = seen;
    return status;
}

/* Executes the atomic by a single operation, or by a loop of them. *old: the value before. */
static inline isthmus_status ib_word_update(const struct ib_word *word, uint32_t op, uint64_t operand, uint64_t compare,
                                            uint64_t *old)
{
    struct ib_word_op single;
    if (ib_word_is_single(op, operand, compare, word->has_masked, &single))
        return word->execute(word->arg, &single, old);
    return ib_word_swap_loop(word, op, operand, old);
}

#endif
