/* core/boot/launcher.c: see launcher.h. */
#include "core/boot/launcher.h"

#include "core/base/mac.h"
#include "core/base/process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { NEEDED_MAX = 4 };

/* What a launcher sets for each process. `needed`: all of them, the first one reveals the launcher. */
static const struct family {
    enum ist_launcher_kind kind;
    const char *name, *needed[NEEDED_MAX], *pe, *n_pes;
} families[] = {
    {IST_LAUNCHER_PMIX, "PMIx", {"PMIX_NAMESPACE", "PMIX_RANK"}, "PMIX_RANK", NULL},
    {IST_LAUNCHER_PMI, "PMI", {"PMI_FD", "PMI_RANK", "PMI_SIZE"}, "PMI_RANK", "PMI_SIZE"},
    {IST_LAUNCHER_PMI, "PMI", {"PMI_PORT", "PMI_ID"}, "PMI_ID", NULL},
    {IST_LAUNCHER_TORCH, "torchrun", {"WORLD_SIZE", "RANK", "MASTER_ADDR", "MASTER_PORT"}, "RANK", "WORLD_SIZE"},
};

/* Variables with the number of processes, of launchers that may name no way into the job. A PMI library is used
 * unrequested where its launcher is there for certain: elsewhere it may invent a job of one, or a fence that does not
 * wait. */
