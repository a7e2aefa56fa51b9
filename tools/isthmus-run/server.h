/* The PMIx server of the PEs, and its events about them for the launcher.
 * Not the launcher's decisions: the server only reports, job.c acts.
 * Read on in server.c. */
#ifndef ISTHMUS_RUN_SERVER_H
#define ISTHMUS_RUN_SERVER_H

#include "launch.h"

enum server_event_kind {
    SERVER_CONNECTED,   /* PE called PMIx_Init */
    SERVER_FINALIZED,   /* PE called PMIx_Finalize */
    SERVER_ABORTED,     /* PE called PMIx_Abort with this status and message */
    SERVER_FENCE_STUCK, /* all PEs that are left wait in a fence for one that is not */
};

struct server_event {
    enum server_event_kind kind;
    int pe;
    int status;
    char *message; /* NULL or text */
    struct server_event *next;
};

/* Starts the server for a job of n_pes PEs, its threads included. Reports failures. There is no server_stop(): see the
 * end of main(). */
enum launch_status server_start(int n_pes);

/* The variables with which this PE finds the server; NULL-terminated, destroy with environment_destroy(). */
char **server_variables(int pe);

/* Readable when there is an event. */
int server_event_fd(void);
/* The next event, oldest first, or NULL; destroy with server_event_destroy(). A PE's events before its end are in the
 * list by the time its end can be seen: the server does not reply to a PE before. */
struct server_event *server_next_event(void);
void server_event_destroy(struct server_event *event);

#endif
