/* core/transport/registry_priv.h: the registry's own parts, for the files of this folder only. */
#ifndef IST_TRANSPORT_REGISTRY_PRIV_H
#define IST_TRANSPORT_REGISTRY_PRIV_H

#include "core/transport/registry.h"

/* Fills the list from the plugin folders: entries are UNNEEDED or REFUSED. An empty list is no error here. */
void ist_plugins_load(const struct ist_config *config);

/* Applies ISTHMUS_TRANSPORTS ("" : all; "a,b" : these, in this order; "^a,b" : all but these). */
isthmus_status ist_select_transports(const char *text);

#endif
