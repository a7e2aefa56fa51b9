/* core/coll/coll.h: collectives on data, for every face: the contract of each call, independent of its algorithm.
 * Not barriers and syncs (sync.h), not the algorithms (algorithms.h) nor their choice (cost.c).
 *
 * Every member of `team` calls with the same arguments, and the team's collectives in the same order. On return
 * `source` may be reused and `dest` is filled on this PE; other PEs may be busy still. `dest` and `source` are
 * symmetric. Wrong arguments end the job with a message that names `routine`. All return ISTHMUS_OK, or an error with
 * nothing done: ISTHMUS_ERR_INVALID if `team` is NULL (an invalid handle). */
#ifndef IST_COLL_COLL_H
#define IST_COLL_COLL_H

#include "core/base/config.h"
#include "core/coll/combine.h"
#include "core/ops/rma.h"
#include "core/team/team.h"

void ist_coll_init(const struct ist_config *config);

/* source of `root` to dest of all; IST_BROADCAST_NOT_TO_ROOT leaves the root's dest alone (active sets). */
enum { IST_BROADCAST_TO_ALL = 0, IST_BROADCAST_NOT_TO_ROOT = 1 };
isthmus_status ist_broadcast(struct ist_team *team, void *dest, const void *source, size_t length_bytes, int root,
                             int flags, const char *routine);

/* The sources of all, in the order of the PEs: equal lengths, or a length of its own on each PE. */
isthmus_status ist_fcollect(struct ist_team *team, void *dest, const void *source, size_t length_bytes,
                            const char *routine);
isthmus_status ist_collect(struct ist_team *team, void *dest, const void *source, size_t length_bytes,
                           const char *routine);

/* Block j of PE i becomes block i of PE j; blocks of length_bytes. */
isthmus_status ist_alltoall(struct ist_team *team, void *dest, const void *source, size_t length_bytes,
                            const char *routine);

/* The same with elements that lie apart, as many to each PE as the stride has blocks, of one element each. */
isthmus_status ist_alltoalls(struct ist_team *team, void *dest, const void *source, const struct ist_stride *stride,
                             const char *routine);

/* Element by element over all sources; every PE gets the same bits. dest may be source. */
isthmus_status ist_reduce(struct ist_team *team, void *dest, const void *source, size_t nelems, enum ist_combine_op op,
                          enum ist_combine_type type, const char *routine);

/* The same for n_pes * nelems elements, of which this PE gets block my_pe. */
isthmus_status ist_reducescatter(struct ist_team *team, void *dest, const void *source, size_t nelems,
                                 enum ist_combine_op op, enum ist_combine_type type, const char *routine);

/* Sums over the sources of PE 0 to this one; exclusive: to the one before it, and zeroes on PE 0. dest may be
 * source. */
isthmus_status ist_scan(struct ist_team *team, void *dest, const void *source, size_t nelems, bool is_inclusive,
                        enum ist_combine_type type, const char *routine);

#endif
