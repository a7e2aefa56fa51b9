/* plugins/ib/ib_mem.c: registers and exposes memory of this PE, and attaches memory of peers. A remote key is unpacked
 * for each worker that uses it, on first use: UCX binds it to an endpoint. */
#include "plugins/ib/am/am.h"
#include "plugins/ib/ib_registration.h"
#include "plugins/ib/rc/rc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

/* ---- own memory ---- */

static struct ib_frame key_frame(const isthmus_lmem *lmem, size_t packed_bytes)
{
    return (struct ib_frame){
        .magic = IB_FRAME_KEY,
        .payload_bytes = (uint32_t)packed_bytes,
        .kind = lmem->kind,
        .is_staged = lmem->is_staged,
        .atomic_rkey = lmem->atomic_rkey,
        .has_atomic_rkey = lmem->mr != NULL,
        .address = (uint64_t)(uintptr_t)lmem->addr,
        .length_bytes = lmem->length_bytes,
    };
}

/* Returns true if a packed key has a part for an adapter. UCX has no call that reports this. It packs 8 bytes, a bit
 * for each memory domain that has registered the memory; a byte, the type of memory; for each such domain a byte of
 * length and so many bytes; and from 1.20 on the place of the memory. A domain of an adapter has some bytes, its key; a
 * domain that copies by the processor, as for TCP, has none. If a UCX packs otherwise, memory is staged that could be
 * direct, or UCX itself copies: both work. */
static bool has_adapter(const void *packed, size_t packed_bytes)
{
    const uint8_t *at = packed, *end = at + packed_bytes;
    uint64_t domains;
    if (packed_bytes < sizeof domains + 1) return false;
    memcpy(&domains, at, sizeof domains);
    at += sizeof domains + 1;
    for (int left = __builtin_popcountll(domains); left > 0 && at < end; left--, at++)
        if (*at > 0) return true;
    return false;
}

static isthmus_status check_adapter(const isthmus_lmem *lmem, const void *packed, size_t packed_bytes)
{
    const struct isthmus_services *s = lmem->tr->services;
    if (lmem->kind == ISTHMUS_MEM_HOST || has_adapter(packed, packed_bytes)) return ISTHMUS_OK;
    return s->fail(s->core, ISTHMUS_ERR_UNSUPPORTED,
                   "UCX supports this kind of memory, but no adapter of this host registers it");
}

static isthmus_status write_key(const isthmus_lmem *lmem, void *key, size_t *key_bytes)
{
    isthmus_tr *tr = lmem->tr;
    const struct isthmus_services *s = tr->services;
    if (lmem->is_staged) return ib_frame_write(s, key_frame(lmem, 0), "", key, key_bytes);
    void *packed;
    size_t packed_bytes;
    char reason[IB_REASON_TEXT_BYTES];
    ib_ucp_reason_begin();
    ucs_status_t status = ib_ucp.ucp_rkey_pack(tr->ucp, lmem->ucp, &packed, &packed_bytes);
    ib_ucp_reason(reason);
    if (status != UCS_OK)
        return s->fail(s->core, ib_ucp_code(status), "ucp_rkey_pack: %s%s", ib_ucp.ucs_status_string(status), reason);
    isthmus_status result = check_adapter(lmem, packed, packed_bytes);
    if (result == ISTHMUS_OK) result = ib_frame_write(s, key_frame(lmem, packed_bytes), packed, key, key_bytes);
    ib_ucp.ucp_rkey_buffer_release(packed);
    return result;
}

/* UCX's types of the kinds of memory, and the text for isthmus-info where UCX lacks one. */
static const struct {
    uint32_t kind;
    ucs_memory_type_t type; /* a kind unknown to UCX is never among those that it supports */
    const char *staged;
} kinds[] = {
    {ISTHMUS_MEM_HOST, UCS_MEMORY_TYPE_HOST, NULL},
    {ISTHMUS_MEM_CUDA, UCS_MEMORY_TYPE_CUDA, "staged through host memory (UCX has no cuda here)"},
    {ISTHMUS_MEM_HIP, UCS_MEMORY_TYPE_ROCM, "staged through host memory (UCX has no rocm here)"},
#ifdef IB_UCX_KNOWS_ZE
    {ISTHMUS_MEM_ZE, UCS_MEMORY_TYPE_ZE_DEVICE, "staged through host memory (UCX has no ze here)"},
#else
    {ISTHMUS_MEM_ZE, UCS_MEMORY_TYPE_UNKNOWN, "staged through host memory (UCX has no ze here)"},
#endif
};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

