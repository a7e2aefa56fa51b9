/* tools/isthmus-check-transport/cases.c: the list of cases, from cases.def. */
#include "cases.h"

enum { FIXED, MORE };

const struct ct_case ct_cases[] = {
#define CASE(name, n, more, slot, rule) {#name, n, (more) == MORE, slot, ct_case_##name, rule},
#include "cases.def"
};
const size_t ct_n_cases = sizeof ct_cases / sizeof *ct_cases;
