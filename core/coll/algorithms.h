/* core/coll/algorithms.h: the collectives behind coll.h, arguments checked, teams of two or more.
 * Each picks its algorithm; `forced` is the choice of ISTHMUS_COLL_<NAME>, 0 for none. */
#ifndef IST_COLL_ALGORITHMS_H
#define IST_COLL_ALGORITHMS_H

#include "core/coll/coll.h"

void ist_run_broadcast(struct ist_team *team, void *dest, const void *source, size_t length_bytes, int root, int flags,
                       int forced, const char *routine);
void ist_run_fcollect(struct ist_team *team, void *dest, const void *source, size_t length_bytes, int forced,
                      const char *routine);
void ist_run_collect(struct ist_team *team, void *dest, const void *source, size_t length_bytes, int forced,
                     const char *routine);
void ist_run_alltoall(struct ist_team *team, void *dest, const void *source, size_t length_bytes, int forced,
                      const char *routine);
void ist_run_alltoalls(struct ist_team *team, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,
                       size_t size_bytes, size_t nelems, int forced, const char *routine);

/* The operands of a reduction or scan. */
struct ist_reduction {
    void *dest;
    const void *source;
    size_t nelems, size_bytes;
    ist_combine *combine;
    bool is_on_device; /* dest or source: neither is loaded or stored then */
};
void ist_run_reduce(struct ist_team *team, const struct ist_reduction *r, int forced, const char *routine);
void ist_run_reducescatter(struct ist_team *team, const struct ist_reduction *r, const char *routine);
void ist_run_scan(struct ist_team *team, const struct ist_reduction *r, bool is_inclusive, int forced,
                  const char *routine);

#endif
