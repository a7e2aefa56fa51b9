/* core/boot/uid_join.h: how a PE connects to its server in a job of a unique id. The use of the connection:
 * boot_uid.c. */
#ifndef IST_BOOT_UID_JOIN_H
#define IST_BOOT_UID_JOIN_H

#include "core/boot/uid_wire.h"

struct ist_uid_way {
    int fd;
    int leader;  /* the PE that serves there, -1: the root */
    bool is_own; /* the leader is this process */
};

/* Connects, and proves the secret both ways: to the root on its host, on others to the leader, which this PE becomes if
 * it is the first one there. The next frame is a WELCOME or a failure of the job. */
isthmus_status ist_uid_join(const struct ist_uid_seat *seat, struct ist_uid_way *out);

/* After the leader has ended: requests from the root why the job ends. *value is malloc'ed. Returns false if the root
 * does not reply. */
bool ist_uid_ask_why(const struct ist_uid_seat *seat, struct ist_uid_head *head, void **value);

/* Returns how long a PE waits for others. */
int ist_uid_patience_ms(const struct ist_uid_seat *seat);

/* Sets seat->root_name from the id. */
void ist_uid_name_root(struct ist_uid_seat *seat);

/* Reports that the server sent an invalid frame, or none, by errno. `server`: for the message. */
isthmus_status ist_uid_fail_answer(const char *server);

#endif