static const struct several {
    const char *n_pes, *pe, *name, *advice;
    bool has_library;
} several[] = {
    {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "srun", "start with srun --mpi=pmix or --mpi=pmi2", true},
    {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "mpirun of Open MPI", "use an mpirun that is built with PMIx",
     false},
    {"PMI_SIZE", "PMI_RANK", "a launcher with PMI-1 or PMI-2",
     "make the launcher set PMI_FD or PMI_PORT, try its PMI library (ISTHMUS_BOOTSTRAP=pmi1 or pmi2), or use "
     "isthmus-run",
     false},
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static bool is_set(const char *variable)
{
    const char *value = getenv(variable);
    return value != NULL && *value != '\0';
}

static int n_set(const struct family *family, const char **missing)
{
    int n = 0;
    for (int i = 0; i < NEEDED_MAX && family->needed[i] != NULL; i++) {
        bool is_there = is_set(family->needed[i]);
        if (!is_there && *missing == NULL) *missing = family->needed[i];
        n += is_there;
    }
    return n;
}

static bool is_complete(const struct family *family)
{
    const char *missing = NULL;
    (void)n_set(family, &missing);
    return missing == NULL;
}

/* Returns false if the text is no number of a PE or of PEs. */
static bool read_number(const char *text, long least, int *out)
{
    char *end;
    long number = strtol(text, &end, 10);
    if (end == text || *end != '\0' || number < least || number > IST_BOOT_MOST_PES) return false;
    *out = (int)number;
    return true;
}

/* Writes "PMI_FD is 7, PMI_RANK is 0, PMI_SIZE is 4". */
static void write_evidence(const struct family *family, struct ist_launcher *out)
{
    size_t used = 0, room = sizeof out->evidence;
    for (int i = 0; i < NEEDED_MAX && family->needed[i] != NULL && used < room; i++) {
        const char *value = getenv(family->needed[i]);
        if (!is_set(family->needed[i])) continue;
        used += (size_t)snprintf(out->evidence + used, room - used, "%s%s is %.60s", used > 0 ? ", " : "",
                                 family->needed[i], value);
    }
}

static void fail_number(const char *variable, const char *accepted, struct ist_launcher *out)
{
    out->kind = IST_LAUNCHER_INCOMPLETE;
    snprintf(out->evidence, sizeof out->evidence, "%s is '%.60s'; accepted: %s", variable, getenv(variable), accepted);
}

static void read_place(const struct family *family, struct ist_launcher *out)
{
    if (family->n_pes != NULL && !read_number(getenv(family->n_pes), 1, &out->n_pes))
        fail_number(family->n_pes, "the number of processes of the job", out);
    else if (!read_number(getenv(family->pe), 0, &out->pe) || (out->n_pes > 0 && out->pe >= out->n_pes))
        fail_number(family->pe, "a number from 0 to one less than that of the job's processes", out);
}

/* ---- the job's name ---- */

/* Hashed: a process that has the launcher's own name of the job could pose as a PE, and the result is public. */
static void name_job(const char *kind, const char *text, struct ist_launcher *out)
{
    const char *secret = ist_config_job_secret();
    uint8_t key[IST_KEY_BYTES] = {0};
    char tag[IST_TAG_TEXT_BYTES];
    if (secret != NULL) (void)ist_key_parse(secret, key); /* user text that is no key is ignored */
    ist_mac_text(key, text, strlen(text), tag);
    snprintf(out->job, IST_BOOT_JOB_BYTES, "%s-%s", kind, tag);
}

/* PMI has no variable with a name of the job. The launcher's process on this host, which has made the socket, serves no
 * other job; it is not always the parent: a script may be in between. */
static void name_pmi_job(struct ist_launcher *out)
{
    char text[64];
    struct ucred peer = {.pid = 0};
    struct ist_process process = {.started = 0};
    socklen_t length = sizeof peer;
    const char *fd = getenv("PMI_FD");
    if (fd == NULL) {
        name_job("pmi", getenv("PMI_PORT"), out);
        return;
    }
    if (getsockopt(atoi(fd), SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0 || peer.pid == 0) return;
    (void)ist_process_read(peer.pid, &process);
    snprintf(text, sizeof text, "%d %u", (int)peer.pid, process.started);
    name_job("pmi", text, out);
}

static void name_torch_job(struct ist_launcher *out)
{
    char text[200];
    const char *run = getenv("TORCHELASTIC_RUN_ID");
    snprintf(text, sizeof text, "%.80s %.10s %.80s", getenv("MASTER_ADDR"), getenv("MASTER_PORT"),
             run != NULL ? run : "");
    name_job("torch", text, out);
}

/* ---- the search ---- */

static void take(const struct family *family, struct ist_launcher *out)
{
    out->kind = family->kind;
    out->name = family->name;
    write_evidence(family, out);
    if (family->kind != IST_LAUNCHER_PMIX) read_place(family, out);
    if (family->kind == IST_LAUNCHER_PMIX) {
        out->pe = atoi(getenv("PMIX_RANK"));
        name_job("pmix", getenv("PMIX_NAMESPACE"), out);
    } else if (out->kind == IST_LAUNCHER_PMI) {
        name_pmi_job(out);
    } else if (out->kind == IST_LAUNCHER_TORCH) {
        name_torch_job(out);
    }
}

/* Some variables of a launcher without the others. RANK and WORLD_SIZE are everyday names: two of torchrun's four have
 * to be there, and a job of more than one. */
static bool is_half_set(const struct family *family, const char **missing)
{
    int n = n_set(family, missing), n_pes = 0;
    if (*missing == NULL || !is_set(family->needed[0])) return false;
    if (family->kind != IST_LAUNCHER_TORCH) return true;
    return n > 1 && read_number(getenv("WORLD_SIZE"), 2, &n_pes);
}

static bool take_half_set(const struct family *family, struct ist_launcher *out)
{
    const char *missing = NULL;
    if (!is_half_set(family, &missing)) return false;
    out->kind = IST_LAUNCHER_INCOMPLETE;
    out->name = family->name;
    write_evidence(family, out);
    size_t used = strlen(out->evidence);
    snprintf(out->evidence + used, sizeof out->evidence - used, ", but %s is not set", missing);
    return true;
}

static bool take_several(struct ist_launcher *out)
{
    for (size_t i = 0; i < COUNT(several); i++) {
        const char *n_pes = getenv(several[i].n_pes), *pe = getenv(several[i].pe);
        if (n_pes == NULL || atol(n_pes) <= 1) continue;
        out->kind = IST_LAUNCHER_SEVERAL;
        out->name = several[i].name;
        out->advice = several[i].advice;
        out->has_library = several[i].has_library;
        (void)read_number(n_pes, 1, &out->n_pes);
        if (pe != NULL) (void)read_number(pe, 0, &out->pe);
        snprintf(out->evidence, sizeof out->evidence, "%s is %.20s", several[i].n_pes, n_pes);
        return true;
    }
    return false;
}

/* Which kind a setting insists on; NONE: any. */
static enum ist_launcher_kind wanted_kind(int bootstrap)
{
    switch (bootstrap) {
    case IST_BOOTSTRAP_PMIX: return IST_LAUNCHER_PMIX;
    case IST_BOOTSTRAP_PMI1:
    case IST_BOOTSTRAP_PMI2: return IST_LAUNCHER_PMI;
    case IST_BOOTSTRAP_TORCHRUN: return IST_LAUNCHER_TORCH;
    default: return IST_LAUNCHER_NONE;
    }
}

/* Complete sets first. A half-set PMIx or PMI counts before the mere number of processes, torchrun's after it: a batch
 * script may prepare its variables, and leave RANK to each process. */
void ist_launcher_find(int bootstrap, struct ist_launcher *out)
{
    enum ist_launcher_kind wanted = wanted_kind(bootstrap);
    *out = (struct ist_launcher){.kind = IST_LAUNCHER_NONE, .name = "none", .pe = -1, .n_pes = -1};
    for (int step = 0; step < 3; step++) {
        for (size_t i = 0; i < COUNT(families); i++) {
            const struct family *family = &families[i];
            if (wanted != IST_LAUNCHER_NONE && family->kind != wanted) continue;
            if (step == 0 && is_complete(family)) {
                take(family, out);
                return;
            }
            if (step > 0 && (family->kind == IST_LAUNCHER_TORCH) == (step == 2) && take_half_set(family, out)) return;
        }
        bool may_have_library = wanted == IST_LAUNCHER_NONE || wanted == IST_LAUNCHER_PMI;
        if (step == 1 && may_have_library && take_several(out)) return;
    }
}
