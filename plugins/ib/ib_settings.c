/* plugins/ib/ib_settings.c: see ib_settings.h. */
#include "plugins/ib/ib_settings.h"

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

enum { USUAL_TIMEOUT_S = 30, MOST_TIMEOUT_S = 3600, USUAL_PEERS = 256 };

/* Threads beyond the processors take turns anyway, and each worker holds receive buffers: some 50 MiB over an
 * adapter. */
uint32_t ib_workers_of_use(uint32_t n_allowed, uint32_t n_online, uint32_t n_local)
{
    bool is_bound = n_allowed < n_online;
    uint32_t n = is_bound || n_local == 0 ? n_allowed : n_allowed / n_local;
    if (n < 1) return 1;
    return n < IB_USUAL_WORKERS ? n : IB_USUAL_WORKERS;
}

static uint32_t usual_workers(const struct isthmus_services *services)
{
    cpu_set_t mine;
    long n_online = sysconf(_SC_NPROCESSORS_ONLN);
    if (n_online < 1 || sched_getaffinity(0, sizeof mine, &mine) != 0) return IB_USUAL_WORKERS;
    return ib_workers_of_use((uint32_t)CPU_COUNT(&mine), (uint32_t)n_online, (uint32_t)services->n_local_pes);
}

/* `*out` holds the default. */
static isthmus_status read_number(const struct isthmus_services *s, const char *key, uint32_t most, uint32_t *out)
{
    const char *text = s->config(s->core, key);
    char *end = NULL;
    if (text == NULL || text[0] == '\0') return ISTHMUS_OK;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value < 1 || value > (long)most)
        return s->fail(s->core, ISTHMUS_ERR_INVALID, "ISTHMUS_IB_%s is '%s'; accepted: 1 to %u", key, text, most);
    *out = (uint32_t)value;
    return ISTHMUS_OK;
}

isthmus_status ib_settings_read(const struct isthmus_services *services, struct ib_settings *out)
{
    *out = (struct ib_settings){USUAL_TIMEOUT_S, USUAL_PEERS, usual_workers(services), 1};
    isthmus_status status = read_number(services, "TIMEOUT", MOST_TIMEOUT_S, &out->timeout_s);
    if (status == ISTHMUS_OK) status = read_number(services, "PEERS", INT32_MAX, &out->n_peers);
    if (status == ISTHMUS_OK) status = read_number(services, "WORKERS", IB_MAX_WORKERS, &out->n_workers);
    if (status == ISTHMUS_OK) status = read_number(services, "RAILS", IB_MAX_RAILS, &out->n_rails);
    return status;
}
