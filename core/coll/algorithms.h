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

#endif
