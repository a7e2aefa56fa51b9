/* core/boot/uid_join.h: how a PE gets the connection to its server in a job of a unique id. Not what it is used for: boot_uid.c. */
#ifndef IST_BOOT_UID_JOIN_H
#define IST_BOOT_UID_JOIN_H

#include "core/boot/uid_wire.h"

struct ist_uid_way {
    int fd;
    int leader;  /* the PE that serves there, -1: the root */
    bool is_own; /* that is this process */
};

/* Connect, and show each other the secret: to the root on its host, on others to the leader, which this PE becomes when it is
 * the first one there. What comes next on the connection is a WELCOME or the news that the job has failed. */
isthmus_status ist_uid_join(const struct ist_uid_seat *seat, struct ist_uid_way *out);

/* The leader has ended: ask the root why the job ends. *value is malloc'ed. false: the root does not answer. */
bool ist_uid_ask_why(const struct ist_uid_seat *seat, struct ist_uid_head *head, void **value);

/* The time that a PE waits for others. */
int ist_uid_patience_ms(const struct ist_uid_seat *seat);

/* Into seat->root_name, from the id. */
void ist_uid_name_root(struct ist_uid_seat *seat);

/* Not a frame of ours, or none at all: errno says which. `server`: for the message. */
isthmus_status ist_uid_fail_answer(const char *server);

#endif
