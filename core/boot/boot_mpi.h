/* core/boot/boot_mpi.h: a job of the members of an MPI communicator, through the MPI library that the program has
 * loaded.
 * MPI only broadcasts a unique id; from then on the job is like any other with a unique id. */
#ifndef IST_BOOT_BOOT_MPI_H
#define IST_BOOT_BOOT_MPI_H

#include "core/boot/boot.h"

/* Collective over the communicator that `comm` points to (an MPI_Comm of any MPI library). In the request this PE's
 * number is its rank. Fails on all members if it fails on one. */
isthmus_status ist_boot_mpi_request(const struct ist_config *config, const void *comm, struct ist_boot_request *out);

#endif
