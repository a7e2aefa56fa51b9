/* tools/isthmus-perf/verdict.c: a figure and its limit in words. A cause is named only if a fact shows it. */
#include "tools/isthmus-perf/facts.h"

#include <stdarg.h>
#include <string.h>

/* A difference below CALL_NS is the call itself: its checks, and the lookup of the peer. One below STEP_NS may be a
 * step that the limit lacks. */
enum { CALL_NS = 10, STEP_NS = 1000 };
static const double enough = 0.9; /* of the limit: no more is expected */

struct text {
    char *at;
    size_t room;
    int n; /* parts so far */
};

__attribute__((format(printf, 2, 3))) static void add(struct text *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text->at, text->room, format, args);
    va_end(args);
    size_t used = length < 0 ? 0 : (size_t)length < text->room ? (size_t)length : text->room - 1;
    text->at += used;
    text->room -= used;
}

/* Begins the next cause. */
static void next(struct text *text) { add(text, "%s", text->n++ == 0 ? "" : ", "); }

static bool is_off(const char *setting)
{
    static const char *const words[] = {"0", "false", "no", "off", "n", "f"};
    for (size_t i = 0; setting != NULL && i < sizeof words / sizeof *words; i++)
        if (strcmp(setting, words[i]) == 0) return true;
    return false;
}

static bool is_on(const char *setting) { return setting != NULL && setting[0] != '\0' && !is_off(setting); }

static bool is_same_host(const struct case_facts *facts)
{
    return facts->mine.first_pe_of_host == facts->peer.first_pe_of_host;
}

/* PEs that wait for each other need a processor each. */
static void add_processors(struct text *text, const struct pe_facts *pe)
{
    if (pe->n_cpus_of_host > 0 && pe->n_pes_on_host > pe->n_cpus_of_host)
        next(text), add(text, "%d PEs share %d processors of %s", pe->n_pes_on_host, pe->n_cpus_of_host, pe->host);
    else if (pe->n_cpus_online > 0 && pe->load > pe->n_cpus_online)
        next(text), add(text, "the load of %s is %.1f with %d processors", pe->host, pe->load, pe->n_cpus_online);
}

static void add_causes(struct text *text, const struct case_facts *facts)
{
    if (is_on(facts->check_setting))
        next(text), add(text, "ISTHMUS_CHECK=%.20s checks each call", facts->check_setting);
    if (strcmp(facts->transport, "hook") == 0) next(text), add(text, "transport hook injects faults");
    if (facts->is_together || !is_same_host(facts)) add_processors(text, &facts->mine);
    if (facts->is_aliased || facts->is_on_device || !is_same_host(facts)) return;
    if (is_off(facts->alias_setting))
        next(text),
            add(text, "ISTHMUS_ALIAS=%.20s: each access calls transport %s", facts->alias_setting, facts->transport);
    else if (facts->transport[0] != '\0')
        next(text), add(text, "no load or store reaches the peer: each access calls transport %s", facts->transport);
}

/* What the adapter of this host would permit, for large puts and gets to another host. */
static void add_adapter(struct text *text, const struct result *result, const struct case_facts *facts)
{
    enum { LARGE = 1 << 20 };
    const struct pe_facts *mine = &facts->mine;
    if (is_same_host(facts) || result->size_bytes < LARGE || result->to < 0) return;
    if (mine->n_adapters == 0) {
        if (strcmp(facts->transport, "ib") == 0) /* others have adapters that are no RDMA devices of the kernel's */
            add(text, "; TCP, because %s has no RDMA adapter with a link", mine->host);
        return;
    }
    if (mine->adapter_bytes_per_s <= 0) return;
    double share = 1e9 * (double)result->size_bytes / result->call.median_ns / mine->adapter_bytes_per_s;
    add(text, "; %.2f of the adapter", share);
    if (share < enough && mine->adapter_node >= 0 && mine->numa_node >= 0 && mine->adapter_node != mine->numa_node)
        add(text, ": this PE and its adapter are on different NUMA nodes (%d and %d)", mine->numa_node,
            mine->adapter_node);
}

static void add_distance(struct text *text, const struct result *result, const struct case_facts *facts)
{
    if (facts->near_ns <= 0 || facts->near_ns >= enough * result->limit.median_ns) return;
    add(text, "; %s itself is %.2f of what it is within a node: the PEs are on NUMA nodes %d and %d",
        result->limit_name, facts->near_ns / result->limit.median_ns, facts->mine.numa_node, facts->peer.numa_node);
}

static void add_reason(struct text *text, const struct result *result, const struct case_facts *facts)
{
    double more_ns = result->call.median_ns - result->limit.median_ns;
    if (result->limit.median_ns >= enough * result->call.median_ns) {
        add(text, "nothing to gain");
        return;
    }
    if (more_ns < CALL_NS && facts->is_aliased) {
        add(text, "%.1f ns more: the call", more_ns);
        return;
    }
    if ((more_ns < STEP_NS || facts->is_more_unbounded) && facts->more != NULL) {
        bool is_long = more_ns >= STEP_NS;
        add(text, is_long ? "%.1f us more: %s" : "%.0f ns more: %s", is_long ? more_ns / 1000 : more_ns, facts->more);
        return;
    }
    add_causes(text, facts);
    if (text->n > 0) return;
    bool is_noise = result->call.low_ns <= result->limit.high_ns;
    add(text, "%s", is_noise ? "within the spread" : "cause unknown, see docs/perf.md");
}

void verdict_write(struct result *result, const struct case_facts *facts)
{
    struct text text = {.at = result->verdict, .room = sizeof result->verdict};
    if (facts->double_name != NULL && facts->double_name[0] != '\0') add(&text, "a double, no hardware: ");
    if (result->limit.median_ns <= 0) {
        add(&text, "no limit measured: %s", facts->no_limit != NULL ? facts->no_limit : "unknown reason");
        text.n = 0;
        add_adapter(&text, result, facts);
        return;
    }
    double share = result->limit.median_ns / result->call.median_ns;
    add(&text, "%.*f of %s: ", share < 0.01 ? 4 : 2, share, result->limit_name);
    add_reason(&text, result, facts);
    add_distance(&text, result, facts);
    add_adapter(&text, result, facts);
}
