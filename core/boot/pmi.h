/* core/boot/pmi.h: the key-value store of a launcher that has PMI-1 or PMI-2: MPICH's Hydra, Intel MPI's, srun
 * --mpi=pmi2, Cray PALS.
 * Only what a start needs: this PE's number, one value that PE 0 puts, and one fence. All that follows goes through the
 * unique id that this value is (boot_pmi.c).
 * Two ways lead to the store: the protocol itself, over a socket that the launcher names in PMI_FD or PMI_PORT
 * (pmi_wire.c); and the launcher's own library, where it names none (pmi_library.c). */
#ifndef IST_BOOT_PMI_H
#define IST_BOOT_PMI_H

#include "core/boot/boot.h"

/* Longest text of a value here, with its end; every launcher has room for more. */
enum { IST_PMI_VALUE_BYTES = 256, IST_PMI_NAME_BYTES = 256 };

struct ist_pmi;

struct ist_pmi_ops {
    const char *name; /* for messages: "PMI-1" */
    bool is_library;

    /* Sets pe and n_pes. Returns UNSUPPORTED if the launcher, or this machine, does not have this kind of PMI. */
    isthmus_status (*start)(struct ist_pmi *pmi);
    isthmus_status (*put)(struct ist_pmi *pmi, const char *key, const char *value);

    /* Returns when all PEs have arrived; every value put before can then be got by every PE. */
    isthmus_status (*fence)(struct ist_pmi *pmi);
    isthmus_status (*get)(struct ist_pmi *pmi, const char *key, char value[IST_PMI_VALUE_BYTES]);

    /* At the end of the process: the launcher does not take the end for a crash. Reports nothing. */
    void (*finish)(struct ist_pmi *pmi);
};

struct ist_pmi {
    const struct ist_pmi_ops *ops;
    int pe, n_pes;
    int timeout_ms;                /* of a wait for the other PEs; -1: none */
    int fd;                        /* pmi_wire.c: of the connection */
    bool owns_fd;                  /* it was opened here: the launcher named a port */
    char name[IST_PMI_NAME_BYTES]; /* of the store (PMI-1), or of the job (PMI-2) */
};

extern const struct ist_pmi_ops ist_pmi_wire_1, ist_pmi_wire_2, ist_pmi_library_1, ist_pmi_library_2;

/* pmi_wire.c: connects to the launcher by PMI_FD, or by PMI_PORT and PMI_ID. */
isthmus_status ist_pmi_connect(struct ist_pmi *pmi);

#endif
