/* core/boot/boot.h: who are my PEs, and how do we tell one another where we are? One interface, several bootstraps.
 * Not communication of the program: what goes through here is small and happens at start-up, on first use of a peer,
 * and at the end.
 * Bootstraps: boot_pmix.c (under a launcher), boot_alone.c (one PE, no launcher). */
#ifndef IST_BOOT_BOOT_H
#define IST_BOOT_BOOT_H

#include "core/base/config.h"

typedef struct ist_boot ist_boot;

struct ist_boot_ops {
    const char *name;

    /* Publish `value` under `key` for other PEs, on their first use. */
    isthmus_status (*put)(ist_boot *boot, const char *key, const void *value, size_t value_bytes);

    /* All PEs have arrived, and what each of them put before can be got by every other. */
    isthmus_status (*exchange)(ist_boot *boot);

    /* What `pe` put under `key`; *out is malloc'ed for the caller. May wait for that PE to put it. */
    isthmus_status (*get)(ist_boot *boot, int pe, const char *key, void **out, size_t *out_bytes);

    /* The launcher is to end all PEs with this exit code. Returns, if it does, before that has happened. */
    void (*abort)(ist_boot *boot, int exit_code);

    void (*close)(ist_boot *boot);
};

struct ist_boot { /* first member of every bootstrap's own struct */
    const struct ist_boot_ops *ops;
    int pe, n_pes;
    int n_local;    /* how many PEs the launcher has put on this PE's node */
    int *local_pes; /* their numbers, ascending; n_local entries */
};

/* Join the job that the environment describes. With launcher variables but no way to reach the launcher: an error, never
 * a job of one. `lost` is called, from another thread, when the launcher has died. */
isthmus_status ist_boot_open(const struct ist_config *config, void (*lost)(void), ist_boot **out);
void ist_boot_close(ist_boot *boot); /* takes NULL */

/* What a launcher's variables say, before the bootstrap is open or when it cannot be: a name of the job ("" without a
 * launcher), and this PE's number (-1: they do not say). */
const char *ist_boot_announced_job(void);
int ist_boot_announced_pe(void);

isthmus_status ist_boot_pmix_open(void (*lost)(void), ist_boot **out);
isthmus_status ist_boot_alone_open(ist_boot **out);

/* At the end of the process: take leave of the launcher, so that it does not take the end for a crash. */
void ist_boot_pmix_leave(void);

#endif
