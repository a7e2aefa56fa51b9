/* core/api/rocshmem.c: the routines of rocshmem.hpp that are not made from the table: start and end, versions, and this
 * face's structures. The start itself is core/runtime.c. */
#include "core/api/job_request.h"
#include "core/api/team_entry.h"
#include "core/base/fatal.h"
#include "core/base/log.h"
#include "core/heap/registered.h"
#include "core/ops/order.h"
#include "core/proxy/device.h"
#include "core/runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(struct ist_uid) <= sizeof(rocshmem_uniqueid_t), "an id of ours fits into it");
_Static_assert((int)ROCSHMEM_THREAD_MULTIPLE == (int)IST_THREAD_MULTIPLE, "thread levels are the same numbers");
_Static_assert((int)ROCSHMEM_TEAM_WORLD == (int)IST_TEAM_WORLD && (int)ROCSHMEM_TEAM_SHARED == (int)IST_TEAM_SHARED,
               "a handle is the team's index");

/* For failures that are not reported yet: the program gets a number only. */
static int report(const char *routine, isthmus_status status)
{
    if (status == ISTHMUS_OK) return ROCSHMEM_SUCCESS;
    ist_error("%s: %s", routine, ist_fail_text());
    return ROCSHMEM_ERROR;
}

/* ---- start and end ---- */

void rocshmem_init(void)
{
    if (ist_init("rocshmem_init", IST_FACE_ROCSHMEM, IST_THREAD_MULTIPLE) != ISTHMUS_OK) exit(EXIT_FAILURE);
}

void rocshmem_finalize(void) { ist_finalize("rocshmem_finalize"); }

void rocshmem_global_exit(int status) { ist_global_exit(status); }

void rocshmem_query_thread(int *provided)
{
    ist_require_ctx(&ist_ctx_default, "rocshmem_query_thread");
    *provided = ist_runtime.thread_level;
}

static isthmus_status make_request(unsigned flags, const rocshmem_init_attr_t *attr, struct ist_boot_request *out)
{
    if (attr == NULL) return ist_fail(ISTHMUS_ERR_INVALID, "attr is NULL; valid: a pointer to attributes");
    if (flags == ROCSHMEM_INIT_WITH_MPI_COMM) {
        *out = (struct ist_boot_request){.kind = IST_BOOTSTRAP_AUTO};
        if (attr->mpi_comm == NULL)
            return ist_fail(ISTHMUS_ERR_INVALID, "mpi_comm is NULL; valid: a pointer to an MPI_Comm");
        return ist_request_mpi(IST_FACE_ROCSHMEM, attr->mpi_comm, out);
    }
    if (flags != ROCSHMEM_INIT_WITH_UNIQUEID)
        return ist_fail(ISTHMUS_ERR_INVALID, "flags is 0x%x; valid: one of the ROCSHMEM_INIT_WITH_ flags", flags);
    if (attr->nranks < 1 || attr->rank < 0 || attr->rank >= attr->nranks)
        return ist_fail(ISTHMUS_ERR_INVALID, "attr->rank is %d and nranks %d; valid: a rank from 0 to nranks - 1",
                        attr->rank, attr->nranks);
    *out = (struct ist_boot_request){.kind = IST_BOOTSTRAP_UID, .pe = attr->rank, .n_pes = attr->nranks};
    memcpy(&out->uid, attr->uid.bytes, sizeof out->uid);
    return ISTHMUS_OK;
}

int rocshmem_init_attr(unsigned int flags, rocshmem_init_attr_t *attr)
{
    static const char routine[] = "rocshmem_init_attr";
    struct ist_boot_request request;
    isthmus_status status = make_request(flags, attr, &request);
    if (status != ISTHMUS_OK) return report(routine, status);
    status = ist_init_job(routine, IST_FACE_ROCSHMEM, IST_THREAD_MULTIPLE, &request);
    return status == ISTHMUS_OK ? ROCSHMEM_SUCCESS : ROCSHMEM_ERROR; /* a failed start has been reported */
}

int rocshmem_get_uniqueid(rocshmem_uniqueid_t *uid)
{
    static const char routine[] = "rocshmem_get_uniqueid";
    struct ist_uid made;
    if (uid == NULL)
        return report(routine, ist_fail(ISTHMUS_ERR_INVALID, "uid is NULL; valid: a pointer to a unique id"));
    isthmus_status status = ist_request_new_uid(IST_FACE_ROCSHMEM, &made);
    if (status != ISTHMUS_OK) return report(routine, status);
    memset(uid, 0, sizeof *uid);
    memcpy(uid->bytes, &made, sizeof made);
    return ROCSHMEM_SUCCESS;
}

