/* tests/doubles/ucx/adapter.c: the system's UCX, except that it knows memory of CUDA and has an adapter that registers
 * it: it takes that for host memory, so the double of the driver has to let the processor touch it
 * (GPU_DOUBLE_HOST_ACCESS=1). Keys of such memory have a part of one adapter in front of UCX's own. For puts and gets
 * of host operands. */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <ucp/api/ucp.h>

enum { N_MAPPED = 64 };

/* As ib reads it: a map of memory domains, the type of the memory, and the part of the first domain, of one byte. */
struct front {
    uint64_t domains;
    uint8_t type, part_bytes, part, padding[5];
};
static const struct front of_adapter = {
    .domains = 1, .type = UCS_MEMORY_TYPE_CUDA, .part_bytes = 1, .padding = "adapt"};

static ucp_mem_h mapped[N_MAPPED]; /* memory of CUDA; cold slots are called one at a time */

#define NEXT(name)          \
    __typeof__(name) *next; \
    *(void **)(void *)&next = dlsym(RTLD_NEXT, #name)

ucs_status_t ucp_context_query(ucp_context_h context, ucp_context_attr_t *attr)
{
    NEXT(ucp_context_query);
    ucs_status_t status = next(context, attr);
    if (status == UCS_OK && (attr->field_mask & UCP_ATTR_FIELD_MEMORY_TYPES) != 0)
        attr->memory_types |= UCS_BIT(UCS_MEMORY_TYPE_CUDA);
    return status;
}

static ucp_mem_h *entry_of(ucp_mem_h memh)
{
    for (int i = 0; i < N_MAPPED; i++)
        if (mapped[i] == memh) return &mapped[i];
    return NULL;
}

ucs_status_t ucp_mem_map(ucp_context_h context, const ucp_mem_map_params_t *params, ucp_mem_h *memh)
{
    NEXT(ucp_mem_map);
    ucp_mem_map_params_t as_host = *params;
    as_host.memory_type = UCS_MEMORY_TYPE_HOST;
    ucs_status_t status = next(context, &as_host, memh);
    ucp_mem_h *entry = status == UCS_OK && params->memory_type == UCS_MEMORY_TYPE_CUDA ? entry_of(NULL) : NULL;
    if (entry != NULL) *entry = *memh;
    return status;
}

ucs_status_t ucp_mem_unmap(ucp_context_h context, ucp_mem_h memh)
{
    NEXT(ucp_mem_unmap);
    ucp_mem_h *entry = entry_of(memh);
    if (entry != NULL) *entry = NULL;
    return next(context, memh);
}

ucs_status_t ucp_rkey_pack(ucp_context_h context, ucp_mem_h memh, void **buffer, size_t *size)
{
    NEXT(ucp_rkey_pack);
    void *packed;
    size_t bytes;
    ucs_status_t status = next(context, memh, &packed, &bytes);
    if (status != UCS_OK) return status;
    size_t front_bytes = entry_of(memh) != NULL ? sizeof of_adapter : 0;
    char *all = malloc(front_bytes + bytes);
    if (all == NULL) abort();
    memcpy(all, &of_adapter, front_bytes);
    memcpy(all + front_bytes, packed, bytes);
    void (*release)(void *);
    *(void **)(void *)&release = dlsym(RTLD_NEXT, "ucp_rkey_buffer_release");
    release(packed);
    *buffer = all;
    *size = front_bytes + bytes;
    return UCS_OK;
}

void ucp_rkey_buffer_release(void *buffer) { free(buffer); } /* of a copy, made above */

ucs_status_t ucp_ep_rkey_unpack(ucp_ep_h ep, const void *buffer, ucp_rkey_h *rkey)
{
    NEXT(ucp_ep_rkey_unpack);
    bool is_of_adapter = memcmp(buffer, &of_adapter, sizeof of_adapter) == 0;
    return next(ep, (const char *)buffer + (is_of_adapter ? sizeof of_adapter : 0), rkey);
}
