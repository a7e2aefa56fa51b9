/* plugins/common/fd_pass_table.h: the table of a PE's offers, and descriptors taken out of its process by it. Memory
 * that its PE writes and its peers read, if it is shown: a memfd whose number in the PE, and whose inode, are on the
 * PE's card. What makes it safe to take descriptors so is in docs/security.md.
 *   fd_pass_table.c   the PE that offers       fd_pass_take.c   the PE that takes */
#ifndef ISTHMUS_FD_PASS_TABLE_H
#define ISTHMUS_FD_PASS_TABLE_H

#include "plugins/common/fd_pass.h"

#include <fcntl.h>
#include <stdbool.h>

enum { FD_PASS_TABLE_MAGIC = 0x49734674, FD_PASS_WHY_BYTES = 200 };

/* An offer. Its number is never reused, so a reader that finds the same one before and after has read one offer: the
 * number is written last, and removed before any other field of the row changes and before the descriptor is closed.
 * All fields by release and acquire. */
struct fd_pass_row {
    uint32_t id; /* 0: free */
    int32_t fd;  /* in the PE's process */
    uint64_t device, inode;
};

struct fd_pass_table {
    uint32_t magic, bytes;   /* of the table: builds whose rows differ have another size, and read none of each other */
    uint8_t countersign[16]; /* as on the card */
    struct fd_pass_row rows[FD_PASS_MAX_OFFERS];
};

/* ---- of the PE that offers; one call at a time ---- */

isthmus_status fd_pass_table_open(const struct isthmus_services *services, const uint8_t countersign[16],
                                  struct fd_pass_table **out);

/* Returns UNSUPPORTED if this system lacks a call that is needed; the table still serves its own PE. */
isthmus_status fd_pass_table_show(const struct isthmus_services *services, struct fd_pass_table *table,
                                  struct fd_pass_owner *out);
void fd_pass_table_close(struct fd_pass_table *table, struct fd_pass_owner *owner); /* takes NULL, and 0 in owner */

isthmus_status fd_pass_table_add(const struct isthmus_services *services, struct fd_pass_table *table, uint32_t id,
                                 int fd); /* duplicated. LIMIT: it is full */
void fd_pass_table_remove(struct fd_pass_table *table, uint32_t id);
uint32_t fd_pass_table_list(const struct fd_pass_table *table, uint32_t *ids, int *fds); /* how many */

/* ---- of the PE that takes: `why` has room for FD_PASS_WHY_BYTES, written on failure ---- */

/* PEER_LOST: the process has ended, or has closed its table. PERMISSION: of another user, not of this job, or not to be
 * traced. */
isthmus_status fd_pass_table_fetch(const struct fd_pass_address *address, struct fd_pass_bundle *out, char *why);
isthmus_status fd_pass_table_try(const struct fd_pass_address *address, char *why); /* the table alone */

/* ---- of both ---- */

enum { FD_PASS_TABLE_SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE }; /* only its PE writes */

/* Of the process whose folder in /proc this is: when it was started, in ticks, and its effective user. false: it is
 * gone. */
bool fd_pass_process_started(int proc_folder, uint64_t *out);
bool fd_pass_process_user(int proc_folder, uint32_t *out);
bool fd_pass_pid_namespace(uint64_t *out); /* of this process */

#endif
