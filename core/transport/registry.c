/* core/transport/registry.c: the life of a plugin from its file to the opened transport. See registry.h.
 * Finding and loading files is load.c; the user's selection is select.c. */
#include "core/transport/registry.h"

#include "core/base/config.h"
#include "core/base/fatal.h"
#include "core/base/log.h"
#include "core/base/note.h"
#include "core/topo/topo.h"
#include "core/transport/memory.h"
#include "core/transport/places.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ist_registry ist_registry;

static const struct ist_config *settings; /* of the load */

/* ---- services that a plugin may call; `core` is the transport's entry in the list ---- */

static void service_log(void *core, uint32_t level, const char *fmt, ...)
{
    const struct ist_transport *t = core;
    if (level > ist_log_threshold || !ist_log_wants(level, __FILE__)) return; /* all plugins are of one area */
    char text[400];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    ist_log_write(level, "%s: %s", t->name, text);
}

static isthmus_status service_fail(void *core, isthmus_status code, const char *fmt, ...)
{
    const struct ist_transport *t = core;
    char text[400];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return ist_fail(code, "%s: %s", t->name, text);
}

static const char *service_config(void *core, const char *key)
{
    const struct ist_transport *t = core;
    return ist_config_for_plugin(settings, t->name, key);
}

static isthmus_status service_local_pes(void *core, const struct isthmus_local_pe **list, uint32_t *n)
{
    (void)core;
    return ist_places_get(list, n);
}

static isthmus_status service_local_places(void *core, const struct isthmus_local_place **list, uint32_t *n)
{
    (void)core;
    return ist_places_get_all(list, n);
}

static const char *service_nearest_name(void *core, const char *name, const char *const *candidates, size_t n)
{
    (void)core;
    return ist_names_nearest(name, candidates, n);
}

static void service_still_waits(void *core)
{
    (void)core;
    ist_note_slow_call(IST_NOTE_CONNECTION);
    ist_life_report_wait(IST_LIFE_WAIT_IN_SLOT);
}

static uint32_t service_peer_alive(void *core, int32_t pe)
{
    bool has_ended = false;
    (void)core;
    ist_life_report(&(struct ist_life_event){.kind = IST_LIFE_HAS_ENDED, .pe = pe, .has_ended = &has_ended});
    return !has_ended;
}

static void make_services(struct ist_transport *t, int pe, int n_pes, uint64_t scopes)
{
    t->services = (struct isthmus_services){
        .struct_size = sizeof t->services,
        .abi_minor = ISTHMUS_ABI_MINOR,
        .core = t,
        .log = service_log,
        .fail = service_fail,
        .config = service_config,
        .my_pe = pe,
        .n_pes = n_pes,
        .host = &ist_registry.host,
        .local_pes = service_local_pes,
        .nearest_name = service_nearest_name,
        .n_local_pes = n_pes > 0 ? (int32_t)ist_places_count() : 0,
        .scopes = scopes,
        .still_waits = service_still_waits,
        .local_places = service_local_places,
        .peer_alive = service_peer_alive,
    };
    ist_memory_serve(&t->services);
}

/* ---- load, open, close ---- */

/* Keeps the failure text without the prefix "name: " of service_fail: the reader knows the transport. */
static void keep_reason(struct ist_transport *t, enum ist_transport_state state)
{
    const char *text = ist_fail_text();
    size_t prefix = strlen(t->name);
    if (strncmp(text, t->name, prefix) == 0 && strncmp(text + prefix, ": ", 2) == 0) text += prefix + 2;
    snprintf(t->why, sizeof t->why, "%s", text);
    t->state = state;
}

static void probe(struct ist_transport *t)
{
    make_services(t, -1, 0, 0);
    if (t->ops.probe(&t->services) == ISTHMUS_OK)
        t->state = IST_TRANSPORT_UNNEEDED; /* until ist_registry_open opens it */
    else
        keep_reason(t, IST_TRANSPORT_UNFIT);
}

isthmus_status ist_registry_load(const struct ist_config *config)
{
    memset(&ist_registry, 0, sizeof ist_registry);
    settings = config;
    isthmus_status status = ist_host_id_read(&ist_registry.host);
    if (status != ISTHMUS_OK) return status;
    ist_plugins_load(config);
    status = ist_select_transports(config->transports);
    if (status != ISTHMUS_OK) return status;
    for (uint32_t i = 0; i < ist_registry.n; i++)
        if (ist_registry.list[i].state == IST_TRANSPORT_UNNEEDED) probe(&ist_registry.list[i]);
    return ISTHMUS_OK;
}

static void init_cold(struct ist_transport *t)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&t->cold, &attributes);
    pthread_mutexattr_destroy(&attributes);
}

isthmus_status ist_cold_register(struct ist_transport *t, const struct isthmus_mem *mem, isthmus_lmem **out)
{
    ist_cold_begin(t);
    isthmus_status status = t->ops.register_local(t->handle, mem, out);
    ist_cold_end(t);
    return status;
}

