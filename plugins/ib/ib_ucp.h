/* plugins/ib/ib_ucp.h: UCX, loaded when the transport is opened and not before.
 * Not linked: a job on one host would pay for UCX's constructors, threads and signal handlers at every start, and a
 * machine without UCX could not load this plugin, which reports that. */
#ifndef ISTHMUS_IB_UCP_H
#define ISTHMUS_IB_UCP_H

#include <isthmus/transport.h>

#include <limits.h>
#include <stdbool.h>
#include <ucp/api/ucp.h>
#include <ucs/debug/log_def.h>

#define UCP(name) __typeof__(name) *(name);
extern struct ib_ucp {
#include "plugins/ib/ib_ucp.def"
} ib_ucp;

/* ib_load.c: finds and loads libucp. Fills in its handle, which is never closed, and the file that it is in. Returns
 * NO_DEVICE if there is none, or if its parts are of two installs; INVALID if ISTHMUS_IB_UCX names none. */
isthmus_status ib_load(const struct isthmus_services *services, void **library, char file[PATH_MAX]);

/* Loads UCX once in a process; it stays. ib_load.c describes which one. Returns NO_DEVICE if there is none, or it is
 * too old. */
isthmus_status ib_ucp_load(const struct isthmus_services *services);

/* The version of the UCX that is loaded, "1.13.1", the file that libucp is in, and whether it is one or newer. After
 * ib_ucp_load(). */
const char *ib_ucp_version(void);
const char *ib_ucp_file(void);
bool ib_ucp_is_at_least(unsigned major, unsigned minor);

/* While a transport is open, UCX's messages go to the log at level info: the transport itself reports failures once,
 * in its own words. After many errors there is a warning, because that call of UCX may never return. With
 * UCX_LOG_LEVEL set, UCX writes as it always does. */
void ib_ucp_log_to(const struct isthmus_services *services);
void ib_ucp_log_end(void);

/* UCX returns a status, and writes the cause into its log only. ib_ucp_reason() fills in " (cause)" with the first
 * error that this thread has logged since ib_ucp_reason_begin(); "" if there was none. For messages only. */
enum { IB_REASON_TEXT_BYTES = 240 };
void ib_ucp_reason_begin(void);
void ib_ucp_reason(char out[IB_REASON_TEXT_BYTES]);
void ib_ucp_latest(char out[IB_REASON_TEXT_BYTES]); /* likewise the latest error, of any thread, reported once */

/* Returns the user's value of this variable of UCX's own, or NULL if it is not set. */
const char *ib_ucp_variable(const char *variable);
bool ib_ucp_is_set(const char *variable);

/* UCX's version and the user's variables for it about networks, "UCX 1.13.1 with UCX_TLS=tcp", or "with its defaults":
 * for messages about peers that cannot be reached. Returns its bytes with the zero. */
enum { IB_NOTE_BYTES = 160 };
size_t ib_ucp_note(char out[IB_NOTE_BYTES]);

/* This PE had no memory to serve a request of a peer, which waits without a reply: keeps the first `why`. For requests
 * that UCX serves by itself, its log is the only place where it reports that: an error during progress with words about
 * memory counts. If UCX words it otherwise, nothing is reported here, and the peer's time limits end the job. */
enum { IB_NO_MEMORY_BYTES = 200 };
extern bool ib_ucp_progresses; /* during progress; written without order: that of another thread counts too */
void ib_ucp_note_no_memory(const char *why);
bool ib_ucp_take_no_memory(char why[IB_NO_MEMORY_BYTES]); /* true once */

/* Returns the ISTHMUS_ERR_ code for a status of UCX. */
isthmus_status ib_ucp_code(ucs_status_t status);

#endif
