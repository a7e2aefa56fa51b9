/* core/coll/coll.c: see coll.h: checks arguments, serves the team of one, counts nothing. */
#include "core/coll/coll.h"

#include "core/base/fatal.h"
#include "core/base/recorder.h"
#include "core/check/check.h"
#include "core/coll/algorithms.h"
#include "core/coll/split.h"
#include "core/coll/sync.h"
#include "core/ops/target.h"

#include <string.h>

static struct {
    int broadcast, collect, fcollect, alltoall, reduce, scan;
} forced;

void ist_coll_init(const struct ist_config *config)
{
    ist_active_sets_init();
    forced.broadcast = config->broadcast;
    forced.collect = config->collect;
    forced.fcollect = config->fcollect;
    forced.alltoall = config->alltoall;
    forced.reduce = config->reduce;
    forced.scan = config->scan;
}

static bool (*on_devices)(const struct ist_coll_call *call);

void ist_coll_offer(bool (*run)(const struct ist_coll_call *call)) { on_devices = run; }

/* All members get the same answer. */
static inline bool is_done_there(const struct ist_coll_call *call)
{
    const struct ist_team *team = call->t->team;
    return IST_UNLIKELY(team->has_kernels) && team->n_pes > 1 && on_devices != NULL && on_devices(call);
}

/* How a collective treats its buffers: `dest_parts` blocks of its length are written, `source_parts` read. */
struct usage {
    int dest_parts, source_parts;
    bool may_be_equal;           /* dest and source */
    bool is_read_only_elsewhere; /* source */
    struct ist_same_argument others[IST_SAME_ARGUMENTS];
};

static void check_buffers(const struct ist_transfer *t, const struct usage *usage, size_t dest_bytes,
                          size_t source_bytes)
{
    ist_check_overlap(t->routine, t->dest, dest_bytes, t->source, source_bytes, usage->may_be_equal);
    if (!usage->is_read_only_elsewhere) ist_check_local_read(t->routine, "source", t->source, source_bytes);
    ist_check_local_write(t->routine, "dest", t->dest, dest_bytes);
}

/* Every collective begins with this. */
static inline isthmus_status enter(const struct ist_transfer *t, const struct usage *usage)
{
    const char *routine = t->routine;
    ist_require_ctx(&ist_ctx_default, routine);
    if (t->team == NULL) return ist_refuse_team(routine);
    if (t->length_bytes > 0) {
        size_t dest_bytes = ist_require_length(routine, "nelems", t->length_bytes, (size_t)usage->dest_parts);
        size_t source_bytes = ist_require_length(routine, "nelems", t->length_bytes, (size_t)usage->source_parts);
        ist_require_symmetric(routine, "dest", t->dest, dest_bytes, 1);
        ist_require_symmetric(routine, "source", t->source, source_bytes, 1);
        if (ist_check_on) check_buffers(t, usage, dest_bytes, source_bytes);
    }
    ist_collective_begin(t->team, routine);
    if (ist_check_on) {
        ist_check_enter();
        ist_check_same_call(t, usage->others);
    }
    return ISTHMUS_OK;
}

static struct ist_transfer transfer_of(struct ist_team *team, void *dest, const void *source, size_t length_bytes,
                                       const char *routine)
{
    return (struct ist_transfer){
        .routine = routine, .team = team, .dest = dest, .source = source, .length_bytes = length_bytes};
}

/* Every collective that enter() accepted ends with this. */
static inline isthmus_status leave(void)
{
    if (ist_check_on) {
        ist_check_leave();
        ist_check_synchronised();
    }
    return ISTHMUS_OK;
}

static inline bool is_alone(const struct ist_team *team) { return team->n_pes == 1; }
static inline int size_of(const struct ist_team *team) { return team != NULL ? team->n_pes : 1; }

/* The two may overlap in host memory only, which ISTHMUS_CHECK reports. */
static void copy_alone(void *dest, const void *source, size_t length_bytes, const char *routine)
{
    if (dest == source || length_bytes == 0) return;
    if (ist_has_device_memory())
        ist_copy_here(dest, source, length_bytes, routine);
    else
        memmove(dest, source, length_bytes);
}

static void zero_alone(void *dest, size_t length_bytes, const char *routine)
{
    static const char zeroes[4096];
    if (!ist_is_on_device(dest)) {
        memset(dest, 0, length_bytes);
        return;
    }
    for (size_t done = 0; done < length_bytes; done += sizeof zeroes)
        ist_copy_here((char *)dest + done, zeroes,
                      length_bytes - done < sizeof zeroes ? length_bytes - done : sizeof zeroes, routine);
}

