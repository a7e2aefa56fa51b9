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
#include "core/ops/rma.h"
#include "core/team/team.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- the arithmetic of reductions (combine.c): out[i] = a[i] op b[i] ----
 * One function for each pair of operation and machine type that the APIs have; none for the others. */

enum ist_combine_op { IST_SUM, IST_PROD, IST_MIN, IST_MAX, IST_AND, IST_OR, IST_XOR, IST_COMBINE_OPS };

/* Machine types: the representations of the APIs' C types on the supported machines. F16 and BF16 are computed in float
 * and rounded to nearest even. */
enum ist_combine_type {
    IST_S8,
    IST_S16,
    IST_S32,
    IST_S64,
    IST_U8,
    IST_U16,
    IST_U32,
    IST_U64,
    IST_F16,
    IST_BF16,
    IST_F32,
    IST_F64,
    IST_F80, /* long double */
    IST_C32, /* float _Complex */
    IST_C64, /* double _Complex */
    IST_COMBINE_TYPES
};

/* out may be a or b, or overlap neither. Integer sums and products wrap. */
typedef void ist_combine(void *out, const void *a, const void *b, size_t nelems);

ist_combine *ist_combine_of(enum ist_combine_op op, enum ist_combine_type type); /* NULL if the APIs do not have it */
size_t ist_combine_size(enum ist_combine_type type);                             /* bytes of an element */

/* ---- the calls ---- */

/* One call, for a floor above that may execute it on devices; of a team that has kernels there (core/team/team.h). */
struct ist_coll_call {
    const struct ist_transfer *t;
    uint32_t what; /* ISTHMUS_COLLECTIVE_ */
    size_t nelems; /* of a reduction */
    enum ist_combine_op op;
    enum ist_combine_type type;
};
/* Registers that function, which stays valid; it returns false if the call is left to the host. Called at start. */
void ist_coll_offer(bool (*run)(const struct ist_coll_call *call));

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
