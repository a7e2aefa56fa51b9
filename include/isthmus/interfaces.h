/* isthmus/interfaces.h: which network interfaces of a host the sockets of a job use: those of the core, and those that
 * a transport opens, or has a library open.
 *
 * The user chooses with ISTHMUS_INTERFACE: a comma list of ranges of addresses (10.1.0.0/16) and of the beginnings of
 * names (eth, ib0), or with ^ in front those to leave out. Without a choice the interfaces of the best rank are used.
 * Bridges that connect containers or virtual machines come behind real networks: they have the same address on all
 * hosts.
 *
 *     for (struct ifaddrs *at = all; at != NULL; at = at->ifa_next) // of getifaddrs()
 *         if (isthmus_interface_rank(choice, at) == ISTHMUS_INTERFACE_USUAL) use(at);
 */
#ifndef ISTHMUS_INTERFACES_H
#define ISTHMUS_INTERFACES_H

#include <arpa/inet.h>
#include <ctype.h>
#include <dirent.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* The best one first. With a choice by the user: USUAL or UNFIT. */
enum isthmus_interface_rank {
    ISTHMUS_INTERFACE_USUAL,
    ISTHMUS_INTERFACE_OF_CONTAINERS,
    ISTHMUS_INTERFACE_WITHOUT_CARRIER,
    ISTHMUS_INTERFACE_LOOPBACK,
    ISTHMUS_INTERFACE_UNFIT, /* down, or not chosen */
};

/* ---- the choice ---- */

/* The bytes of an address, and how many; 0: neither IPv4 nor IPv6. */
static inline size_t isthmus_address_bytes_(const struct sockaddr *address, uint8_t out[16])
{
    if (address != NULL && address->sa_family == AF_INET) {
        memcpy(out, &((const struct sockaddr_in *)(const void *)address)->sin_addr, 4);
        return 4;
    }
    if (address == NULL || address->sa_family != AF_INET6) return 0;
    memcpy(out, &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr, 16);
    return 16;
}

/* "10.1.0.0/16" */
static inline int isthmus_range_has_(const char *text, const struct sockaddr *address)
{
    uint8_t bytes[16], range[16];
    char start[64];
    size_t length = strcspn(text, "/"), n_bytes = isthmus_address_bytes_(address, bytes);
    if (n_bytes == 0 || length >= sizeof start) return 0;
    memcpy(start, text, length);
    start[length] = '\0';
    unsigned long n_bits = strtoul(text + length + 1, NULL, 10);
    if (inet_pton(address->sa_family, start, range) != 1 || n_bits > 8 * n_bytes) return 0;
    uint8_t last = (uint8_t)(0xff00u >> n_bits % 8);
    return memcmp(bytes, range, n_bits / 8) == 0 &&
           (n_bits % 8 == 0 || ((bytes[n_bits / 8] ^ range[n_bits / 8]) & last) == 0);
}

/* eth is the beginning of eth0, eth1 not that of eth10. */
static inline int isthmus_name_begins_(const char *name, const char *beginning, size_t length)
{
    if (length == 0 || strncmp(name, beginning, length) != 0) return 0;
    return !isdigit((unsigned char)beginning[length - 1]) || !isdigit((unsigned char)name[length]);
}

static inline int isthmus_interface_is_in_(const char *list, const char *name, const struct sockaddr *address)
{
    for (size_t length; *list != '\0'; list += length, list += strspn(list, ",")) {
        length = strcspn(list, ",");
        int is_range = memchr(list, '/', length) != NULL;
        if (is_range ? isthmus_range_has_(list, address) : isthmus_name_begins_(name, list, length)) return 1;
    }
    return 0;
}

/* ---- bridges ---- */

/* Returns 1 if a port of a bridge is an end of a container or a virtual machine: veth and tap have neither a device nor
 * a type in sysfs. */
static inline int isthmus_port_is_virtual_(const char *port)
{
    char path[128], line[128];
    int has_type = 0;
    snprintf(path, sizeof path, "/sys/class/net/%.16s/device", port);
    DIR *device = opendir(path);
    if (device != NULL) {
        closedir(device);
        return 0;
    }
    snprintf(path, sizeof path, "/sys/class/net/%.16s/uevent", port);
    FILE *file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, "DEVTYPE=", 8) == 0) has_type = 1;
    if (file != NULL) fclose(file);
    return !has_type;
}

/* A bridge, all of whose ports are such. Where the system does not show it, by the names that are usual. */
static inline int isthmus_interface_is_of_containers_(const char *name)
{
    char path[128];
    int all = 1;
    snprintf(path, sizeof path, "/sys/class/net/%.16s/brif", name);
    DIR *ports = opendir(path);
    if (ports == NULL) return isthmus_interface_is_in_("docker,br-,virbr,cni,lxcbr,veth", name, NULL);
    for (struct dirent *port; (port = readdir(ports)) != NULL;)
        if (port->d_name[0] != '.' && !isthmus_port_is_virtual_(port->d_name)) all = 0;
    closedir(ports);
    return all;
}

/* ---- the rank ---- */

#ifdef IFF_UP /* libc's headers do not declare the flags in strict ISO C */

/* choice: the value of ISTHMUS_INTERFACE; "" or NULL: none. An interface with several addresses has a rank for each. */
static inline enum isthmus_interface_rank isthmus_interface_rank(const char *choice, const struct ifaddrs *at)
{
    if ((at->ifa_flags & IFF_UP) == 0) return ISTHMUS_INTERFACE_UNFIT;
    if (choice != NULL && *choice != '\0') {
        int excludes = *choice == '^';
        int is_in = isthmus_interface_is_in_(choice + excludes, at->ifa_name, at->ifa_addr);
        return is_in != excludes ? ISTHMUS_INTERFACE_USUAL : ISTHMUS_INTERFACE_UNFIT;
    }
    if ((at->ifa_flags & IFF_LOOPBACK) != 0) return ISTHMUS_INTERFACE_LOOPBACK;
    if ((at->ifa_flags & IFF_RUNNING) == 0) return ISTHMUS_INTERFACE_WITHOUT_CARRIER;
    return isthmus_interface_is_of_containers_(at->ifa_name) ? ISTHMUS_INTERFACE_OF_CONTAINERS
                                                             : ISTHMUS_INTERFACE_USUAL;
}

/* Returns 1 if two hosts cannot both be reached at it: an address of IP that is not this host's loopback. */
static inline int isthmus_address_is_shared(const struct ifaddrs *all, const struct sockaddr *theirs)
{
    uint8_t bytes[16], own[16];
    size_t n_bytes = isthmus_address_bytes_(theirs, bytes);
    for (const struct ifaddrs *at = all; at != NULL && n_bytes > 0; at = at->ifa_next)
        if ((at->ifa_flags & IFF_LOOPBACK) == 0 && isthmus_address_bytes_(at->ifa_addr, own) == n_bytes &&
            memcmp(bytes, own, n_bytes) == 0)
            return 1;
    return 0;
}

#endif /* IFF_UP */

#endif
