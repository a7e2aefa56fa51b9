/* core/boot/uid.h: unique ids: 124 bytes that name a job about to start, and the address at which its PEs find each
 * other.
 * Neither the bootstrap that uses one (boot_uid.c) nor the wire format (uid_wire.h).
 * The process that makes an id serves it from a thread of its own until every PE has left: it is the root of a tree of
 * servers. The PEs of its host and one PE of every other host, the leader there, keep a connection each to it. A
 * leader's thread serves the other PEs of its host. Servers reply to look-ups; the root counts arrivals and reports a
 * lost PE to all. */
#ifndef IST_BOOT_UID_H
#define IST_BOOT_UID_H

#include "core/base/config.h"

#include <stdbool.h>

enum { IST_UID_FORMAT = 1, IST_UID_SECRET_BYTES = 16, IST_UID_MAX_ADDRESSES = 4 };

/* Bytes only, so that it can be copied between machines. Numbers are in network order. */
struct ist_uid_address {
    uint8_t family; /* 4 or 6 */
    uint8_t bytes[16];
};

struct ist_uid {
    uint8_t format;
    /* The address was agreed on beforehand, and PE 0 serves. 1: there, 2: at all addresses of its host. */
    uint8_t is_session;
    uint8_t port[2];
    uint8_t pid[4]; /* of the process that serves, for messages */
    uint8_t secret[IST_UID_SECRET_BYTES];
    struct isthmus_host_id host; /* of that process */
    uint8_t n_addresses;
    struct ist_uid_address addresses[IST_UID_MAX_ADDRESSES]; /* the best one first */
    uint8_t unused[7];
};
_Static_assert(sizeof(struct ist_uid) == 124, "what fits into an id of the APIs");

/* Makes a new id, served from now on by a thread of this process, or, with ISTHMUS_UID_SESSION, an id for the address
 * in that variable. */
isthmus_status ist_uid_create(const struct ist_config *config, struct ist_uid *out);

/* A short name of the job, for messages: the same on all processes that hold the id. */
enum { IST_UID_NAME_BYTES = 24 };
void ist_uid_name(const struct ist_uid *uid, char out[IST_UID_NAME_BYTES]);

/* The name of the socket of a host's leader, which cannot be guessed before the socket exists. */
enum { IST_UID_GATE_BYTES = 48 };
void ist_uid_gate_name(const struct ist_uid *uid, const struct isthmus_host_id *host, char out[IST_UID_GATE_BYTES]);

/* ---- parts ---- */

/* uid_address.c: the addresses of this host (for an id), and the address that an id leads to. */
struct sockaddr_storage;
isthmus_status ist_uid_find_addresses(const struct ist_config *config, struct ist_uid *uid);
/* An id for "host:port", where PE 0 serves; `variable` has that text, for messages. */
isthmus_status ist_uid_parse_session(const struct ist_config *config, const char *variable, const char *text,
                                     struct ist_uid *uid);
isthmus_status ist_uid_session_secret(const char *text, uint8_t out[IST_UID_SECRET_BYTES]);
bool ist_uid_cut_session(const char *text, char *host, size_t room, const char **port); /* "host:port", "[::1]:port" */
unsigned ist_uid_sockaddr(const struct ist_uid *uid, unsigned index, struct sockaddr_storage *out); /* its length */
void ist_uid_describe(const struct ist_uid *uid, char *out, size_t room); /* "10.0.0.1 port 4711" */

/* uid_address.c: returns true if these bytes, which the program passed, are an id of this library. */
bool ist_uid_check(const struct ist_uid *uid);

/* How long PEs and servers wait. reply_s: for what another process does at once, as connecting; start_s: for all PEs to
 * join, or to arrive at an exchange, which takes as long as the slowest host needs; 0: no bound. */
struct ist_uid_patience {
    uint64_t reply_s, start_s;
};

/* uid_server.c: a socket that listens at the id's addresses and does not block. With port 0 the system chooses one,
 * which is stored in *uid. */
isthmus_status ist_uid_listen(struct ist_uid *uid, int *out);

/* uid_server.c: starts to serve. With port 0 the system chooses one, which is stored in *uid. */
isthmus_status ist_uid_server_start(struct ist_uid *uid, const struct ist_uid_patience *patience);

/* Before this process joins the job as PE `pe` of `n_pes`: if it serves the id, its server notes which PE it is. A
 * process number would not show it: PEs in containers may all have the number 1. */
void ist_uid_server_seat(const struct ist_uid *uid, int pe, int n_pes);

/* A PE's place in a job. */
struct ist_uid_seat {
    struct ist_uid uid;
    struct isthmus_host_id here;
    int pe, n_pes;
    struct ist_uid_patience patience;
    char root_name[160]; /* the process that serves, for messages */
};

/* uid_server.c: starts to serve the PEs of this host, with a listening socket for them and a connection to the root.
 * Both belong to the server then, or, after a failure, to the caller. */
isthmus_status ist_uid_leader_start(const struct ist_uid_seat *seat, int listener, int root);

/* Waits, timeout_ms at most, until all PEs of this process's servers have left or know that the job has failed, and
 * frees the servers that are done. */
void ist_uid_servers_wait(int timeout_ms);
void ist_uid_servers_forget(void); /* in a child after fork: closes inherited descriptors */

#endif
