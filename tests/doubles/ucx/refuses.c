/* tests/doubles/ucx/refuses.c: the system's UCX, except that gets of more than a byte cannot be started: as UCX 1.16
 * and newer do with an operation for which an endpoint has no protocol, it logs the reason and cancels the request. The
 * peer is alive. */
#include <dlfcn.h>
#include <ucp/api/ucp.h>
#include <ucs/debug/log_def.h>

ucs_status_ptr_t ucp_get_nbx(ucp_ep_h ep, void *buffer, size_t count, uint64_t remote_addr, ucp_rkey_h rkey,
                             const ucp_request_param_t *param)
{
    static ucs_log_component_config_t component = {.log_level = UCS_LOG_LEVEL_ERROR, .name = "DOUBLE"};
    __typeof__(ucp_get_nbx) *next;
    *(void **)(void *)&next = dlsym(RTLD_NEXT, "ucp_get_nbx");
    if (count == 1) return next(ep, buffer, count, remote_addr, rkey, param);
    ucs_log_dispatch(__FILE__, __LINE__, __func__, UCS_LOG_LEVEL_ERROR, &component,
                     "cannot find remote protocol for: get");
    return UCS_STATUS_PTR(UCS_ERR_CANCELED);
}
