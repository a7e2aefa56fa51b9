/* core/sync/lock.h: locks that a symmetric long holds: fair, in the order of arrival, and waiting on the own PE's memory.
 * `lock` is 0 on all PEs at first and belongs to the library while it is in use. Not reentrant. */
#ifndef IST_SYNC_LOCK_H
#define IST_SYNC_LOCK_H

void ist_lock_set(long *lock, const char *routine);
int ist_lock_test(long *lock, const char *routine); /* 0: it is the caller's now; 1: another PE holds it. Never waits */
void ist_lock_clear(long *lock, const char *routine);

#endif
