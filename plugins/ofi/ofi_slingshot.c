/* plugins/ofi/ofi_slingshot.c: the rights of a job on Slingshot. See ofi_slingshot.h. The variables are lists:
 *   SLINGSHOT_VNIS=1310,1271      virtual networks; the first one is the job step's
 *   SLINGSHOT_DEVICES=cxi0,cxi1   adapters of this host
 *   SLINGSHOT_SVC_IDS=5,6         services of the driver, one for each of these devices
 *   SLINGSHOT_TCS=0xa             classes of traffic, as bits */
#include "ofi_slingshot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As libfabric's provider takes it for an authorization key. */
struct key {
    uint32_t svc_id;
    uint16_t vni;
};

static const char *text_of(const char *variable)
{
    const char *text = getenv(variable);
    return text != NULL && text[0] != '\0' ? text : NULL;
}

static isthmus_status fail(const struct isthmus_services *s, const char *variable, const char *expected)
{
    const char *text = text_of(variable);
    return s->fail(s->core, ISTHMUS_ERR_INVALID,
                   "%s is '%s'; expected: %s, as the launcher of jobs on Slingshot sets it", variable,
                   text != NULL ? text : "", expected);
}

/* Reads a number of a list, and moves behind it. `base`: 10, or 0 for hexadecimal ones too. */
static bool take_number(const char **text, int base, unsigned long most, uint32_t *out)
{
    char *end;
    if ((*text)[0] < '0' || (*text)[0] > '9') return false;
    unsigned long number = strtoul(*text, &end, base);
    if (end == *text || number > most || (*end != ',' && *end != '\0')) return false;
    *text = *end == ',' ? end + 1 : end;
    *out = (uint32_t)number;
    return true;
}

static isthmus_status read_vni(const struct isthmus_services *s, struct ofi_slingshot *out)
{
    const char *text = text_of("SLINGSHOT_VNIS");
    uint32_t vni = 0;
    if (text == NULL || !take_number(&text, 10, UINT16_MAX, &vni) || vni == 0)
        return fail(s, "SLINGSHOT_VNIS", "numbers from 1 to 65535 with commas between them");
    out->vni = (uint16_t)vni;
    return ISTHMUS_OK;
}

static isthmus_status read_devices(const struct isthmus_services *s, struct ofi_slingshot *out)
{
    const char *text = text_of("SLINGSHOT_DEVICES");
    while (text != NULL && *text != '\0') {
        size_t length = strcspn(text, ",");
        if (length == 0 || length >= OFI_SLINGSHOT_NAME_BYTES || out->n_devices == OFI_SLINGSHOT_DEVICES_MOST)
            return fail(s, "SLINGSHOT_DEVICES", "up to 16 names of devices with commas between them");
        memcpy(out->devices[out->n_devices], text, length);
        out->devices[out->n_devices++][length] = '\0';
        text += length + (text[length] == ',');
    }
    return out->n_devices > 0 ? ISTHMUS_OK : fail(s, "SLINGSHOT_DEVICES", "names of devices, such as cxi0,cxi1");
}

static isthmus_status read_services(const struct isthmus_services *s, struct ofi_slingshot *out)
{
    const char *text = text_of("SLINGSHOT_SVC_IDS");
    uint32_t n = 0;
    while (text != NULL && *text != '\0' && n < out->n_devices && take_number(&text, 10, UINT32_MAX, &out->services[n]))
        n++;
    if (text != NULL && *text == '\0' && n == out->n_devices) return ISTHMUS_OK;
    return fail(s, "SLINGSHOT_SVC_IDS", "one number for each device of SLINGSHOT_DEVICES, with commas between them");
}

/* The provider's usual class is best effort. Where the job may not use that, the first one it may. */
static isthmus_status read_classes(const struct isthmus_services *s, struct ofi_slingshot *out)
{
    enum { DEDICATED_ACCESS = 1, LOW_LATENCY = 2, BULK_DATA = 4, BEST_EFFORT = 8, ALL = 15 };
    const char *text = text_of("SLINGSHOT_TCS");
    uint32_t classes = BEST_EFFORT;
    out->tclass = FI_TC_UNSPEC;
    if (text != NULL && (!take_number(&text, 0, ALL, &classes) || *text != '\0' || classes == 0))
        return fail(s, "SLINGSHOT_TCS", "a number from 0x1 to 0xf, whose bits are classes of traffic");
    if ((classes & BEST_EFFORT) != 0) return ISTHMUS_OK;
    out->tclass = (classes & LOW_LATENCY) != 0 ? FI_TC_LOW_LATENCY
                  : (classes & BULK_DATA) != 0 ? FI_TC_BULK_DATA
                                               : FI_TC_DEDICATED_ACCESS;
    return ISTHMUS_OK;
}

isthmus_status ofi_slingshot_read(const struct isthmus_services *s, struct ofi_slingshot *out)
{
    memset(out, 0, sizeof *out);
    out->is_set = text_of("SLINGSHOT_VNIS") != NULL || text_of("SLINGSHOT_DEVICES") != NULL ||
                  text_of("SLINGSHOT_SVC_IDS") != NULL;
    if (!out->is_set) return ISTHMUS_OK;
    isthmus_status status = read_vni(s, out);
    if (status == ISTHMUS_OK) status = read_devices(s, out);
    if (status == ISTHMUS_OK) status = read_services(s, out);
    return status == ISTHMUS_OK ? read_classes(s, out) : status;
}

static const uint32_t *service_of(const struct ofi_slingshot *what, const char *device)
{
    for (uint32_t i = 0; i < what->n_devices && device != NULL; i++)
        if (strcmp(what->devices[i], device) == 0) return &what->services[i];
    return NULL;
}

const char *ofi_slingshot_devices(void) { return text_of("SLINGSHOT_DEVICES"); }

bool ofi_slingshot_permits(const struct ofi_slingshot *what, const char *device)
{
    return !what->is_set || service_of(what, device) != NULL;
}

isthmus_status ofi_slingshot_authorize(const struct isthmus_services *s, const struct ofi_slingshot *what,
                                       struct fi_info *info)
{
    struct fi_domain_attr *domain = info->domain_attr;
    const uint32_t *service = service_of(what, domain->name);
    if (!what->is_set || service == NULL) return ISTHMUS_OK;
    struct key *key = calloc(1, sizeof *key); /* fi_freeinfo() frees it */
    if (key == NULL) return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "no memory for an authorization key");
    key->svc_id = *service;
    key->vni = what->vni;
    free(domain->auth_key);
    domain->auth_key = (uint8_t *)key;
    domain->auth_key_size = sizeof *key;
    if (what->tclass != FI_TC_UNSPEC) info->tx_attr->tclass = domain->tclass = what->tclass;
    return ISTHMUS_OK;
}
