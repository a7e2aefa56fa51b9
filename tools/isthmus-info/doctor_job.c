/* tools/isthmus-info/doctor_job.c: do the hosts of a job agree? Each PE publishes what its host has through the
 * bootstrap; PE 0 counts which values there are. */
#include "tools/isthmus-info/doctor.h"
#include "tools/isthmus-info/info.h"

#include "core/heap/heap.h"
#include "core/runtime.h"
#include "core/topo/topo.h"
#include "core/transport/registry.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static const char area[] = "hosts", key[] = "isthmus-info.doctor";

enum {
    FACT_VERSION,
    FACT_LIBRARIES,
    FACT_PROCESSORS,
    FACT_MEMORY,
    FACT_PAGES,
    FACT_PID_NAMESPACE,
    FACT_SPACE,
    FACT_FILE_SIZE,
    FACT_MEMLOCK,
    FACT_FILES,
    FACT_FAULTS,
    N_FACTS,
    FACT_BYTES = 192
};

static const struct {
    const char *name;
    enum verdict if_different;
    const char *remedy; /* NULL: jobs have no need of one */
} facts[N_FACTS] = {
    [FACT_VERSION] = {"version", VERDICT_FAIL, "install one version of Isthmus on all hosts"},
    [FACT_LIBRARIES] = {"libraries", VERDICT_DEGRADED,
                        "install one version on all hosts (ISTHMUS_IB_UCX names a file)"},
    [FACT_PROCESSORS] = {"processors", VERDICT_DEGRADED, "place PEs by the processors of each host"},
    [FACT_MEMORY] = {"memory", VERDICT_DEGRADED,
                     "place fewer PEs on hosts with less, or set ISTHMUS_HEAP_SIZE: an allocation fails on all PEs "
                     "where one has no room"},
    [FACT_PAGES] = {"pages", VERDICT_PASS, NULL},
    [FACT_PID_NAMESPACE] = {"processes", VERDICT_PASS, NULL},
    [FACT_SPACE] = {"addresses", VERDICT_DEGRADED, "ulimit -v unlimited, on all hosts"},
    [FACT_FILE_SIZE] = {"file size", VERDICT_DEGRADED, "ulimit -f unlimited, on all hosts"},
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

/* In whole GiB where that is precise enough: nodes of one model differ by some MiB. */
static void write_memory(char out[FACT_BYTES])
{
    enum { GIB = 30, MIB = 20, MANY = 8 };
    uint64_t bytes = ist_topo_memory_bytes();
    bool is_coarse = bytes >> GIB >= MANY;
    uint64_t unit = (uint64_t)1 << (is_coarse ? GIB : MIB);
    snprintf(out, FACT_BYTES, "%" PRIu64 " %s", (bytes + unit / 2) / unit, is_coarse ? "GiB" : "MiB");
}

/* As many as this process may use, of those that are on line. */
static void write_processors(char out[FACT_BYTES])
{
    cpu_set_t bound;
    int n_online = ist_topo_cpus();
    int n_usable = ist_topo_capped_cpus(ist_topo_bound_cpus(&bound) ? CPU_COUNT(&bound) : n_online);
    if (n_usable == n_online)
        snprintf(out, FACT_BYTES, "%d", n_online);
    else
        snprintf(out, FACT_BYTES, "%d of %d", n_usable, n_online);
}

static void write_pages(char out[FACT_BYTES])
{
    uint64_t bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    int used = snprintf(out, FACT_BYTES, "of %" PRIu64 " KiB", bytes >> 10);
    if (ist_heap.page_bytes != 0 && ist_heap.page_bytes != bytes)
        snprintf(out + used, (size_t)(FACT_BYTES - used), ", in the heap of %" PRIu64 " KiB",
                 ist_heap.page_bytes >> 10);
}

static void write_pid_namespace(char out[FACT_BYTES])
{
    static const ino_t first = 0xEFFFFFFC; /* the one in which Linux starts */
    struct stat about = {.st_ino = first};
    (void)stat("/proc/thread-self/ns/pid", &about);
    snprintf(out, FACT_BYTES, "%s", about.st_ino == first ? "those of the host" : "those of a container");
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
    write_processors(card->facts[FACT_PROCESSORS]);
    write_pages(card->facts[FACT_PAGES]);
    write_pid_namespace(card->facts[FACT_PID_NAMESPACE]);
    write_memory(card->facts[FACT_MEMORY]);
    write_limit(RLIMIT_AS, card->facts[FACT_SPACE]);
    write_limit(RLIMIT_FSIZE, card->facts[FACT_FILE_SIZE]);
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

/* ---- what differs, by value: one line for each fact, whatever the number of PEs ---- */

enum { MAX_VALUES = 6 };

static struct value {
    char text[FACT_BYTES], host_name[64];
    int first_pe;
    unsigned n_pes;
} values[N_FACTS][MAX_VALUES]; /* unused ones have no PEs */

static unsigned n_more[N_FACTS]; /* PEs with still other values */

static void count_values(const struct card *card, int pe)
{
    for (size_t i = 0; i < N_FACTS; i++) {
        struct value *v = values[i], *end = v + MAX_VALUES;
        while (v < end && v->n_pes > 0 && strncmp(v->text, card->facts[i], FACT_BYTES) != 0) v++;
        if (v == end) {
            n_more[i]++;
            continue;
        }
        if (v->n_pes++ > 0) continue;
        v->first_pe = pe;
        snprintf(v->text, sizeof v->text, "%.*s", FACT_BYTES - 1, card->facts[i]);
        snprintf(v->host_name, sizeof v->host_name, "%.63s", card->host_name);
    }
}

static void report_difference(size_t fact)
{
    char evidence[400] = "";
    size_t used = 0;
    for (const struct value *v = values[fact]; v < values[fact] + MAX_VALUES && v->n_pes > 0; v++)
        if (used < sizeof evidence)
            used += (size_t)snprintf(evidence + used, sizeof evidence - used, "%s%.150s on %u PE%s (%sPE %d on %s)",
                                     used > 0 ? "; " : "", v->text, v->n_pes, v->n_pes > 1 ? "s" : "",
                                     v->n_pes > 1 ? "the first: " : "", v->first_pe, v->host_name);
    if (n_more[fact] > 0 && used < sizeof evidence)
        snprintf(evidence + used, sizeof evidence - used, "; other values on %u more", n_more[fact]);
    if (facts[fact].if_different == VERDICT_PASS)
        doctor_pass(area, facts[fact].name, "%s", evidence);
    else
        doctor_fault(facts[fact].if_different, area, facts[fact].name, facts[fact].remedy, "%s", evidence);
}

void doctor_compare_hosts(const struct routes *routes)
{
    bool has_others = false;
    count_values(&own, 0);
    for (int pe = 1; pe < routes->n_pes; pe++) {
        struct card *card = is_examined(routes, pe) ? get_card(pe) : NULL;
        if (card == NULL) return;
        has_others |= !ist_host_id_equal(&card->host, &own.host);
        count_values(card, pe);
        free(card);
    }
    for (size_t i = 0; i < N_FACTS; i++)
        if (values[i][1].n_pes > 0)
            report_difference(i);
        else if (i != FACT_FAULTS)
            doctor_pass(area, facts[i].name, "%s on %s", own.facts[i], has_others ? "all hosts" : "the only host");
}

void doctor_publish(void)
{
    ist_boot *boot = ist_runtime.boot;
    write_card(&own);
    if (boot->ops->put(boot, key, &own, sizeof own) != ISTHMUS_OK) report_exchange(ist_fail_text());
}
