/* core/coll/doubling.h: a few bytes of all members combined, in log2(n) exchanges of pairs.
 * The operands are private memory. Pairs exchange both ways, so that no PE can be more than one call ahead of a
 * partner: two sets of slots in turn suffice. If the number of members is no power of two, the first ones pair up with
 * their right neighbours, which skip the rounds. The lower member is always the left operand: all get the same bits. */
#ifndef IST_COLL_DOUBLING_H
#define IST_COLL_DOUBLING_H

#include "core/coll/combine.h"
#include "core/team/team.h"

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
