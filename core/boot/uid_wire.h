/* core/boot/uid_wire.h: what the PEs of a unique-id job and its servers send to each other: frames over TCP, and over Unix sockets
 * inside a host.
 * The servers are a tree of two levels. The root is in the process that made the id. On every other host the first PE that
 * comes serves the PEs there: it is their leader, and has the only connection of that host to the root. What a leader passes
 * on for one of its PEs has the number of that PE in the head.
 * A frame is a head, then a key, then a value. Heads are in the byte order of the machine, and a machine of the other order
 * fails the check of the version in the first frame.
 * The first three frames of every connection show each end that the other knows the id's secret, which itself never goes over
 * the wire: the server sends a number drawn for this connection, the PE a tag over that and over all that it says of itself,
 * with a number of its own, and the server a tag over both. What was recorded once is of no use on another connection. Until
 * then neither end takes more than these few bytes, nor prints a word of them. */
#ifndef IST_BOOT_UID_WIRE_H
#define IST_BOOT_UID_WIRE_H

#include "core/base/mac.h"
#include "core/boot/uid.h"

enum { IST_UID_PROTOCOL = 0x49530004, IST_UID_KEY_MAX = 128, IST_UID_VALUE_MAX = 64 << 20 };

enum ist_uid_frame_type {
    /* PE to server; leader to root, with the PE in the head */
    IST_UID_HELLO = 1, /* value: struct ist_uid_hello */
    IST_UID_PUT,       /* key, value. Between leader and root, either way: the answer to GET; pe: whose value it is */
    IST_UID_GET, /* pe, key, id: answered by VALUE with the same id, when there is one. Between leader and root: by PUT */
    IST_UID_FORGET, /* key: as if it had not been put. Between leader and root: copies of that key of pe are stale */
    IST_UID_ARRIVE, /* at the exchange: answered by ALL_HERE when all PEs have arrived */
    IST_UID_ABORT,  /* code: all are to end with it; answered by END */
    IST_UID_LEAVE,  /* answered by BYE, the last frame */
    /* leader to root */
    IST_UID_JOIN, /* value: the hello of a PE that has shown the leader that it knows the secret */
    IST_UID_LOST, /* the connection of that PE has ended, and it had not left */
    /* server to PE, root to leader */
    IST_UID_CHALLENGE, /* value: struct ist_uid_challenge; the first frame of all */
    IST_UID_STRANGER,  /* the PE has not shown that it knows the secret; the last frame */
    IST_UID_PROOF, /* value: a tag, by which the server shows that it does; pe: the leader that serves, -1: the root */
    IST_UID_WELCOME, /* pe: that of the process of the root, -1: none; value: where all PEs are, see below */
    IST_UID_REFUSED, /* id, value: as in END, and the last frame; pe: as in END, to a leader the PE that is refused */
    IST_UID_VALUE,
    IST_UID_ALL_HERE,
    IST_UID_END, /* pe, code; value: text, empty: PE `pe` wants it so; id 1: the receiver is the one to report it */
    IST_UID_BYE,
    IST_UID_FRAME_TYPES
};

struct ist_uid_head {
    uint32_t type, id;
    int32_t pe, code;
    uint32_t key_bytes, value_bytes;
};

enum { IST_UID_NONCE_BYTES = 16 };

struct ist_uid_challenge {
    uint32_t protocol;
    uint8_t nonce[IST_UID_NONCE_BYTES];
};

enum ist_uid_role {
    IST_UID_PE,     /* of the job */
    IST_UID_LEADER, /* PE `pe`, for the PEs of its host: the connection is that of its server */
    IST_UID_ORPHAN  /* a PE whose leader has ended: it asks why the job ends; answered by REFUSED */
};

struct ist_uid_hello {
    uint8_t nonce[IST_UID_NONCE_BYTES];
    int32_t role; /* enum ist_uid_role */
    int32_t pe, n_pes, pid;
    uint32_t started; /* of base/process.h */
    struct isthmus_host_id host;
    char host_name[64];
    uint8_t tag[IST_TAG_BYTES]; /* over the challenge and all of the above */
};

/* The value of a WELCOME: this head, the host of each PE as runs of PEs that follow one another, and the PEs of the receiver's
 * host, by ascending number. Hosts are numbered in the order of their first PEs. */
struct ist_uid_welcome {
    int32_t n_runs, n_neighbours;
};

struct ist_uid_run {
    int32_t host, n_pes;
};

/* A PE of the same host, and which process it is, in the process numbers of its own container. */
struct ist_uid_neighbour {
    int32_t pe, pid;
    uint32_t started;
};

/* uid_proof.c: the two tags. */
void ist_uid_tag_hello(const struct ist_uid *uid, const struct ist_uid_challenge *challenge,
                       const struct ist_uid_hello *hello, uint8_t out[IST_TAG_BYTES]);
void ist_uid_tag_server(const struct ist_uid *uid, const struct ist_uid_challenge *challenge,
                        const struct ist_uid_hello *hello, uint8_t out[IST_TAG_BYTES]);

/* Milliseconds since some point in the past. */
int64_t ist_uid_now_ms(void);

/* A whole frame, however many writes that takes. false: the connection is lost, errno says why. */
bool ist_uid_send(int fd, const struct ist_uid_head *head, const char *key, const void *value);

/* Wait for a whole frame; *value is malloc'ed and ends with a zero byte that does not count; keys do not come this way, and no
 * value of more than max_bytes. deadline_ms of ist_uid_now_ms(), -1: none. false: lost, too late (errno is ETIMEDOUT) or not a
 * frame of ours (EPROTO). */
bool ist_uid_receive(int fd, int64_t deadline_ms, uint32_t max_bytes, struct ist_uid_head *head, void **value);

/* Is this the value of a WELCOME to `pe`? Its host has exactly the neighbours that are listed. */
bool ist_uid_welcome_check(const void *value, size_t value_bytes, int pe, int n_pes);

/* Of one that is good. */
const struct ist_uid_run *ist_uid_welcome_runs(const void *value);
const struct ist_uid_neighbour *ist_uid_welcome_neighbours(const void *value);

#endif
