/* plugins/ib/ib_ucp.c: see ib_ucp.h. */
#include "plugins/ib/ib_ucp.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ib_ucp ib_ucp;

static const struct isthmus_services *log_services;
static bool is_ucx_to_write; /* its log, because the user has set UCX_LOG_LEVEL */

const char *ib_ucp_variable(const char *variable) { return getenv(variable); }

bool ib_ucp_is_set(const char *variable) { return ib_ucp_variable(variable) != NULL; }

static char version_text[32], file[PATH_MAX];
static unsigned version_major, version_minor;

static void note_version(void)
{
    unsigned release;
    ib_ucp.ucp_get_version(&version_major, &version_minor, &release);
    snprintf(version_text, sizeof version_text, "%u.%u.%u", version_major, version_minor, release);
}

size_t ib_ucp_note(char out[IB_NOTE_BYTES])
{
    static const char *const variables[] = {"UCX_TLS", "UCX_NET_DEVICES"};
    int n_set = 0;
    size_t used = (size_t)snprintf(out, IB_NOTE_BYTES, "UCX %s with ", version_text);
    for (size_t i = 0; i < sizeof variables / sizeof *variables && used < IB_NOTE_BYTES; i++) {
        const char *value = getenv(variables[i]);
        if (value != NULL)
            used += (size_t)snprintf(out + used, IB_NOTE_BYTES - used, "%s%s=%s", n_set++ > 0 ? " " : "", variables[i],
                                     value);
    }
    if (n_set == 0) snprintf(out + used, IB_NOTE_BYTES - used, "its defaults");
    return strlen(out) + 1;
}

const char *ib_ucp_version(void) { return version_text; }

const char *ib_ucp_file(void) { return file; }

bool ib_ucp_is_at_least(unsigned major, unsigned minor)
{
    return version_major > major || (version_major == major && version_minor >= minor);
}

static const char *const names[] = {
#define UCP(name) #name,
#include "plugins/ib/ib_ucp.def"
};

isthmus_status ib_ucp_load(const struct isthmus_services *services)
{
    const struct isthmus_services *s = services;
    void *library;
    if (ib_ucp.ucp_init_version != NULL) return ISTHMUS_OK;
    isthmus_status status = ib_load(s, &library, file);
    if (status != ISTHMUS_OK) return status;
    struct ib_ucp table;
    void **entry = (void **)(void *)&table; /* POSIX: dlsym's objects and functions have one kind of address */
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        entry[i] = dlsym(library, names[i]);
        if (entry[i] == NULL)
            return s->fail(s->core, ISTHMUS_ERR_NO_DEVICE, "%s lacks %s; use UCX 1.13 or newer", file, names[i]);
    }
    ib_ucp = table;
    note_version();
    s->log(s->core, ISTHMUS_LOG_DEBUG, "UCX %s, %s", version_text, file);
    return ISTHMUS_OK;
}

/* ---- no memory ---- */

bool ib_ucp_progresses;
static char no_memory_why[IB_NO_MEMORY_BYTES];
static int no_memory; /* 1: the reason is being written, 2: to be reported, 3: reported */

