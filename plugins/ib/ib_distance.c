/* plugins/ib/ib_distance.c: the distance of a port from the memory that a PE moves (isthmus/adapters.h), and how people
 * read it. See ib_hca.h. */
#include "plugins/ib/ib_hca.h"
#include "plugins/ib/ib_text.h"

void ib_origin_find(const char *sysfs, int32_t numa_node, const char *pci_address, struct ib_origin *out)
{
    *out = (struct ib_origin){.device = pci_address};
    out->is_node_of_device = isthmus_place_of_device(sysfs, pci_address, numa_node, &out->place) != 0;
}

uint32_t ib_distance(const char *sysfs, const struct ib_origin *origin, const struct ib_port *port)
{
    return isthmus_place_distance(sysfs, &origin->place, &port->place);
}

static void add_numa(struct ib_text *out, uint32_t distance, const struct ib_origin *origin)
{
    bool is_of_device = origin->is_node_of_device;
    if (distance < ISTHMUS_FAR)
        ib_text_add(out, "at distance %u from", distance);
    else
        ib_text_add(out, "at an unknown distance from");
    if (origin->place.numa_node >= 0) ib_text_add(out, " NUMA node %d of", origin->place.numa_node);
    if (is_of_device || origin->place.numa_node < 0)
        ib_text_add(out, " GPU %s", origin->device);
    else
        ib_text_add(out, " this PE");
}

void ib_distance_describe(struct ib_text *out, uint32_t distance, const struct ib_origin *origin)
{
    static const char *const words[] = {
        [ISTHMUS_SAME_SWITCH] = "behind the same PCIe switch as",
        [ISTHMUS_SAME_ROOT_PORT] = "behind the same PCIe root port as",
        [ISTHMUS_SAME_HOST_BRIDGE] = "behind the same PCIe host bridge as",
    };
    if (distance <= ISTHMUS_SAME_HOST_BRIDGE)
        ib_text_add(out, "%s GPU %s", words[distance], origin->device);
    else if (origin->place.numa_node < 0 && origin->device == NULL)
        ib_text_add(out, "and this PE is bound to no NUMA node");
    else
        add_numa(out, distance, origin);
}
