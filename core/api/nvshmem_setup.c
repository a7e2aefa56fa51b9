/* core/api/nvshmem_setup.c: start and end of nvshmem.h: initialisers, unique ids, communicators, device modules.
 * The start itself is core/runtime.c, the rest of the face is made from the table or in nvshmem.c. */
#include "core/api/job_request.h"
#include "core/api/public.h"
#include "core/base/log.h"
#include "core/ops/target.h"
#include "core/proxy/device.h"
#include "core/runtime.h"
#include "core/team/team.h"
#include "core/transport/route.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(nvshmem_team_config_t) == 64, "as programs were compiled with");
_Static_assert(sizeof(nvshmemx_uniqueid_t) == 128, "as programs were compiled with");
_Static_assert(sizeof(nvshmemx_uniqueid_args_t) == 24, "as programs were compiled with");
_Static_assert(sizeof(nvshmemx_init_args_v1) == 128 && sizeof(nvshmemx_init_args_v2) == 128,
               "the same for all versions");
_Static_assert(sizeof(nvshmemx_init_attr_v1) == 144 && sizeof(nvshmemx_init_attr_v2) == 144,
               "the same for all versions");
_Static_assert(sizeof(struct ist_uid) == sizeof(((nvshmemx_uniqueid_t *)0)->internal), "an id of ours is the content");
_Static_assert((int)NVSHMEM_THREAD_MULTIPLE == (int)IST_THREAD_MULTIPLE, "thread levels are the same numbers");

enum { PLAIN_LEVEL = IST_THREAD_SERIALIZED };

static int code_of(isthmus_status status)
{
    switch (status) {
    case ISTHMUS_OK: return NVSHMEMX_SUCCESS;
    case ISTHMUS_ERR_INVALID: return NVSHMEMX_ERROR_INVALID_VALUE;
    case ISTHMUS_ERR_NO_MEMORY: return NVSHMEMX_ERROR_OUT_OF_MEMORY;
    case ISTHMUS_ERR_UNSUPPORTED: return NVSHMEMX_ERROR_NOT_SUPPORTED;
    default: return NVSHMEMX_ERROR_INTERNAL;
    }
}

/* For failures that are not reported yet: the program gets a number only. */
static int report(const char *routine, isthmus_status status)
{
    if (status != ISTHMUS_OK) ist_error("%s: %s", routine, ist_fail_text());
    return code_of(status);
}

/* ---- start by the environment ---- */

void nvshmem_init(void)
{
    if (ist_init("nvshmem_init", IST_FACE_NVSHMEM, PLAIN_LEVEL) != ISTHMUS_OK) exit(EXIT_FAILURE);
}

int nvshmem_init_thread(int requested, int *provided)
{
    return code_of(ist_init_thread("nvshmem_init_thread", IST_FACE_NVSHMEM, requested, provided));
}

void nvshmem_query_thread(int *provided)
{
    *provided = ist_is_initialised() ? ist_runtime.thread_level : (int)PLAIN_LEVEL;
}

void nvshmem_finalize(void) { ist_finalize("nvshmem_finalize"); }

void nvshmem_global_exit(int status) { ist_global_exit(status); }

int nvshmemx_init_status(void)
{
    if (ist_is_initialised()) return NVSHMEM_STATUS_IS_INITIALIZED;
    return __atomic_load_n(&ist_runtime.boot, __ATOMIC_RELAXED) != NULL ? NVSHMEM_STATUS_IS_BOOTSTRAPPED
                                                                        : NVSHMEM_STATUS_NOT_INITIALIZED;
}

/* ---- attributes ---- */

/* The previous value of a version field has no meaning: NVSHMEM's own nvshmemx_init_attr is an inline function that
 * writes it, so programs set only the fields that their flags name. All versions have one size, and differ only in a
 * field that is not read. */
static void write_versions(nvshmemx_init_attr_t *attr)
{
    attr->version = NVSHMEMX_VERSION_OF_(2, nvshmemx_init_attr_v2);
    attr->args.version = NVSHMEMX_VERSION_OF_(2, nvshmemx_init_args_v2);
    attr->args.uid_args.version = NVSHMEMX_VERSION_OF_(1, nvshmemx_uniqueid_args_v1);
}

