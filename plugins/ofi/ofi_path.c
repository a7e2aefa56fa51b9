/* plugins/ofi/ofi_path.c: paths to peers. The endpoint needs no connection: a path is the peer's address, and a first
 * message that carries this PE's, so that the peer can reply. */
#include "ofi.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- loss ---- */

bool ofi_path_has_ended(const isthmus_path *path)
{
    struct pollfd end = {.fd = path->pid_fd, .events = POLLIN};
    return path->pid_fd >= 0 && poll(&end, 1, 0) > 0;
}

static void leave_unacked(isthmus_path *path)
{
    isthmus_path **at = &path->tr->unacked;
    if (!path->is_unacked) return;
    while (*at != path) at = &(*at)->next_unacked;
    *at = path->next_unacked;
    path->is_unacked = false;
}

/* What libfabric still has of this path ends when the provider reports it, or with the endpoint; no slot waits for
 * it. */
static void abandon_accesses(isthmus_path *path)
{
    for (uint32_t i = 0; i < OFI_ACCESSES; i++) {
        struct ofi_op *op = &path->tr->accesses[i];
        if (!op->is_used || op->path != path || op->count == NULL) continue;
        op->count->failed = path;
        op->count->n_pending--;
        op->count = NULL;
        op->copy_to = NULL;
    }
}

void ofi_path_lose(isthmus_path *path, const char *why)
{
    isthmus_tr *tr = path->tr;
    if (path->is_lost) return;
    path->is_lost = true;
    snprintf(path->why_lost, sizeof path->why_lost, "%s", why);
    bool is_flushed = path->flush_asked == path->written && path->flushes.n_pending == 0;
    if (path->is_unacked || !is_flushed) tr->lost_unacked = path;
    path->flush_asked = path->written;
    leave_unacked(path);
    abandon_accesses(path);
    ofi_calls_fail(path);
    tr->has_loss_to_report = true;
    if (tr->n_followers > 0) pthread_cond_broadcast(&tr->changed);
}

isthmus_status ofi_path_lost(isthmus_path *path)
{
    const struct isthmus_services *s = path->tr->services;
    path->has_reported = true;
    return s->fail(s->core, ISTHMUS_ERR_PEER_LOST, "PE %d on %s is lost: %s", path->pe, path->host_name,
                   path->why_lost);
}

/* ---- open ---- */

static int open_pid(const isthmus_tr *tr, const struct ofi_card *card, const struct isthmus_peer *peer)
{
    bool is_here = memcmp(peer->host->bytes, tr->services->host->bytes, sizeof peer->host->bytes) == 0;
    if (!is_here || card->pid_namespace == 0 || card->pid_namespace != tr->card.pid_namespace) return -1;
    return (int)syscall(SYS_pidfd_open, card->pid, 0);
}

/* The process number of a PE that has ended: there is no descriptor then. */
static bool is_gone(const isthmus_tr *tr, const struct ofi_card *card, const struct isthmus_peer *peer, int *pid_fd)
{
    bool is_here = memcmp(peer->host->bytes, tr->services->host->bytes, sizeof peer->host->bytes) == 0;
    errno = 0; /* open_pid() may make no system call */
    *pid_fd = open_pid(tr, card, peer);
    return *pid_fd < 0 && errno == ESRCH && is_here && card->pid_namespace == tr->card.pid_namespace;
}

static isthmus_status add_to_paths(isthmus_path *path)
{
    isthmus_tr *tr = path->tr;
    const struct isthmus_services *s = tr->services;
    uint32_t i = 0;
    while (i < tr->n_paths && tr->paths[i] != NULL) i++;
    if (i == tr->n_paths) {
        uint32_t room = tr->n_paths == 0 ? 16 : 2 * tr->n_paths;
        isthmus_path **more = room <= OFI_PATHS_MOST + 1 ? realloc(tr->paths, room * sizeof(void *)) : NULL;
        if (more == NULL)
            return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "no memory for the path to PE %d, beside %u others",
                           path->pe, tr->n_paths);
        memset(more + tr->n_paths, 0, (room - tr->n_paths) * sizeof(void *));
        tr->paths = more;
        tr->n_paths = room;
    }
    path->index = (uint16_t)i;
    tr->paths[i] = path;
    return ISTHMUS_OK;
}

static isthmus_status find_peer(isthmus_path *path, const struct ofi_card *card)
{
    isthmus_tr *tr = path->tr;
    struct ofi_peer *peer = &tr->peers[path->pe];
    path->peer = peer;
    if (!peer->is_known) {
        int n = fi_av_insert(tr->av, card->address, 1, &peer->address, 0, NULL);
        if (n != 1) return ofi_fail(tr, "fi_av_insert", n < 0 ? n : -FI_EINVAL);
        peer->is_known = true;
        snprintf(peer->host_name, sizeof peer->host_name, "%s", path->host_name);
    }
    peer->token = card->token;
    return ISTHMUS_OK;
}

