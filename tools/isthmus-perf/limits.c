/* tools/isthmus-perf/limits.c: see limits.h. */
#include "tools/isthmus-perf/limits.h"
#include "tools/isthmus-perf/bare.h"
#include "tools/isthmus-perf/limit_gpu.h"
#include "tools/isthmus-perf/limit_net.h"
#include "tools/isthmus-perf/start.h"

#include <shmem.h>
#include <shmemx.h>
#include <stdlib.h>
#include <time.h>

/* ---- which kind ---- */

/* A copy by the device's driver, on the PE that calls; the network, where the device does not reach the peer's memory.
 * Sets the reason if there is neither. */
static enum limit_kind find_device(const struct limit_job *job, const struct operation *operation, bool is_same_host,
                                   struct limit *out)
{
    const void *symmetric = operation->is_together ? out->place.whole_source : out->place.dest;
    out->reason = limit_gpu_open(out->place.dest, job->dest_bytes);
    if (out->reason != NULL) return LIMIT_NONE;
    out->batch = limit_gpu_batch(operation->transfer);
    if (out->batch == NULL) {
        out->reason = "its driver has no such operation";
        return LIMIT_NONE;
    }
    bool is_reached = is_same_host && limit_gpu_reach(&out->place, symmetric, out->place.to) &&
                      (!operation->is_together || job->is_flags_aliased) &&
                      (operation->transfer != TRANSFER_STREAM_FLAGS || limit_gpu_reaches_flags(&out->place));
    return is_reached ? LIMIT_DEVICE : LIMIT_NETWORK;
}

/* The transport over a network, with a library known here, to the first PE that loads and stores do not reach: device
 * memory is reached by none. NULL: there is no such transport. */
static const char *network_of(const struct limit_job *job, const struct place *place)
{
    for (int step = 1; step < place->n_pes; step++) {
        int pe = (place->my_pe + step) % place->n_pes;
        const char *name = shmemx_transport_name(pe);
        if ((job->is_on_device || shmem_ptr(place->flags, pe) == NULL) && limit_net_knows(name)) return name;
    }
    return NULL;
}

static enum limit_kind kind_of_limit(const struct limit_job *job, const struct operation *operation, bool is_same_host,
                                     struct limit *out)
{
    bool is_of_flags = operation->transfer == TRANSFER_FLAGS; /* which are on the host wherever the heap is */
    bool is_aliased = is_of_flags || operation->is_together ? job->is_flags_aliased : out->place.alias != NULL;
    if (job->is_on_device && !is_of_flags) return find_device(job, operation, is_same_host, out);
    bool is_on_one_host = operation->is_together ? shmem_team_n_pes(SHMEMX_TEAM_NODE) == out->place.n_pes
                                                 : is_same_host;
    return is_aliased || (is_on_one_host && !operation->needs_alias) ? LIMIT_PROCESSOR : LIMIT_NETWORK;
}

/* ---- the choice ---- */

static char *stand_in; /* host memory, as long as dest, which the limit uses in place of device memory */

/* Not every network library reaches the memory of a device. What the network carries between blocks of host memory is
 * the most that it carries. */
static bool use_stand_in(const struct limit_job *job, const struct operation *operation, struct place *place)
{
    if (stand_in == NULL) stand_in = calloc(job->dest_bytes, 1);
    place->source = place->whole_source = place->dest = stand_in;
    place->is_stand_in = operation->transfer != TRANSFER_FLAGS; /* those are on the host in either case */
    return stand_in != NULL;
}

static const char *why_no_network(const struct limit_job *job, const struct operation *operation)
{
    bool is_on_one_host = shmem_team_n_pes(SHMEMX_TEAM_NODE) == shmem_n_pes();
    if (job->is_on_device && operation->transfer != TRANSFER_FLAGS)
        return "this PE's device does not reach the peer's memory";
    return is_on_one_host ? "a bare one needs loads and stores between all PEs"
                          : "no bare one is built in for this transport";
}

