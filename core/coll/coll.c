/* core/coll/coll.c: see coll.h: checks arguments, serves the team of one, counts nothing. */
#include "core/coll/coll.h"

#include "core/base/fatal.h"
#include "core/check/check.h"
#include "core/coll/algorithms.h"
#include "core/coll/same_call.h"
#include "core/coll/split.h"
#include "core/coll/sync.h"
#include "core/ops/operand.h"
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

/* Every collective begins with this. `dest_parts` blocks of length_bytes are written, `source_parts` read. */
struct call {
    const char *routine;
    struct ist_team *team;
    void *dest;
    const void *source;
    size_t length_bytes, align_bytes;
    int dest_parts, source_parts;
    bool may_be_equal;           /* dest and source */
    bool any_length;             /* from PE to PE */
    bool is_read_only_elsewhere; /* source */
    const char *name;            /* of another argument that must be equal on all PEs; NULL: there is none */
    int64_t value;
    const char *next_name; /* one more */
    int64_t next_value;
};

static void check_buffers(const struct call *c, size_t dest_bytes, size_t source_bytes)
{
    ist_check_overlap(c->routine, c->dest, dest_bytes, c->source, source_bytes, c->may_be_equal);
    if (!c->is_read_only_elsewhere) ist_check_local_read(c->routine, "source", c->source, source_bytes);
    ist_check_local_write(c->routine, "dest", c->dest, dest_bytes);
}

static inline isthmus_status enter(const struct call *c)
{
    ist_require_ctx(&ist_ctx_default, c->routine);
    if (c->team == NULL) return ist_refuse_team(c->routine);
    if (c->length_bytes > 0) {
        size_t dest_bytes = ist_require_length(c->routine, "nelems", c->length_bytes, (size_t)c->dest_parts);
        size_t source_bytes = ist_require_length(c->routine, "nelems", c->length_bytes, (size_t)c->source_parts);
        ist_require_symmetric(c->routine, "dest", c->dest, dest_bytes, c->align_bytes);
        ist_require_symmetric(c->routine, "source", c->source, source_bytes, c->align_bytes);
        if (ist_check_on) check_buffers(c, dest_bytes, source_bytes);
    }
    ist_collective_begin(c->team, c->routine);
    if (ist_check_on) {
        ist_check_enter();
        ist_check_same_call(c->team, &(struct ist_checked_call){
                                         .routine = c->routine,
                                         .dest = c->dest,
                                         .source = c->source,
                                         .length_bytes = c->length_bytes,
                                         .any_length = c->any_length,
                                         .other = {{c->name, c->value}, {c->next_name, c->next_value}},
                                     });
    }
    return ISTHMUS_OK;
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
    struct call call = {routine, team, dest, source, length_bytes, 1, 1, 1, .name = "PE_root", .value = root};
    call.is_read_only_elsewhere = team != NULL && team->my_pe != root;
    isthmus_status status = enter(&call);
    if (status != ISTHMUS_OK) return status;
    if (root < 0 || root >= team->n_pes) ist_misuse(routine, "PE_root is %d; valid: 0 to %d", root, team->n_pes - 1);
    if (!is_alone(team))
        ist_run_broadcast(team, dest, source, length_bytes, root, flags, forced.broadcast, routine);
    else if (flags != IST_BROADCAST_NOT_TO_ROOT)
        copy_alone(dest, source, length_bytes, routine);
    return leave();
}

isthmus_status ist_fcollect(struct ist_team *team, void *dest, const void *source, size_t length_bytes,
                            const char *routine)
{
    int n = team != NULL ? team->n_pes : 1;
    isthmus_status status = enter(
        &(struct call){routine, team, dest, source, length_bytes, 1, n, 1, .may_be_equal = false});
    if (status != ISTHMUS_OK) return status;
    if (is_alone(team))
        copy_alone(dest, source, length_bytes, routine);
    else
        ist_run_fcollect(team, dest, source, length_bytes, forced.fcollect, routine);
    return leave();
}

isthmus_status ist_collect(struct ist_team *team, void *dest, const void *source, size_t length_bytes,
                           const char *routine)
{
    isthmus_status status = enter(
        &(struct call){routine, team, dest, source, length_bytes, 1, 1, 1, .any_length = true});
    if (status != ISTHMUS_OK) return status;
    if (is_alone(team))
        copy_alone(dest, source, length_bytes, routine);
    else
        ist_run_collect(team, dest, source, length_bytes, forced.collect, routine);
    return leave();
}

isthmus_status ist_alltoall(struct ist_team *team, void *dest, const void *source, size_t length_bytes,
                            const char *routine)
{
    int n = team != NULL ? team->n_pes : 1;
    isthmus_status status = enter(
        &(struct call){routine, team, dest, source, length_bytes, 1, n, n, .may_be_equal = false});
    if (status != ISTHMUS_OK) return status;
    if (is_alone(team))
        copy_alone(dest, source, length_bytes, routine);
    else
        ist_run_alltoall(team, dest, source, length_bytes, forced.alltoall, routine);
    return leave();
}

