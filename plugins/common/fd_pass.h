/* plugins/common/fd_pass.h: file descriptors from one PE to another on the same host.
 * For transports that map a peer's memory. Not a data path: one short conversation per pair of PEs, on first use.
 *
 * The first way is a socket. Each PE runs a server: a listening socket in the abstract namespace (so that nothing is left in
 * the file system), under a random name. A client shows the ticket from the server's card; the server answers only to processes of
 * its own user that know the ticket, and sends every descriptor on offer at once. The client takes them from a process of its own
 * user that shows the countersign of the same card: a name that became free may be taken by anybody. Serving never blocks and is
 * driven by progress().
 *
 * The second, where the socket is out of reach, is pidfd_getfd: the client takes the same descriptors out of the server's
 * process, by a table that the server shows there (fd_pass_table.h). A transport's variable SHARE says which of the two is used. */
#ifndef ISTHMUS_FD_PASS_H
#define ISTHMUS_FD_PASS_H

#include <isthmus/transport.h>

enum { FD_PASS_MAX_OFFERS = 32 };

/* A PE's process, and the descriptor in it that shows the table of its offers. */
struct fd_pass_owner {
    int32_t pid, table_fd; /* 0: nothing is shown */
    uint64_t started;      /* as /proc has it: with pid, which process it is */
    uint64_t pid_namespace;
    uint64_t table_device, table_inode;
};

/* What a client needs to know; goes into the transport's card. */
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

/* Offer a descriptor (duplicated) under a number of its own. Any thread; LIMIT when there are too many. */
isthmus_status fd_pass_offer(struct fd_pass_server *server, int fd, uint32_t *id);
void fd_pass_withdraw(struct fd_pass_server *server, uint32_t id);

int fd_pass_server_event_fd(const struct fd_pass_server *server); /* readable: serve() has work */
int fd_pass_serve(struct fd_pass_server *server);                 /* conversations finished; never blocks */

/* All descriptors that a peer offers, now owned by the caller. */
struct fd_pass_bundle {
    uint32_t n, ids[FD_PASS_MAX_OFFERS];
    int fds[FD_PASS_MAX_OFFERS];
};

/* Can there be descriptors from that peer? Those of one host can pass them. With SHARE=pidfd, so can those that see one another's
 * processes across network namespaces, which count as hosts: that is tried. UNREACHABLE: no. */
isthmus_status fd_pass_reach(const struct isthmus_services *services, const struct isthmus_peer *peer,
                             const struct fd_pass_address *address);

/* Fetch the peer's offers. By socket that waits for its progress thread, at most timeout_s. PEER_LOST: nobody listens under that
 * name any more, or the peer ended in the middle; PERMISSION: it refuses us, or is not the one that it should be. */
isthmus_status fd_pass_fetch(const struct isthmus_services *services, const struct isthmus_peer *peer,
                             const struct fd_pass_address *address, unsigned timeout_s, struct fd_pass_bundle *out);
/* Take the descriptor of this id out of it: the caller's now. -1: there is none. */
int fd_pass_bundle_take(struct fd_pass_bundle *bundle, uint32_t id);
void fd_pass_bundle_close(struct fd_pass_bundle *bundle); /* what is still in it */

/* One peer's descriptors by number: they come all at once with the open, and again when one is wanted that is newer. */
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

/* The caller closes *fd. INVALID: the peer offers nothing under that number. */
isthmus_status fd_pass_client_take(struct fd_pass_client *client, uint32_t id, int *fd);

#endif
