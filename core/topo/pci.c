/* core/topo/pci.c: see pci.h. */
#include "core/topo/pci.h"

#include <stdio.h>
#include <string.h>

bool ist_pci_normalise(const char *text, char out[IST_PCI_BYTES])
{
    unsigned domain, bus, device, function;
    int length = 0;
    if (text == NULL) return false;
    if (sscanf(text, "%8x:%2x:%2x.%1x%n", &domain, &bus, &device, &function, &length) != 4) return false;
    if (text[length] != '\0' || strspn(text, "0123456789abcdefABCDEF:.") != (size_t)length) return false;
    snprintf(out, IST_PCI_BYTES, "%04x:%02x:%02x.%x", domain, bus, device, function);
    return true;
}
