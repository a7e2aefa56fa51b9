/* core/boot/uid_wire.h: what the PEs of a unique-id job and its servers send to each other: frames over TCP, and over
 * Unix sockets inside a host.
 * The servers are a tree of two levels. The root is in the process that made the id. On every other host the first PE
 * that connects serves the PEs there: it is their leader, and has the only connection of that host to the root. A
 * leader puts the number of its PE into the head of each frame that it passes on.
 * A frame is a head, then a key, then a value. Heads are in the byte order of the machine; a machine of the other order
 * fails the version check in the first frame.
 * The first three frames of every connection prove to each end that the other knows the id's secret, which itself never
 * goes over the wire: the server sends a nonce, the PE a tag over that nonce, a nonce of its own and its description,
 * and the server a tag over both. A recorded frame is of no use on another connection. Until then neither end accepts
 * more than these few bytes, nor prints any of them. */
#ifndef IST_BOOT_UID_WIRE_H
#define IST_BOOT_UID_WIRE_H

#include "core/base/mac.h"
#include "core/boot/uid.h"

/* IST_UID_WHY_MAX: the longest reason of an end. Both ends have room for it at any time, because the reason may be that
 * there is no more memory. */
enum { IST_UID_PROTOCOL = 0x49530005, IST_UID_KEY_MAX = 128, IST_UID_VALUE_MAX = 64 << 20, IST_UID_WHY_MAX = 399 };

enum ist_uid_frame_type {
    /* PE to server; leader to root, with the PE in the head */
    IST_UID_HELLO = 1, /* value: struct ist_uid_hello */
    /* key, value. Between leader and root, in either direction: the reply to GET; pe: the owner of the value */
    IST_UID_PUT,
    /* pe, key, id: the reply is VALUE with the same id, once there is one. Between leader and root: PUT */
    IST_UID_GET,
    IST_UID_FORGET, /* key: removes it. Between leader and root: copies of that key of pe are stale */
    IST_UID_ARRIVE, /* code: the PE's word; the reply is ALL_HERE when all PEs have arrived */
    IST_UID_ABORT,  /* code: all PEs must end with it; the reply is END */
    IST_UID_LEAVE,  /* the reply is BYE, the last frame */
    /* leader to root */
    IST_UID_JOIN, /* value: the hello of a PE that has proved to the leader that it knows the secret */
    IST_UID_LOST, /* the connection of that PE has ended before it left */
    /* server to PE, root to leader */
    IST_UID_CHALLENGE, /* value: struct ist_uid_challenge; the first frame of all */
    IST_UID_STRANGER,  /* the PE has not proved that it knows the secret; the last frame */
    IST_UID_PROOF,     /* value: the server's proof, a tag; pe: the leader that serves, -1: the root */
    IST_UID_WELCOME,   /* pe: that of the root's process, -1: none; value: the host of every PE, see below */
    /* id, value: as in END, and the last frame; pe: as in END, to a leader the PE that is refused */
    IST_UID_REFUSED,
    IST_UID_VALUE,
    IST_UID_ALL_HERE, /* pe: the one that is odd (boot.h) */
    /* pe, code; value: the reason, empty if PE `pe` requested the end; id 1: the receiver reports it */
    IST_UID_END,
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
    /* a PE whose leader has ended requests why the job ends; the reply is REFUSED */
    IST_UID_ORPHAN,
    /* a PE that cannot join, and reports why itself; the reply is REFUSED */
    IST_UID_FAILED
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

/* The value of a WELCOME: this head, the host of each PE as runs of consecutive PEs, and the PEs of the receiver's host
 * in ascending order. Hosts are numbered in the order of their first PEs. */
struct ist_uid_welcome {
    int32_t n_runs, n_neighbours;
};

struct ist_uid_run {
    int32_t host, n_pes;
};

/* A PE of the same host: its process, as numbered in its own container. */
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

/* Sends a whole frame in as many writes as needed. Returns false if the connection is lost; errno is set. */
bool ist_uid_send(int fd, const struct ist_uid_head *head, const char *key, const void *value);

/* Waits for a whole frame, or for its head, and then for its value, which ends with a zero byte that does not count.
 * out has room for max_bytes, or the length in the head, and one more; NULL: the value is dropped. A frame with a key,
 * or with a value of more than max_bytes, is invalid here. deadline_ms is in ist_uid_now_ms() time, -1: none. Returns
 * false if the connection is lost, the deadline passes (errno is ETIMEDOUT) or the frame is invalid (EPROTO). */
bool ist_uid_receive(int fd, int64_t deadline_ms, uint32_t max_bytes, struct ist_uid_head *head, char *out);
bool ist_uid_receive_head(int fd, int64_t deadline_ms, uint32_t max_bytes, struct ist_uid_head *head);
bool ist_uid_receive_value(int fd, int64_t deadline_ms, const struct ist_uid_head *head, char *out);

/* Returns true if this is a valid value of a WELCOME to `pe`: its host has exactly the neighbours that are listed. */
bool ist_uid_welcome_check(const void *value, size_t value_bytes, int pe, int n_pes);

/* For a valid one. */
const struct ist_uid_run *ist_uid_welcome_runs(const void *value);
const struct ist_uid_neighbour *ist_uid_welcome_neighbours(const void *value);

/* ---- how a PE connects to its server (uid_join.c); the use of the connection: boot_uid.c ---- */

struct ist_uid_way {
    int fd;
    int leader;  /* the PE that serves there, -1: the root */
    bool is_own; /* the leader is this process */
};

/* Connects to the server at the addresses of an id. Returns a blocking socket, or -1 with errno set. */
int ist_uid_reach(const struct ist_uid *uid, const struct isthmus_host_id *here, int64_t deadline_ms);

/* Connects, and proves the secret both ways: to the root on its host, on others to the leader, which this PE becomes if
 * it is the first one there. The next frame is a WELCOME or a failure of the job. */
isthmus_status ist_uid_join(const struct ist_uid_seat *seat, struct ist_uid_way *out);

/* After the leader has ended: requests from the root why the job ends; why has room for IST_UID_WHY_MAX bytes and one
 * more. Returns false if the root does not reply. */
bool ist_uid_request_reason(const struct ist_uid_seat *seat, struct ist_uid_head *head, char *why);

/* This PE cannot join, for example because it may have no further descriptor: the job ends, and the other PEs need not
 * wait for it. */
void ist_uid_give_up(const struct ist_uid_seat *seat);

/* Converts one of a seat's times to wait; 0, which sets no bound, becomes some days. */
int ist_uid_wait_ms(uint64_t timeout_s);

/* Detects a host that is gone. */
void ist_uid_keep_alive(int fd);

/* Sets seat->root_name from the id. */
void ist_uid_name_root(struct ist_uid_seat *seat);

/* Reports that the server sent an invalid frame, or none, by errno. `server`: for the message. */
isthmus_status ist_uid_fail_answer(const char *server);

#endif
