/* plugins/common/fd_pass.h: file descriptors from one PE to another on the same host.
 * For transports that map a peer's memory. Not a data path: one short conversation per pair of PEs, on first use.
 *
 * The first way is a socket. Each PE runs a server: a listening socket in the abstract namespace (so that nothing is
 * left in the file system), under a random name. A client shows the ticket from the server's card; the server answers
 * only to processes of its own user that know the ticket, and sends every descriptor on offer at once. The client takes
 * them from a process of its own user that shows the countersign of the same card: any process may take a name that has
 * become free. Serving never blocks and is driven by progress().
 *
 * The second, where the socket is out of reach, is pidfd_getfd: the client takes the same descriptors out of the
 * server's process, by a table that the server shows there (fd_pass_table.h). A transport's variable SHARE selects one
 * of the two. */
#ifndef ISTHMUS_FD_PASS_H
#define ISTHMUS_FD_PASS_H

#include <isthmus/transport.h>

/* One for each segment of a PE, and for extents of its heap. One message carries at most 253 descriptors (SCM_MAX_FD).
 */
enum { FD_PASS_MAX_OFFERS = 128 };

/* A PE's process, and the descriptor in it that shows the table of its offers. */
struct fd_pass_owner {
    int32_t pid, table_fd; /* 0: nothing is shown */
    uint64_t started;      /* the start time in /proc: with pid, it identifies the process */
    uint64_t pid_namespace;
    uint64_t table_device, table_inode;
};

/* The address of a server, for its clients; a part of the transport's card. */
struct fd_pass_address {
    uint8_t name[16]; /* of the socket */
    /* Known to those that have the card only: the job's members. */
    uint8_t ticket[16];      /* shown by the client */
    uint8_t countersign[16]; /* shown by the server, and in its table */
    struct fd_pass_owner owner;
};

struct fd_pass_server;

isthmus_status fd_pass_server_open(const struct isthmus_services *services, struct fd_pass_server **out);
void fd_pass_server_close(struct fd_pass_server *server); /* takes NULL */
const struct fd_pass_address *fd_pass_server_address(const struct fd_pass_server *server);

/* Offers a descriptor (duplicated) under a number of its own. Any thread. Returns LIMIT if there are too many. */
isthmus_status fd_pass_offer(struct fd_pass_server *server, int fd, uint32_t *id);
void fd_pass_withdraw(struct fd_pass_server *server, uint32_t id);

int fd_pass_server_event_fd(const struct fd_pass_server *server); /* readable: serve() has work */
int fd_pass_serve(struct fd_pass_server *server);                 /* conversations finished; never blocks */

/* All descriptors that a peer offers, now owned by the caller. */
struct fd_pass_bundle {
    uint32_t n, ids[FD_PASS_MAX_OFFERS];
    int fds[FD_PASS_MAX_OFFERS];
};

/* Returns OK if that peer can pass descriptors to this PE. PEs of one host can. With SHARE=pidfd, so can PEs that see
 * each other's processes across network namespaces, which count as hosts: that is tried. UNREACHABLE: it cannot. */
isthmus_status fd_pass_reach(const struct isthmus_services *services, const struct isthmus_peer *peer,
                             const struct fd_pass_address *address);

/* Fetches the peer's offers. By socket, it waits for the peer's progress thread, at most timeout_s. PEER_LOST: no
 * process listens under that name any more, or the peer ended in the middle; PERMISSION: the peer refuses this PE, or
 * the process is not the peer. */
isthmus_status fd_pass_fetch(const struct isthmus_services *services, const struct isthmus_peer *peer,
                             const struct fd_pass_address *address, unsigned timeout_s, struct fd_pass_bundle *out);
/* Takes the descriptor of this id out of the bundle: the caller owns it. Returns -1 if there is none. */
int fd_pass_bundle_take(struct fd_pass_bundle *bundle, uint32_t id);
void fd_pass_bundle_close(struct fd_pass_bundle *bundle); /* closes the remaining descriptors */

/* One peer's descriptors by number: all are received at once at the open, and again when a newer one is needed. */
struct fd_pass_client {
    const struct isthmus_services *services;
    struct fd_pass_address address;
    unsigned timeout_s;
    int32_t pe;
    char host_name[64];
    struct fd_pass_bundle bundle;
};
isthmus_status fd_pass_client_open(const struct isthmus_services *services, const struct isthmus_peer *peer,
                                   const struct fd_pass_address *address, unsigned timeout_s,
                                   struct fd_pass_client *out);
void fd_pass_client_close(struct fd_pass_client *client);

/* The caller closes *fd. Returns INVALID if the peer offers no descriptor under that number. */
isthmus_status fd_pass_client_take(struct fd_pass_client *client, uint32_t id, int *fd);

#endif
