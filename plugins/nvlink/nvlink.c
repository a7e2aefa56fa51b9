/* plugins/nvlink/nvlink.c: the transport between NVIDIA GPUs of one host, by CUDA. The exported table: every slot is
 * the engine's (plugins/common/p2p.h) on the driver in cuda_driver.c. Never run on hardware:
 * docs/transports/nvlink.md. */
#include "plugins/nvlink/nvlink.h"

P2P_TRANSPORT("nvlink", nvl_driver, nvl_probe);
