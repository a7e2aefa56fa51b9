/* tools/isthmus-check-transport/host.c: what a plugin sees of its loader. See contract.h.
 * A core of its own, of a hundred lines: it loads the plugin, gives it services and fills in what is absent. */
#include "contract.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- services ---- */

static _Thread_local struct {
    isthmus_status code;
    char text[512];
} failure;

void ct_forget_failure(void)
{
    failure.code = ISTHMUS_OK;
    failure.text[0] = '\0';
}

const char *ct_failure_text(void) { return failure.text; }

static const char rule[] = "a text is one line for users: lower case, no full stop, no newline";

/* The rules for every text of a plugin. An abbreviation or a name may begin in capitals. */
static void check_text(const char *service, int length, const char *text)
{
    CT_RULE(service, rule, length > 0 && strchr(text, '\n') == NULL, "it is empty or has a line end: '%s'", text);
    size_t n = strlen(text);
    CT_RULE(service, rule, n < 2 || text[n - 1] != '.' || text[n - 2] == '.', "it ends with a full stop: '%s'", text);
    bool is_sentence = isupper((unsigned char)text[0]) && islower((unsigned char)text[1]);
    CT_RULE(service, rule, !is_sentence, "it begins as a sentence does: '%s'", text);
}

static void service_log(void *core, uint32_t level, const char *fmt, ...)
{
    char text[512];
    va_list args;
    va_start(args, fmt);
    int length = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    CT_RULE("log", "its first argument is services->core", core != NULL, "it is NULL: %s", text);
    CT_RULE("log", "its second argument is an ISTHMUS_LOG_ level", level <= ISTHMUS_LOG_TRACE,
            "it is %u, with the text: %s", level, text);
    check_text("log", length, text);
}

static isthmus_status service_fail(void *core, isthmus_status code, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int length = vsnprintf(failure.text, sizeof failure.text, fmt, args);
    va_end(args);
    CT_RULE("fail", "its first argument is services->core", core != NULL, "it is NULL: %s", failure.text);
    CT_RULE("fail", "its second argument is an ISTHMUS_ERR_ code", code < 0 && code >= ISTHMUS_ERR_REFUSED,
            "it is %d, with the text: %s", code, failure.text);
    CT_RULE("fail", "AGAIN is not reported: it means that nothing was started, and is no failure",
            code != ISTHMUS_ERR_AGAIN, "it came with the text: %s", failure.text);
    check_text("fail", length, failure.text);
    failure.code = code;
    return code;
}

/* ISTHMUS_<NAME>_<KEY>, and the values for the whole job, as the header specifies. */
static const char *service_config(void *core, const char *key)
{
    const struct ct_process *p = core;
    char name[96];
    snprintf(name, sizeof name, "ISTHMUS_%s_%s", p->plugin.t.name, key);
    for (char *c = name; *c != '\0'; c++) *c = (char)toupper((unsigned char)*c);
    if (strcmp(key, "ATOMICS") == 0) return getenv("ISTHMUS_ATOMICS");
    if (strcmp(key, "PLUGIN_PATH") == 0) return getenv("ISTHMUS_PLUGIN_PATH");
    return getenv(name);
}

bool ct_on_one_host(const struct ct_process *p, int pe, int other)
{
    return memcmp(&p->hosts[pe], &p->hosts[other], sizeof p->hosts[pe]) == 0;
}

/* The processes on this host, bound to nothing. */
static isthmus_status service_local_pes(void *core, const struct isthmus_local_pe **list, uint32_t *n)
{
    struct ct_process *p = core;
    *n = 0;
    for (int pe = 0; pe < p->n; pe++)
        if (ct_on_one_host(p, p->pe, pe)) p->local_pes[(*n)++] = (struct isthmus_local_pe){.pe = pe, .numa_node = -1};
    *list = p->local_pes;
    return ISTHMUS_OK;
}

/* Entries as of a newer core, with more fields; a plugin must step over fields that it does not know. */
static isthmus_status service_local_places(void *core, const struct isthmus_local_place **list, uint32_t *n)
{
    struct ct_process *p = core;
    *n = 0;
    for (int pe = 0; pe < p->n; pe++) {
        if (!ct_on_one_host(p, p->pe, pe)) continue;
        struct ct_longer_place *longer = &p->places[(*n)++];
        longer->place = (struct isthmus_local_place){
            .struct_size = sizeof *longer, .pe = pe, .numa_node = -1, .kind = ISTHMUS_MEM_HOST};
        memset(longer->newer, 0x5a, sizeof longer->newer);
    }
    *list = &p->places[0].place;
    return ISTHMUS_OK;
}

static const char *service_nearest_name(void *core, const char *name, const char *const *candidates, size_t n)
{
    (void)core, (void)name, (void)candidates, (void)n;
    return NULL; /* no candidate is near enough: permitted at any time */
}

static uint32_t service_peer_alive(void *core, int32_t pe)
{
    const struct ct_process *p = core;
    CT_RULE("peer_alive", "its second argument is a PE of the job", pe >= 0 && pe < p->n, "it is %d of %d", pe, p->n);
    return !ct_board_has_ended(pe);
}

