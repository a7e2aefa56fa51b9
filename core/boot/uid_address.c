/* core/boot/uid_address.c: the addresses under which other hosts reach this one, and what an id holds about them.
 * PEs of the same host use its loopback address anyway (uid_join.c). */
#include "core/boot/uid.h"

#include "core/base/mac.h"
#include "core/topo/interfaces.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int family_of(const struct ist_config *config)
{
    return config->uid_family == IST_UID_FAMILY_INET6 ? AF_INET6 : AF_INET;
}

/* ---- this host ---- */

/* Accepts addresses that are valid outside this host and need no scope. */
static bool read_address(const struct sockaddr *address, struct ist_uid_address *out)
{
    memset(out, 0, sizeof *out);
    if (address->sa_family == AF_INET) {
        out->family = 4;
        memcpy(out->bytes, &((const struct sockaddr_in *)(const void *)address)->sin_addr, 4);
        return true;
    }
    const struct in6_addr *in6 = &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
    out->family = 6;
    memcpy(out->bytes, in6, 16);
    return !IN6_IS_ADDR_LINKLOCAL(in6);
}

isthmus_status ist_uid_find_addresses(const struct ist_config *config, struct ist_uid *uid)
{
    struct in6_addr found[IST_UID_MAX_ADDRESSES];
    size_t n;
    isthmus_status status = ist_interfaces_find(config->interface, family_of(config), found, IST_UID_MAX_ADDRESSES, &n);
    if (status != ISTHMUS_OK) return status;
    uid->n_addresses = (uint8_t)n;
    for (size_t i = 0; i < n; i++) {
        bool is_v4 = family_of(config) == AF_INET;
        uid->addresses[i] = (struct ist_uid_address){.family = is_v4 ? 4 : 6};
        memcpy(uid->addresses[i].bytes, found[i].s6_addr + (is_v4 ? 12 : 0), is_v4 ? 4 : 16);
    }
    return ISTHMUS_OK;
}

/* ---- an agreed address ---- */

bool ist_uid_cut_session(const char *text, char *host, size_t room, const char **port)
{
    bool has_brackets = *text == '[';
    const char *end = has_brackets ? strchr(text, ']') : strrchr(text, ':');
    if (end == NULL || end == text) return false;
    const char *begin = text + has_brackets, *rest = end + has_brackets;
    if (end == begin || *rest != ':' || rest[1] == '\0') return false;
    *port = rest + 1;
    return (size_t)snprintf(host, room, "%.*s", (int)(end - begin), begin) < room;
}

/* Equal on all processes with the same text and job secret. Without a job secret it derives from the text alone, which
 * separates jobs that use one address by mistake but authenticates no peer. */
isthmus_status ist_uid_session_secret(const char *text, uint8_t out[IST_UID_SECRET_BYTES])
{
    uint8_t key[IST_KEY_BYTES] = {0};
    const char *job_secret = ist_config_job_secret();
    if (job_secret != NULL && !ist_key_parse(job_secret, key))
        return ist_fail(ISTHMUS_ERR_INVALID, "ISTHMUS_JOB_SECRET is invalid; accepted: 32 hexadecimal digits");
    ist_mac(key, text, strlen(text), out);
    return ISTHMUS_OK;
}

isthmus_status ist_uid_parse_session(const struct ist_config *config, const char *variable, const char *text,
                                     struct ist_uid *uid)
{
    char host[256];
    const char *port;
    struct addrinfo *found = NULL, hints = {.ai_family = family_of(config), .ai_socktype = SOCK_STREAM};
    if (!ist_uid_cut_session(text, host, sizeof host, &port))
        return ist_fail(ISTHMUS_ERR_INVALID, "%s is '%s'; accepted: host:port", variable, text);
    int error = getaddrinfo(host, port, &hints, &found);
    if (error != 0)
        return ist_fail(ISTHMUS_ERR_INVALID, "%s is '%s', whose host cannot be resolved: %s", variable, text,
                        gai_strerror(error));
    *uid = (struct ist_uid){.format = IST_UID_FORMAT, .is_session = 1};
    for (const struct addrinfo *at = found; at != NULL && uid->n_addresses < IST_UID_MAX_ADDRESSES; at = at->ai_next) {
        uid->n_addresses += read_address(at->ai_addr, &uid->addresses[uid->n_addresses]);
        const struct sockaddr_in *in = (const void *)at->ai_addr;
        memcpy(uid->port, &in->sin_port, sizeof uid->port); /* same offset in both families */
    }
    freeaddrinfo(found);
    if (uid->n_addresses == 0)
        return ist_fail(ISTHMUS_ERR_INVALID,
                        "%s is '%s', a link-local address; accepted: an address that all hosts can reach", variable,
                        text);
    return ist_uid_session_secret(text, uid->secret);
}

/* ---- what an id holds ---- */

bool ist_uid_check(const struct ist_uid *uid)
{
    bool is_ours = uid->format == IST_UID_FORMAT && uid->is_session <= 2 && uid->n_addresses >= 1 &&
                   uid->n_addresses <= IST_UID_MAX_ADDRESSES;
    for (unsigned i = 0; is_ours && i < uid->n_addresses; i++)
        is_ours = uid->addresses[i].family == 4 || uid->addresses[i].family == 6;
    return is_ours;
}

unsigned ist_uid_sockaddr(const struct ist_uid *uid, unsigned index, struct sockaddr_storage *out)
{
    const struct ist_uid_address *address = &uid->addresses[index];
    memset(out, 0, sizeof *out);
    if (address->family == 4) {
        struct sockaddr_in *in = (struct sockaddr_in *)out;
        in->sin_family = AF_INET;
        memcpy(&in->sin_port, uid->port, sizeof in->sin_port);
        memcpy(&in->sin_addr, address->bytes, sizeof in->sin_addr);
        return sizeof *in;
    }
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)out;
    in6->sin6_family = AF_INET6;
    memcpy(&in6->sin6_port, uid->port, sizeof in6->sin6_port);
    memcpy(&in6->sin6_addr, address->bytes, sizeof in6->sin6_addr);
    return sizeof *in6;
}

void ist_uid_describe(const struct ist_uid *uid, char *out, size_t room)
{
    char text[INET6_ADDRSTRLEN] = "?";
    inet_ntop(uid->addresses[0].family == 4 ? AF_INET : AF_INET6, uid->addresses[0].bytes, text, sizeof text);
    snprintf(out, room, "%s port %u", text, (unsigned)uid->port[0] << 8 | uid->port[1]);
}
