/* core/coll/algorithms.h: the collectives behind coll.h, arguments checked, teams of two or more.
 * Each picks its algorithm; `forced` is the choice of ISTHMUS_COLL_<NAME>, 0 for none. */
#ifndef IST_COLL_ALGORITHMS_H
#define IST_COLL_ALGORITHMS_H

#include "core/coll/coll.h"
#include "core/ops/transfer.h"

void ist_run_broadcast(const struct ist_transfer *t, int flags, int forced); /* from t->pe */
void ist_run_fcollect(const struct ist_transfer *t, int forced);
void ist_run_collect(const struct ist_transfer *t, int forced);
void ist_run_alltoall(const struct ist_transfer *t, int forced);
void ist_run_alltoalls(const struct ist_transfer *t, const struct ist_stride *stride, int forced);

/* The operands of a reduction or scan: the length of the transfer is that of nelems elements. */
struct ist_reduction {
    struct ist_transfer t;
    size_t nelems, size_bytes;
    ist_combine *combine;
    bool is_on_device; /* dest or source: neither is loaded or stored then */
};
void ist_run_reduce(const struct ist_reduction *r, int forced);
void ist_run_reducescatter(const struct ist_reduction *r);
void ist_run_scan(const struct ist_reduction *r, bool is_inclusive, int forced);

/* ---- a few bytes of all members combined, in log2(n) exchanges of pairs (doubling.c) ----
 * The operands are private memory. Pairs exchange both ways, so that no PE can be more than one call ahead of a
 * partner: two sets of slots in turn suffice. If the number of members is no power of two, the first ones pair up with
 * their right neighbours, which skip the rounds. The lower member is always the left operand: all get the same bits. */

struct ist_vector {
    ist_combine *combine;
    size_t nelems, length_bytes; /* at most IST_SLOT_BYTES */
};

/* inout: this PE's value, then that of all combined. */
void ist_doubling_reduce(struct ist_team *team, void *inout, const struct ist_vector *vector, const char *routine);

/* before: the combined value of the members before this one; unchanged on the first one. */
void ist_doubling_scan(struct ist_team *team, void *before, const void *mine, const struct ist_vector *vector,
                       const char *routine);

/* For the library's own use. */
uint64_t ist_doubling_max(struct ist_team *team, uint64_t mine, const char *routine);
uint64_t ist_doubling_sum(struct ist_team *team, uint64_t mine, const char *routine);
uint64_t ist_doubling_sum_before(struct ist_team *team, uint64_t mine, const char *routine);

#endif
