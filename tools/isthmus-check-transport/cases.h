/* tools/isthmus-check-transport/cases.h: for the files that hold cases: what they share, and their prototypes. */
#ifndef CONTRACT_CASES_H
#define CONTRACT_CASES_H

#include "contract.h"

#define CASE(name, n, more, slot, rule) void ct_case_##name(struct ct_process *p);
#include "cases.def"

/* census.c: what a process holds, to see that nothing is left behind. */
struct ct_census {
    int descriptors, mappings, threads;
    size_t memory_bytes;
};
/* Permitted growth: the C library's allocator maps at any time, and a plugin may keep what it reuses. */
struct ct_slack {
    int mappings;
    size_t memory_bytes;
};
struct ct_census ct_census_take(void);
/* A finding when there are more descriptors or threads than before, or more of the others than the slack allows. */
void ct_census_compare(const struct ct_census *before, const struct ct_slack *slack, const char *after_what);

#endif
