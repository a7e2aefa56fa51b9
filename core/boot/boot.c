/* core/boot/boot.c: chooses the bootstrap from the program's request and the environment.
 * Launcher variables without a way to reach the launcher are an error: a program that silently ran as n jobs of one PE
 * would give wrong answers. */
#include "core/boot/boot.h"

#include "core/base/mac.h"
#include "core/topo/topo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TELL_MS = 5000 };

/* Variables that launchers set for each process of a job, and how to make each launcher provide PMIx. */
static const struct launcher {
    const char *variable, *name, *advice;
} launchers[] = {
    {"SLURM_STEP_NUM_TASKS", "srun", "start with srun --mpi=pmix"},
    {"OMPI_COMM_WORLD_SIZE", "mpirun of Open MPI", "use an mpirun that is built with PMIx"},
    {"PMI_SIZE", "a launcher with PMI-1 or PMI-2", "use isthmus-run, or mpirun of Open MPI"},
};

static bool pmix_announced(void) { return getenv("PMIX_NAMESPACE") != NULL && getenv("PMIX_RANK") != NULL; }

/* Returns the launcher that started more than one process without PMIx, or NULL if there is none. */
static const struct launcher *launcher_without_pmix(void)
{
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
        const char *value = getenv(launchers[i].variable);
        if (value != NULL && atol(value) > 1) return &launchers[i];
    }
    return NULL;
}

static isthmus_status open_any(const struct ist_config *config, const struct ist_boot_request *request,
                               ist_boot_lost *lost, ist_boot **out)
{
    if (request->kind == IST_BOOTSTRAP_UID) return ist_boot_uid_open(config, request, lost, out);
    if (config->bootstrap == IST_BOOTSTRAP_UID)
        return ist_fail(ISTHMUS_ERR_INVALID,
                        "ISTHMUS_BOOTSTRAP is 'uid', but the program passes no unique id; use nvshmemx_init_attr with "
                        "NVSHMEMX_INIT_WITH_UNIQUEID, or unset the variable");
    if (config->bootstrap == IST_BOOTSTRAP_ALONE) return ist_boot_alone_open(out);
    if (pmix_announced()) return ist_boot_pmix_open(lost, out);
    if (config->bootstrap == IST_BOOTSTRAP_PMIX)
        return ist_fail(ISTHMUS_ERR_UNREACHABLE,
                        "ISTHMUS_BOOTSTRAP is 'pmix', but PMIX_NAMESPACE and PMIX_RANK are not set; start the program "
                        "with isthmus-run, mpirun or srun --mpi=pmix");
    const struct launcher *launcher = launcher_without_pmix();
    if (launcher != NULL)
        return ist_fail(ISTHMUS_ERR_UNREACHABLE,
                        "%s is %s, so this process is one of several started by %s, but no PMIx server was announced; "
                        "%s, or set ISTHMUS_BOOTSTRAP=alone for jobs of one PE each",
                        launcher->variable, getenv(launcher->variable), launcher->name, launcher->advice);
    return ist_boot_alone_open(out);
}

/* Keeps the local PEs that are on the same pretended host as this PE. */
static void keep_pretended(ist_boot *boot, const char *pattern)
{
    int n = 0;
    for (int i = 0; i < boot->n_local; i++) {
        if (ist_pretended_host(pattern, boot->local_pes[i]) != ist_pretended_host(pattern, boot->pe)) continue;
        if (boot->local_processes != NULL) boot->local_processes[n] = boot->local_processes[i];
        boot->local_pes[n++] = boot->local_pes[i];
    }
    boot->n_local = n;
}

isthmus_status ist_boot_open(const struct ist_config *config, const struct ist_boot_request *request,
                             ist_boot_lost *lost, ist_boot **out)
{
    isthmus_status status = open_any(config, request, lost, out);
    if (status == ISTHMUS_OK && (*out)->n_pes > IST_BOOT_MOST_PES) {
        status = ist_fail(ISTHMUS_ERR_LIMIT, "the job has %d PEs, but at most %d are possible; start fewer",
                          (*out)->n_pes, IST_BOOT_MOST_PES);
        ist_boot_close(*out);
        *out = NULL;
    }
    if (status == ISTHMUS_OK) keep_pretended(*out, config->pretend_hosts);
    return status;
}

const uint32_t *ist_boot_nodes(ist_boot *boot)
{
    if (boot->node_of != NULL || boot->ops->nodes == NULL) return boot->node_of;
    boot->node_of = calloc((size_t)boot->n_pes, sizeof *boot->node_of);
    if (boot->node_of != NULL && boot->ops->nodes(boot, boot->node_of)) return boot->node_of;
    free(boot->node_of);
    boot->node_of = NULL;
    return NULL;
}

void ist_boot_forget_nodes(ist_boot *boot)
{
    free(boot->node_of);
    boot->node_of = NULL;
}

int ist_boot_most_on_a_node(ist_boot *boot)
{
    if (boot->n_local == boot->n_pes) return boot->n_local;
    const uint32_t *node_of = ist_boot_nodes(boot);
    int most = boot->n_local, *n_on = node_of != NULL ? calloc((size_t)boot->n_pes, sizeof *n_on) : NULL;
    for (int pe = 0; n_on != NULL && pe < boot->n_pes; pe++)
        if (++n_on[node_of[pe]] > most) most = n_on[node_of[pe]];
    free(n_on);
    return most;
}

/* The launcher's own job name is hashed: a process that knows it could pose as a PE, and the result is public. */
static void name_pmix_job(const char *job, char out[IST_BOOT_JOB_BYTES])
{
    const char *secret = ist_config_job_secret();
    uint8_t key[IST_KEY_BYTES] = {0};
    char tag[IST_TAG_TEXT_BYTES];
    if (secret != NULL) (void)ist_key_parse(secret, key); /* user text that is no key is ignored */
    ist_mac_text(key, job, strlen(job), tag);
    snprintf(out, IST_BOOT_JOB_BYTES, "pmix-%s", tag);
}

void ist_boot_announced_job(const struct ist_boot_request *request, char out[IST_BOOT_JOB_BYTES])
{
    const char *job = getenv("PMIX_NAMESPACE");
    out[0] = '\0';
    if (request->kind == IST_BOOTSTRAP_UID) {
        /* Invalid bytes name no job: two jobs may be given the same ones, and each reports its own failure. */
        if (ist_uid_check(&request->uid)) ist_uid_name(&request->uid, out);
    } else if (job != NULL) {
        name_pmix_job(job, out);
    }
}

int ist_boot_announced_pe(const struct ist_boot_request *request)
{
    const char *rank = getenv("PMIX_RANK");
    if (request->kind == IST_BOOTSTRAP_UID) return request->pe;
    return rank != NULL ? atoi(rank) : -1;
}

void ist_boot_leave(void)
{
    ist_boot_uid_leave();
    ist_boot_pmix_leave();
}

void ist_boot_tell(void) { ist_uid_servers_wait(TELL_MS); }

void ist_boot_forget(void) { ist_boot_uid_forget(); }

void ist_boot_close(ist_boot *boot)
{
    if (boot == NULL) return;
    free(boot->node_of);
    boot->ops->close(boot);
}
