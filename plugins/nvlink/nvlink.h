/* plugins/nvlink/nvlink.h: the parts of this plugin, for its own files. The engine above them is plugins/common/p2p.h. */
#ifndef ISTHMUS_NVLINK_H
#define ISTHMUS_NVLINK_H

#include "plugins/common/p2p.h"
#include "plugins/nvlink/cuda_api.h"

/* cuda_load.c: the driver's library, loaded at run time: the same build runs where there is none. Stays loaded from
 * nvl_load() on, as the driver wants it. */
extern struct cuda_api nvl_cuda;
isthmus_status nvl_probe(const struct isthmus_services *services);
isthmus_status nvl_load(const struct isthmus_services *services);

/* A result in words for fail(), and its status: "cuMemCreate of 2 MiB: CUDA_ERROR_OUT_OF_MEMORY". */
const char *nvl_result_name(CUresult result);
isthmus_status nvl_status(CUresult result);

/* cuda_driver.c */
extern const struct p2p_driver nvl_driver;

#endif
