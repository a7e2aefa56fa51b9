/* core/boot/boot.h: who are my PEs, and how do we tell one another where we are? One interface, several bootstraps.
 * Not communication of the program: what goes through here is small and happens at start-up, on first use of a peer,
 * and at the end.
 * Bootstraps: boot_pmix.c (under a launcher), boot_uid.c (processes that share a unique id), boot_alone.c (one PE, no
 * launcher). */
#ifndef IST_BOOT_BOOT_H
#define IST_BOOT_BOOT_H

#include "core/base/config.h"
#include "core/boot/uid.h"

#include <stdbool.h>

typedef struct ist_boot ist_boot;

/* Teams have as many rounds of a doubling (IST_TEAM_ROUNDS of core/team/team.h); no bootstrap opens a larger job. */
enum { IST_BOOT_MOST_PES = 1 << 20 };

/* A node of the launcher's, and one of the PEs there. */
struct ist_boot_node {
    char *name; /* malloc'ed */
    int pe;
};

struct ist_boot_ops {
    const char *name;

    /* Publish `value` under `key` for other PEs, on their first use. With a unique id a value under the same key is replaced:
     * a PE that looks it up before the next exchange may get either; PMIx keeps the first one where it has been looked up. */
    isthmus_status (*put)(ist_boot *boot, const char *key, const void *value, size_t value_bytes);

    /* All PEs have arrived, and what each of them put before can be got by every other. */
    isthmus_status (*exchange)(ist_boot *boot);

    /* What `pe` put under `key`; *out is malloc'ed for the caller. May wait for that PE to put it. */
    isthmus_status (*get)(ist_boot *boot, int pe, const char *key, void **out, size_t *out_bytes);

    /* Drop what this PE put under `key`: the memory for it is free where the launcher can do that. NULL: it cannot. */
    isthmus_status (*remove)(ist_boot *boot, const char *key);

    /* On which node each PE is, n_pes numbers from 0 on, in the order of the nodes' first PEs; asks nobody on another node.
     * false, or NULL: the launcher does not say. */
    bool (*nodes)(ist_boot *boot, uint32_t *node_of);

    /* Up to `most` other nodes, as they follow this PE's in the order of PEs: how many. Asks nobody on another node; any thread.
     * NULL: the launcher does not say. */
    uint32_t (*next_nodes)(ist_boot *boot, struct ist_boot_node *out, uint32_t most);

    /* The launcher is to end all PEs with this exit code. Returns, if it does, before that has happened. */
    void (*abort)(ist_boot *boot, int exit_code);

    void (*close)(ist_boot *boot);
};

/* One of the launcher's processes, by its number in its own container and when it started (base/process.h). */
struct ist_boot_process {
    int32_t pid;
    uint32_t started;
};

struct ist_boot { /* first member of every bootstrap's own struct */
    const struct ist_boot_ops *ops;
    int pe, n_pes;
    int n_local;                              /* how many PEs the launcher has put on this PE's node */
    int *local_pes;                           /* their numbers, ascending; n_local entries */
    struct ist_boot_process *local_processes; /* of local_pes; NULL: the launcher does not say */
    uint32_t *node_of;                        /* ist_boot_nodes() */
    void (*look)(
        void); /* called four times a second, about, while a wait for the bootstrap lasts; NULL: nobody looks */
};

/* What the program says about its job. Zeroed: nothing, the environment describes it. */
struct ist_boot_request {
    int kind;           /* IST_BOOTSTRAP_AUTO or _UID */
    struct ist_uid uid; /* and this PE's part in it */
    int pe, n_pes;
};

/* Called from another thread when the job cannot go on: the launcher has died, or a PE. This PE is to end with `exit_code`;
 * `why` NULL: another PE wanted it so and has said why. */
typedef void ist_boot_lost(const char *why, int exit_code);

/* Join the job that the program, or else the environment, describes. With launcher variables but no way to reach the launcher: an
 * error, never a job of one. PEER_LOST: it failed for all PEs, and another one reports it. */
isthmus_status ist_boot_open(const struct ist_config *config, const struct ist_boot_request *request,
                             ist_boot_lost *lost, ist_boot **out);
void ist_boot_close(ist_boot *boot); /* takes NULL */

/* The node of each PE, by ops->nodes, which is asked once; until close. NULL: the launcher does not say. By one caller at a
 * time. */
const uint32_t *ist_boot_nodes(ist_boot *boot);
void ist_boot_forget_nodes(ist_boot *boot); /* when the answer is not needed any more: it would be asked for again */

/* How many PEs are on the node that has most of them: the same answer on every PE. The own node's, where the launcher does
 * not say it of others. */
int ist_boot_most_on_a_node(ist_boot *boot);

/* What is known before the bootstrap is open or when it cannot be: a name of the job ("" without one), and this PE's number
 * (-1: nobody has said). */
enum { IST_BOOT_JOB_BYTES = 80 };
void ist_boot_announced_job(const struct ist_boot_request *request, char out[IST_BOOT_JOB_BYTES]);
int ist_boot_announced_pe(const struct ist_boot_request *request);

isthmus_status ist_boot_pmix_open(ist_boot_lost *lost, ist_boot **out);
isthmus_status ist_boot_uid_open(const struct ist_config *config, const struct ist_boot_request *request,
                                 ist_boot_lost *lost, ist_boot **out);
isthmus_status ist_boot_alone_open(ist_boot **out);

/* At the end of the process: take leave of launcher and peers, so that they do not take the end for a crash; and serve
 * on for those that need this process, but not for ever. */
void ist_boot_leave(void);
void ist_boot_pmix_leave(void);
void ist_boot_uid_leave(void);

/* Before this process ends with a failed job: until the PEs that it serves know why, but not for ever. */
void ist_boot_tell(void);

/* In a child after fork: what is open belongs to the parent. */
void ist_boot_forget(void);
void ist_boot_uid_forget(void);

#endif
