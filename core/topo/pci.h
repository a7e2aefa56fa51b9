/* core/topo/pci.h: PCI addresses as the system writes them. Drivers write them with capitals, or with more digits. */
#ifndef IST_TOPO_PCI_H
#define IST_TOPO_PCI_H

#include <stdbool.h>

enum { IST_PCI_BYTES = 24 }; /* with the terminating zero */

/* Converts "00000000:3B:00.0" to "0000:3b:00.0", the name in /sys/bus/pci/devices. Returns false if the text is NULL or
 * no PCI address. */
bool ist_pci_normalise(const char *text, char out[IST_PCI_BYTES]);

#endif