int rocshmem_set_attr_uniqueid_args(int rank, int nranks, rocshmem_uniqueid_t *uid, rocshmem_init_attr_t *attr)
{
    if (uid == NULL || attr == NULL || nranks < 1 || rank < 0 || rank >= nranks) return ROCSHMEM_ERROR;
    *attr = (rocshmem_init_attr_t){.rank = rank, .nranks = nranks, .uid = *uid};
    return ROCSHMEM_SUCCESS;
}

/* ---- modules of device code ---- */

/* Where there is no GPU, programs may try all the same. */
int rocshmem_hipmodule_init(hipModule_t module, hipStream_t stream)
{
    static const char routine[] = "rocshmem_hipmodule_init";
    (void)stream;
    ist_require_ctx(&ist_ctx_default, routine);
    isthmus_status status = ist_device_add_code(ISTHMUS_MEM_HIP, ISTHMUS_CODE_MODULE, module);
    if (status != ISTHMUS_ERR_UNSUPPORTED) return report(routine, status);
    ist_info("%s: %s", routine, ist_fail_text());
    return ROCSHMEM_ERROR;
}

/* ---- versions ---- */

void rocshmem_info_get_version(int *major, int *minor)
{
    *major = ROCSHMEM_MAJOR_VERSION;
    *minor = ROCSHMEM_MINOR_VERSION;
}

void rocshmem_info_get_name(char *name) { snprintf(name, ROCSHMEM_MAX_NAME_LEN, "%s", ROCSHMEM_VENDOR_STRING); }

void rocshmem_vendor_get_version_info(int *major, int *minor, int *patch)
{
    *major = ROCSHMEM_VENDOR_MAJOR_VERSION;
    *minor = ROCSHMEM_VENDOR_MINOR_VERSION;
    *patch = ROCSHMEM_VENDOR_PATCH_VERSION;
}

/* ---- teams, contexts, buffers ---- */

int rocshmem_team_split_strided(rocshmem_team_t parent, int start, int stride, int size,
                                const rocshmem_team_config_t *config, long config_mask, rocshmem_team_t *new_team)
{
    static const char routine[] = "rocshmem_team_split_strided";
    bool is_given = config != NULL && (config_mask & ROCSHMEM_TEAM_NUM_CONTEXTS) != 0;
    struct ist_team_options options = {.num_contexts = is_given ? config->num_contexts : 0};
    struct ist_team *team = NULL;
    ist_require_buffer(routine, "new_team", new_team);
    isthmus_status status = ist_team_split_strided(ist_team_of_rocshmem(parent, routine), start, stride, size, &options,
                                                   &team, routine);
    *new_team = ist_index_of(team);
    return ist_returned(status);
}

int rocshmem_ctx_create(int64_t options, rocshmem_ctx_t *out)
{
    static const char routine[] = "rocshmem_ctx_create";
    ist_ctx *ctx;
    (void)options;
    ist_require_buffer(routine, "ctx", out);
    *out = ROCSHMEM_CTX_INVALID;
    isthmus_status status = ist_ctx_create(ist_team_of_all(routine), IST_CTX_SHARED, 0, &ctx);
    if (status == ISTHMUS_OK) out->handle = (uintptr_t)ctx;
    return ist_returned(status);
}

void rocshmem_ctx_destroy(rocshmem_ctx_t handle)
{
    static const char routine[] = "rocshmem_ctx_destroy";
    ist_require_ctx(&ist_ctx_default, routine);
    if (handle.handle == ROCSHMEM_CTX_INVALID.handle) return;
    if (handle.handle == ROCSHMEM_CTX_DEFAULT.handle)
        ist_misuse(routine,
                   "ctx is ROCSHMEM_CTX_DEFAULT, which lives until rocshmem_finalize; valid: a context that was "
                   "created");
    ist_quiet(ist_ctx_of_rocshmem(handle), routine);
    ist_ctx_destroy(ist_ctx_of_rocshmem(handle));
}

int rocshmem_buffer_register(void *addr, size_t length)
{
    static const char routine[] = "rocshmem_buffer_register";
    ist_require_ctx(&ist_ctx_default, routine);
    if (ist_returned(ist_registered_add(addr, length)) != ISTHMUS_OK) return ROCSHMEM_ERROR;
    return ROCSHMEM_SUCCESS;
}

int rocshmem_buffer_unregister(void *addr)
{
    return ist_registered_remove(addr) == ISTHMUS_OK ? ROCSHMEM_SUCCESS : ROCSHMEM_ERROR;
}
