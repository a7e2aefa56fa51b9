/* tests/contract/planted_collectives.c: see planted.h. Bugs of collectives.1. Loopback lacks it: it exists with these
 * only, as the kernel of the transports in threads of this process, on memory of the host. */
#include "planted.h"

#include "plugins/common/kernels/coll_kernel.h"

#include <isthmus/device_cpu_launch.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

/* ---- collectives in threads; none is freed: the process ends soon ---- */

struct job {
    struct coll_args args;
    struct job *before; /* runs first; NULL: none */
    uint32_t is_done;
};

static uint32_t n_running;

static bool is_done(const struct job *job) { return __atomic_load_n(&job->is_done, __ATOMIC_ACQUIRE) != 0; }

static void kernel(void *args) { coll_run(args); }

static uint64_t dest_bytes(const struct coll_args *args)
{
    bool has_blocks = args->what == ISTHMUS_COLLECTIVE_FCOLLECT || args->what == ISTHMUS_COLLECTIVE_ALLTOALL;
    return args->length * (has_blocks ? (uint64_t)args->n : 1);
}

static void *run(void *argument)
{
    struct job *job = argument;
    while (job->before != NULL && !is_done(job->before)) sched_yield();
    if (isthmus_cpu_launch(1, 2, kernel, &job->args) != 0) abort();
    if (planted_has("writes_behind_dest")) job->args.dest[dest_bytes(&job->args)] ^= 1;
    __atomic_store_n(&job->is_done, 1, __ATOMIC_RELEASE);
    __atomic_sub_fetch(&n_running, 1, __ATOMIC_RELEASE);
    return NULL;
}

static void launch(struct job *job)
{
    pthread_t thread;
    __atomic_add_fetch(&n_running, 1, __ATOMIC_RELAXED);
    if (pthread_create(&thread, NULL, run, job) != 0) abort();
    pthread_detach(thread);
}

/* Each member begins with its own operand. */
static void turn(int64_t *delta, int n, int me)
{
    int64_t before[ISTHMUS_COLLECTIVE_MEMBERS];
    memcpy(before, delta, (size_t)n * sizeof *delta);
    for (int i = 0; i < n; i++) delta[i] = before[(i + me) % n];
}

static struct job *make_job(const struct isthmus_collective *what)
{
    struct job *job = calloc(1, sizeof *job);
    if (job == NULL) abort();
    struct coll_args *args = &job->args;
    *args = (struct coll_args){.what = what->what,
                               .most = what->most,
                               .n = what->n,
                               .me = what->me,
                               .root = planted_has("root_is_first") ? 0 : what->root,
                               .op = what->op,
                               .number = what->number,
                               .size = what->size_bytes,
                               .length = what->length_bytes,
                               .dest = what->dest,
                               .source = what->source,
                               .flags = what->flags,
                               .stop = what->stop};
    for (int i = 0; i < what->n; i++) {
        bool is_short = planted_has("members_short");
        const struct isthmus_collective_member *member = is_short ? &what->members[i]
                                                                  : isthmus_collective_member_at(what, i);
        args->data_delta[i] = member->data_delta;
        args->flags_delta[i] = member->flags_delta;
    }
    if (planted_has("sums_from_own")) turn(args->data_delta, args->n, args->me);
    return job;
}

/* ---- the group ---- */

static isthmus_status prepare(isthmus_tr *tr)
{
    (void)tr;
    return planted_has("silent_prepare") ? ISTHMUS_ERR_UNSUPPORTED : ISTHMUS_OK;
}

static uint64_t flag_words(isthmus_tr *tr, uint32_t members)
{
    (void)tr;
    return planted_has("flags_short") ? 8 : coll_flag_words(members);
}

/* Of the stream, in one process one thread. */
static struct job *last, *held;

static isthmus_status enqueue(isthmus_tr *tr, void *stream, const struct isthmus_collective *what)
{
    struct job *job = make_job(what);
    (void)tr, (void)stream;
    if (planted_has("overtakes") && held == NULL) {
        held = job;
        return ISTHMUS_OK;
    }
    job->before = last;
    last = job;
    launch(job);
    if (held == NULL) return ISTHMUS_OK;
    held->before = last;
    last = held;
    held = NULL;
    launch(last);
    return ISTHMUS_OK;
}

static isthmus_status complete(isthmus_tr *tr)
{
    (void)tr;
    if (held != NULL) launch(held);
    held = NULL;
    while (__atomic_load_n(&n_running, __ATOMIC_ACQUIRE) > 0) sched_yield();
    return ISTHMUS_OK;
}

static isthmus_status start(isthmus_tr *tr, const struct isthmus_collective *what, uint64_t *ticket)
{
    struct job *job = make_job(what);
    (void)tr;
    if (planted_has("team_waits")) job->before = last;
    last = job;
    launch(job);
    *ticket = (uint64_t)(uintptr_t)job;
    return ISTHMUS_OK;
}

static isthmus_status test(isthmus_tr *tr, uint64_t ticket)
{
    (void)tr;
    return planted_has("done_early") || is_done((const struct job *)(uintptr_t)ticket) ? ISTHMUS_OK : ISTHMUS_ERR_AGAIN;
}

bool planted_has_collectives(void)
{
    static const char *const bugs[] = {"root_is_first",      "members_short", "flags_short",
                                       "writes_behind_dest", "sums_from_own", "done_early",
                                       "team_waits",         "overtakes",     "silent_prepare"};
    for (size_t i = 0; i < sizeof bugs / sizeof *bugs; i++)
        if (planted_has(bugs[i])) return true;
    return false;
}

const void *planted_collectives_extension(const char *name)
{
    static const struct isthmus_collectives collectives = {.struct_size = sizeof collectives,
                                                           .prepare = prepare,
                                                           .flag_words = flag_words,
                                                           .enqueue = enqueue,
                                                           .start = start,
                                                           .test = test};
    static const struct isthmus_stream stream = {.struct_size = sizeof stream, .complete = complete};
    if (!planted_has_collectives()) return NULL;
    if (strcmp(name, "stream.1") == 0) return &stream;
    return strcmp(name, "collectives.1") == 0 ? &collectives : NULL;
}
