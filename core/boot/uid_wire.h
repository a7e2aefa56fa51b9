/* core/boot/uid_wire.h: what the PEs of a unique-id job and its server say to each other: frames over TCP.
 * A frame is a head, then a key, then a value. Heads are in the byte order of the machine, and a machine of the other order
 * fails the check of the version in the first frame.
 * The first three frames show each end that the other knows the id's secret, which itself never goes over the wire: the server
 * sends a number drawn for this connection, the PE a tag over that and over all that it says of itself, with a number of its
 * own, and the server a tag over both. What was recorded once is of no use on another connection. Until then neither end takes
 * more than these few bytes, nor prints a word of them. */
#ifndef IST_BOOT_UID_WIRE_H
#define IST_BOOT_UID_WIRE_H

#include "core/base/mac.h"
#include "core/boot/uid.h"

enum { IST_UID_PROTOCOL = 0x49530003, IST_UID_KEY_MAX = 128, IST_UID_VALUE_MAX = 64 << 20 };

enum ist_uid_frame_type {
    /* PE to server */
    IST_UID_HELLO = 1, /* value: struct ist_uid_hello */
    IST_UID_PUT,       /* key, value */
    IST_UID_GET,       /* pe, key, id: answered by VALUE with the same id, when there is one */
    IST_UID_ARRIVE,    /* at the exchange: answered by ALL_HERE when everybody has */
    IST_UID_ABORT,     /* code: all are to end with it; answered by END */
    IST_UID_LEAVE,     /* answered by BYE, the last frame */
    /* server to PE */
    IST_UID_CHALLENGE, /* value: struct ist_uid_challenge; the first frame of all */
    IST_UID_STRANGER,  /* the PE has not shown that it knows the secret; the last frame */
    IST_UID_PROOF,     /* value: a tag, by which the server shows that it does */
    IST_UID_WELCOME, /* pe: that of the process that serves, -1: none; value: the PEs of this PE's host, ist_uid_neighbour each */
    IST_UID_REFUSED, /* id, value: as in END, and the last frame */
    IST_UID_VALUE,
    IST_UID_ALL_HERE,
    IST_UID_END, /* pe, code; value: text, empty: PE `pe` wants it so; id 1: the receiver is the one to report it */
    IST_UID_BYE
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

struct ist_uid_hello {
    uint8_t nonce[IST_UID_NONCE_BYTES];
    int32_t pe, n_pes, pid;
    uint32_t started; /* of base/process.h */
    struct isthmus_host_id host;
    char host_name[64];
    uint8_t tag[IST_TAG_BYTES]; /* over the challenge and all of the above */
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

/* The value of a WELCOME: PEs by ascending number, `pe` among them. false: it is damaged. */
bool ist_uid_welcome_check(const void *value, size_t value_bytes, int pe, int n_pes);

#endif
