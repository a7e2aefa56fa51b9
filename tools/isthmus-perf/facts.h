/* tools/isthmus-perf/facts.h: what a PE can find out about itself and its peer by the public interface and the system.
 * A verdict names causes from here only. */
#ifndef ISTHMUS_PERF_FACTS_H
#define ISTHMUS_PERF_FACTS_H

#include "tools/isthmus-perf/results.h"

/* Of one PE. Symmetric: other PEs get it. */
struct pe_facts {
    char host[HOST_BYTES];
    int numa_node;        /* of the processor that it runs on; -1: unknown */
    int first_pe_of_host; /* equal on PEs of one host */
    int n_pes_on_host;
    int n_cpus_of_host;         /* that the PEs of the host may use, all together */
    int n_cpus_online;          /* all of the host's: its load is compared with these */
    double load;                /* processes that wanted to run when the job began, a mean of one minute */
    int n_adapters;             /* RDMA adapters of the host with a link that is up */
    int adapter_node;           /* NUMA node of these adapters; -1: unknown, or several */
    double adapter_bytes_per_s; /* of the fastest; 0: unknown */
};

/* Of one measurement. */
struct case_facts {
    struct pe_facts mine, peer; /* of all PEs: the peer is the next one */
    char transport[NAME_BYTES]; /* that carries the puts; "": unknown */
    bool is_aliased;            /* loads and stores reach the memory */
    bool is_on_device, is_together;
    const char *alias_setting; /* of ISTHMUS_ALIAS; NULL: not set */
    const char *check_setting; /* of ISTHMUS_CHECK */
    double near_ns;            /* the bare copy within this PE's memory, if the peer's is on another node; 0: not so */
    const char *more;          /* what the operation does and its limit does not; NULL: nothing */
    bool is_more_unbounded;    /* that may take any time */
    const char *double_name;   /* of a library that stands for hardware; "" or NULL: none does */
    const char *no_limit;      /* why there is no limit; NULL: there is one */
};

/* Collective. Fills in the facts of this PE. */
void facts_gather(struct pe_facts *out);

/* After that: the NUMA node to which a PE is bound; -1: to none, or to several. */
int facts_bound_node_of(int pe);

/* Writes result->verdict. */
void verdict_write(struct result *result, const struct case_facts *facts);

#endif
