/* core/transport/places.c: see places.h. */
#include "core/transport/places.h"

#include "core/base/fatal.h"
#include "core/topo/topo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_BYTES = 64, DEVICE_TRIES = 24 };

/* What PEs of a host publish for each other; they are of one build. */
struct note {
    int32_t numa_node;
    uint32_t has_device_note; /* a device_note follows */
    cpu_set_t cpus;           /* that the PE may use; none: unknown */
};

struct device_note {
    uint32_t kind, reserved;
    char pci_address[IST_PCI_BYTES]; /* "": none */
};

static struct {
    ist_boot *boot;
    char key[KEY_BYTES];
    bool has_device_note, is_published, has_own_note;
    struct note own_note; /* of this PE; valid if has_own_note */
    struct device_note mine;
    uint32_t n;
    struct isthmus_local_pe *list;    /* NULL: not requested yet */
    struct note *notes;               /* valid with `list` */
    struct isthmus_local_place *all;  /* NULL: not requested yet */
    struct device_note *device_notes; /* `all` points into it */
} places;

/* ---- this PE ---- */

static isthmus_status put(const char *key, const void *note, size_t note_bytes)
{
    if (places.boot->n_local == 1) return ISTHMUS_OK; /* no other PE fetches it */
    return places.boot->ops->put(places.boot, key, note, note_bytes);
}

static const char *device_key(char out[KEY_BYTES + 8])
{
    snprintf(out, KEY_BYTES + 8, "%s.device", places.key);
    return out;
}

/* Read from the system once. */
static const struct note *own_note(void)
{
    struct note *note = &places.own_note;
    if (places.has_own_note) return note;
    *note = (struct note){ist_topo_bound_node(), places.has_device_note, {{0}}};
    if (!ist_topo_bound_cpus(&note->cpus)) CPU_ZERO(&note->cpus);
    places.has_own_note = true;
    return note;
}

isthmus_status ist_places_publish(ist_boot *boot, const char *key, bool has_device_note)
{
    places.boot = boot;
    places.has_device_note = has_device_note;
    snprintf(places.key, sizeof places.key, "%s", key);
    return put(key, own_note(), sizeof places.own_note);
}

isthmus_status ist_places_publish_device(uint32_t kind, const char *pci_address)
{
    char key[KEY_BYTES + 8];
    if (places.is_published || (places.boot != NULL && !places.has_device_note)) return ISTHMUS_OK;
    places.is_published = true;
    places.mine.kind = kind;
    (void)ist_pci_normalise(pci_address, places.mine.pci_address);
    return places.boot != NULL ? put(device_key(key), &places.mine, sizeof places.mine) : ISTHMUS_OK;
}

/* ---- all PEs of the host ---- */

static bool is_me(uint32_t place) { return places.boot == NULL || places.boot->local_pes[place] == places.boot->pe; }

static isthmus_status fetch(int pe, const char *key, void *out, size_t out_bytes)
{
    void *bytes;
    size_t n_bytes;
    isthmus_status status = places.boot->ops->get(places.boot, pe, key, &bytes, &n_bytes);
    if (status != ISTHMUS_OK) return status;
    if (n_bytes == out_bytes)
        memcpy(out, bytes, out_bytes);
    else
        status = ist_fail(ISTHMUS_ERR_VERSION, "PE %d is of another version of Isthmus; use one version on all PEs",
                          pe);
    free(bytes);
    return status;
}

/* A driver may take long to start, and some launchers report a key as missing that a PE is about to put. */
static isthmus_status fetch_patiently(int pe, const char *key, void *out, size_t out_bytes)
{
    isthmus_status status = fetch(pe, key, out, out_bytes);
    for (int i = 1; i < DEVICE_TRIES && status == ISTHMUS_ERR_UNREACHABLE; i++) {
        ist_life_report_wait(IST_LIFE_WAIT_IN_BOOTSTRAP);
        status = fetch(pe, key, out, out_bytes);
    }
    return status;
}

