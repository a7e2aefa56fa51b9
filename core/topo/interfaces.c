/* core/topo/interfaces.c: see interfaces.h. */
#include "core/topo/interfaces.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

/* The best one first. */
enum rank { CARRIER, OF_CONTAINERS, WITHOUT_CARRIER, OWN, UNFIT };

/* Returns true if the name begins with one of "eth,ib0". */
static bool begins_with(const char *name, const char *list)
{
    for (size_t length; *list != '\0'; list += length, list += strspn(list, ",")) {
        length = strcspn(list, ",");
        if (length > 0 && strncmp(name, list, length) == 0) return true;
    }
    return false;
}

static enum rank rank_of(const char *names, const struct ifaddrs *interface)
{
    bool is_own = (interface->ifa_flags & IFF_LOOPBACK) != 0, is_chosen = names != NULL && *names != '\0';
    if ((interface->ifa_flags & IFF_UP) == 0) return UNFIT;
    if (is_chosen) {
        bool excludes = *names == '^';
        return begins_with(interface->ifa_name, names + excludes) != excludes ? CARRIER : UNFIT;
    }
    if (is_own) return OWN;
    if ((interface->ifa_flags & IFF_RUNNING) == 0) return WITHOUT_CARRIER;
    return begins_with(interface->ifa_name, "docker,br-,virbr,cni,veth") ? OF_CONTAINERS : CARRIER;
}

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

static isthmus_status fail_no_interface(const char *names, int family, const struct ifaddrs *all)
{
    char there[200] = "";
    size_t used = 0;
    struct in6_addr address;
    for (const struct ifaddrs *at = all; at != NULL && used < sizeof there; at = at->ifa_next)
        if (read_address(at->ifa_addr, family, &address))
            used += (size_t)snprintf(there + used, sizeof there - used, " %s", at->ifa_name);
    return ist_fail(
        ISTHMUS_ERR_NO_DEVICE,
        "no network interface fits ISTHMUS_UID_INTERFACE '%s' and ISTHMUS_UID_FAMILY %s; interfaces of that family:%s",
        names != NULL ? names : "", family == AF_INET6 ? "AF_INET6" : "AF_INET", used > 0 ? there : " none");
}

isthmus_status ist_interfaces_find(const char *names, int family, struct in6_addr *out, size_t room, size_t *n)
{
    struct ifaddrs *all;
    if (getifaddrs(&all) != 0) return ist_fail_errno(ISTHMUS_ERR_IO, "cannot list the network interfaces: getifaddrs");
    *n = 0;
    for (enum rank rank = CARRIER; rank < UNFIT && *n == 0; rank++)
        for (const struct ifaddrs *at = all; at != NULL && *n < room; at = at->ifa_next)
            if (rank_of(names, at) == rank) *n += read_address(at->ifa_addr, family, &out[*n]);
    isthmus_status status = *n > 0 ? ISTHMUS_OK : fail_no_interface(names, family, all);
    freeifaddrs(all);
    return status;
}
