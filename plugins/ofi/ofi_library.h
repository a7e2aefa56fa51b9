/* plugins/ofi/ofi_library.h: libfabric, loaded when the transport is opened and not before.
 * Not linked: a job on one host would pay for the start of every provider, and a machine without libfabric could not
 * load this plugin, which reports that. */
#ifndef ISTHMUS_OFI_LIBRARY_H
#define ISTHMUS_OFI_LIBRARY_H

#include <isthmus/transport.h>

#include <rdma/fabric.h>

#define OFI(name) __typeof__(name) *(name);
extern struct ofi_library {
#include "ofi_library.def"
} ofi_library;

/* Loads libfabric once in a process; it stays. Returns NO_DEVICE if there is none, or it is too old. */
isthmus_status ofi_library_load(const struct isthmus_services *services);

/* Lists what fits to `hints`, as fi_getinfo does, and leaves the program its signal handlers. Returns 0 or a negative
 * error of libfabric's. */
int ofi_library_list(const struct fi_info *hints, struct fi_info **out);

/* The version of the libfabric that is loaded, "1.17", and the file that it is in. After ofi_library_load(). */
const char *ofi_library_version(void);
const char *ofi_library_file(void);

/* The text of a negative error of libfabric's. */
const char *ofi_library_error(ssize_t error);

#endif