/* Where no adapter can register memory of devices, UCX would copy it in the thread that makes progress, and up to 1.18
 * ends the process if that thread has no context of CUDA. */
static void stage_devices(isthmus_tr *tr)
{
    for (uint32_t kind = ISTHMUS_MEM_HOST + 1; kind < IB_MEM_KINDS; kind++)
        if ((tr->kinds >> kind & 1) != 0)
            snprintf(tr->why_staged[kind], sizeof tr->why_staged[kind],
                     "staged through host memory (UCX knows such memory, and no adapter of this host is up)");
    tr->kinds = 1u << ISTHMUS_MEM_HOST;
}

isthmus_status ib_kinds_query(isthmus_tr *tr)
{
    const struct isthmus_services *s = tr->services;
    ucp_context_attr_t attr = {.field_mask = UCP_ATTR_FIELD_MEMORY_TYPES};
    ucs_status_t status = ib_ucp.ucp_context_query(tr->ucp, &attr);
    if (status != UCS_OK)
        return s->fail(s->core, ib_ucp_code(status), "ucp_context_query: %s", ib_ucp.ucs_status_string(status));
    for (size_t i = 0; i < N_KINDS; i++)
        if (kinds[i].type < UCS_MEMORY_TYPE_LAST && (attr.memory_types >> kinds[i].type & 1) != 0)
            tr->kinds |= 1u << kinds[i].kind;
    if (tr->stage != NULL && tr->net->n_active == 0) stage_devices(tr);
    return ISTHMUS_OK;
}

/* Whether an adapter can register memory of a kind that UCX supports is known for each extent only. */
static bool is_supported(const isthmus_tr *tr, uint32_t kind) { return kind < 32 && (tr->kinds >> kind & 1) != 0; }

const char *ib_kind_how(const isthmus_tr *tr, uint32_t kind)
{
    if (kind == ISTHMUS_MEM_HOST && tr->order.how[0] != '\0') return tr->order.how;
    if (kind == ISTHMUS_MEM_HOST && tr->is_on_demand) return "by calls into the transport, registered on demand";
    if (kind == ISTHMUS_MEM_HOST || kind >= IB_MEM_KINDS) return NULL;
    if (tr->why_staged[kind][0] != '\0') return tr->why_staged[kind];
    if (is_supported(tr, kind)) return "direct";
    for (size_t i = 0; i < N_KINDS; i++)
        if (kinds[i].kind == kind) return kinds[i].staged;
    return NULL;
}

/* Logs the failure of a registration once for each kind, and keeps it for isthmus-info. */
static void keep_why_staged(isthmus_tr *tr, uint32_t kind)
{
    const struct isthmus_services *s = tr->services;
    char *why = tr->why_staged[kind];
    const char *cause = s->fail_text(s->core);
    if (strncmp(cause, "ib: ", 4) == 0) cause += 4;
    if (kind >= IB_MEM_KINDS || why[0] != '\0') return;
    snprintf(why, sizeof tr->why_staged[kind], "staged through host memory (%s)", cause);
    s->log(s->core, ISTHMUS_LOG_INFO, "memory of kind %u is %s", kind, why);
}

static isthmus_status type_of(const isthmus_tr *tr, uint32_t kind, ucs_memory_type_t *out)
{
    const struct isthmus_services *s = tr->services;
    for (size_t i = 0; i < N_KINDS; i++) {
        if (kinds[i].kind != kind || !is_supported(tr, kind)) continue;
        *out = kinds[i].type;
        return ISTHMUS_OK;
    }
    return s->fail(
        s->core, ISTHMUS_ERR_UNSUPPORTED,
        "this UCX was built without support for memory of kind %u; it stays on its host, so use a UCX with it", kind);
}

static const char own_status[] = "/proc/thread-self/status";

/* If UCX, the adapter or the kernel cannot register on demand, UCX pins all the same and reports nothing: only the
 * kernel's count shows it. */
