/* core/stream/stream.c: see stream.h: whether streams are more than names, and how a call is executed. */
#include "core/stream/stream.h"
#include "core/base/fatal.h"
#include "core/base/log.h"
#include "core/base/recorder.h"
#include "core/coll/split.h"
#include "core/heap/heap.h"
#include "core/ops/checker.h"
#include "core/ops/region.h"
#include "core/stream/stream_priv.h"
#include "core/transport/memory.h"

#include <stdlib.h>

struct ist_streams ist_streams;

static isthmus_status allocate(uint64_t length_bytes)
{
    const struct ist_transport *t = ist_streams.transport;
    struct isthmus_mem mem = {.struct_size = sizeof mem, .fd = -1};
    int32_t device = ist_streams.memory->device(t->handle, ist_streams.kind);
    isthmus_status status = t->ops.mem_alloc(t->handle, ist_streams.kind, device, length_bytes, &mem);
    if (status == ISTHMUS_OK) ist_streams.mem = mem;
    return status;
}

/* The flags have the same place with and without words of items before them. */
static uint64_t flags_end(const struct ist_config *config)
{
    return IST_ITEM_WORDS * sizeof(uint64_t) + ist_meetings_bytes(config);
}

static isthmus_status open_streams(const struct ist_config *config, int n_pes)
{
    uint64_t own_bytes = flags_end(config);
    isthmus_status status = allocate(own_bytes + ist_collectives_prepare(config, n_pes));
    if (status == ISTHMUS_OK) status = ist_items_open();
    if (status == ISTHMUS_OK) status = ist_collectives_open(own_bytes, n_pes);
    if (status == ISTHMUS_OK) ist_meetings_open(config);
    return status;
}

isthmus_status ist_streams_open(const struct ist_config *config, int n_pes)
{
    static const struct ist_team_listener listener = {
        .clear = ist_meeting_clear, .made = ist_meeting_agree, .ends = ist_meeting_end};
    uint32_t kind = ist_device_heap.kind;
    ist_coll_offer(ist_collective_run);
    ist_team_listen(&listener); /* where streams are names, too: other PEs may have them */
    const struct ist_memory_keeper *keeper = kind != ISTHMUS_MEM_HOST ? ist_memory_ask(kind) : NULL;
    if (keeper == NULL) return ISTHMUS_OK;
    const struct ist_extensions *has = &keeper->transport->extensions;
    const struct ist_streams without = {.transport = keeper->transport,
                                        .memory = keeper->memory,
                                        .kernels = &has->kernels,
                                        .kind = kind,
                                        .number = (uint32_t)(keeper->transport - ist_registry.list)};
    if (has->has_streams) {
        ist_streams = without;
        ist_streams.ops = &has->stream;
        isthmus_status status = open_streams(config, n_pes);
        if (status != ISTHMUS_ERR_UNSUPPORTED) return status;
        ist_info("stream operations run synchronously: %s", ist_fail_text());
        ist_streams_close();
        ist_streams_free();
    }
    if (!has->has_kernels) return ISTHMUS_OK;
    ist_streams = without;
    return allocate(flags_end(config));
}

void ist_streams_close(void) { ist_items_close(); }

void ist_streams_free(void)
{
    const struct ist_transport *t = ist_streams.transport;
    ist_collectives_free();
    if (ist_streams.mem.length_bytes > 0) t->ops.mem_free(t->handle, &ist_streams.mem);
    ist_streams_forget();
}

void ist_streams_forget(void)
{
    ist_collectives_forget();
    ist_streams = (struct ist_streams){.transport = NULL};
}

bool ist_streams_are_on(void) { return ist_streams.ops != NULL; }

void ist_streams_wait(const char *routine)
{
    if (!ist_streams_are_on()) return;
    ist_items_wait(routine);
    isthmus_status status = ist_streams.ops->complete(ist_streams.transport->handle);
    if (status != ISTHMUS_OK) ist_die(routine, status);
}

static int run(const struct ist_stream_call *call)
{
    int answer = call->run(call);
    free(call->copies);
    return answer;
}

/* ISTHMUS_CHECK checks operations of the host only. */
static bool enqueue(void *stream, struct ist_stream_call *call)
{
    if (call->enqueue == NULL || ist_check_on) return false;
    const struct ist_profile_call profiled = ist_profile_begin(call->transfer.routine);
    bool is_taken = call->enqueue(stream, call);
    if (is_taken)
        ist_profile_end(&profiled);
    else
        ist_profile_pass_on(&profiled);
    return is_taken;
}

int ist_stream_do(void *stream, const struct ist_stream_call *call)
{
    struct ist_stream_call left = *call;
    if (!ist_streams_are_on()) return run(call);
    ist_region_post(); /* the operation may wait for the reply to a put of this thread, which waits for the stream */
    if (!enqueue(stream, &left)) ist_item_post(stream, &left, NULL);
    return 0;
}

int ist_stream_do_on_team(void *stream, const struct ist_stream_call *call)
{
    return call->transfer.team != NULL ? ist_stream_do(stream, call) : run(call);
}

void ist_stream_do_now(void *stream, const struct ist_stream_call *call)
{
    if (!ist_streams_are_on()) {
        (void)run(call);
        return;
    }
    ist_region_post(); /* as above */
    ist_item_post_and_wait(stream, call);
}
