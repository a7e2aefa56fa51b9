/* core/boot/uid_server_priv.h: shared by the files of a unique id's server: uid_server.c has the thread,
 * uid_connection.c the connections, uid_store.c the stored values, uid_job.c the root's handling of frames,
 * uid_leader.c a leader's. All of it belongs to the server's thread unless noted. */
#ifndef IST_BOOT_UID_SERVER_PRIV_H
#define IST_BOOT_UID_SERVER_PRIV_H

#include "core/boot/uid_wire.h"

#include <pthread.h>
#include <stddef.h>

struct ist_uid_server;

enum ist_uid_link {
    IST_UID_FROM_STRANGER,
    IST_UID_FROM_APPLICANT, /* it knows the secret, but is not, or not yet, a PE of the job */
    IST_UID_FROM_PE,
    IST_UID_FROM_LEADER, /* in the root: the leader of a host */
    IST_UID_FROM_ROOT    /* in a leader */
};

struct ist_uid_connection {
    struct ist_uid_connection *next, *before;
    struct ist_uid_connection *next_closed;
    int fd;
    enum ist_uid_link link;
    int pe;           /* of a PE or a leader, or as an applicant claims; -1: a stranger */
    int64_t since_ms; /* when it connected */
    struct ist_uid_challenge challenge;
    struct isthmus_host_id host; /* of a peer that knows the secret */
    int n_behind;                /* PEs of the job behind this connection */
    unsigned n_awaited;          /* its look-ups of missing values */
    bool is_last;                /* it gets what is queued and no more */
    bool is_closed;              /* to be freed */
    char *in, *out;              /* bytes received and not yet a frame; bytes not yet sent */
    size_t in_used, in_room, out_used, out_room;
};

/* ---- uid_store.c: stored values, and look-ups ---- */

struct ist_uid_waiter { /* a look-up of a value that is not there yet */
    struct ist_uid_waiter *next;
    struct ist_uid_connection *connection;
    uint32_t id;
};

struct ist_uid_entry {
    struct ist_uid_entry *next;             /* in the same bucket */
    struct ist_uid_entry *newer, **link_of; /* among the copies: the next one, and the pointer to this one */
    int pe;
    bool has_value;
    bool is_copy;   /* another server has the original */
    bool is_shared; /* another server may have a copy */
    uint32_t value_bytes;
    void *value;
    struct ist_uid_waiter *waiters;
    char key[IST_UID_KEY_MAX + 1];
};

struct ist_uid_store {
    struct ist_uid_entry **buckets;
    size_t n_buckets, n_entries;
    struct ist_uid_entry *oldest_copy, **newest_copy; /* NULL, NULL: there is none */
    size_t copied_bytes;
};

/* Stores a value of a PE of this server, or a copy that another server has sent. A value under the same key is
 * replaced, and copies of it elsewhere are dropped before the next exchange completes. */
void ist_uid_put(struct ist_uid_server *server, int pe, const char *key, const void *value, uint32_t value_bytes,
                 bool is_copy);

/* Replies to a look-up now or later. `from` is the server of the original if that is not this one: it gets one request,
 * however many look-ups wait. */
void ist_uid_get(struct ist_uid_server *server, struct ist_uid_connection *connection, const struct ist_uid_head *head,
                 const char *key, struct ist_uid_connection *from);

/* Drops a value, and copies of it elsewhere but in `source` (NULL: everywhere). */
void ist_uid_remove(struct ist_uid_server *server, int pe, const char *key, const struct ist_uid_connection *source);

void ist_uid_stop_waiting(struct ist_uid_server *server, struct ist_uid_connection *connection);
void ist_uid_store_fini(struct ist_uid_store *store);

/* ---- the job, as its root or a leader knows it ---- */

struct ist_uid_member {
    /* its own, or that of its leader; NULL before it connects and after it is lost */
    struct ist_uid_connection *connection;
    struct ist_uid_hello hello;
    bool has_joined, has_arrived, has_left;
    int32_t word;    /* with which it has arrived */
    bool is_awaited; /* the job has failed, and this PE gets the reason when it connects: ist_uid_job_awaits */
};

struct ist_uid_job {
    int n_pes; /* 0: no PE has connected yet */
    int n_joined, n_arrived, n_left, n_awaited;
    int server_pe; /* -1: this process is none of the PEs */
    struct ist_uid_member
        *members; /* by PE; a leader's has only those of its host, and untouched pages take no memory */
    bool has_failed, has_reporter; /* a PE was chosen to report the reason */
    bool is_late;                  /* the time to join has passed */
    int code;                      /* exit code of a failed job */
    char why[IST_UID_WHY_MAX + 1];
    int64_t deadline_ms; /* -1: no deadline */
};