static void note_if_pinned(isthmus_lmem *lmem, uint64_t before_bytes)
{
    const struct isthmus_services *s = lmem->tr->services;
    uint64_t now_bytes = ib_registration_pinned_bytes(own_status);
    lmem->is_pinned = now_bytes > before_bytes && now_bytes - before_bytes >= lmem->length_bytes;
    if (lmem->is_pinned)
        s->log(
            s->core, ISTHMUS_LOG_INFO,
            "%llu bytes are pinned although ISTHMUS_IB_REGISTRATION is on_demand: UCX %s or the adapter cannot do that",
            (unsigned long long)lmem->length_bytes, ib_ucp_version());
}

static ucs_status_t map_at(isthmus_lmem *lmem, void *addr, ucs_memory_type_t type)
{
    ucp_mem_map_params_t params = {
        .field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH |
                      UCP_MEM_MAP_PARAM_FIELD_MEMORY_TYPE | UCP_MEM_MAP_PARAM_FIELD_FLAGS,
        .address = addr,
        .length = lmem->length_bytes,
        .memory_type = type,
        .flags = ib_registration_flags(lmem->tr->is_on_demand, lmem->kind),
    };
    uint64_t pinned_bytes = params.flags != 0 ? ib_registration_pinned_bytes(own_status) : 0;
    lmem->addr = addr;
    ucs_status_t status = ib_ucp.ucp_mem_map(lmem->tr->ucp, &params, &lmem->ucp);
    if (status == UCS_OK && params.flags != 0) note_if_pinned(lmem, pinned_bytes);
    return status;
}

/* An adapter registers no pages that this process may not write, and static data has such: constants that hold
 * addresses. The memory of the descriptor can be written, so a second mapping of it is registered then. */
static ucs_status_t map_again(isthmus_lmem *lmem, const struct isthmus_mem *mem)
{
    void *second = mmap(NULL, mem->length_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, mem->fd,
                        (off_t)mem->fd_offset_bytes);
    if (second == MAP_FAILED) return UCS_ERR_NO_MEMORY;
    ucs_status_t status = map_at(lmem, second, UCS_MEMORY_TYPE_HOST);
    lmem->is_second = status == UCS_OK;
    if (status != UCS_OK) (void)munmap(second, mem->length_bytes);
    return status;
}

static isthmus_lmem *lmem_create(isthmus_tr *tr, const struct isthmus_mem *mem)
{
    isthmus_lmem *lmem = calloc(1, sizeof *lmem);
    if (lmem == NULL) {
        (void)tr->services->fail(tr->services->core, ISTHMUS_ERR_NO_MEMORY, "no memory for a registration");
        return NULL;
    }
    lmem->tr = tr;
    lmem->addr = mem->addr;
    lmem->length_bytes = mem->length_bytes;
    lmem->kind = mem->kind;
    return lmem;
}

static const char raise_limit[] =
    "raise it: ulimit -l unlimited, docker --ulimit memlock=-1, memlock in limits.conf, LimitMEMLOCK of the launcher's "
    "service, PropagateResourceLimits of Slurm";

/* When the limit of locked memory is reached, the system reports that there is no memory. For a hint in a message
 * only. */
static bool may_be_limit(ucs_status_t why, const char *reason)
{
    struct rlimit limit;
    bool is_short = why == UCS_ERR_NO_MEMORY || strstr(reason, "Cannot allocate memory") != NULL;
    return is_short && getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

static isthmus_status fail_map(const isthmus_lmem *lmem, ucs_status_t why)
{
    const struct isthmus_services *s = lmem->tr->services;
    char reason[IB_REASON_TEXT_BYTES];
    ib_ucp_reason(reason);
    bool is_limit = may_be_limit(why, reason);
    return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "UCX %s cannot register %llu bytes: %s%s%s%s", ib_ucp_version(),
                   (unsigned long long)lmem->length_bytes, ib_ucp.ucs_status_string(why), reason,
                   is_limit ? "; locked memory is limited: " : "", is_limit ? raise_limit : "");
}

/* Tried out, since a privilege may make the limit void, and a container the privilege. Over TCP (tr->wakes) nothing is
 * pinned. UCX pins memory of its own also where it registers that of the job on demand. */
