/* plugins/ib/ib_ucp.h: UCX, loaded when the transport is opened and not before.
 * Not linked: a job on one host would pay for UCX's constructors, threads and signal handlers at every start, and a machine
 * without UCX could not load this plugin to be told so. */
#ifndef ISTHMUS_IB_UCP_H
#define ISTHMUS_IB_UCP_H

#include <isthmus/transport.h>

#include <stdbool.h>
#include <ucp/api/ucp.h>
#include <ucs/debug/log_def.h>

#define UCP(name) __typeof__(name) *(name);
extern struct ib_ucp {
#include "plugins/ib/ib_ucp.def"
} ib_ucp;

/* Load UCX once in a process; it stays: ib_load.h says which. Returns NO_DEVICE if it is not here, or is too old. */
isthmus_status ib_ucp_load(const struct isthmus_services *services);

/* The version of the UCX that is loaded, "1.13.1", the file that libucp is in, and whether it is one or newer. After
 * ib_ucp_load(). */
const char *ib_ucp_version(void);
const char *ib_ucp_file(void);
bool ib_ucp_is_at_least(unsigned major, unsigned minor);

/* While a transport is open, what UCX has to say goes to the log at level info: the transport itself reports failures once,
 * in its own words. With UCX_LOG_LEVEL set, UCX writes as it always does. */
void ib_ucp_log_to(const struct isthmus_services *services);
void ib_ucp_log_end(void);

/* UCX returns a status, and writes the cause into its log. ib_ucp_reason() fills in " (cause)" with the first error that this thread
 * has logged since ib_ucp_reason_begin(); "" if there was none. */
enum { IB_REASON_TEXT_BYTES = 240 };
void ib_ucp_reason_begin(void);
void ib_ucp_reason(char out[IB_REASON_TEXT_BYTES]);
void ib_ucp_latest(
    char out[IB_REASON_TEXT_BYTES]); /* likewise the latest one, of any thread, which is then forgotten */

/* What the user has set this variable of UCX's own to; NULL: nothing. */
const char *ib_ucp_variable(const char *variable);
bool ib_ucp_is_set(const char *variable);

/* What the user has told UCX about networks, "UCX_TLS=tcp", for peers that cannot be reached; "its defaults". Returns its bytes with
 * the zero. */
enum { IB_NOTE_BYTES = 160 };
size_t ib_ucp_note(char out[IB_NOTE_BYTES]);

/* Progress had no memory for what a peer wants, who waits and is told nothing: `why` is kept, of the first. UCX says such a thing in
 * its log only, which is looked at while ib_ucp_progresses is set. */
enum { IB_STARVED_BYTES = 200 };
extern bool ib_ucp_progresses; /* written without order: that of another thread is as good a reason to look */
void ib_ucp_starves(const char *why);
bool ib_ucp_starved(char why[IB_STARVED_BYTES]); /* true once */

/* What a status of UCX is called here. */
isthmus_status ib_ucp_code(ucs_status_t status);

#endif
