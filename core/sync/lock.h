/* core/sync/lock.h: locks that a symmetric long holds: fair, in the order of arrival, and waiting on the waiting PE's
 * own memory. `lock` is 0 on all PEs at first and belongs to the library while it is in use. Not reentrant. */
#ifndef IST_SYNC_LOCK_H
#define IST_SYNC_LOCK_H

void ist_lock_set(long *lock, const char *routine);
/* Returns 0 if the caller holds the lock now, 1 if another PE does. Never waits. */
int ist_lock_test(long *lock, const char *routine);
void ist_lock_clear(long *lock, const char *routine);

#endif
