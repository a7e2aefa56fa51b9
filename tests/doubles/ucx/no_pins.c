/* tests/doubles/ucx/no_pins.c: the system's UCX, except that host memory is registered on demand only, as where locked
 * memory is used up. */
#include <dlfcn.h>
#include <ucp/api/ucp.h>

ucs_status_t ucp_mem_map(ucp_context_h context, const ucp_mem_map_params_t *params, ucp_mem_h *memh)
{
    __typeof__(ucp_mem_map) *next;
    *(void **)(void *)&next = dlsym(RTLD_NEXT, "ucp_mem_map");
    unsigned flags = (params->field_mask & UCP_MEM_MAP_PARAM_FIELD_FLAGS) != 0 ? params->flags : 0;
    return (flags & UCP_MEM_MAP_NONBLOCK) != 0 ? next(context, params, memh) : UCS_ERR_NO_MEMORY;
}