static isthmus_status introduce(isthmus_path *path)
{
    isthmus_tr *tr = path->tr;
    struct ofi_hello hello = {.token = tr->card.token, .address_bytes = tr->card.address_bytes};
    memcpy(hello.address, tr->card.address, sizeof hello.address);
    gethostname(hello.host_name, sizeof hello.host_name - 1);
    struct ofi_message message = {.head.kind = OFI_HELLO, .body = &hello, .body_bytes = sizeof hello};
    return ofi_call_peer(path, &message, &(struct ofi_call){.path = path});
}

/* A path to the own PE needs an address for atomics by the provider alone. */
static isthmus_status connect_path(isthmus_path *path, const struct ofi_card *card)
{
    if (path->is_self) return path->tr->has_atomics ? find_peer(path, card) : ISTHMUS_OK;
    isthmus_status status = add_to_paths(path);
    if (status != ISTHMUS_OK) return status;
    status = find_peer(path, card);
    if (status == ISTHMUS_OK) status = introduce(path);
    return status;
}

/* Writes the address of IP that both PEs have, or "". */
static void find_shared(const struct ofi_card *a, const struct ofi_card *b, char out[INET6_ADDRSTRLEN])
{
    bool is_v4 = a->address_format == FI_SOCKADDR_IN;
    size_t at = is_v4 ? offsetof(struct sockaddr_in, sin_addr) : offsetof(struct sockaddr_in6, sin6_addr);
    size_t n_bytes = is_v4 ? sizeof(struct in_addr) : sizeof(struct in6_addr);
    out[0] = '\0';
    if (!is_v4 && a->address_format != FI_SOCKADDR_IN6) return;
    if (memcmp(a->address + at, b->address + at, n_bytes) != 0) return;
    (void)inet_ntop(is_v4 ? AF_INET : AF_INET6, a->address + at, out, INET6_ADDRSTRLEN);
}

isthmus_status ofi_path_open(isthmus_tr *tr, const struct isthmus_peer *peer, isthmus_path **out)
{
    const struct isthmus_services *s = tr->services;
    struct ofi_card card;
    isthmus_path *path = calloc(1, sizeof *path);
    if (path == NULL) return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "no memory for the path to PE %d", peer->pe);
    memcpy(&card, peer->card, sizeof card); /* reach() has checked it */
    *path = (isthmus_path){.tr = tr, .pe = peer->pe, .is_self = peer->pe == s->my_pe, .pid_fd = -1};
    snprintf(path->host_name, sizeof path->host_name, "%s", peer->host_name);
    snprintf(path->library, sizeof path->library, "%.*s", OFI_LIBRARY_BYTES - 1, card.library);
    bool is_here = memcmp(peer->host->bytes, s->host->bytes, sizeof s->host->bytes) == 0;
    if (!is_here) find_shared(&tr->card, &card, path->shared);
    isthmus_status status = ISTHMUS_OK;
    if (!path->is_self && is_gone(tr, &card, peer, &path->pid_fd))
        status = s->fail(s->core, ISTHMUS_ERR_PEER_LOST, "PE %d on %s is lost: its process has ended", peer->pe,
                         peer->host_name);
    ofi_lock(tr);
    if (status == ISTHMUS_OK) status = connect_path(path, &card);
    ofi_unlock(tr);
    if (status != ISTHMUS_OK) {
        ofi_path_close(path);
        return status;
    }
    *out = path;
    return ISTHMUS_OK;
}

void ofi_path_close(isthmus_path *path)
{
    if (path == NULL) return;
    isthmus_tr *tr = path->tr;
    ofi_lock(tr);
    leave_unacked(path);
    abandon_accesses(path);
    for (uint32_t i = 0; i < OFI_ACCESSES; i++)
        if (tr->accesses[i].path == path) tr->accesses[i].path = NULL;
    for (uint32_t i = 0; i < OFI_MESSAGES; i++)
        if (tr->messages[i].path == path) tr->messages[i].path = NULL;
    ofi_calls_fail(path);
    if (tr->lost_unacked == path) tr->lost_unacked = NULL;
    if (!path->is_self && path->index < tr->n_paths && tr->paths[path->index] == path) tr->paths[path->index] = NULL;
    ofi_unlock(tr);
    if (path->pid_fd >= 0) close(path->pid_fd);
    free(path);
}