static isthmus_status request_uid(const nvshmemx_uniqueid_args_t *args, struct ist_boot_request *out)
{
    if (args->id == NULL) return ist_fail(ISTHMUS_ERR_INVALID, "uid_args.id is NULL; valid: a pointer to a unique id");
    if (args->nranks < 1 || args->myrank < 0 || args->myrank >= args->nranks)
        return ist_fail(ISTHMUS_ERR_INVALID, "uid_args.myrank is %d and nranks %d; valid: a rank from 0 to nranks - 1",
                        args->myrank, args->nranks);
    *out = (struct ist_boot_request){.kind = IST_BOOTSTRAP_UID, .pe = args->myrank, .n_pes = args->nranks};
    memcpy(&out->uid, args->id->internal, sizeof out->uid);
    return ISTHMUS_OK;
}

static isthmus_status make_request(unsigned flags, nvshmemx_init_attr_t *attr, struct ist_boot_request *out)
{
    const unsigned sources = NVSHMEMX_INIT_WITH_MPI_COMM | NVSHMEMX_INIT_WITH_SHMEM | NVSHMEMX_INIT_WITH_UNIQUEID;
    unsigned source = flags & sources;
    *out = (struct ist_boot_request){.kind = IST_BOOTSTRAP_AUTO};
    if ((flags & ~(sources | NVSHMEMX_INIT_THREAD_PES)) != 0 || (source & (source - 1)) != 0)
        return ist_fail(ISTHMUS_ERR_INVALID, "flags is 0x%x; valid: one of the NVSHMEMX_INIT_WITH_ flags, or 0", flags);
    if ((flags & NVSHMEMX_INIT_THREAD_PES) != 0)
        return ist_fail(
            ISTHMUS_ERR_UNSUPPORTED,
            "flags has NVSHMEMX_INIT_THREAD_PES, which is not supported; valid: the other flags, as each PE is a "
            "process");
    if (attr == NULL && (source & ~(unsigned)NVSHMEMX_INIT_WITH_SHMEM) != 0)
        return ist_fail(ISTHMUS_ERR_INVALID, "attributes is NULL; valid with these flags: a pointer to attributes");
    if (attr != NULL) write_versions(attr);
    if (source == NVSHMEMX_INIT_WITH_UNIQUEID) return request_uid(&attr->args.uid_args, out);
    if (source != NVSHMEMX_INIT_WITH_MPI_COMM) return ISTHMUS_OK; /* a running job of shmem_init is joined by nesting */
    if (attr->mpi_comm == NULL)
        return ist_fail(ISTHMUS_ERR_INVALID, "mpi_comm is NULL; valid: a pointer to an MPI_Comm");
    return ist_request_mpi(IST_FACE_NVSHMEM, attr->mpi_comm, out);
}

static int init_attr(const char *routine, int level, unsigned flags, nvshmemx_init_attr_t *attr)
{
    struct ist_boot_request request;
    isthmus_status status = make_request(flags, attr, &request);
    if (status != ISTHMUS_OK) return report(routine, status);
    return code_of(ist_init_job(routine, IST_FACE_NVSHMEM, level, &request));
}

int nvshmemx_init_attr(unsigned int flags, nvshmemx_init_attr_t *attributes)
{
    return init_attr("nvshmemx_init_attr", PLAIN_LEVEL, flags, attributes);
}

int nvshmemx_hostlib_init_attr(unsigned int flags, nvshmemx_init_attr_t *attr)
{
    return init_attr("nvshmemx_hostlib_init_attr", PLAIN_LEVEL, flags, attr);
}

void nvshmemx_hostlib_finalize(void) { ist_finalize("nvshmemx_hostlib_finalize"); }

/* ---- what programs that were compiled with NVSHMEM's own headers call ----
 * Their nvshmem_init is a function of NVSHMEM's device library, which is part of the program and calls these. */

/* The callback would return where the device library has its state. Nothing is written there: kernels that use it do
 * not communicate. */
static void check_device_library(nvshmemx_device_lib_init_cb callback)
{
    if (callback == NULL || !ist_has_device_memory() || ist_team_world.my_pe != 0) return;
    ist_warn(
        "kernels that contain NVSHMEM's own device library cannot call Isthmus; compile them with the nvshmem.h of "
        "Isthmus, or keep to calls of the host");
}