struct ist_uid_server {
    struct ist_uid_server *next;
    struct ist_uid uid;
    struct ist_uid_patience patience;
    int listener, events;
    int spare;     /* in a root, a descriptor that is given up for the reason why there are too few; -1: none */
    int own_pe;    /* that this process is about to become; -1: none. Set by the thread that joins */
    int own_n_pes; /* of its job; 0: unknown. Set likewise */
    pthread_t thread;
    struct ist_uid_connection *connections; /* the newest one first */
    struct ist_uid_connection *closed;      /* to be freed */
    struct ist_uid_connection *root;        /* a leader's connection to it; NULL: this is the root, or it is lost */
    /* is_welcome, in a leader: the root has announced that all PEs have joined */
    bool is_leader, is_welcome;
    char root_name[160]; /* in a leader, for messages */
    int n_strangers;
    int64_t next_sweep_ms; /* closes strangers that took too long */
    int64_t deaf_until_ms; /* accepts no connection until then; 0: does */
    int n_short;           /* so many times in turn there was no memory for a connection */
    struct ist_uid_store store;
    struct ist_uid_job job;
    uint64_t n_frames, n_connections; /* received; of the job */
    /* Under the lock of uid_server.c: PEs need this process; the thread has ended. */
    bool is_busy, is_done;
};

/* ---- uid_connection.c ---- */

/* Queues a frame on a connection; what cannot be sent at once is kept. key and value may be NULL if their lengths are
 * 0. */
void ist_uid_queue(struct ist_uid_server *server, struct ist_uid_connection *connection,
                   const struct ist_uid_head *head, const char *key, const void *value);

bool ist_uid_has_output(const struct ist_uid_server *server); /* for PEs of the job */

/* Takes received bytes and handles the frames that they complete. Returns false if they are not of this protocol; the
 * caller closes the connection. */
bool ist_uid_take(struct ist_uid_server *server, struct ist_uid_connection *connection, const void *bytes,
                  size_t n_bytes);

/* Checks the tag of a HELLO. If it is right, the connection becomes an applicant and gets this server's proof;
 * otherwise it gets STRANGER and is closed. */
bool ist_uid_prove(struct ist_uid_server *server, struct ist_uid_connection *connection, struct ist_uid_hello *hello);

void ist_uid_accept(struct ist_uid_server *server);
struct ist_uid_connection *ist_uid_connect(struct ist_uid_server *server, int fd); /* a new stranger; NULL: no memory */
struct ist_uid_connection *ist_uid_connect_root(struct ist_uid_server *server, int fd); /* the same, proven already */
void ist_uid_serve(struct ist_uid_server *server, struct ist_uid_connection *connection, uint32_t events);
void ist_uid_sweep(struct ist_uid_server *server); /* frees closed connections; closes strangers that took too long */
bool ist_uid_needs_sweep(const struct ist_uid_server *server); /* also without events */
void ist_uid_connections_fini(struct ist_uid_server *server);

/* ---- uid_job.c, uid_leader.c ---- */

void ist_uid_job_frame(struct ist_uid_server *server, struct ist_uid_connection *connection,
                       const struct ist_uid_head *head, const char *key, const void *value);
void ist_uid_job_lost(struct ist_uid_server *server, struct ist_uid_connection *connection);
void ist_uid_job_late(struct ist_uid_server *server); /* the deadline has passed */
/* PEs have all descriptors, and more want to connect. */
void ist_uid_job_full(struct ist_uid_server *server);
bool ist_uid_job_is_over(const struct ist_uid_server *server);
/* Returns true if PEs have still to connect to be notified that the job has failed. */
bool ist_uid_job_awaits(const struct ist_uid_job *job);
void ist_uid_job_fini(struct ist_uid_job *job);

void ist_uid_leader_frame(struct ist_uid_server *server, struct ist_uid_connection *connection,
                          const struct ist_uid_head *head, const char *key, const void *value);
void ist_uid_leader_lost(struct ist_uid_server *server, struct ist_uid_connection *connection);
bool ist_uid_leader_is_over(const struct ist_uid_server *server);

/* The job fails, because this server has no memory for so many bytes. */
void ist_uid_no_memory(struct ist_uid_server *server, size_t n_bytes);
/* The same in a leader, for this reason, which a PE of its host reports. */
void ist_uid_leader_fail(struct ist_uid_server *server, const char *fmt, ...) IST_PRINTF(2, 3);

/* The job fails: queues the reason on all connections of the job. If report is true, the first one reports it. The
 * connection of PE `pe`, and then that of this process, get it last, because these processes end on receipt. */
void ist_uid_spread_end(struct ist_uid_server *server, int pe, bool report);

/* Replies to a newcomer after that. pe: head.pe */
void ist_uid_refuse(struct ist_uid_server *server, struct ist_uid_connection *connection, int pe);

#endif
