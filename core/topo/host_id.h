/* core/topo/host_id.h: the identity of this host: boot id and network namespace.
 * Not the host name: two containers with one name are two hosts if they do not share a network, and namespaces that
 * stand for hosts in a test bed are hosts. */
#ifndef IST_TOPO_HOST_ID_H
#define IST_TOPO_HOST_ID_H

#include "core/base/status.h"

#include <stdbool.h>

isthmus_status ist_host_id_read(struct isthmus_host_id *out);
bool ist_host_id_equal(const struct isthmus_host_id *a, const struct isthmus_host_id *b);

/* For tests: returns the pretended host of PE `pe`, the character at index `pe` of the pattern, which repeats. Two PEs
 * on one real host are on one pretended host if they have the same character. "": nothing is pretended. */
char ist_pretended_host(const char *pattern, int pe);
void ist_host_id_pretend(struct isthmus_host_id *id, const char *pattern, int pe);

/* This host's name, for messages. Never NULL. */
const char *ist_host_name(void);

#endif
