/* core/boot/boot.h: the bootstrap: which PEs the job has, and how they publish values to each other. One interface,
 * several implementations.
 * It does not carry the program's data: its messages are small, sent at start-up, on first use of a peer, and at the
 * end.
 * Bootstraps: boot_pmix.c (a launcher with PMIx), boot_uid.c (processes that share a unique id; through boot_pmi.c and
 * boot_torch.c also those of other launchers), boot_alone.c (one PE, no launcher). launcher.h: which launcher. */
#ifndef IST_BOOT_BOOT_H
#define IST_BOOT_BOOT_H

#include "core/base/config.h"
#include "core/boot/uid.h"

#include <stdbool.h>

typedef struct ist_boot ist_boot;

/* A team has at most IST_TEAM_ROUNDS doubling rounds (core/team/team.h), so no bootstrap opens a larger job. */
enum { IST_BOOT_MOST_PES = 1 << 20 };

struct ist_boot_ops {
    const char *name;

    /* Publishes `value` under `key`; other PEs get it on first use. With a unique id a second put replaces the value: a
     * PE that gets the key before the next exchange may receive either; PMIx keeps the first one where it has been
     * fetched. */
    isthmus_status (*put)(ist_boot *boot, const char *key, const void *value, size_t value_bytes);

    /* Returns when all PEs have arrived; every value put before can then be got by every PE. */
    isthmus_status (*exchange)(ist_boot *boot);

    /* The same, and each PE passes a word: 0 if it has failed. *odd becomes the lowest PE that has, or else the lowest
     * one whose word is not PE 0's; -1 if there is none. NULL if the launcher passes no words on. */
    isthmus_status (*agree)(ist_boot *boot, uint32_t word, int *odd);

    /* Returns what `pe` put under `key`; *out is malloc'ed for the caller. May wait until that PE puts it. */
    isthmus_status (*get)(ist_boot *boot, int pe, const char *key, void **out, size_t *out_bytes);

    /* Removes what this PE put under `key`, and frees its memory where the launcher can. NULL if the launcher
     * cannot. */
    isthmus_status (*remove)(ist_boot *boot, const char *key);

    /* Sets node_of to the node of each PE, n_pes numbers from 0, in the order of the nodes' first PEs, without a
     * request to another node. Returns false if the launcher does not report nodes; the slot is NULL if it never
     * does. */
    bool (*nodes)(ist_boot *boot, uint32_t *node_of);

    /* Requests the launcher to end all PEs with this exit code. If it returns, the PEs may still be running. */
    void (*abort)(ist_boot *boot, int exit_code);

    void (*close)(ist_boot *boot);
};

/* A process of the launcher: its number in its own container, and its start time (base/process.h). */
struct ist_boot_process {
    int32_t pid;
    uint32_t started;
};

struct ist_boot { /* first member of every bootstrap's own struct */
    const struct ist_boot_ops *ops;
    int pe, n_pes;
    /* The PEs that the launcher has put on this PE's node: how many, and their numbers, ascending. */
    int n_local;
    int *local_pes;                           /* n_local entries */
    struct ist_boot_process *local_processes; /* of local_pes; NULL if the launcher does not report them */
    uint32_t *node_of;                        /* ist_boot_nodes() */
};

/* The program's description of its job. Zeroed: the environment describes it. */
struct ist_boot_request {
    int kind;           /* IST_BOOTSTRAP_AUTO or _UID */
    struct ist_uid uid; /* and this PE's place in the job */
    int pe, n_pes;
};

/* Called from another thread when the job cannot go on because the launcher or a PE has died. This PE must end with
 * `exit_code`. `why` is NULL if another PE requested the end and has reported the reason. */
typedef void ist_boot_lost(const char *why, int exit_code);

/* Joins the job that the program, or else the environment, describes. Returns an error, never a job of one, if launcher
 * variables are set but the launcher cannot be reached. Returns PEER_LOST if the start failed for all PEs and another
 * one reports it. */
isthmus_status ist_boot_open(const struct ist_config *config, const struct ist_boot_request *request,
                             ist_boot_lost *lost, ist_boot **out);
void ist_boot_close(ist_boot *boot); /* accepts NULL */

/* Returns the node of each PE, from one call of ops->nodes, valid until close; NULL if the launcher does not report
 * nodes. One caller at a time. */
const uint32_t *ist_boot_nodes(ist_boot *boot);
void ist_boot_forget_nodes(ist_boot *boot); /* frees the cached nodes; the next ist_boot_nodes() requests them again */

/* What is known of the job without an open bootstrap: its name ("" if it has none) and this PE's number (-1 if
 * unknown). */
enum { IST_BOOT_JOB_BYTES = 80 };
void ist_boot_announced_job(const struct ist_boot_request *request, char out[IST_BOOT_JOB_BYTES]);
int ist_boot_announced_pe(const struct ist_boot_request *request);

/* Returns true if a launcher ends all PEs at once when the first one ends. */
bool ist_boot_has_launcher(const struct ist_boot_request *request);

isthmus_status ist_boot_pmix_open(const struct ist_config *config, ist_boot_lost *lost, ist_boot **out);
isthmus_status ist_boot_uid_open(const struct ist_config *config, const struct ist_boot_request *request,
                                 ist_boot_lost *lost, ist_boot **out);
isthmus_status ist_boot_alone_open(ist_boot **out);

/* At the end of the process: disconnects from launcher and peers, so that they do not take the end for a crash, and
 * serves the processes that still need this one, for a bounded time. */
void ist_boot_leave(void);

/* After a close: ends the session with a launcher whose library has threads. They would keep a process alive whose own
 * threads have all ended. */
void ist_boot_end_threads(void);
void ist_boot_pmix_leave(void);
void ist_boot_uid_leave(void);

/* Before this process ends with a failed job: waits, for a bounded time, until the PEs that it serves know the
 * reason. */
void ist_boot_tell(void);

/* In a child after fork: drops what is open without closing it, because it belongs to the parent. */
void ist_boot_forget(void);
void ist_boot_uid_forget(void);

/* ---- a job of the members of an MPI communicator (boot_mpi.c) ----
 * Through the MPI library that the program has loaded. MPI only broadcasts a unique id; from then on the job is like
 * any other with a unique id. */

/* Collective over the communicator that `comm` points to (an MPI_Comm of any MPI library). In the request this PE's
 * number is its rank. Fails on all members if it fails on one. */
isthmus_status ist_boot_mpi_request(const struct ist_config *config, const void *comm, struct ist_boot_request *out);

#endif
