/* plugins/ib/rc/rc_word.h: every atomic on a word of 64 bits, made of the two that each adapter with atomics has: fetch
 * and add, and compare and swap. Not about narrower words: an adapter would write the rest of the 64 bits too, and
 * exclude no plain store there. */
#ifndef ISTHMUS_IB_WORD_H
#define ISTHMUS_IB_WORD_H

#include <isthmus/transport.h>

#include <stdbool.h>

enum ib_word_op { IB_FETCH_ADD, IB_COMPARE_SWAP };

/* One operation of an adapter. IB_FETCH_ADD ignores `compare`. */
struct ib_word_request {
    enum ib_word_op op;
    uint64_t operand, compare;
};

/* Has the adapter execute a request on one word, and waits for the old value. */
struct ib_word {
    isthmus_status (*execute)(void *arg, const struct ib_word_request *request, uint64_t *old);
    void *arg;
};

/* Returns true if one request does it: what that is. */
bool ib_word_is_single(uint32_t op, uint64_t operand, uint64_t compare, struct ib_word_request *out);

/* ISTHMUS_AMO_ `op`: one request, or a loop of them. *old: the value before. */
isthmus_status ib_word_update(const struct ib_word *word, uint32_t op, uint64_t operand, uint64_t compare,
                              uint64_t *old);

#endif