/* Collective. Every PE has the same buffers, whether it takes part or not. */
static void use_network(const struct limit_job *job, const struct operation *operation, struct limit *out)
{
    struct place *place = &out->place;
    const char *transport = network_of(job, place);
    bool has_memory = !job->is_on_device || use_stand_in(job, operation, place);
    const struct net_buffer buffers[] = {
        [NET_DATA] = {place->dest, job->dest_bytes},
        [NET_FLAGS] = {(char *)place->flags, FLAG_WORDS * sizeof *place->flags},
        {place->whole_source == place->dest ? NULL : place->whole_source, job->dest_bytes},
        {place->source == place->whole_source ? NULL : place->source, job->private_bytes},
        {place->private_dest, job->private_bytes},
    };
    out->reason = limit_net_open(has_memory ? transport : NULL, buffers, sizeof buffers / sizeof *buffers);
    out->batch = out->reason == NULL ? limit_net_batch(operation->transfer) : NULL;
    out->name = out->reason == NULL ? limit_net_name() : NULL;
    if (out->reason == NULL && out->batch == NULL) out->reason = "the library of its network has no such operation";
    if (transport == NULL) out->reason = why_no_network(job, operation);
    if (!has_memory) out->reason = "no memory";
}

/* Collective. What all PEs do: nothing, if they differ. Where only some PEs reach the device of their partner, the
 * network is the limit. */
static enum limit_kind agree(enum limit_kind mine)
{
    static int kinds[2], all[2];
    kinds[0] = (int)mine;
    kinds[1] = -(int)mine;
    shmem_int_min_reduce(SHMEM_TEAM_WORLD, all, kinds, 2);
    enum limit_kind least = (enum limit_kind)all[0], most = (enum limit_kind)(-all[1]);
    shmem_sync_all(); /* before the next call writes them */
    return least == most || (least == LIMIT_DEVICE && most == LIMIT_NETWORK) ? most : LIMIT_NONE;
}

void limit_choose(const struct limit_job *job, const struct operation *operation, const struct place *place, int lead,
                  bool takes_part, bool is_same_host, struct limit *out)
{
    *out = (struct limit){.place = *place};
    enum limit_kind kind = takes_part ? kind_of_limit(job, operation, is_same_host, out) : LIMIT_NONE;
    out->kind = operation->is_together ? agree(kind) : (enum limit_kind)start_share((long)kind, lead);
    if (out->kind == LIMIT_NONE) out->batch = NULL;
    if (out->kind == LIMIT_NONE && out->reason == NULL) out->reason = "other PEs have none";
    if (out->kind == LIMIT_NETWORK) use_network(job, operation, out);
    if (out->kind == LIMIT_DEVICE) {
        if (!takes_part) out->batch = operation->call; /* not called here, where there may be no such driver */
        out->name = takes_part ? limit_gpu_name(operation->transfer) : "";
    }
    if (out->kind != LIMIT_PROCESSOR) return;
    out->batch = operation->bare;
    out->name = operation->bare_name;
}

void limit_close(void)
{
    limit_net_close();
    limit_gpu_close();
    free(stand_in);
    stand_in = NULL;
}

/* ---- a batch ---- */

double limit_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

double limit_time(const struct limit *limit, bool is_together, bool takes_part, long reps)
{
    bool is_served = limit->kind == LIMIT_NETWORK;
    if (is_served && !is_together && limit->place.my_pe == limit->place.to) limit_net_serve();
    if (!takes_part) return 0;
    double start_ns = limit_now_ns();
    limit->batch(&limit->place, reps);
    double ns = (limit_now_ns() - start_ns) / (double)reps;
    if (is_served && is_together)
        limit_net_serve_all();
    else if (is_served)
        limit_net_end_serving(limit->place.to);
    return ns;
}

const char *limit_failure(const struct limit *limit)
{
    if (limit->batch == NULL) return NULL;
    return limit->kind == LIMIT_NETWORK  ? limit_net_failure()
           : limit->kind == LIMIT_DEVICE ? limit_gpu_failure()
                                         : NULL;
}
