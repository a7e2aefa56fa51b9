/* core/boot/uid_server_priv.h: what the three files of the server share: uid_server.c has the thread, uid_connection.c the
 * connections, uid_job.c what the frames mean. All of it belongs to the server's thread, but for what says otherwise. */
#ifndef IST_BOOT_UID_SERVER_PRIV_H
#define IST_BOOT_UID_SERVER_PRIV_H

#include "core/boot/uid_wire.h"

#include <pthread.h>

struct ist_uid_connection {
    struct ist_uid_connection *next;
    int fd;
    int pe;           /* -1: a stranger */
    int64_t since_ms; /* when it came */
    struct ist_uid_challenge challenge;
    bool is_last;   /* what is queued is all that it gets */
    bool is_closed; /* to be freed */
    char *in, *out; /* bytes received and not yet a frame; bytes not yet sent */
    size_t in_used, in_room, out_used, out_room;
};

struct ist_uid_kept { /* what a PE has put */
    struct ist_uid_kept *next;
    uint32_t value_bytes;
    char *key;
    void *value;
};

struct ist_uid_waiter { /* a look-up of what is not there yet */
    struct ist_uid_waiter *next;
    struct ist_uid_connection *connection;
    uint32_t id;
    int pe;
    char key[IST_UID_KEY_MAX + 1];
};

struct ist_uid_member {
    struct ist_uid_connection *connection; /* NULL: not yet, or not any more */
    struct ist_uid_hello hello;
    bool has_joined, has_arrived, has_left;
    struct ist_uid_kept *kept;
};

struct ist_uid_job {
    int n_pes; /* 0: nobody has come so far */
    int n_joined, n_arrived, n_left;
    int server_pe; /* -1: this process is none of the PEs */
    struct ist_uid_member *members;
    struct ist_uid_waiter *waiters;
    bool has_failed, has_reporter; /* somebody was asked to report why */
    int code;                      /* with which a failed job ends */
    char why[400];
    int64_t deadline_ms; /* -1: nothing that has to happen by then */
};

struct ist_uid_server {
    struct ist_uid_server *next;
    struct ist_uid uid;
    uint64_t timeout_s;
    int listener, events;
    pthread_t thread;
    struct ist_uid_connection *connections; /* the newest one first */
    int n_strangers;
    bool is_deaf; /* does not accept for a moment */
    struct ist_uid_job job;
    bool is_busy, is_done; /* under the lock of uid_server.c: PEs have come and it is not over; the thread has ended */
};

/* uid_connection.c: hand a frame to a connection; what cannot be sent at once is kept. */
void ist_uid_queue(struct ist_uid_server *server, struct ist_uid_connection *connection,
                   const struct ist_uid_head *head, const void *value);

bool ist_uid_has_output(const struct ist_uid_server *server); /* for PEs of the job */

/* What a connection has sent; the frames that it completes are dealt with. false: it is not of ours, and to be closed. */
bool ist_uid_take(struct ist_uid_server *server, struct ist_uid_connection *connection, const void *bytes,
                  size_t n_bytes);

void ist_uid_accept(struct ist_uid_server *server);
struct ist_uid_connection *ist_uid_connect(struct ist_uid_server *server, int fd); /* a new stranger; NULL: no memory */
void ist_uid_serve(struct ist_uid_server *server, struct ist_uid_connection *connection, uint32_t events);
void ist_uid_sweep(struct ist_uid_server *server); /* free what is closed; strangers that took too long go */
bool ist_uid_needs_sweep(const struct ist_uid_server *server); /* also when nothing happens */
void ist_uid_connections_fini(struct ist_uid_server *server);

/* uid_job.c */
void ist_uid_job_frame(struct ist_uid_server *server, struct ist_uid_connection *connection,
                       const struct ist_uid_head *head, const char *key, const void *value);
void ist_uid_job_lost(struct ist_uid_server *server, struct ist_uid_connection *connection);
void ist_uid_job_late(struct ist_uid_server *server); /* the deadline has passed */
bool ist_uid_job_is_over(const struct ist_uid_server *server);
void ist_uid_job_fini(struct ist_uid_job *job);

#endif