isthmus_status ib_check_locked_memory(isthmus_tr *tr)
{
    enum { LEAST_BYTES = 8 << 20, ENOUGH_BYTES = 1 << 30 };
    const struct isthmus_services *s = tr->services;
    struct rlimit limit;
    char reason[IB_REASON_TEXT_BYTES];
    if (tr->wakes || getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur >= ENOUGH_BYTES) return ISTHMUS_OK;
    void *memory = mmap(NULL, LEAST_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return ISTHMUS_OK;
    const ucp_mem_map_params_t params = {.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH,
                                         .address = memory,
                                         .length = LEAST_BYTES};
    ucp_mem_h registered;
    ib_ucp_reason_begin();
    ucs_status_t mapped = ib_ucp.ucp_mem_map(tr->ucp, &params, &registered);
    ib_ucp_reason(reason);
    if (mapped == UCS_OK) (void)ib_ucp.ucp_mem_unmap(tr->ucp, registered);
    (void)munmap(memory, LEAST_BYTES);
    if (mapped == UCS_OK || !may_be_limit(mapped, reason)) return ISTHMUS_OK;
    return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY,
                   "locked memory is limited to %llu KiB, and a worker of UCX needs more than %d KiB for its adapter; "
                   "%s",
                   (unsigned long long)limit.rlim_cur >> 10, LEAST_BYTES >> 10, raise_limit);
}

/* Registers memory with UCX. */
static isthmus_status map(isthmus_lmem *lmem, const struct isthmus_mem *mem)
{
    ucs_memory_type_t type = UCS_MEMORY_TYPE_HOST;
    isthmus_status status = type_of(lmem->tr, mem->kind, &type);
    if (status != ISTHMUS_OK) return status;
    if (mem->addr == NULL) return ISTHMUS_OK; /* all memory of that kind: UCX detects each operand */
    ib_ucp_reason_begin();
    ucs_status_t mapped = map_at(lmem, mem->addr, type);
    if (mapped == UCS_OK) lmem->operand = lmem->ucp;
    if (mapped != UCS_OK && mem->kind == ISTHMUS_MEM_HOST && mem->fd >= 0) mapped = map_again(lmem, mem);
    if (mapped == UCS_OK) return ISTHMUS_OK;
    lmem->ucp = NULL;
    return fail_map(lmem, mapped);
}

/* With UCX, or staged: without UCX, where the core copies. */
static isthmus_status register_as(isthmus_tr *tr, const struct isthmus_mem *mem, bool is_staged, isthmus_lmem **out)
{
    isthmus_lmem *lmem = lmem_create(tr, mem);
    if (lmem == NULL) return ISTHMUS_ERR_NO_MEMORY;
    isthmus_status status = is_staged ? ib_operands_add(lmem) : map(lmem, mem);
    if (status == ISTHMUS_OK)
        *out = lmem;
    else
        ib_unregister(lmem);
    return status;
}

/* Adapters write direct memory past the device's driver: the core has this PE's waits flush such writes. */
static void announce_direct(const isthmus_lmem *lmem)
{
    const struct isthmus_services *s = lmem->tr->services;
    bool is_direct = lmem->kind != ISTHMUS_MEM_HOST && !lmem->is_staged;
    if (is_direct && ISTHMUS_HAS(s, memory_is_direct)) s->memory_is_direct(s->core, lmem->kind);
}

static bool can_stage(const isthmus_tr *tr, uint32_t kind)
{
    bool is_on_device = kind == ISTHMUS_MEM_CUDA || kind == ISTHMUS_MEM_ZE || kind == ISTHMUS_MEM_HIP;
    return is_on_device && tr->stage != NULL;
}

/* A registration makes transfers from and to a buffer cheaper. Without one they work too: UCX moves unregistered memory
 * by way of its own. */
static isthmus_status register_without_ucx(isthmus_tr *tr, const struct isthmus_mem *mem, isthmus_lmem **out)
{
    const struct isthmus_services *s = tr->services;
    isthmus_lmem *lmem = lmem_create(tr, mem);
    if (lmem == NULL) return ISTHMUS_ERR_NO_MEMORY;
    s->log(s->core, ISTHMUS_LOG_INFO, "a buffer is used without a registration: %s", s->fail_text(s->core));
    *out = lmem;
    return ISTHMUS_OK;
}

