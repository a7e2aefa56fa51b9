/* core/proxy/proxy.h: the thread that serves kernels' requests, where some PE's memory is not mapped for the device.
 * Not the requests (requests.h), nor the state that shows kernels the ring (device.h). */
#ifndef IST_PROXY_PROXY_H
#define IST_PROXY_PROXY_H

#include "core/base/config.h"
#include "core/ctx/ctx.h"
#include "core/proxy/kernel_memory.h"

#include <isthmus/device_state.h>

/* Starts the thread. The ring lives until ist_proxy_close(), and so does the stop word of kernels on a device; that of
 * kernels on processors stays. */
isthmus_status ist_proxy_open(const struct ist_config *config, const struct ist_kernel_memory *memory);

/* Kernels will make requests soon: the thread ends its nap. Accepts any state; any thread. */
void ist_proxy_wake(void);

/* Serves what kernels that have ended left behind, stops those that still wait, and ends the thread. Then calls
 * `complete` for each of its contexts, perhaps more than once; the ring stays, for kernels that have not noticed the
 * stop so far. */
void ist_proxy_end(void (*complete)(ist_ctx *ctx));

/* Frees the ring: no kernel runs. After ist_proxy_end(), or a failure of ist_proxy_open(). */
void ist_proxy_close(void);

/* At their addresses for kernels. */
const struct isthmus_ring *ist_proxy_ring(void);
const uint64_t *ist_proxy_stop_word(void);

/* In a child after fork: the threads do not exist here. */
void ist_proxy_forget(void);

#endif
