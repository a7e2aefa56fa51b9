/* UCP without a runtime on it: a worker, an endpoint to the other PE and a window of memory; the reference for
 * transport ib. Puts, gets and atomics wait as the leanest program would: they make progress, and yield the processor
 * when there is none. SHMEM only carries the addresses. Not a transport, and without error handling: the program ends
 * instead.
 * Read on: bench_hosts.c. */
#ifndef ISTHMUS_BARE_NET_H
#define ISTHMUS_BARE_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Collective over two PEs: connect, with a window of this length on each. */
void bare_net_open(int peer, size_t window_bytes);
void bare_net_close(void);

/* Returns true if its atomics are to be the adapter's, as the library's are with ISTHMUS_ATOMICS=nic. Otherwise UCX
 * chooses: where the adapter does not have all of them, Soft-RoCE for example, they are messages. */
bool bare_net_has_adapter_atomics(void);

/* Nonblocking operations at an offset of the peer's window; flush completes all of them. */
void bare_net_put_nbi(uint64_t offset, const void *source, size_t length_bytes);
void bare_net_get_nbi(uint64_t offset, void *dest, size_t length_bytes);
void bare_net_flush(void);

/* The same until their buffers are free to use. */
void bare_net_put(uint64_t offset, const void *source, size_t length_bytes);
void bare_net_get(uint64_t offset, void *dest, size_t length_bytes);
uint64_t bare_net_fetch_add(uint64_t offset, uint64_t value);

/* Makes progress until this word of this PE's window has at least this value. Naps once nothing has arrived for a
 * millisecond. */
void bare_net_wait_at_least(uint64_t offset, uint64_t value);

#endif