isthmus_status ib_register(isthmus_tr *tr, const struct isthmus_mem *mem, isthmus_lmem **out)
{
    bool stages = can_stage(tr, mem->kind), is_staged = stages && !is_supported(tr, mem->kind);
    isthmus_status status = register_as(tr, mem, is_staged, out);
    if (status == ISTHMUS_OK) announce_direct(*out);
    if (status == ISTHMUS_OK || is_staged) return status;
    if (mem->kind == ISTHMUS_MEM_HOST) return register_without_ucx(tr, mem, out);
    if (!stages) return status;
    keep_why_staged(tr, mem->kind);
    return register_as(tr, mem, true, out);
}

/* On demand only what UCX has registered so: it knows adapters that report it and must not be asked for it. */
static isthmus_status create_mr(isthmus_lmem *lmem)
{
    bool is_on_demand = lmem->tr->is_on_demand && !lmem->is_pinned;
    return ib_mr_create(lmem->tr->adapter, lmem->addr, lmem->length_bytes, is_on_demand, &lmem->mr, &lmem->atomic_rkey);
}

/* Registers memory for atomics by the adapter of this PE: the same pages as UCX has registered. Where UCX copies by the
 * processor and the adapter cannot register these pages, both registrations are of a second mapping. */
static isthmus_status expose_to_atomics(isthmus_lmem *lmem, const struct isthmus_mem *mem)
{
    isthmus_tr *tr = lmem->tr;
    if (tr->adapter == NULL || mem->kind != ISTHMUS_MEM_HOST) return ISTHMUS_OK;
    isthmus_status status = create_mr(lmem);
    if (status == ISTHMUS_OK || lmem->is_second || mem->fd < 0) return status;
    (void)ib_ucp.ucp_mem_unmap(tr->ucp, lmem->ucp);
    lmem->ucp = lmem->operand = NULL;
    ib_ucp_reason_begin();
    ucs_status_t mapped = map_again(lmem, mem);
    if (mapped != UCS_OK) return fail_map(lmem, mapped);
    return create_mr(lmem);
}

static isthmus_status expose_as(isthmus_tr *tr, const struct isthmus_mem *mem, bool is_staged, void *key,
                                size_t *key_bytes, isthmus_lmem **out)
{
    isthmus_lmem *lmem = NULL;
    isthmus_status status = register_as(tr, mem, is_staged, &lmem);
    if (status != ISTHMUS_OK) return status;
    status = expose_to_atomics(lmem, mem);
    if (status == ISTHMUS_OK) status = write_key(lmem, key, key_bytes);
    if (status == ISTHMUS_OK && tr->stage != NULL && mem->kind != ISTHMUS_MEM_HOST) status = ib_stage_add(lmem);
    if (status == ISTHMUS_OK && mem->kind == ISTHMUS_MEM_HOST) ib_am_expose(lmem);
    if (status != ISTHMUS_OK) {
        ib_unregister(lmem);
        return status;
    }
    announce_direct(lmem);
    *out = lmem;
    return ISTHMUS_OK;
}

/* Each extent of a device's memory is registered with the adapter that this PE uses, and staged where that fails: its
 * key states to each peer which of the two it is. So PEs and extents may differ, as when a device's window for adapters
 * is full. */
isthmus_status ib_expose(isthmus_tr *tr, const struct isthmus_mem *mem, void *key, size_t *key_bytes,
                         isthmus_lmem **out)
{
    bool stages = can_stage(tr, mem->kind), is_staged = stages && !is_supported(tr, mem->kind);
    size_t room_bytes = *key_bytes;
    isthmus_status status = expose_as(tr, mem, is_staged, key, key_bytes, out);
    bool is_short = status == ISTHMUS_ERR_LIMIT &&
                    *key_bytes <= ISTHMUS_KEY_MAX_BYTES; /* the caller has room for more */
    if (status == ISTHMUS_OK || is_staged || !stages || is_short) return status;
    keep_why_staged(tr, mem->kind);
    *key_bytes = room_bytes;
    return expose_as(tr, mem, true, key, key_bytes, out);
}

void ib_unregister(isthmus_lmem *lmem)
{
    if (lmem == NULL) return;
    if (lmem->is_served) ib_stage_remove(lmem);
    if (lmem->is_staged) ib_operands_release(lmem->tr);
    ib_am_hide(lmem);
    ib_mr_destroy(lmem->mr);
    if (lmem->ucp != NULL) (void)ib_ucp.ucp_mem_unmap(lmem->tr->ucp, lmem->ucp);
    if (lmem->is_second) (void)munmap(lmem->addr, lmem->length_bytes);
    free(lmem);
}

