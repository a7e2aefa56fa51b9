/* plugins/ib/rc/rc_masked.h: masked atomics of mlx5 adapters (ConnectX-4 and later), for rc_qp.c. Libibverbs has no
 * request for them: libmlx5 takes each in the form in which the adapter reads it. */
#ifndef ISTHMUS_IB_RC_MASKED_H
#define ISTHMUS_IB_RC_MASKED_H

#include "plugins/ib/rc/rc_qp.h"

struct ib_masked;
struct ibv_context;
struct ibv_cq;
struct ibv_pd;
struct ibv_qp_init_attr;
struct ibv_sge;

/* Returns NULL if the adapter of `pd` has no masked atomics, or they cannot be requested: *why. `verbs`: libibverbs, as
 * it is loaded. `cq`: for a queue pair that is created as a test. */
struct ib_masked *ib_masked_open(void *verbs, struct ibv_pd *pd, struct ibv_cq *cq, const char **why);
void ib_masked_close(struct ib_masked *masked); /* takes NULL */

/* A queue pair for requests of libibverbs and masked ones. NULL: errno. */
struct ibv_qp *ib_masked_qp_create(const struct ib_masked *masked, struct ibv_pd *pd,
                                   const struct ibv_qp_init_attr *attr);

/* Returns 0 or an error number. The adapter writes the old value to `value`. */
int ib_masked_post(const struct ib_masked *masked, struct ibv_qp *qp, const struct ib_qp_target *target,
                   const struct ib_word_op *op, const struct ibv_sge *value);

#endif