static isthmus_status fetch_notes(void)
{
    isthmus_status status = ISTHMUS_OK;
    for (uint32_t i = 0; i < places.n && status == ISTHMUS_OK; i++) {
        struct isthmus_local_pe *place = &places.list[i];
        place->pe = places.boot != NULL ? places.boot->local_pes[i] : 0;
        if (is_me(i))
            places.notes[i] = *own_note();
        else
            status = fetch(place->pe, places.key, &places.notes[i], sizeof places.notes[i]);
        place->numa_node = places.notes[i].numa_node;
    }
    return status;
}

static isthmus_status fetch_devices(void)
{
    char key[KEY_BYTES + 8];
    isthmus_status status = ISTHMUS_OK;
    (void)device_key(key);
    for (uint32_t i = 0; i < places.n && status == ISTHMUS_OK; i++) {
        struct device_note *note = &places.device_notes[i];
        if (is_me(i))
            *note = places.mine;
        else if (places.notes[i].has_device_note != 0)
            status = fetch_patiently(places.list[i].pe, key, note, sizeof *note);
        note->pci_address[sizeof note->pci_address - 1] = '\0';
        places.all[i] = (struct isthmus_local_place){
            .struct_size = sizeof places.all[i],
            .pe = places.list[i].pe,
            .numa_node = places.list[i].numa_node,
            .kind = note->kind,
            .pci_address = note->pci_address[0] != '\0' ? note->pci_address : NULL,
        };
    }
    return status;
}

uint32_t ist_places_count(void) { return places.boot != NULL ? (uint32_t)places.boot->n_local : 1; }

static isthmus_status fail_memory(void) { return ist_fail_memory("the places of %u PEs", places.n); }

static void forget_notes(void)
{
    free(places.list);
    free(places.notes);
    places.list = NULL;
    places.notes = NULL;
}

static void forget_devices(void)
{
    free(places.all);
    free(places.device_notes);
    places.all = NULL;
    places.device_notes = NULL;
}

static isthmus_status find_notes(void)
{
    if (places.list != NULL) return ISTHMUS_OK;
    places.n = ist_places_count();
    places.list = calloc(places.n, sizeof *places.list);
    places.notes = calloc(places.n, sizeof *places.notes);
    isthmus_status status = places.list != NULL && places.notes != NULL ? fetch_notes() : fail_memory();
    if (status != ISTHMUS_OK) forget_notes();
    return status;
}

static isthmus_status find_devices(void)
{
    if (places.all != NULL) return ISTHMUS_OK;
    if (places.has_device_note && !places.is_published)
        return ist_fail(ISTHMUS_ERR_UNSUPPORTED,
                        "the devices of this host's PEs are not known before the transports to devices are open");
    places.all = calloc(places.n, sizeof *places.all);
    places.device_notes = calloc(places.n, sizeof *places.device_notes);
    isthmus_status status = places.all != NULL && places.device_notes != NULL ? fetch_devices() : fail_memory();
    if (status != ISTHMUS_OK) forget_devices();
    return status;
}

isthmus_status ist_places_get(const struct isthmus_local_pe **list, uint32_t *n)
{
    isthmus_status status = find_notes();
    if (status != ISTHMUS_OK) return status;
    *list = places.list;
    *n = places.n;
    return ISTHMUS_OK;
}

isthmus_status ist_places_get_all(const struct isthmus_local_place **list, uint32_t *n)
{
    isthmus_status status = find_notes();
    if (status == ISTHMUS_OK) status = find_devices();
    if (status != ISTHMUS_OK) return status;
    *list = places.all;
    *n = places.n;
    return ISTHMUS_OK;
}

isthmus_status ist_places_cpus(int *out)
{
    cpu_set_t all = own_note()->cpus;
    int n_own = CPU_COUNT(&all), n_online = ist_topo_cpus();
    bool is_enough = n_own == 0 || n_own >= n_online || (uint32_t)n_own >= ist_places_count();
    isthmus_status status = is_enough ? ISTHMUS_OK : find_notes();
    if (status != ISTHMUS_OK) return status;
    for (uint32_t i = 0; !is_enough && i < places.n; i++) CPU_OR(&all, &all, &places.notes[i].cpus);
    *out = ist_topo_capped_cpus(n_own > 0 ? CPU_COUNT(&all) : n_online);
    return ISTHMUS_OK;
}

void ist_places_close(void)
{
    forget_devices();
    forget_notes();
    memset(&places, 0, sizeof places);
}