void ist_cold_unregister(struct ist_transport *t, isthmus_lmem *lmem)
{
    ist_cold_begin(t);
    t->ops.unregister_local(lmem);
    ist_cold_end(t);
}

static isthmus_status open_one(struct ist_transport *t, int pe, int n_pes, uint64_t scopes)
{
    make_services(t, pe, n_pes, scopes);
    init_cold(t);
    isthmus_status status = t->ops.open(&t->services, &t->handle);
    if (status != ISTHMUS_OK) return status;
    t->traits.struct_size = sizeof t->traits;
    status = t->ops.describe(t->handle, &t->traits);
    if (status != ISTHMUS_OK) {
        t->ops.close(t->handle);
        t->handle = NULL;
        return status;
    }
    ist_abi_complete_extensions(&t->ops, t->handle, &t->extensions);
    t->state = IST_TRANSPORT_OPEN;
    t->why[0] = '\0';
    ist_debug("transport %s %s: open", t->name, t->ops.version);
    return ISTHMUS_OK;
}

static isthmus_status open_if_needed(struct ist_transport *t, int pe, int n_pes, uint64_t scopes)
{
    bool named = t->rank != UINT32_MAX;
    if (t->state != IST_TRANSPORT_UNNEEDED) {
        if (!named) return ISTHMUS_OK;
        return ist_fail(ISTHMUS_ERR_NO_DEVICE, "ISTHMUS_TRANSPORTS names '%s', which cannot be used: %s", t->name,
                        t->why);
    }
    if (!named && (t->ops.scopes & scopes) == 0) {
        snprintf(t->why, sizeof t->why, "%s",
                 t->ops.scopes == ISTHMUS_SCOPE_DEVICE ? "this job has no memory of devices (ISTHMUS_HEAP_KIND)"
                                                       : "no PE of this job lies where it is needed");
        return ISTHMUS_OK;
    }
    if (open_one(t, pe, n_pes, scopes) == ISTHMUS_OK) return ISTHMUS_OK;
    keep_reason(t, IST_TRANSPORT_UNFIT);
    t->has_failed = true;
    if (named)
        return ist_fail(ISTHMUS_ERR_NO_DEVICE, "ISTHMUS_TRANSPORTS names '%s', which cannot be opened: %s", t->name,
                        t->why);
    ist_info("transport %s: not opened: %s", t->name, t->why);
    return ISTHMUS_OK;
}

static bool is_to_devices(const struct ist_transport *t) { return (t->ops.scopes & ISTHMUS_SCOPE_DEVICE) != 0; }

isthmus_status ist_registry_open_devices(int pe, int n_pes, uint64_t scopes)
{
    isthmus_status status = ISTHMUS_OK;
    for (uint32_t i = 0; i < ist_registry.n && status == ISTHMUS_OK; i++)
        if (is_to_devices(&ist_registry.list[i])) status = open_if_needed(&ist_registry.list[i], pe, n_pes, scopes);
    return status;
}

isthmus_status ist_registry_open(int pe, int n_pes, uint64_t scopes)
{
    isthmus_status status = ISTHMUS_OK;
    for (uint32_t i = 0; i < ist_registry.n && status == ISTHMUS_OK; i++)
        if (!is_to_devices(&ist_registry.list[i])) status = open_if_needed(&ist_registry.list[i], pe, n_pes, scopes);
    return status;
}

void ist_registry_close(void)
{
    for (uint32_t i = ist_registry.n; i-- > 0;) {
        struct ist_transport *t = &ist_registry.list[i];
        if (t->handle != NULL) t->ops.close(t->handle);
        if (t->library != NULL) dlclose(t->library);
        free(t->file);
    }
    memset(&ist_registry, 0, sizeof ist_registry);
}

struct ist_transport *ist_registry_find(const char *name)
{
    for (uint32_t i = 0; i < ist_registry.n; i++)
        if (strcmp(ist_registry.list[i].name, name) == 0) return &ist_registry.list[i];
    return NULL;
}

bool ist_registry_has_open(uint64_t scopes)
{
    for (uint32_t i = 0; i < ist_registry.n; i++) {
        const struct ist_transport *t = &ist_registry.list[i];
        if (t->state == IST_TRANSPORT_OPEN && (t->ops.scopes & scopes) != 0) return true;
    }
    return false;
}

const char *ist_transport_state_name(enum ist_transport_state state)
{
    switch (state) {
    case IST_TRANSPORT_REFUSED: return "refused";
    case IST_TRANSPORT_EXCLUDED: return "excluded";
    case IST_TRANSPORT_UNFIT: return "cannot run";
    case IST_TRANSPORT_UNNEEDED: return "not needed";
    case IST_TRANSPORT_OPEN: return "open";
    }
    return "?";
}
