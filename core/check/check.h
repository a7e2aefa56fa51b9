/* core/check/check.h: ISTHMUS_CHECK=1: the mistakes that leave no trace where they are made. docs/checking.md lists
 * them.
 * Not the comparison of collectives (coll/same_call.c), nor the checks of every call (ops/target.h). Operations,
 * ordering and waits lie below this floor and call it through ops/checker.h.
 *
 * Subjects: blocks.c allocated blocks; pending.c buffers of operations under way; shadow.c which PE has accessed which
 * words of a PE; mixed.c and unordered.c, which read that; check.c the end. finding.c reports the mistakes. */
#ifndef IST_CHECK_CHECK_H
#define IST_CHECK_CHECK_H

#include "core/ops/checker.h"

/* After the default context exists, and before it ends. Not collective. */
isthmus_status ist_check_init(bool is_on);
void ist_check_fini(void);

/* Returns the same number on all PEs for corresponding symmetric addresses, 0 for other addresses. */
uint64_t ist_check_place(const void *addr);

/* ---- blocks of the heap, and buffers of collectives ---- */

void ist_check_block_made(const void *block, size_t size_bytes, const char *routine) IST_COLD;
void ist_check_block_gone(const void *block, const char *routine) IST_COLD;

/* A collective reads or writes these: no pending operation may use them. */
void ist_check_local_read(const char *routine, const char *argument, const void *addr, size_t length_bytes) IST_COLD;
void ist_check_local_write(const char *routine, const char *argument, const void *addr, size_t length_bytes) IST_COLD;

#endif
