/* plugins/xelink/xelink.c: the transport between Intel GPUs of one host, by Level Zero. The exported table: every slot
 * is the engine's (plugins/common/p2p.h) on the driver in ze_driver.c. Never run on hardware:
 * docs/transports/xelink.md. */
#include "plugins/xelink/xelink.h"

P2P_TRANSPORT("xelink", xe_driver, xe_probe);
