/* tests/contract/cases.c: the list of cases, from cases.def. */
#include "cases.h"

const struct ct_case ct_cases[] = {
#define CASE(name, n, shows) {#name, n, ct_case_##name, shows},
#include "cases.def"
};
const size_t ct_n_cases = sizeof ct_cases / sizeof *ct_cases;