void ct_make_services(struct ct_process *p, struct isthmus_services *out)
{
    int n_local = 0;
    for (int pe = 0; pe < p->n; pe++) n_local += ct_on_one_host(p, p->pe, pe);
    *out = (struct isthmus_services){
        .struct_size = sizeof *out,
        .abi_minor = ISTHMUS_ABI_MINOR,
        .core = p,
        .log = service_log,
        .fail = service_fail,
        .config = service_config,
        .my_pe = p->pe,
        .n_pes = p->n,
        .host = &p->host,
        .local_pes = service_local_pes,
        .nearest_name = service_nearest_name,
        .n_local_pes = n_local,
        .local_places = service_local_places,
        .peer_alive = service_peer_alive,
    };
}

const char *ct_status_name(isthmus_status status)
{
    static const char *const names[] = {"OK",        "AGAIN",      "UNSUPPORTED", "INVALID",   "NO_MEMORY",
                                        "NO_DEVICE", "PERMISSION", "UNREACHABLE", "PEER_LOST", "IO",
                                        "LIMIT",     "VERSION",    "REFUSED"};
    return status <= 0 && -status < (int)(sizeof names / sizeof *names) ? names[-status] : "no code";
}

/* ---- replacements of absent cold slots ---- */

static isthmus_status no_probe(const struct isthmus_services *services)
{
    (void)services;
    return ISTHMUS_OK;
}

static isthmus_status no_card(isthmus_tr *tr, void *buf, size_t *length_bytes)
{
    (void)tr, (void)buf;
    *length_bytes = 0;
    return ISTHMUS_OK;
}

static isthmus_status no_mem_alloc(isthmus_tr *tr, uint32_t kind, int32_t device, uint64_t length_bytes,
                                   struct isthmus_mem *out)
{
    (void)tr, (void)kind, (void)device, (void)length_bytes, (void)out;
    return ISTHMUS_ERR_UNSUPPORTED;
}

static void no_mem_free(isthmus_tr *tr, const struct isthmus_mem *mem) { (void)tr, (void)mem; }

static isthmus_status no_register_local(isthmus_tr *tr, const struct isthmus_mem *mem, isthmus_lmem **out)
{
    (void)tr, (void)mem;
    *out = NULL;
    return ISTHMUS_OK;
}

static void no_unregister_local(isthmus_lmem *mem) { (void)mem; }

static int32_t no_progress(isthmus_tr *tr)
{
    (void)tr;
    return 0;
}

static isthmus_status no_arm(isthmus_tr *tr, int32_t *event_fd)
{
    (void)tr;
    *event_fd = -1;
    return ISTHMUS_OK;
}

static isthmus_status no_counters(isthmus_tr *tr, uint64_t *values, const char *const **names, size_t *n)
{
    (void)tr, (void)values;
    *names = NULL;
    *n = 0;
    return ISTHMUS_OK;
}

static const void *no_extension(isthmus_tr *tr, const char *name)
{
    (void)tr, (void)name;
    return NULL;
}

/* ---- loading ---- */

static void require(const void *slot, const char *name)
{
    CT_RULE(name, "this slot is required", slot != NULL, "the table lacks it");
}

/* Function pointers are read as data here: only whether they are set. */
#define REQUIRE(slot)                         \
    do {                                      \
        const void *at;                       \
        memcpy(&at, &out->t.slot, sizeof at); \
        require(at, #slot);                   \
    } while (0)
#define FILL(slot) \
    if (out->t.slot == NULL) out->t.slot = no_##slot

void ct_plugin_load(const char *path, struct ct_plugin *out)
{
    out->path = path;
    out->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    CT_RULE("table", "a plugin is a shared object that needs no symbol of Isthmus", out->library != NULL, "%s",
            dlerror());
    const struct isthmus_transport *theirs = dlsym(out->library, "isthmus_transport_v1");
    CT_RULE("table", "a plugin exports isthmus_transport_v1", theirs != NULL, "the file lacks that symbol%s",
            dlsym(out->library, "isthmus_transport_v2") != NULL
                ? "; it is of major version 2: check it with the isthmus-check-transport of such an Isthmus"
                : "");
    isthmus_read_in(&out->given, sizeof out->given, theirs);
    out->t = out->given;
    REQUIRE(name);
    REQUIRE(open);
    REQUIRE(close);
    REQUIRE(describe);
    REQUIRE(reach);
    REQUIRE(path_open);
    REQUIRE(path_close);
    REQUIRE(expose);
    REQUIRE(attach);
    REQUIRE(detach);
    REQUIRE(channel_open);
    REQUIRE(channel_close);
    FILL(probe);
    FILL(card);
    FILL(mem_alloc);
    FILL(mem_free);
    FILL(register_local);
    FILL(unregister_local);
    FILL(progress);
    FILL(arm);
    FILL(counters);
    FILL(extension);
}
