/* plugins/ib/ib_lanes.c: the lanes of an endpoint, as UCX prints them (ucp_ep_print_info).
 * A line for each lane: "lane[0]:  1:rc_verbs/rxe0:1.0 md[1] -> md[1]/ib/sysdev[255] rma_bw#0 am am_bw#0", where the
 * words behind name its uses. Text that is not understood counts as several lanes, so that fences flush. */
#include "plugins/ib/ib_lanes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool has(const char *line, size_t length_bytes, const char *word)
{
    return memmem(line, length_bytes, word, strlen(word)) != NULL;
}

enum ib_lanes ib_lanes_parse(const char *info)
{
    enum ib_lanes lanes = IB_LANES_MANY;
    uint32_t n_lanes = 0;
    for (const char *line = info; (line = strstr(line, "lane[")) != NULL;) {
        size_t n = strcspn(line, "\n");
        bool has_rma = has(line, n, " rma") || has(line, n, " amo"), has_am = has(line, n, " am");
        bool is_tcp = has(line, n, ":tcp/");
        line += n;
        if (!has_rma && !has_am) continue; /* a lane for keep-alive or for the wire-up */
        n_lanes++;
        if (has_am) lanes = is_tcp && !has_rma ? IB_LANE_AM : IB_LANE_RDMA;
    }
    return n_lanes == 1 ? lanes : IB_LANES_MANY;
}

enum ib_lanes ib_lanes_query(ucp_ep_h ep)
{
    char *info = NULL;
    size_t info_bytes;
    FILE *stream = open_memstream(&info, &info_bytes);
    if (stream == NULL) return IB_LANES_MANY;
    ib_ucp.ucp_ep_print_info(ep, stream);
    enum ib_lanes lanes = fclose(stream) == 0 ? ib_lanes_parse(info) : IB_LANES_MANY;
    free(info);
    return lanes;
}
