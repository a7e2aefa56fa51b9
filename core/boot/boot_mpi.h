/* core/boot/boot_mpi.h: a job of the members of an MPI communicator, through the MPI library that the program has loaded.
 * MPI only carries a unique id to them; from there on it is a job like any other of unique ids. */
#ifndef IST_BOOT_BOOT_MPI_H
#define IST_BOOT_BOOT_MPI_H

#include "core/boot/boot.h"

/* Collective over the communicator that `comm` points to (an MPI_Comm of whichever MPI). The request says: this PE's number
 * is its rank. A failure of one is a failure of all. */
isthmus_status ist_boot_mpi_request(const struct ist_config *config, const void *comm, struct ist_boot_request *out);

#endif
