/* tools/isthmus-info/doctor_job.c: do the hosts of a job agree? Each PE publishes what its host has through the
 * bootstrap; PE 0 compares the first PE of each host with the first of all. */
#include "tools/isthmus-info/doctor.h"
#include "tools/isthmus-info/info.h"

#include "core/runtime.h"
#include "core/topo/topo.h"
#include "core/transport/registry.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static const char area[] = "hosts", key[] = "isthmus-info.doctor";

enum {
    FACT_VERSION,
    FACT_LIBRARIES,
    FACT_PROCESSORS,
    FACT_MEMLOCK,
    FACT_FILES,
    FACT_FAULTS,
    N_FACTS,
    FACT_BYTES = 192
};

static const struct {
    const char *name;
    enum verdict if_different;
    const char *remedy;
} facts[N_FACTS] = {
    [FACT_VERSION] = {"version", VERDICT_FAIL, "install one version of Isthmus on all hosts"},
    [FACT_LIBRARIES] = {"libraries", VERDICT_DEGRADED,
                        "install one version on all hosts (ISTHMUS_IB_UCX names a file)"},
    [FACT_PROCESSORS] = {"processors", VERDICT_DEGRADED, "place PEs by the processors of each host"},
    [FACT_MEMLOCK] = {"memlock", VERDICT_DEGRADED, "set LimitMEMLOCK of the launcher's service alike on all hosts"},
    [FACT_FILES] = {"open files", VERDICT_DEGRADED, "set the limit alike on all hosts"},
    [FACT_FAULTS] = {"own faults", VERDICT_DEGRADED, "run isthmus-info --doctor on that host"},
};

struct card {
    struct isthmus_host_id host;
    char host_name[64], facts[N_FACTS][FACT_BYTES];
};

static struct card own;

static void write_limit(int resource, char out[FACT_BYTES])
{
    struct rlimit limit = {.rlim_cur = RLIM_INFINITY};
    getrlimit((unsigned)resource, &limit);
    if (limit.rlim_cur == RLIM_INFINITY)
        snprintf(out, FACT_BYTES, "no limit");
    else
        snprintf(out, FACT_BYTES, "%" PRIu64, (uint64_t)limit.rlim_cur);
}

static void write_libraries(char out[FACT_BYTES])
{
    size_t used = 0;
    for (uint32_t i = 0; i < ist_registry.n && used < FACT_BYTES; i++) {
        const struct ist_transport *t = &ist_registry.list[i];
        struct isthmus_library_info library = {.struct_size = sizeof library};
        if (t->state != IST_TRANSPORT_OPEN) continue;
        t->extensions.library.describe(t->handle, &library);
        if (library.name != NULL)
            used += (size_t)snprintf(out + used, FACT_BYTES - used, "%s%s %s", used > 0 ? ", " : "", library.name,
                                     library.version);
    }
    if (used == 0) snprintf(out, FACT_BYTES, "none in use");
}

static void write_card(struct card *card)
{
    memset(card, 0, sizeof *card);
    card->host = ist_registry.host;
    snprintf(card->host_name, sizeof card->host_name, "%s", ist_host_name());
    snprintf(card->facts[FACT_VERSION], FACT_BYTES, "%s", ISTHMUS_VERSION);
    snprintf(card->facts[FACT_PROCESSORS], FACT_BYTES, "%d", ist_topo_cpus());
    write_libraries(card->facts[FACT_LIBRARIES]);
    write_limit(RLIMIT_MEMLOCK, card->facts[FACT_MEMLOCK]);
    write_limit(RLIMIT_NOFILE, card->facts[FACT_FILES]);
    doctor_faults(card->facts[FACT_FAULTS], FACT_BYTES);
}

static void report_exchange(const char *evidence)
{
    doctor_fault(VERDICT_FAIL, area, "exchange",
                 "pass the same options to isthmus-info on all PEs; else the first "
                 "message of a PE has the cause",
                 "%s", evidence);
}

/* Returns false after it has reported that the PE was started without --doctor: it publishes no card. */
static bool is_examined(const struct routes *routes, int pe)
{
    char evidence[FACT_BYTES];
    if (routes->hosts == NULL || routes->hosts[pe].is_examined != 0) return true;
    snprintf(evidence, sizeof evidence, "PE %d was started without --doctor", pe);
    report_exchange(evidence);
    return false;
}

/* Returns the card of a PE in memory of the caller's; NULL after it has reported why there is none. */
static struct card *get_card(int pe)
{
    ist_boot *boot = ist_runtime.boot;
    void *bytes = NULL;
    size_t n_bytes = 0;
    if (boot->ops->get(boot, pe, key, &bytes, &n_bytes) != ISTHMUS_OK) {
        report_exchange(ist_fail_text());
        return NULL;
    }
    if (n_bytes == sizeof(struct card)) return bytes;
    free(bytes);
    doctor_fault(VERDICT_FAIL, area, "version", facts[FACT_VERSION].remedy,
                 "PE %d runs another version of isthmus-info", pe);
    return NULL;
}

static void compare(const struct card *first, const struct card *other, int pe, bool *differs)
{
    for (size_t i = 0; i < N_FACTS; i++) {
        if (strncmp(first->facts[i], other->facts[i], FACT_BYTES) == 0) continue;
        differs[i] = true;
        doctor_fault(facts[i].if_different, area, facts[i].name, facts[i].remedy, "%s: %s; %.63s (PE %d): %.150s",
                     first->host_name, first->facts[i], other->host_name, pe, other->facts[i]);
    }
}

/* Compares one PE of each host: neighbours in number mostly share one, so that a host is compared once or a few
 * times. */
void doctor_compare_hosts(const struct routes *routes)
{
    const struct card *first = &own;
    bool differs[N_FACTS] = {false};
    struct isthmus_host_id last = first->host;
    unsigned n_hosts = 1;
    for (int pe = 1; pe < routes->n_pes; pe++) {
        struct card *card = is_examined(routes, pe) ? get_card(pe) : NULL;
        if (card == NULL) return;
        if (!ist_host_id_equal(&card->host, &last) && !ist_host_id_equal(&card->host, &first->host)) {
            n_hosts++;
            compare(first, card, pe, differs);
        }
        last = card->host;
        free(card);
    }
    for (size_t i = 0; i < N_FACTS; i++)
        if (!differs[i] && i != FACT_FAULTS)
            doctor_pass(area, facts[i].name, "%s on %s", first->facts[i], n_hosts > 1 ? "all hosts" : "the only host");
}

void doctor_publish(void)
{
    ist_boot *boot = ist_runtime.boot;
    write_card(&own);
    if (boot->ops->put(boot, key, &own, sizeof own) != ISTHMUS_OK) report_exchange(ist_fail_text());
}