/* Returns the bytes from the first to past the last of all elements, `stride` elements apart; ends the job if they
 * exceed the address space. */
static size_t require_span(const struct call *c, const char *argument, ptrdiff_t stride, size_t nelems,
                           size_t size_bytes)
{
    size_t all, last, bytes;
    if (__builtin_mul_overflow(nelems, (size_t)c->team->n_pes, &all) ||
        __builtin_mul_overflow(all - 1, (size_t)stride, &last) ||
        __builtin_mul_overflow(last + 1, size_bytes, &bytes) || last > SIZE_MAX / 2 || bytes > SIZE_MAX / 2)
        ist_misuse(c->routine,
                   "%s is %td and nelems is %zu, for each of %d PEs, which is more than there are addresses", argument,
                   stride, nelems, c->team->n_pes);
    return bytes;
}

isthmus_status ist_alltoalls(struct ist_team *team, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,
                             size_t size_bytes, size_t nelems, const char *routine)
{
    if (dst < 1) ist_misuse(routine, "dst is %td; valid: 1 and more elements", dst);
    if (sst < 1) ist_misuse(routine, "sst is %td; valid: 1 and more elements", sst);
    size_t length_bytes = ist_require_length(routine, "nelems", nelems, size_bytes);
    struct call call = {routine, team, dest,          source,       length_bytes,       1,
                        1,       1,    .name = "dst", .value = dst, .next_name = "sst", .next_value = sst};
    isthmus_status status = enter(&call);
    if (status != ISTHMUS_OK) return status;
    if (nelems > 0) {
        ist_require_symmetric(routine, "dest", dest, require_span(&call, "dst", dst, nelems, size_bytes), 1);
        ist_require_symmetric(routine, "source", source, require_span(&call, "sst", sst, nelems, size_bytes), 1);
    }
    ist_run_alltoalls(team, dest, source, dst, sst, size_bytes, nelems, forced.alltoall, routine);
    return leave();
}

/* The arithmetic of a routine that the tables of the APIs have; others do not exist. */
static struct ist_reduction reduction_of(void *dest, const void *source, size_t nelems, enum ist_combine_op op,
                                         enum ist_combine_type type)
{
    bool is_on_device = nelems > 0 && (ist_is_on_device(dest) || ist_is_on_device(source));
    return (struct ist_reduction){dest, source, nelems, ist_combine_size(type), ist_combine_of(op, type), is_on_device};
}

isthmus_status ist_reduce(struct ist_team *team, void *dest, const void *source, size_t nelems, enum ist_combine_op op,
                          enum ist_combine_type type, const char *routine)
{
    struct ist_reduction r = reduction_of(dest, source, nelems, op, type);
    size_t length_bytes = ist_require_length(routine, "nreduce", nelems, r.size_bytes);
    isthmus_status status = enter(
        &(struct call){routine, team, dest, source, length_bytes, 1, 1, 1, .may_be_equal = true});
    if (status != ISTHMUS_OK) return status;
    if (is_alone(team))
        copy_alone(dest, source, length_bytes, routine);
    else if (length_bytes > 0) /* else nothing, on all PEs alike */
        ist_run_reduce(team, &r, forced.reduce, routine);
    return leave();
}

isthmus_status ist_reducescatter(struct ist_team *team, void *dest, const void *source, size_t nelems,
                                 enum ist_combine_op op, enum ist_combine_type type, const char *routine)
{
    struct ist_reduction r = reduction_of(dest, source, nelems, op, type);
    int n = team != NULL ? team->n_pes : 1;
    size_t length_bytes = ist_require_length(routine, "nreduce", nelems, r.size_bytes);
    isthmus_status status = enter(
        &(struct call){routine, team, dest, source, length_bytes, 1, 1, n, .may_be_equal = true});
    if (status != ISTHMUS_OK) return status;
    if (is_alone(team))
        copy_alone(dest, source, length_bytes, routine);
    else if (length_bytes > 0) /* else nothing, on all PEs alike */
        ist_run_reducescatter(team, &r, routine);
    return leave();
}

isthmus_status ist_scan(struct ist_team *team, void *dest, const void *source, size_t nelems, bool is_inclusive,
                        enum ist_combine_op op, enum ist_combine_type type, const char *routine)
{
    struct ist_reduction r = reduction_of(dest, source, nelems, op, type);
    size_t length_bytes = ist_require_length(routine, "nelems", nelems, r.size_bytes);
    isthmus_status status = enter(
        &(struct call){routine, team, dest, source, length_bytes, 1, 1, 1, .may_be_equal = true});
    if (status != ISTHMUS_OK) return status;
    if (length_bytes == 0) return leave();
    if (!is_alone(team))
        ist_run_scan(team, &r, is_inclusive, forced.scan, routine);
    else if (is_inclusive)
        copy_alone(dest, source, length_bytes, routine);
    else
        zero_alone(dest, length_bytes, routine);
    return leave();
}
