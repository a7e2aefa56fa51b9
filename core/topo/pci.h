/* core/topo/pci.h: PCI addresses as the system writes them. Drivers write them with capitals, or with more digits. */
#ifndef IST_TOPO_PCI_H
#define IST_TOPO_PCI_H

#include <stdbool.h>

enum { IST_PCI_BYTES = 24 }; /* with the 0 at the end */

/* "00000000:3B:00.0" becomes "0000:3b:00.0", the name in /sys/bus/pci/devices. false: the text is no PCI address, or NULL. */
bool ist_pci_normalise(const char *text, char out[IST_PCI_BYTES]);

#endif