void ib_ucp_note_no_memory(const char *why)
{
    int none = 0;
    if (!__atomic_compare_exchange_n(&no_memory, &none, 1, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) return;
    snprintf(no_memory_why, sizeof no_memory_why, "%.*s", IB_NO_MEMORY_BYTES - 1, why);
    __atomic_store_n(&no_memory, 2, __ATOMIC_RELEASE);
}

bool ib_ucp_take_no_memory(char why[IB_NO_MEMORY_BYTES])
{
    int to_report = 2;
    if (__atomic_load_n(&no_memory, __ATOMIC_RELAXED) != to_report) return false;
    if (!__atomic_compare_exchange_n(&no_memory, &to_report, 3, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return false;
    memcpy(why, no_memory_why, sizeof no_memory_why);
    return true;
}

static bool is_about_memory(const char *text)
{
    return strstr(text, "failed to allocate") != NULL || strstr(text, "Out of memory") != NULL;
}

/* ---- the log of UCX ---- */

enum { MANY_ERRORS = 100 };
static _Thread_local char reason[IB_REASON_TEXT_BYTES - 4]; /* the first error since ib_ucp_reason_begin() */
static _Thread_local uint32_t n_errors;                     /* since then */

void ib_ucp_reason_begin(void)
{
    reason[0] = '\0';
    n_errors = 0;
}

void ib_ucp_reason(char out[IB_REASON_TEXT_BYTES])
{
    out[0] = '\0';
    if (reason[0] != '\0') snprintf(out, IB_REASON_TEXT_BYTES, " (%s)", reason);
}

static pthread_mutex_t latest_lock = PTHREAD_MUTEX_INITIALIZER;
static char latest[IB_REASON_TEXT_BYTES - 28];

void ib_ucp_latest(char out[IB_REASON_TEXT_BYTES])
{
    out[0] = '\0';
    pthread_mutex_lock(&latest_lock);
    if (latest[0] != '\0') snprintf(out, IB_REASON_TEXT_BYTES, " (latest error of UCX: %s)", latest);
    latest[0] = '\0';
    pthread_mutex_unlock(&latest_lock);
}

static void keep_reason(const char *text)
{
    if (reason[0] == '\0') snprintf(reason, sizeof reason, "%.*s", (int)sizeof reason - 1, text);
    pthread_mutex_lock(&latest_lock);
    snprintf(latest, sizeof latest, "%.*s", (int)sizeof latest - 1, text);
    pthread_mutex_unlock(&latest_lock);
}

static ucs_log_func_rc_t take_message(const char *file, unsigned line, const char *function, ucs_log_level_t level,
                                      const ucs_log_component_config_t *component, const char *message, va_list args)
{
    (void)file, (void)line, (void)component;
    char text[400];
    vsnprintf(text, sizeof text, message, args);
    bool progresses = __atomic_load_n(&ib_ucp_progresses, __ATOMIC_RELAXED);
    if (level <= UCS_LOG_LEVEL_ERROR && progresses && is_about_memory(text)) ib_ucp_note_no_memory(text);
    if (level <= UCS_LOG_LEVEL_ERROR) keep_reason(text);
    if (is_ucx_to_write) return UCS_LOG_FUNC_RC_CONTINUE;
    log_services->log(log_services->core, level <= UCS_LOG_LEVEL_WARN ? ISTHMUS_LOG_INFO : ISTHMUS_LOG_TRACE,
                      "UCX: %s: %s", function, text);
    if (level <= UCS_LOG_LEVEL_ERROR && ++n_errors == MANY_ERRORS)
        log_services->log(log_services->core, ISTHMUS_LOG_WARN, "UCX reports one error after another; the first: %s",
                          reason);
    return UCS_LOG_FUNC_RC_STOP;
}

void ib_ucp_log_to(const struct isthmus_services *services)
{
    is_ucx_to_write = ib_ucp_is_set("UCX_LOG_LEVEL");
    log_services = services;
    ib_ucp.ucs_log_push_handler(take_message);
}

void ib_ucp_log_end(void)
{
    if (log_services == NULL) return;
    ib_ucp.ucs_log_pop_handler();
    log_services = NULL;
}

isthmus_status ib_ucp_code(ucs_status_t status)
{
    switch (status) {
    case UCS_OK: return ISTHMUS_OK;
    case UCS_ERR_NO_MEMORY: return ISTHMUS_ERR_NO_MEMORY;
    case UCS_ERR_UNREACHABLE: return ISTHMUS_ERR_UNREACHABLE;
    case UCS_ERR_NO_DEVICE: return ISTHMUS_ERR_NO_DEVICE;
    case UCS_ERR_UNSUPPORTED: return ISTHMUS_ERR_UNSUPPORTED;
    case UCS_ERR_CANCELED:
    case UCS_ERR_CONNECTION_RESET:
    case UCS_ERR_ENDPOINT_TIMEOUT:
    case UCS_ERR_NOT_CONNECTED:
    case UCS_ERR_REJECTED:
    case UCS_ERR_TIMED_OUT: return ISTHMUS_ERR_PEER_LOST;
    default: return ISTHMUS_ERR_IO;
    }
}
