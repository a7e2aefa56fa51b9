/* core/boot/boot.c: chooses the bootstrap from the program's request and the environment.
 * Launcher variables without a way to reach the launcher are an error: a program that silently ran as n jobs of one PE
 * would give wrong answers. */
#include "core/boot/boot.h"

#include "core/boot/launcher.h"
#include "core/topo/topo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TELL_MS = 5000 };

static isthmus_status fail_no_launcher(const char *wanted, const char *variables, const char *start)
{
    return ist_fail(ISTHMUS_ERR_UNREACHABLE, "ISTHMUS_BOOTSTRAP is '%s', but %s are not set; start the program with %s",
                    wanted, variables, start);
}

/* No launcher is there. A setting that insists on one is an error. */
static isthmus_status open_without_launcher(int bootstrap, ist_boot **out)
{
    switch (bootstrap) {
    case IST_BOOTSTRAP_PMIX:
        return fail_no_launcher("pmix", "PMIX_NAMESPACE and PMIX_RANK", "isthmus-run, mpirun or srun --mpi=pmix");
    case IST_BOOTSTRAP_PMI1:
        return fail_no_launcher("pmi1", "PMI_FD, PMI_RANK and PMI_SIZE", "mpiexec of MPICH or Intel MPI, or srun");
    case IST_BOOTSTRAP_PMI2:
        return fail_no_launcher("pmi2", "PMI_FD, PMI_RANK and PMI_SIZE", "mpiexec of MPICH or Intel MPI, or srun");
    case IST_BOOTSTRAP_TORCHRUN:
        return fail_no_launcher("torchrun", "RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT", "torchrun");
    default: return ist_boot_alone_open(out);
    }
}

/* Several processes, and no variable names a way to their launcher: its PMI library may have one. */
static isthmus_status open_by_library(const struct ist_config *config, const struct ist_launcher *launcher,
                                      ist_boot_lost *lost, ist_boot **out)
{
    char why[300] = "";
    bool may_use = launcher->has_library || config->bootstrap != IST_BOOTSTRAP_AUTO;
    isthmus_status status = may_use ? ist_boot_pmi_open(config, launcher, lost, out) : ISTHMUS_ERR_UNSUPPORTED;
    if (status != ISTHMUS_ERR_UNSUPPORTED) return status;
    if (may_use) snprintf(why, sizeof why, ", and its PMI library does not help: %.250s", ist_fail_text());
    return ist_fail(ISTHMUS_ERR_UNREACHABLE,
                    "%s, so this process is one of several started by %s, but no PMIx or PMI server was announced%s; "
                    "%s, or set ISTHMUS_BOOTSTRAP=alone for jobs of one PE each",
                    launcher->evidence, launcher->name, why, launcher->advice);
}

static isthmus_status open_any(const struct ist_config *config, const struct ist_boot_request *request,
                               ist_boot_lost *lost, ist_boot **out)
{
    struct ist_launcher launcher;
    if (request->kind == IST_BOOTSTRAP_UID) return ist_boot_uid_open(config, request, lost, out);
    if (config->bootstrap == IST_BOOTSTRAP_UID)
        return ist_fail(ISTHMUS_ERR_INVALID,
                        "ISTHMUS_BOOTSTRAP is 'uid', but the program passes no unique id; use nvshmemx_init_attr with "
                        "NVSHMEMX_INIT_WITH_UNIQUEID, or unset the variable");
    if (config->bootstrap == IST_BOOTSTRAP_ALONE) return ist_boot_alone_open(out);
    ist_launcher_find(config->bootstrap, &launcher);
    switch (launcher.kind) {
    case IST_LAUNCHER_PMIX: return ist_boot_pmix_open(config, lost, out);
    case IST_LAUNCHER_PMI: return ist_boot_pmi_open(config, &launcher, lost, out);
    case IST_LAUNCHER_TORCH: return ist_boot_torch_open(config, &launcher, lost, out);
    case IST_LAUNCHER_SEVERAL: return open_by_library(config, &launcher, lost, out);
    case IST_LAUNCHER_INCOMPLETE:
        return ist_fail(
            ISTHMUS_ERR_UNREACHABLE,
            "%s; start the program by the launcher itself, or set ISTHMUS_BOOTSTRAP=alone for a job of one PE",
            launcher.evidence);
    case IST_LAUNCHER_NONE: break;
    }
    return open_without_launcher(config->bootstrap, out);
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

void ist_boot_announced_job(const struct ist_boot_request *request, char out[IST_BOOT_JOB_BYTES])
{
    struct ist_launcher launcher;
    out[0] = '\0';
    if (request->kind == IST_BOOTSTRAP_UID) {
        /* Invalid bytes name no job: two jobs may be given the same ones, and each reports its own failure. */
        if (ist_uid_check(&request->uid)) ist_uid_name(&request->uid, out);
        return;
    }
    ist_launcher_find(IST_BOOTSTRAP_AUTO, &launcher);
    snprintf(out, IST_BOOT_JOB_BYTES, "%s", launcher.job);
}

int ist_boot_announced_pe(const struct ist_boot_request *request)
{
    struct ist_launcher launcher;
    if (request->kind == IST_BOOTSTRAP_UID) return request->pe;
    ist_launcher_find(IST_BOOTSTRAP_AUTO, &launcher);
    return launcher.pe;
}

/* torchrun looks only now and then, and scripts that set the same variables do not look at all. */
bool ist_boot_has_launcher(const struct ist_boot_request *request)
{
    struct ist_launcher launcher;
    if (request->kind == IST_BOOTSTRAP_UID) return false;
    ist_launcher_find(IST_BOOTSTRAP_AUTO, &launcher);
    return launcher.kind != IST_LAUNCHER_TORCH;
}

void ist_boot_leave(void)
{
    ist_boot_uid_leave();
    ist_boot_pmi_leave();
    ist_boot_pmix_leave();
}

void ist_boot_end_threads(void) { ist_boot_pmix_leave(); }

void ist_boot_tell(void) { ist_uid_servers_wait(TELL_MS); }

void ist_boot_forget(void)
{
    ist_boot_uid_forget();
    ist_boot_pmi_forget();
}

void ist_boot_close(ist_boot *boot)
{
    if (boot == NULL) return;
    free(boot->node_of);
    boot->ops->close(boot);
}
