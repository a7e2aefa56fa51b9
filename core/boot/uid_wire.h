/* core/boot/uid_wire.h: what the PEs of a unique-id job and its server say to each other: frames over TCP.
 * A frame is a head, then a key, then a value. Both ends are of one job, and checked for the same version with the first
 * frame; heads are in the byte order of the machine, and a machine of the other order fails that check. */
#ifndef IST_BOOT_UID_WIRE_H
#define IST_BOOT_UID_WIRE_H

#include "core/boot/uid.h"

enum { IST_UID_PROTOCOL = 0x49530001, IST_UID_KEY_MAX = 128, IST_UID_VALUE_MAX = 64 << 20 };

enum ist_uid_frame_type {
    /* PE to server */
    IST_UID_HELLO = 1, /* value: struct ist_uid_hello */
    IST_UID_PUT,       /* key, value */
    IST_UID_GET,       /* pe, key, id: answered by VALUE with the same id, when there is one */
    IST_UID_ARRIVE,    /* at the exchange: answered by ALL_HERE when everybody has */
    IST_UID_ABORT,     /* code: all are to end with it; answered by END */
    IST_UID_LEAVE,     /* answered by BYE, the last frame */
    /* server to PE */
    IST_UID_WELCOME, /* pe: that of the process that serves, -1: none; value: numbers of the PEs of this PE's host */
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

struct ist_uid_hello {
    uint32_t protocol;
    int32_t pe, n_pes, pid;
    uint8_t secret[IST_UID_SECRET_BYTES];
    struct isthmus_host_id host;
    char host_name[64];
};

/* Milliseconds since some point in the past. */
int64_t ist_uid_now_ms(void);

/* A whole frame, however many writes that takes. false: the connection is lost, errno says why. */
bool ist_uid_send(int fd, const struct ist_uid_head *head, const char *key, const void *value);

/* Wait for a whole frame; *value is malloc'ed and ends with a zero byte that does not count; keys do not come this way.
 * deadline_ms of ist_uid_now_ms(), -1: none. false: lost, too late (errno is ETIMEDOUT) or not a frame of ours. */
bool ist_uid_receive(int fd, int64_t deadline_ms, struct ist_uid_head *head, void **value);

#endif
