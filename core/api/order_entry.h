/* core/api/order_entry.h: entry functions of the ordering calls that core/ops/order.h does not provide directly. */
#ifndef IST_API_ORDER_ENTRY_H
#define IST_API_ORDER_ENTRY_H

#include "core/ops/order.h"

/* Quiet at least for the listed members of the context's team: for all of them, which is allowed. */
void ist_entry_pe_quiet(ist_ctx *ctx, const int *target_pes, size_t npes, const char *routine);

/* Everything that is locally complete, on any context of any member, is visible to all. */
void ist_entry_team_remote_commit(struct ist_team *team, const char *routine);

#endif
