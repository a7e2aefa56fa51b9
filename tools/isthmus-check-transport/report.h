/* tools/isthmus-check-transport/report.h: the output for people and programs: lines as it goes, or a JSON document. */
#ifndef CHECK_TRANSPORT_REPORT_H
#define CHECK_TRANSPORT_REPORT_H

#include "contract.h"
#include "core/base/json.h"

#include <time.h>

struct report {
    const char *plugin;
    bool is_json;
    struct ist_json json;
    int passed, failed, skipped;
    int n_rounds; /* of all cases */
    time_t began_s;
};

void report_begin(struct report *report, const char *plugin, bool is_json);
void report_case(struct report *report, const struct ct_case *c, const struct ct_report *result);
/* One that has passed before, and fails now. */
void report_again(struct report *report, const struct ct_case *c, const struct ct_report *result);
void report_end(struct report *report, const char *cut_short); /* why not all cases ran; NULL: all did */

#endif
