/* core/boot/uid.h: unique ids: 124 bytes that name a job about to start, and where its PEs find each other.
 * Not the bootstrap that uses one (boot_uid.c), not what is said over the wire (uid_wire.h).
 * The process that makes an id serves it from a thread of its own until every PE has taken leave: it is the root of a tree of
 * servers, to which the PEs of its host and one PE of every other host, the leader there, keep a connection each. A leader's
 * thread serves the other PEs of its host. Servers answer look-ups; the root counts arrivals, and all hear of a PE that is lost. */
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
    uint8_t is_session; /* 1: the address was agreed on beforehand, and PE 0 serves */
    uint8_t port[2];
    uint8_t pid[4]; /* of the process that serves, for messages */
    uint8_t secret[IST_UID_SECRET_BYTES];
    struct isthmus_host_id host; /* of that process */
    uint8_t n_addresses;
    struct ist_uid_address addresses[IST_UID_MAX_ADDRESSES]; /* the best one first */
    uint8_t unused[7];
};
_Static_assert(sizeof(struct ist_uid) == 124, "what fits into an id of the APIs");

/* A new id, served from here on by a thread of this process, or, with ISTHMUS_UID_SESSION, one for the place that the variable
 * names. */
isthmus_status ist_uid_create(const struct ist_config *config, struct ist_uid *out);

/* A short name of the job, for messages and the like: the same on all that hold the id. */
enum { IST_UID_NAME_BYTES = 24 };
void ist_uid_name(const struct ist_uid *uid, char out[IST_UID_NAME_BYTES]);

/* The name of the socket of a host's leader: nobody guesses it before it is there. */
enum { IST_UID_GATE_BYTES = 48 };
void ist_uid_gate_name(const struct ist_uid *uid, const struct isthmus_host_id *host, char out[IST_UID_GATE_BYTES]);

/* ---- parts ---- */

/* uid_address.c: where this host can be reached (an id's addresses), and where an id leads to. */
struct sockaddr_storage;
isthmus_status ist_uid_find_addresses(const struct ist_config *config, struct ist_uid *uid);
isthmus_status ist_uid_parse_session(const struct ist_config *config, struct ist_uid *uid);
bool ist_uid_cut_session(const char *text, char *host, size_t room, const char **port); /* "host:port", "[::1]:port" */
unsigned ist_uid_sockaddr(const struct ist_uid *uid, unsigned index, struct sockaddr_storage *out); /* its length */
void ist_uid_describe(const struct ist_uid *uid, char *out, size_t room); /* "10.0.0.1 port 4711" */

/* uid_address.c: are these bytes, which the program handed over, an id of ours? */
bool ist_uid_check(const struct ist_uid *uid);

/* uid_server.c: begin to serve. Port 0: any, and the one taken goes into *uid. */
isthmus_status ist_uid_server_start(struct ist_uid *uid, uint64_t timeout_s);

/* A PE's place in a job. */
struct ist_uid_seat {
    struct ist_uid uid;
    struct isthmus_host_id here;
    int pe, n_pes;
    uint64_t timeout_s;
    char root_name[160]; /* the process that serves, for messages */
};

/* uid_server.c: begin to serve the PEs of this host, with a socket on which they come and a connection to the root. Both
 * belong to the server then, or, after a failure, to the caller. */
isthmus_status ist_uid_leader_start(const struct ist_uid_seat *seat, int listener, int root);

/* Wait until all PEs of the servers of this process have taken leave or know that the job has failed, timeout_ms at most, and free
 * what is done. */
void ist_uid_servers_wait(int timeout_ms);
void ist_uid_servers_forget(void); /* in a child after fork: close what was inherited */

#endif