isthmus_status ist_broadcast(struct ist_team *team, void *dest, const void *source, size_t length_bytes, int root,
                             int flags, const char *routine)
{
    IST_PROFILE_SCOPE const struct ist_profile_call profiled = ist_profile_begin(routine);
    struct ist_transfer t = transfer_of(team, dest, source, length_bytes, routine);
    const struct usage usage = {.dest_parts = 1,
                                .source_parts = 1,
                                .is_read_only_elsewhere = team != NULL && team->my_pe != root,
                                .others = {{"PE_root", root}}};
    t.pe = root;
    isthmus_status status = enter(&t, &usage);
    if (status != ISTHMUS_OK) return status;
    if (root < 0 || root >= team->n_pes) ist_misuse(routine, "PE_root is %d; valid: 0 to %d", root, team->n_pes - 1);
    bool is_to_all = flags != IST_BROADCAST_NOT_TO_ROOT;
    if (is_to_all && is_done_there(&(struct ist_coll_call){.t = &t, .what = ISTHMUS_COLLECTIVE_BROADCAST}))
        return leave();
    if (!is_alone(team))
        ist_run_broadcast(&t, flags, forced.broadcast);
    else if (is_to_all)
        copy_alone(dest, source, length_bytes, routine);
    return leave();
}

isthmus_status ist_fcollect(struct ist_team *team, void *dest, const void *source, size_t length_bytes,
                            const char *routine)
{
    IST_PROFILE_SCOPE const struct ist_profile_call profiled = ist_profile_begin(routine);
    const struct ist_transfer t = transfer_of(team, dest, source, length_bytes, routine);
    isthmus_status status = enter(&t, &(struct usage){.dest_parts = size_of(team), .source_parts = 1});
    if (status != ISTHMUS_OK) return status;
    if (is_done_there(&(struct ist_coll_call){.t = &t, .what = ISTHMUS_COLLECTIVE_FCOLLECT})) return leave();
    if (is_alone(team))
        copy_alone(dest, source, length_bytes, routine);
    else
        ist_run_fcollect(&t, forced.fcollect);
    return leave();
}

isthmus_status ist_collect(struct ist_team *team, void *dest, const void *source, size_t length_bytes,
                           const char *routine)
{
    IST_PROFILE_SCOPE const struct ist_profile_call profiled = ist_profile_begin(routine);
    struct ist_transfer t = transfer_of(team, dest, source, length_bytes, routine);
    t.any_length = true;
    isthmus_status status = enter(&t, &(struct usage){.dest_parts = 1, .source_parts = 1});
    if (status != ISTHMUS_OK) return status;
    if (is_alone(team))
        copy_alone(dest, source, length_bytes, routine);
    else
        ist_run_collect(&t, forced.collect);
    return leave();
}

isthmus_status ist_alltoall(struct ist_team *team, void *dest, const void *source, size_t length_bytes,
                            const char *routine)
{
    IST_PROFILE_SCOPE const struct ist_profile_call profiled = ist_profile_begin(routine);
    const struct ist_transfer t = transfer_of(team, dest, source, length_bytes, routine);
    isthmus_status status = enter(&t, &(struct usage){.dest_parts = size_of(team), .source_parts = size_of(team)});
    if (status != ISTHMUS_OK) return status;
    if (is_done_there(&(struct ist_coll_call){.t = &t, .what = ISTHMUS_COLLECTIVE_ALLTOALL})) return leave();
    if (is_alone(team))
        copy_alone(dest, source, length_bytes, routine);
    else
        ist_run_alltoall(&t, forced.alltoall);
    return leave();
}

/* Returns the bytes from the first to past the last of all elements, `apart` elements apart; ends the job if they
 * exceed the address space. */
static size_t require_span(const struct ist_transfer *t, const char *argument, ptrdiff_t apart,
                           const struct ist_stride *stride)
{
    size_t all, last, bytes;
    if (__builtin_mul_overflow(stride->n_blocks, (size_t)t->team->n_pes, &all) ||
        __builtin_mul_overflow(all - 1, (size_t)apart, &last) ||
        __builtin_mul_overflow(last + 1, stride->size, &bytes) || last > SIZE_MAX / 2 || bytes > SIZE_MAX / 2)
        ist_misuse(t->routine, "%s is %td and nelems is %zu for each of %d PEs, which exceeds the address space",
                   argument, apart, stride->n_blocks, t->team->n_pes);
    return bytes;
}

