/* plugins/ib/ib_lanes.c: the lanes of an endpoint, which UCX prints (ucp_ep_print_info) and shows in no other way.
 * A line for each lane: "lane[0]:  1:rc_verbs/rxe0:1.0 md[1] -> md[1]/ib/sysdev[255] rma_bw#0 am am_bw#0", where the
 * words behind name its uses. Text that is not understood counts as several lanes, which flushes order. */
#include "plugins/ib/ib.h"

#include <string.h>

static bool has(const char *line, size_t length_bytes, const char *word)
{
    return memmem(line, length_bytes, word, strlen(word)) != NULL;
}

enum ib_carriage ib_carriage_read(const char *info)
{
    enum ib_carriage carriage = IB_LANES;
    uint32_t n_lanes = 0;
    for (const char *line = info; (line = strstr(line, "lane[")) != NULL;) {
        size_t n = strcspn(line, "\n");
        bool is_of_adapter = has(line, n, " rma") || has(line, n, " amo"), has_messages = has(line, n, " am");
        bool is_tcp = has(line, n, ":tcp/");
        line += n;
        if (!is_of_adapter && !has_messages) continue; /* a lane for keep-alive or for the wire-up */
        n_lanes++;
        if (has_messages) carriage = is_tcp && !is_of_adapter ? IB_LINE : IB_LANE;
    }
    return n_lanes == 1 ? carriage : IB_LANES;
}