int nvshmemid_hostlib_init_attr(int requested, int *provided, unsigned int bootstrap_flags, nvshmemx_init_attr_t *attr,
                                nvshmemi_version_t nvshmem_device_lib_version, nvshmemx_device_lib_init_cb cb)
{
    int status = init_attr("nvshmem_init", ist_thread_level_of(requested), bootstrap_flags, attr);
    (void)nvshmem_device_lib_version; /* the layouts above are those of all versions 3 */
    if (status != NVSHMEMX_SUCCESS) return status;
    if (provided != NULL) *provided = ist_runtime.thread_level;
    check_device_library(cb);
    return NVSHMEMX_SUCCESS;
}

void nvshmemid_hostlib_finalize(void *device_ctx, void *transport_device_ctx)
{
    (void)device_ctx, (void)transport_device_ctx;
    ist_finalize("nvshmem_finalize");
}

int nvshmemid_init_status(void) { return nvshmemx_init_status(); }

int nvshmemx_set_attr_mpi_comm_args(void *mpi_comm, nvshmemx_init_attr_t *nvshmem_attr)
{
    if (nvshmem_attr == NULL) return NVSHMEMX_ERROR_INVALID_VALUE;
    nvshmem_attr->mpi_comm = mpi_comm;
    return NVSHMEMX_SUCCESS;
}

/* ---- unique ids ---- */

int nvshmemx_get_uniqueid(nvshmemx_uniqueid_t *uniqueid)
{
    struct ist_uid uid;
    if (uniqueid == NULL) return NVSHMEMX_ERROR_INVALID_VALUE;
    isthmus_status status = ist_request_new_uid(IST_FACE_NVSHMEM, &uid);
    if (status != ISTHMUS_OK) return report("nvshmemx_get_uniqueid", status);
    *uniqueid = (nvshmemx_uniqueid_t)NVSHMEMX_UNIQUEID_INITIALIZER;
    memcpy(uniqueid->internal, &uid, sizeof uid);
    return NVSHMEMX_SUCCESS;
}

int nvshmemx_set_attr_uniqueid_args(const int myrank, const int nranks, const nvshmemx_uniqueid_t *uniqueid,
                                    nvshmemx_init_attr_t *attr)
{
    if (uniqueid == NULL || attr == NULL || nranks < 1 || myrank < 0 || myrank >= nranks)
        return NVSHMEMX_ERROR_INVALID_VALUE;
    attr->args.uid_args = (nvshmemx_uniqueid_args_t)NVSHMEMX_UNIQUEID_ARGS_INITIALIZER;
    attr->args.uid_args.id = (nvshmemx_uniqueid_t *)(uintptr_t)uniqueid; /* only read */
    attr->args.uid_args.myrank = myrank;
    attr->args.uid_args.nranks = nranks;
    return NVSHMEMX_SUCCESS;
}

/* ---- modules of device code ---- */

/* Where there is no GPU, programs may try all the same. */
static int report_code(const char *routine, isthmus_status status)
{
    if (status != ISTHMUS_ERR_UNSUPPORTED) return report(routine, status);
    ist_info("%s: %s", routine, ist_fail_text());
    return code_of(status);
}

int nvshmemx_cumodule_init(CUmodule module)
{
    return report_code("nvshmemx_cumodule_init", ist_device_add_code(ISTHMUS_MEM_CUDA, ISTHMUS_CODE_MODULE, module));
}

int nvshmemx_cumodule_finalize(CUmodule module)
{
    return report_code("nvshmemx_cumodule_finalize",
                       ist_device_remove_code(ISTHMUS_MEM_CUDA, ISTHMUS_CODE_MODULE, module));
}

int nvshmemx_culibrary_init(CUlibrary library)
{
    return report_code("nvshmemx_culibrary_init", ist_device_add_code(ISTHMUS_MEM_CUDA, ISTHMUS_CODE_LIBRARY, library));
}

int nvshmemx_culibrary_finalize(CUlibrary library)
{
    return report_code("nvshmemx_culibrary_finalize",
                       ist_device_remove_code(ISTHMUS_MEM_CUDA, ISTHMUS_CODE_LIBRARY, library));
}