isthmus_status ist_alltoalls(struct ist_team *team, void *dest, const void *source, const struct ist_stride *stride,
                             const char *routine)
{
    IST_PROFILE_SCOPE const struct ist_profile_call profiled = ist_profile_begin(routine);
    ptrdiff_t dst = stride->dest, sst = stride->source;
    if (dst < 1) ist_misuse(routine, "dst is %td; valid: 1 and more elements", dst);
    if (sst < 1) ist_misuse(routine, "sst is %td; valid: 1 and more elements", sst);
    size_t length_bytes = ist_require_length(routine, "nelems", stride->n_blocks, stride->size);
    const struct ist_transfer t = transfer_of(team, dest, source, length_bytes, routine);
    const struct usage usage = {.dest_parts = 1, .source_parts = 1, .others = {{"dst", dst}, {"sst", sst}}};
    isthmus_status status = enter(&t, &usage);
    if (status != ISTHMUS_OK) return status;
    if (stride->n_blocks > 0) {
        ist_require_symmetric(routine, "dest", dest, require_span(&t, "dst", dst, stride), 1);
        ist_require_symmetric(routine, "source", source, require_span(&t, "sst", sst, stride), 1);
    }
    ist_run_alltoalls(&t, stride, forced.alltoall);
    return leave();
}

/* With the arithmetic of a routine that the tables of the APIs have; others do not exist. */
static struct ist_reduction reduction_of(const struct ist_transfer *t, size_t nelems, enum ist_combine_op op,
                                         enum ist_combine_type type)
{
    bool is_on_device = nelems > 0 && (ist_is_on_device(t->dest) || ist_is_on_device(t->source));
    return (struct ist_reduction){*t, nelems, ist_combine_size(type), ist_combine_of(op, type), is_on_device};
}

isthmus_status ist_reduce(struct ist_team *team, void *dest, const void *source, size_t nelems, enum ist_combine_op op,
                          enum ist_combine_type type, const char *routine)
{
    IST_PROFILE_SCOPE const struct ist_profile_call profiled = ist_profile_begin(routine);
    size_t length_bytes = ist_require_length(routine, "nreduce", nelems, ist_combine_size(type));
    const struct ist_transfer t = transfer_of(team, dest, source, length_bytes, routine);
    isthmus_status status = enter(&t, &(struct usage){.dest_parts = 1, .source_parts = 1, .may_be_equal = true});
    if (status != ISTHMUS_OK) return status;
    const struct ist_coll_call call = {&t, ISTHMUS_COLLECTIVE_REDUCE, nelems, op, type};
    if (is_done_there(&call)) return leave();
    if (is_alone(team)) {
        copy_alone(dest, source, length_bytes, routine);
    } else if (length_bytes > 0) { /* else nothing, on all PEs alike */
        const struct ist_reduction r = reduction_of(&t, nelems, op, type);
        ist_run_reduce(&r, forced.reduce);
    }
    return leave();
}

isthmus_status ist_reducescatter(struct ist_team *team, void *dest, const void *source, size_t nelems,
                                 enum ist_combine_op op, enum ist_combine_type type, const char *routine)
{
    IST_PROFILE_SCOPE const struct ist_profile_call profiled = ist_profile_begin(routine);
    size_t length_bytes = ist_require_length(routine, "nreduce", nelems, ist_combine_size(type));
    const struct ist_transfer t = transfer_of(team, dest, source, length_bytes, routine);
    isthmus_status status = enter(
        &t, &(struct usage){.dest_parts = 1, .source_parts = size_of(team), .may_be_equal = true});
    if (status != ISTHMUS_OK) return status;
    const struct ist_coll_call call = {&t, ISTHMUS_COLLECTIVE_REDUCESCATTER, nelems, op, type};
    if (is_done_there(&call)) return leave();
    if (is_alone(team)) {
        copy_alone(dest, source, length_bytes, routine);
    } else if (length_bytes > 0) { /* else nothing, on all PEs alike */
        const struct ist_reduction r = reduction_of(&t, nelems, op, type);
        ist_run_reducescatter(&r);
    }
    return leave();
}

isthmus_status ist_scan(struct ist_team *team, void *dest, const void *source, size_t nelems, bool is_inclusive,
                        enum ist_combine_type type, const char *routine)
{
    IST_PROFILE_SCOPE const struct ist_profile_call profiled = ist_profile_begin(routine);
    size_t length_bytes = ist_require_length(routine, "nelems", nelems, ist_combine_size(type));
    const struct ist_transfer t = transfer_of(team, dest, source, length_bytes, routine);
    isthmus_status status = enter(&t, &(struct usage){.dest_parts = 1, .source_parts = 1, .may_be_equal = true});
    if (status != ISTHMUS_OK) return status;
    if (length_bytes == 0) return leave();
    if (!is_alone(team)) {
        const struct ist_reduction r = reduction_of(&t, nelems, IST_SUM, type);
        ist_run_scan(&r, is_inclusive, forced.scan);
    } else if (is_inclusive) {
        copy_alone(dest, source, length_bytes, routine);
    } else {
        zero_alone(dest, length_bytes, routine);
    }
    return leave();
}
