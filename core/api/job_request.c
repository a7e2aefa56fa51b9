/* core/api/job_request.c: see job_request.h. These calls precede the first init, which reads the configuration for
 * good, so they read it themselves. */
#include "core/api/job_request.h"

#include "core/boot/boot.h"
#include "core/runtime.h"

isthmus_status ist_request_new_uid(enum ist_face face, struct ist_uid *out)
{
    struct ist_config config;
    ist_runtime_watch_forks();
    isthmus_status status = ist_config_init(&config, face);
    if (status == ISTHMUS_OK) status = ist_uid_create(&config, out);
    ist_config_fini(&config);
    return status;
}

isthmus_status ist_request_mpi(enum ist_face face, const void *comm, struct ist_boot_request *out)
{
    struct ist_config config;
    ist_runtime_watch_forks();
    isthmus_status status = ist_config_init(&config, face);
    if (status == ISTHMUS_OK) status = ist_boot_mpi_request(&config, comm, out);
    ist_config_fini(&config);
    return status;
}
