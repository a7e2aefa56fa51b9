/* tests/doubles/host/network.c: interfaces of the machine, in front of the real ones: bridges of containers and ports
 * without a cable. Nothing but the machine itself is reached by their addresses: it refuses connections there, from
 * other machines nothing answers, and datagrams get lost. */
#include "tests/doubles/host/host.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct interface {
    struct ifaddrs entry;
    char name[IFNAMSIZ];
    struct sockaddr_in address, mask;
};

/* What getifaddrs() has returned: entries of the machine, then the real ones. */
struct list {
    struct ifaddrs *real;
    struct interface own[HOST_KNOBS];
};

static void make(struct interface *interface, const struct host_knob *knob)
{
    char address[32], state[8];
    *interface = (struct interface){.mask = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0xffff0000)}};
    if (sscanf(knob->value, "%15s %31s %7s", interface->name, address, state) != 3 ||
        inet_pton(AF_INET, address, &interface->address.sin_addr) != 1)
        host_give_up("no interface", knob->value);
    interface->address.sin_family = AF_INET;
    unsigned up = strcmp(state, "up") == 0 ? IFF_UP | IFF_RUNNING : 0;
    interface->entry = (struct ifaddrs){.ifa_name = interface->name,
                                        .ifa_flags = up | IFF_BROADCAST | IFF_MULTICAST,
                                        .ifa_addr = (struct sockaddr *)&interface->address,
                                        .ifa_netmask = (struct sockaddr *)&interface->mask};
}

int getifaddrs(struct ifaddrs **out)
{
    HOST_NEXT(getifaddrs);
    if (host_call("getifaddrs", NULL, 0) != 0) return -1;
    if (host_knob_next("interface", NULL) == NULL) return next(out);
    struct list *list = calloc(1, sizeof *list);
    if (list == NULL || next(&list->real) != 0) {
        free(list);
        return -1;
    }
    struct ifaddrs **end = out;
    const struct host_knob *knob = NULL;
    for (int n = 0; (knob = host_knob_next("interface", knob)) != NULL; n++) {
        make(&list->own[n], knob);
        *end = &list->own[n].entry;
        end = &list->own[n].entry.ifa_next;
    }
    *end = host_knob_next("only_these_interfaces", NULL) == NULL ? list->real : NULL;
    return 0;
}

void freeifaddrs(struct ifaddrs *entry)
{
    HOST_NEXT(freeifaddrs);
    if (entry == NULL || host_knob_next("interface", NULL) == NULL) {
        next(entry);
        return;
    }
    struct list *list = (struct list *)(void *)((char *)entry - offsetof(struct list, own));
    next(list->real);
    free(list);
}

/* ---- their addresses: all are of 172.16.0.0/12 ---- */

/* Returns an IPv4 address, also one mapped into IPv6, if it is of the machines'; otherwise 0. */
static in_addr_t of_machines(const struct sockaddr *address)
{
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)address;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)address;
    in_addr_t found = 0;
    if (!host_now()->is_shown || address == NULL) return 0;
    if (address->sa_family == AF_INET) found = v4->sin_addr.s_addr;
    if (address->sa_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr))
        memcpy(&found, v6->sin6_addr.s6_addr + 12, sizeof found);
    return (ntohl(found) & 0xfff00000) == 0xac100000 ? found : 0;
}

static bool is_my_own(in_addr_t address)
{
    const struct host_knob *knob = NULL;
    char wanted[INET_ADDRSTRLEN], own[32];
    inet_ntop(AF_INET, &address, wanted, sizeof wanted);
    while ((knob = host_knob_next("interface", knob)) != NULL)
        if (sscanf(knob->value, "%*s %31s", own) == 1 && strcmp(own, wanted) == 0) return true;
    return false;
}

static struct sockaddr_in hole;
static struct sockaddr_in6 mapped_hole;

/* A listener that takes no connection more: what connects to it gets no reply at all. */
static void dig(void)
{
    socklen_t length = sizeof hole;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0),
        first = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    hole = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (listener < 0 || first < 0 || bind(listener, (struct sockaddr *)&hole, length) != 0 ||
        listen(listener, 0) != 0 || getsockname(listener, (struct sockaddr *)&hole, &length) != 0 ||
        connect(first, (struct sockaddr *)&hole, length) != 0)
        host_give_up("an address that does not answer", strerror(errno));
    mapped_hole = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = hole.sin_port};
    memset(mapped_hole.sin6_addr.s6_addr + 10, 0xff, 2);
    memcpy(mapped_hole.sin6_addr.s6_addr + 12, &hole.sin_addr, sizeof hole.sin_addr);
}

int connect(int fd, const struct sockaddr *address, socklen_t length)
{
    HOST_NEXT(connect);
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    in_addr_t wanted = of_machines(address);
    if (wanted == 0) return next(fd, address, length);
    if (is_my_own(wanted)) {
        errno = ECONNREFUSED;
        return -1;
    }
    pthread_once(&once, dig);
    return address->sa_family == AF_INET ? next(fd, (struct sockaddr *)&hole, sizeof hole)
                                         : next(fd, (struct sockaddr *)&mapped_hole, sizeof mapped_hole);
}

ssize_t sendto(int fd, const void *data, size_t bytes, int flags, const struct sockaddr *address, socklen_t length)
{
    HOST_NEXT(sendto);
    return of_machines(address) != 0 ? (ssize_t)bytes : next(fd, data, bytes, flags, address, length);
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    HOST_NEXT(sendmsg);
    if (of_machines(message->msg_name) == 0) return next(fd, message, flags);
    size_t bytes = 0;
    for (size_t i = 0; i < message->msg_iovlen; i++) bytes += message->msg_iov[i].iov_len;
    return (ssize_t)bytes;
}
