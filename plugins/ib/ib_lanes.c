/* plugins/ib/ib_lanes.c: see ib_lanes.h.
 *
 * Whether an endpoint has a single lane, and of which transport, is a matter of ucp_ep_query(), from UCX 1.14 on: short
 * puts and flushes become messages of our own only where it reports one lane, of TCP. UCX reports in print only:
 *
 * fact                                          read from               if the text is not understood
 * ucx 1.13: the lanes of an endpoint            ucp_ep_print_info       several lanes: UCX's own puts and flushes, and
 *                                                                       fences that flush
 * which of several lanes carry operations,      ucp_ep_print_info       all of them: fences flush
 * and which only keep-alive or the wire-up
 * the transports that a context may use         ucp_context_print_info  no write of a peer wakes its target: waits nap
 */
#include "plugins/ib/ib_lanes.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LANES = 64 }; /* of an endpoint, in all versions of UCX */

#ifdef IB_UCX_LISTS_LANES
_Static_assert(offsetof(struct ib_ep_attr, lanes) == offsetof(ucp_ep_attr_t, transports) &&
                   sizeof(struct ib_lane) == sizeof(ucp_transport_entry_t) &&
                   offsetof(struct ib_lane, device) == offsetof(ucp_transport_entry_t, device_name) &&
                   offsetof(struct ib_ep_attr, lanes.n) - offsetof(struct ib_ep_attr, lanes) ==
                       offsetof(ucp_transports_t, num_entries) &&
                   offsetof(struct ib_ep_attr, lanes.lane_bytes) - offsetof(struct ib_ep_attr, lanes) ==
                       offsetof(ucp_transports_t, entry_size) &&
                   (int)IB_EP_ATTR_LANES == (int)UCP_EP_ATTR_FIELD_TRANSPORTS,
               "as in UCX's header");
#endif

/* ---- text ---- */

/* Returns what UCX prints, to be freed, or NULL. */
static char *print_ep(ucp_ep_h ep)
{
    char *text = NULL;
    size_t length_bytes;
    FILE *stream = open_memstream(&text, &length_bytes);
    if (stream == NULL) return NULL;
    ib_ucp.ucp_ep_print_info(ep, stream);
    if (fclose(stream) == 0) return text;
    free(text);
    return NULL;
}

static bool has(const char *line, size_t length_bytes, const char *word)
{
    return memmem(line, length_bytes, word, strlen(word)) != NULL;
}

/* A line for each lane: "lane[0]:  1:rc_verbs/rxe0:1.0 md[1] -> md[1]/ib/sysdev[255] rma_bw#0 am am_bw#0", where the
 * words behind name its uses. */
static enum ib_lanes parse(const char *text)
{
    enum ib_lanes lanes = IB_LANES_MANY;
    uint32_t n_lanes = 0;
    for (const char *line = text; (line = strstr(line, "lane[")) != NULL;) {
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

static enum ib_lanes read_print(ucp_ep_h ep)
{
    char *text = print_ep(ep);
    enum ib_lanes lanes = text != NULL ? parse(text) : IB_LANES_MANY;
    free(text);
    return lanes;
}

/* ---- the lanes of an endpoint ---- */

/* UCX's transport for EFA has a fence since it is there; those for mlx5 give the first put behind a fence the flag
 * STRONG_ORDER since 1.22. The others have the adapter's order only. */
static bool has_fence(const char *transport)
{
    if (strcmp(transport, "srd") == 0) return true;
    bool is_mlx5 = strcmp(transport, "rc_mlx5") == 0 || strcmp(transport, "dc_mlx5") == 0;
    return is_mlx5 && ib_ucp_is_at_least(1, IB_FENCED_SINCE_MINOR);
}

enum ib_lanes ib_lanes_query(ucp_ep_h ep, bool *is_fenced)
{
    struct ib_lane list[MAX_LANES];
    struct ib_ep_attr attr = {.field_mask = IB_EP_ATTR_LANES,
                              .lanes = {.list = list, .n = MAX_LANES, .lane_bytes = sizeof list[0]}};
    *is_fenced = false;
    if (!ib_ucp_is_at_least(1, IB_LANES_SINCE_MINOR)) return read_print(ep);
    if (ib_ucp.ucp_ep_query(ep, (ucp_ep_attr_t *)(void *)&attr) != UCS_OK) return IB_LANES_MANY;
    *is_fenced = attr.lanes.n > 0;
    for (unsigned i = 0; i < attr.lanes.n; i++) *is_fenced &= has_fence(list[i].transport);
    if (attr.lanes.n == 1) return strcmp(list[0].transport, "tcp") == 0 ? IB_LANE_AM : IB_LANE_RDMA;
    return read_print(ep) == IB_LANE_RDMA ? IB_LANE_RDMA : IB_LANES_MANY;
}

/* ---- the transports of a context ---- */

/* Those that copy between memories of one process bring nothing to a peer. */
static const char *const waking[] = {"self", "tcp", "cuda_copy", "gdr_copy", "rocm_copy", "ze_copy"};

static bool is_waking(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof waking / sizeof *waking; i++)
        if (strlen(waking[i]) == length && memcmp(waking[i], name, length) == 0) return true;
    return false;
}

/* A line is "resource 1  :  md 1  dev 1  flags -- tcp/eth0". Returns false if one of them does not wake its target or
 * is not known, and if there is none. */
static bool all_wake(const char *text)
{
    static const char mark[] = "resource ", before_name[] = "-- ";
    int n = 0;
    for (const char *line = strstr(text, mark); line != NULL; line = strstr(line, mark), n++) {
        const char *end = line + strcspn(line, "\n");
        const char *name = strstr(line, before_name);
        if (name == NULL || name > end) return false;
        name += strlen(before_name);
        if (!is_waking(name, strcspn(name, "/\n"))) return false;
        line = end;
    }
    return n > 0;
}

bool ib_context_wakes(ucp_context_h context)
{
    char *text = NULL;
    size_t length_bytes;
    FILE *stream = open_memstream(&text, &length_bytes);
    if (stream == NULL) return false;
    ib_ucp.ucp_context_print_info(context, stream);
    bool wakes = fclose(stream) == 0 && all_wake(text);
    free(text);
    return wakes;
}
