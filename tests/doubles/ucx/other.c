/* tests/doubles/ucx/other.c: the system's UCX under another version's number. With UCX_DOUBLE_KEYS=refused it unpacks
 * no key of a peer, as a UCX does that does not know the format of another one. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <ucp/api/ucp.h>

void ucp_get_version(unsigned *major, unsigned *minor, unsigned *release)
{
    *major = UCP_API_MAJOR;
    *minor = UCP_API_MINOR;
    *release = 99;
}

ucs_status_t ucp_ep_rkey_unpack(ucp_ep_h ep, const void *packed, ucp_rkey_h *rkey)
{
    const char *keys = getenv("UCX_DOUBLE_KEYS");
    __typeof__(ucp_ep_rkey_unpack) *next;
    if (keys != NULL && strcmp(keys, "refused") == 0) return UCS_ERR_UNSUPPORTED;
    *(void **)(void *)&next = dlsym(RTLD_NEXT, "ucp_ep_rkey_unpack");
    return next(ep, packed, rkey);
}
