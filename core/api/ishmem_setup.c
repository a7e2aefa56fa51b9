/* core/api/ishmem_setup.c: start and end of ishmem.h. The start itself is core/runtime.c, the rest of the face is made
 * from the table or in ishmem.c. */
#include "core/api/job_request.h"
#include "core/api/public.h"
#include "core/base/fatal.h"
#include "core/ops/target.h"
#include "core/runtime.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

_Static_assert(sizeof(ishmemx_runtime_type_t) == 1, "an enumeration of one byte in C++");
_Static_assert(sizeof(ishmemx_attr_t) == 40 && offsetof(ishmemx_attr_t, mpi_comm) == 8 &&
                   offsetof(ishmemx_attr_t, nranks) == 20 && offsetof(ishmemx_attr_t, uid) == 32,
               "as C++ programs lay it out");
_Static_assert(sizeof(struct ist_uid) <= sizeof(ishmemx_uniqueid_t), "an id of ours fits into it");
_Static_assert(ISHMEM_THREAD_MULTIPLE == (int)IST_THREAD_MULTIPLE, "thread levels are the same numbers");

static ishmemx_runtime_type_t runtime_type = ISHMEMX_RUNTIME_INVALID; /* that of the last init */

/* The runtime that ISHMEM_RUNTIME names; the configuration has refused all other values. */
static ishmemx_runtime_type_t default_runtime(void)
{
    const char *text = ist_config_plugin_value("ISHMEM_RUNTIME");
    if (text != NULL && strcasecmp(text, "MPI") == 0) return ISHMEMX_RUNTIME_MPI;
    if (text != NULL && strcasecmp(text, "PMI") == 0) return ISHMEMX_RUNTIME_PMI;
    return ISHMEMX_RUNTIME_OPENSHMEM;
}

/* ---- start by the environment ---- */

void ishmem_init(void)
{
    if (ist_init("ishmem_init", IST_FACE_ISHMEM, IST_THREAD_SINGLE) != ISTHMUS_OK) exit(EXIT_FAILURE);
    ist_store_relaxed(&runtime_type, default_runtime());
}

int ishmem_init_thread(int requested, int *provided)
{
    isthmus_status status = ist_init_thread("ishmem_init_thread", IST_FACE_ISHMEM, requested, provided);
    if (status == ISTHMUS_OK) ist_store_relaxed(&runtime_type, default_runtime());
    return status;
}

void ishmem_query_thread(int *provided)
{
    ist_require_ctx(&ist_ctx_default, "ishmem_query_thread");
    *provided = ist_runtime.thread_level;
}

void ishmem_finalize(void) { ist_finalize("ishmem_finalize"); }

void ishmem_query_initialized(int *initialized) { *initialized = ist_is_initialised(); }

void ishmemx_query_initialized(int *initialized) { *initialized = ist_is_initialised(); }

/* ---- attributes ---- */

int ishmemx_get_uniqueid(ishmemx_uniqueid_t *uid)
{
    struct ist_uid made;
    if (uid == NULL) ist_misuse("ishmemx_get_uniqueid", "uid is NULL; valid: a pointer to a unique id");
    isthmus_status status = ist_request_new_uid(IST_FACE_ISHMEM, &made);
    if (status != ISTHMUS_OK) return status;
    memset(uid, 0, sizeof *uid);
    memcpy(uid->uniqueid, &made, sizeof made);
    return 0;
}

static void request_uid(const char *routine, const ishmemx_attr_t *attr, struct ist_boot_request *out)
{
    if (attr->uid == NULL) ist_misuse(routine, "attr->uid is NULL; valid with use_uid: a pointer to a unique id");
    if (attr->mpi_comm != NULL) ist_misuse(routine, "attr->mpi_comm is %p; valid with use_uid: NULL", attr->mpi_comm);
    if (attr->nranks < 1 || attr->rank < 0 || attr->rank >= attr->nranks)
        ist_misuse(routine, "attr->rank is %d and nranks %d; valid: a rank from 0 to nranks - 1", attr->rank,
                   attr->nranks);
    *out = (struct ist_boot_request){.kind = IST_BOOTSTRAP_UID, .pe = attr->rank, .n_pes = attr->nranks};
    memcpy(&out->uid, attr->uid->uniqueid, sizeof out->uid);
}

/* This library neither needs nor starts MPI or another OpenSHMEM; with initialize_runtime false the program starts and
 * ends it, and only a communicator makes a difference. `gpu` chooses between two heaps; there is only the host's. */
void ishmemx_init_attr(ishmemx_attr_t *attr)
{
    const char routine[] = "ishmemx_init_attr";
    struct ist_boot_request request = {.kind = IST_BOOTSTRAP_AUTO};
    if (attr == NULL) ist_misuse(routine, "attr is NULL; valid: a pointer to attributes");
    if (attr->runtime > ISHMEMX_RUNTIME_INVALID)
        ist_misuse(routine, "attr->runtime is %d; valid: %d to %d", (int)attr->runtime, ISHMEMX_RUNTIME_MPI,
                   ISHMEMX_RUNTIME_INVALID);
    if (attr->use_uid) {
        request_uid(routine, attr, &request);
    } else if (attr->mpi_comm != NULL) {
        isthmus_status status = ist_request_mpi(IST_FACE_ISHMEM, attr->mpi_comm, &request);
        if (status != ISTHMUS_OK) ist_die(routine, status);
    }
    if (ist_init_job(routine, IST_FACE_ISHMEM, IST_THREAD_SINGLE, &request) != ISTHMUS_OK) exit(EXIT_FAILURE);
    runtime_type = attr->runtime != ISHMEMX_RUNTIME_INVALID ? attr->runtime : default_runtime();
}

ishmemx_runtime_type_t ishmemx_runtime_get_type(void)
{
    if (!ist_is_initialised()) return ISHMEMX_RUNTIME_INVALID;
    return ist_load_relaxed(&runtime_type); /* an init inside the job may write it */
}
