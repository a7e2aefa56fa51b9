/* tests/contract/cases.h: for the files that hold cases: what they share, and their prototypes. */
#ifndef CONTRACT_CASES_H
#define CONTRACT_CASES_H

#include "contract.h"

#define CASE(name, n, shows) void ct_case_##name(struct ct_process *p);
#include "cases.def"

/* census.c: what a process holds, to see that nothing is left behind. */
struct ct_census {
    int descriptors, mappings, threads;
};
struct ct_census ct_census_take(void);
/* Faults when there are more descriptors or threads than before, or more mappings than `slack_mappings` allows: the C
 * library's allocator maps when it likes. */
void ct_census_compare(const struct ct_census *before, int slack_mappings, const char *after_what);

#endif
