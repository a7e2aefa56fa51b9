/* plugins/xgmi/xgmi.c: the transport between AMD GPUs of one host, by HIP. The exported table: every slot is the
 * engine's (plugins/common/p2p.h) on the driver in hip_driver.c. Never run on hardware: docs/transports/xgmi.md. */
#include "plugins/xgmi/xgmi.h"

P2P_TRANSPORT("xgmi", xg_driver, xg_probe);