/* ---- a peer's memory ---- */

/* Refuses, with a text, memory that this PE can reach neither directly nor staged. */
static isthmus_status check_reached(const isthmus_path *path, const struct ib_frame *frame)
{
    const struct isthmus_services *s = path->tr->services;
    const char *what = frame->is_staged ? "stages" : "has registered";
    bool can = frame->is_staged ? can_stage(path->tr, frame->kind) : is_supported(path->tr, frame->kind);
    if (can || frame->kind == ISTHMUS_MEM_HOST) return ISTHMUS_OK;
    return s->fail(s->core, ISTHMUS_ERR_VERSION,
                   "PE %d on %s %s memory of kind %u, which %s here does not support; use one version on all PEs",
                   path->pe, path->host_name, what, frame->kind, frame->is_staged ? "the core" : "UCX");
}

isthmus_status ib_attach(isthmus_path *path, const void *key, size_t key_bytes, isthmus_rmem **out, void **alias)
{
    const struct isthmus_services *s = path->tr->services;
    struct ib_frame frame;
    const void *packed = NULL;
    isthmus_status status = ib_frame_read(s, IB_FRAME_KEY, (struct ib_frame_owner){path->pe, path->host_name}, key,
                                          key_bytes, &frame, &packed);
    if (status == ISTHMUS_OK) status = check_reached(path, &frame);
    if (status != ISTHMUS_OK) return status;
    isthmus_rmem *rmem = calloc(1, sizeof *rmem);
    void *copy = malloc(frame.payload_bytes + 1); /* of a staged one it is empty */
    if (rmem == NULL || copy == NULL) {
        free(copy);
        free(rmem);
        return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "no memory for an extent of PE %d", path->pe);
    }
    rmem->path = path;
    rmem->address = frame.address;
    rmem->packed_rkey = memcpy(copy, packed, frame.payload_bytes);
    rmem->kind = frame.kind;
    rmem->atomic_rkey = frame.atomic_rkey;
    rmem->has_atomic_rkey = frame.has_atomic_rkey != 0;
    rmem->is_staged = frame.is_staged != 0;
    if (path->is_self) rmem->own = (char *)(uintptr_t)frame.address;
    rmem->is_rma = !path->is_self && !rmem->is_staged;
    rmem->holds_operands = rmem->is_staged && !path->is_self && is_supported(path->tr, frame.kind);
    if (rmem->holds_operands) status = ib_operands_hold(path->tr, frame.kind);
    if (status != ISTHMUS_OK) {
        ib_detach(rmem);
        return status;
    }
    *alias = frame.kind == ISTHMUS_MEM_HOST ? rmem->own : NULL;
    *out = rmem;
    return ISTHMUS_OK;
}

/* The unpacked keys are a cache, each under its worker's lock: to its users an attached extent is constant. */
isthmus_status ib_rkey_get(struct ib_ep *ep, uint32_t worker, const isthmus_rmem *remote, ucp_rkey_h *out)
{
    ucp_rkey_h *entry = &((isthmus_rmem *)(uintptr_t)remote)->rkeys[worker];
    if (*entry == NULL) {
        const struct isthmus_services *s = ep->path->tr->services;
        ucs_status_t unpacked = ib_ucp.ucp_ep_rkey_unpack(ep->ucp, remote->packed_rkey, entry);
        if (unpacked != UCS_OK) {
            char note[IB_NOTE_BYTES];
            *entry = NULL;
            (void)ib_ucp_note(note);
            return s->fail(s->core, ib_ucp_code(unpacked),
                           "a key of PE %d on %s cannot be unpacked: %s; here is %s, there %s", ep->path->pe,
                           ep->path->host_name, ib_ucp.ucs_status_string(unpacked), note, ep->path->note);
        }
    }
    *out = *entry;
    return ISTHMUS_OK;
}

void ib_detach(isthmus_rmem *rmem)
{
    if (rmem == NULL) return;
    for (uint32_t i = 0; i < rmem->path->tr->n_workers; i++)
        if (rmem->rkeys[i] != NULL) ib_worker_drop_rkey(&rmem->path->tr->workers[i], rmem->rkeys[i]);
    if (rmem->holds_operands) ib_operands_release(rmem->path->tr);
    free(rmem->packed_rkey);
    free(rmem);
}
