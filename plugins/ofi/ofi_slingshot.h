/* plugins/ofi/ofi_slingshot.h: what Slurm's plugin for Slingshot, or another launcher, permits a job: its virtual
 * networks, and for each device a service of the system's driver, by environment variables. */
#ifndef ISTHMUS_OFI_SLINGSHOT_H
#define ISTHMUS_OFI_SLINGSHOT_H

#include <isthmus/transport.h>
#include <rdma/fabric.h>
#include <stdbool.h>

enum { OFI_SLINGSHOT_DEVICES_MOST = 16, OFI_SLINGSHOT_NAME_BYTES = 16 };

struct ofi_slingshot {
    bool is_set; /* else the provider's own choice is taken */
    uint16_t vni;
    uint32_t tclass; /* FI_TC_; FI_TC_UNSPEC: the provider's usual one */
    uint32_t n_devices;
    char devices[OFI_SLINGSHOT_DEVICES_MOST][OFI_SLINGSHOT_NAME_BYTES];
    uint32_t services[OFI_SLINGSHOT_DEVICES_MOST];
};

/* Reads SLINGSHOT_VNIS, SLINGSHOT_SVC_IDS, SLINGSHOT_DEVICES and SLINGSHOT_TCS. INVALID: a text is wrong, or one of the
 * first three is missing beside others. */
isthmus_status ofi_slingshot_read(const struct isthmus_services *services, struct ofi_slingshot *out);

/* SLINGSHOT_DEVICES as it is set, for messages; NULL: it is not. */
const char *ofi_slingshot_devices(void);

bool ofi_slingshot_permits(const struct ofi_slingshot *what, const char *device);

/* Writes the key of that device, and the class of traffic, into the description of a domain, which owns them. The
 * device is permitted. */
isthmus_status ofi_slingshot_authorize(const struct isthmus_services *services, const struct ofi_slingshot *what,
                                       struct fi_info *info);

#endif
