/* core/topo/interfaces.c: see interfaces.h. */
#include "core/topo/interfaces.h"

#include <isthmus/interfaces.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

/* Accepts addresses of the family that need no scope. */
static bool read_address(const struct sockaddr *address, int family, struct in6_addr *out)
{
    if (address == NULL || (family != AF_UNSPEC && address->sa_family != family)) return false;
    if (address->sa_family == AF_INET) {
        *out = (struct in6_addr){.s6_addr = {[10] = 0xff, [11] = 0xff}};
        memcpy(out->s6_addr + 12, &((const struct sockaddr_in *)(const void *)address)->sin_addr, 4);
        return true;
    }
    if (address->sa_family != AF_INET6) return false;
    *out = ((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
    return !IN6_IS_ADDR_LINKLOCAL(out);
}

static isthmus_status fail_no_interface(const char *choice, int family, const struct ifaddrs *all)
{
    char there[200] = "";
    size_t used = 0;
    struct in6_addr address;
    for (const struct ifaddrs *at = all; at != NULL && used < sizeof there; at = at->ifa_next)
        if (read_address(at->ifa_addr, family, &address))
            used += (size_t)snprintf(there + used, sizeof there - used, " %s", at->ifa_name);
    return ist_fail(
        ISTHMUS_ERR_NO_DEVICE,
        "no network interface fits ISTHMUS_INTERFACE '%s' and ISTHMUS_UID_FAMILY %s; interfaces of that family:%s",
        choice != NULL ? choice : "", family == AF_INET6 ? "AF_INET6" : "AF_INET", used > 0 ? there : " none");
}

isthmus_status ist_interfaces_find(const char *choice, int family, struct in6_addr *out, size_t room, size_t *n)
{
    struct ifaddrs *all;
    if (getifaddrs(&all) != 0) return ist_fail_errno(ISTHMUS_ERR_IO, "cannot list the network interfaces: getifaddrs");
    *n = 0;
    for (int rank = ISTHMUS_INTERFACE_USUAL; rank < ISTHMUS_INTERFACE_UNFIT && *n == 0; rank++)
        for (const struct ifaddrs *at = all; at != NULL && *n < room; at = at->ifa_next)
            if ((int)isthmus_interface_rank(choice, at) == rank) *n += read_address(at->ifa_addr, family, &out[*n]);
    isthmus_status status = *n > 0 ? ISTHMUS_OK : fail_no_interface(choice, family, all);
    freeifaddrs(all);
    return status;
}
