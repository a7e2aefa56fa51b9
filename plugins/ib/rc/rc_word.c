/* plugins/ib/rc/rc_word.c: see rc_word.h. */
#include "plugins/ib/rc/rc_word.h"

bool ib_word_is_single(uint32_t op, uint64_t operand, uint64_t compare, struct ib_word_request *out)
{
    switch (op) {
    case ISTHMUS_AMO_FETCH: *out = (struct ib_word_request){.op = IB_FETCH_ADD}; return true;
    case ISTHMUS_AMO_ADD: *out = (struct ib_word_request){.op = IB_FETCH_ADD, .operand = operand}; return true;
    case ISTHMUS_AMO_COMPARE_SWAP: *out = (struct ib_word_request){IB_COMPARE_SWAP, operand, compare}; return true;
    default: return false;
    }
}

static uint64_t value_after(uint32_t op, uint64_t old, uint64_t operand)
{
    switch (op) {
    case ISTHMUS_AMO_AND: return old & operand;
    case ISTHMUS_AMO_OR: return old | operand;
    case ISTHMUS_AMO_XOR: return old ^ operand;
    default: return operand; /* SET, SWAP */
    }
}

/* The first guess is what the word holds: a swap that fails brings the next one. */
static isthmus_status compare_and_swap_loop(const struct ib_word *word, uint32_t op, uint64_t operand, uint64_t *old)
{
    const struct ib_word_request fetch = {.op = IB_FETCH_ADD};
    uint64_t seen = 0;
    isthmus_status status = word->execute(word->arg, &fetch, &seen);
    while (status == ISTHMUS_OK) {
        struct ib_word_request swap = {IB_COMPARE_SWAP, value_after(op, seen, operand), seen};
        if (swap.operand == swap.compare) break; /* nothing to write, and the fetch was atomic */
        status = word->execute(word->arg, &swap, &seen);
        if (seen == swap.compare) break;
    }
    *old = seen;
    return status;
}

isthmus_status ib_word_update(const struct ib_word *word, uint32_t op, uint64_t operand, uint64_t compare,
                              uint64_t *old)
{
    struct ib_word_request request;
    if (ib_word_is_single(op, operand, compare, &request)) return word->execute(word->arg, &request, old);
    return compare_and_swap_loop(word, op, operand, old);
}
