/* core/api/job_request.h: shared by the faces' initialisers with attributes: turns a program's attributes into a
 * request for a job. Not the start itself (core/runtime.h). */
#ifndef IST_API_JOB_REQUEST_H
#define IST_API_JOB_REQUEST_H

#include "core/boot/boot.h"

/* A unique id of a future job. */
isthmus_status ist_request_new_uid(enum ist_face face, struct ist_uid *out);

/* The members of an MPI communicator; collective over it. */
isthmus_status ist_request_mpi(enum ist_face face, const void *comm, struct ist_boot_request *out);

#endif
