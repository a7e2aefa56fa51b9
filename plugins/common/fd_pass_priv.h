/* plugins/common/fd_pass_priv.h: shared by the files of fd_pass. See fd_pass.h. */
#ifndef ISTHMUS_FD_PASS_PRIV_H
#define ISTHMUS_FD_PASS_PRIV_H

#include "plugins/common/fd_pass_table.h"

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/un.h>

/* By which way: auto is by socket, and where that is out of reach by table. */
enum fd_pass_share { FD_PASS_AUTO, FD_PASS_SOCKET, FD_PASS_PIDFD };

/* fd_pass.c */
isthmus_status fd_pass_share_read(const struct isthmus_services *services, enum fd_pass_share *out);
socklen_t fd_pass_socket_name(const uint8_t name[16], struct sockaddr_un *out);
bool fd_pass_is_own_user(int socket, struct ucred *sender);

#endif
