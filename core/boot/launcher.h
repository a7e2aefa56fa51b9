/* core/boot/launcher.h: which launcher has started this process, by the variables that launchers set.
 * Nothing is connected here: the way into the job is boot_pmix.c, boot_pmi.c or boot_torch.c. */
#ifndef IST_BOOT_LAUNCHER_H
#define IST_BOOT_LAUNCHER_H

#include "core/boot/boot.h"

enum ist_launcher_kind {
    IST_LAUNCHER_NONE, /* one PE */
    IST_LAUNCHER_PMIX,
    IST_LAUNCHER_PMI, /* PMI-1 or PMI-2, over a socket that the launcher names */
    IST_LAUNCHER_TORCH,
    IST_LAUNCHER_SEVERAL,   /* started several processes, and names no way to it; its PMI library may have one */
    IST_LAUNCHER_INCOMPLETE /* a variable is missing or damaged */
};

struct ist_launcher {
    enum ist_launcher_kind kind;
    const char *name;             /* "PMIx", "srun" */
    bool has_library;             /* of SEVERAL: the PMI library of this machine is its own */
    int pe, n_pes;                /* -1: not in the environment */
    char evidence[240];           /* the variables and their values; INCOMPLETE: what is wrong */
    const char *advice;           /* of SEVERAL */
    char job[IST_BOOT_JOB_BYTES]; /* a name of the job, equal on all PEs of a host; "": none */
};

/* `bootstrap`: enum ist_bootstrap; with one that names a launcher, variables of others do not count. */
void ist_launcher_find(int bootstrap, struct ist_launcher *out);

/* boot_pmi.c: connects to the launcher's PMI, and joins the job by a unique id that PE 0 puts there. SEVERAL: through
 * the launcher's PMI library. */
isthmus_status ist_boot_pmi_open(const struct ist_config *config, const struct ist_launcher *launcher,
                                 ist_boot_lost *lost, ist_boot **out);
void ist_boot_pmi_leave(void);
void ist_boot_pmi_forget(void);

/* boot_torch.c: joins by a unique id that follows from MASTER_ADDR and MASTER_PORT. */
isthmus_status ist_boot_torch_open(const struct ist_config *config, const struct ist_launcher *launcher,
                                   ist_boot_lost *lost, ist_boot **out);

#endif
