/* core/proxy/device.h: what kernels see of this PE (struct isthmus_device_state), and the modules of device code that
 * see it; and the thread that serves kernels' requests. A job without such modules has none of it: no state, no
 * thread. */
#ifndef IST_PROXY_DEVICE_H
#define IST_PROXY_DEVICE_H

#include "core/base/config.h"
#include "core/boot/boot.h"
#include "core/ctx/ctx.h"
#include "core/proxy/kernel_report.h"

#include <isthmus/device_state.h>
#include <stdbool.h>

/* Modules of device code are loaded: kernels will store to memory that host threads wait for. */
bool ist_device_is_expected(void);

/* The same, and all of them are for processors, which reach no other memory than the host's. */
bool ist_device_is_processor(void);

bool ist_device_has(uint32_t kind); /* ISTHMUS_MEM_: there are modules for the device whose memory this is */

/* At the end of init: makes the state and fills it into all modules. Not collective. Modules that are loaded later get
 * it at once. */
isthmus_status ist_device_open(const ist_boot *boot, const struct ist_config *config);

/* At the exit of a process that does not finalize, where kernels may still run: executes what they have requested,
 * calls `complete` for each context of theirs, and frees nothing that they read. */
void ist_device_leave(void (*complete)(ist_ctx *ctx));

/* At the beginning of finalize: kernels have ended. Completes what they have requested. Accepts any state. */
void ist_device_close(void);

/* A buffer has become symmetric, or private: kernels reach it directly where they can, and else leave it to the thread
 * of the host, which is started if there is none. No kernel runs. */
isthmus_status ist_device_list_buffers(void);

/* Code for a GPU that the program has loaded itself: `handle` is of the sort `code` (ISTHMUS_CODE_) of that kind of
 * device. Its state is filled, and emptied again. INVALID: no handle, or code without a state; remove: not added.
 * UNSUPPORTED: kernels of that kind cannot have one now. */
isthmus_status ist_device_add_code(uint32_t kind, uint32_t code, void *handle);
isthmus_status ist_device_remove_code(uint32_t kind, uint32_t code, void *handle);

/* A kernel on a GPU has stopped for a wrong call, after which the GPU executes nothing any more for this process:
 * returns true, with the reason. The failures of other calls follow from it. Ends the job if the kernel has stopped for
 * that. Any thread; any state. */
bool ist_device_has_stopped(struct ist_kernel_report *why);

/* Ends the job in both cases. Called from long waits, and by the progress thread (ist_progress_watch()). */
void ist_device_check(void);

/* In a child after fork. */
void ist_device_forget(void);

/* ---- the thread that serves requests, where some PE's memory is not mapped for the device; for device.c ---- */

/* Starts the thread. The ring lives until ist_proxy_close(), and so does the stop word of kernels on a device; that of
 * kernels on processors stays. */
isthmus_status ist_proxy_open(const struct ist_config *config, const struct ist_kernel_memory *memory);

/* Waits until all is complete that kernels which have ended, or have passed what this thread has seen, requested: for
 * the host's quiet. Calls no driver, so that a stream may call it. Any state; any thread but the proxy's own. */
void ist_proxy_quiet(const char *routine);

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
