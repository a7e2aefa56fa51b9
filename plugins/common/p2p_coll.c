/* plugins/common/p2p_coll.c: see p2p.h. The extension collectives.1: what the kernel in common/kernels is given. */
#include "plugins/common/kernels/coll_args.h"
#include "plugins/common/p2p_priv.h"

#include <stdlib.h>

static isthmus_status prepare(isthmus_tr *tr) { return tr->driver->collective_prepare(tr->gpu); }

static uint64_t flag_words(isthmus_tr *tr, uint32_t members)
{
    (void)tr;
    return coll_flag_words(members);
}

/* A block for so many bytes that this PE reads or writes elsewhere. From what is the same on all members. */
static uint32_t blocks_of(const struct isthmus_collective *what)
{
    enum { BYTES_OF_BLOCK = 16 << 10 };
    bool is_one_to_each = what->what == ISTHMUS_COLLECTIVE_BROADCAST || what->what == ISTHMUS_COLLECTIVE_REDUCE;
    uint64_t bytes = what->length_bytes * (is_one_to_each ? 1 : (uint64_t)what->n);
    if (what->what == ISTHMUS_COLLECTIVE_SYNC) return 1;
    uint64_t blocks = bytes / BYTES_OF_BLOCK + 1;
    return blocks < COLL_BLOCKS ? (uint32_t)blocks : COLL_BLOCKS;
}

static struct coll_args args_of(const struct isthmus_collective *what)
{
    struct coll_args args = {.what = what->what,
                             .most = what->most,
                             .n = what->n,
                             .me = what->me,
                             .root = what->root,
                             .op = what->op,
                             .number = what->number,
                             .size = what->size_bytes,
                             .length = what->length_bytes,
                             .dest = what->dest,
                             .source = what->source,
                             .flags = what->flags,
                             .stop = what->stop};
    for (int i = 0; i < what->n; i++) {
        const struct isthmus_collective_member *member = isthmus_collective_member_at(what, i);
        args.data_delta[i] = member->data_delta;
        args.flags_delta[i] = member->flags_delta;
    }
    return args;
}

static isthmus_status launch(isthmus_tr *tr, void *stream, const struct isthmus_collective *theirs)
{
    const struct isthmus_services *s = tr->services;
    struct isthmus_collective what;
    isthmus_read_in(&what, sizeof what, theirs);
    if (what.n < 1 || what.n > ISTHMUS_COLLECTIVE_MEMBERS || (uint32_t)what.n > what.most)
        return s->fail(s->core, ISTHMUS_ERR_INVALID, "a collective of %d members; valid: 1 to %u", what.n,
                       what.most < ISTHMUS_COLLECTIVE_MEMBERS ? what.most : (uint32_t)ISTHMUS_COLLECTIVE_MEMBERS);
    if (what.what > ISTHMUS_COLLECTIVE_REDUCESCATTER)
        return s->fail(s->core, ISTHMUS_ERR_UNSUPPORTED, "the kernel has no collective %u", what.what);
    struct coll_args args = args_of(&what);
    uint32_t threads = what.what == ISTHMUS_COLLECTIVE_SYNC ? ISTHMUS_COLLECTIVE_MEMBERS : COLL_THREADS;
    return tr->driver->collective_launch(tr->gpu, stream, blocks_of(&what), threads, &args);
}

/* ---- outside of the program's streams ----
 * A run is a stream and a mark, which the stream writes behind the kernel. */

struct p2p_run {
    void *stream;
    uint64_t *mark; /* host memory of the driver's: the last turn that is done */
    uint64_t turn;
    uint32_t n_tests; /* of this turn */
    struct p2p_run *next;
};

static void close_run(isthmus_tr *tr, struct p2p_run *run)
{
    if (run->stream != NULL) tr->driver->stream_close(tr->gpu, run->stream);
    if (run->mark != NULL) tr->driver->host_free(tr->gpu, run->mark);
    free(run);
}

static isthmus_status open_run(isthmus_tr *tr, struct p2p_run **out)
{
    const struct isthmus_services *s = tr->services;
    void *mark = NULL;
    struct p2p_run *run = calloc(1, sizeof *run);
    if (run == NULL) return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "no memory for the record of a stream");
    isthmus_status status = tr->driver->stream_open(tr->gpu, &run->stream);
    if (status == ISTHMUS_OK) status = tr->driver->host_alloc(tr->gpu, sizeof *run->mark, &mark);
    run->mark = mark;
    if (status != ISTHMUS_OK) {
        close_run(tr, run);
        return status;
    }
    *run->mark = 0;
    *out = run;
    return ISTHMUS_OK;
}

static isthmus_status take_run(isthmus_tr *tr, struct p2p_run **out)
{
    pthread_mutex_lock(&tr->runs.lock);
    struct p2p_run *run = tr->runs.idle;
    if (run != NULL) tr->runs.idle = run->next;
    pthread_mutex_unlock(&tr->runs.lock);
    if (run == NULL) return open_run(tr, out);
    *out = run;
    return ISTHMUS_OK;
}

static void put_back(isthmus_tr *tr, struct p2p_run *run)
{
    pthread_mutex_lock(&tr->runs.lock);
    run->next = tr->runs.idle;
    tr->runs.idle = run;
    pthread_mutex_unlock(&tr->runs.lock);
}

void p2p_runs_close(isthmus_tr *tr)
{
    for (struct p2p_run *run; (run = tr->runs.idle) != NULL;) {
        tr->runs.idle = run->next;
        close_run(tr, run);
    }
    pthread_mutex_destroy(&tr->runs.lock);
}

static isthmus_status request_mark(isthmus_tr *tr, const struct p2p_run *run)
{
    return tr->driver->write(tr->gpu, run->stream, run->mark, run->turn, sizeof run->turn);
}

static isthmus_status start(isthmus_tr *tr, const struct isthmus_collective *what, uint64_t *ticket)
{
    struct p2p_run *run = NULL;
    isthmus_status status = take_run(tr, &run);
    if (status != ISTHMUS_OK) return status;
    run->turn++;
    run->n_tests = 0;
    status = launch(tr, run->stream, what);
    if (status == ISTHMUS_OK) status = request_mark(tr, run);
    if (status != ISTHMUS_OK)
        put_back(tr, run);
    else
        *ticket = (uint64_t)(uintptr_t)run;
    return status;
}

/* A device that has failed writes no mark: the driver reports that when the mark is requested once more. */
static isthmus_status test(isthmus_tr *tr, uint64_t ticket)
{
    enum { TESTS_TO_A_REQUEST = 1 << 14 };
    struct p2p_run *run = (struct p2p_run *)(uintptr_t)ticket;
    if (__atomic_load_n(run->mark, __ATOMIC_ACQUIRE) == run->turn) {
        put_back(tr, run);
        return ISTHMUS_OK;
    }
    uint32_t n = ++run->n_tests; /* ever more rarely: the driver blocks a caller that fills the stream */
    bool is_due = n >= TESTS_TO_A_REQUEST && (n & (n - 1)) == 0;
    isthmus_status status = is_due ? request_mark(tr, run) : ISTHMUS_OK;
    return status == ISTHMUS_OK ? ISTHMUS_ERR_AGAIN : status;
}

const struct isthmus_collectives p2p_collectives = {.struct_size = sizeof p2p_collectives,
                                                    .prepare = prepare,
                                                    .flag_words = flag_words,
                                                    .enqueue = launch,
                                                    .start = start,
                                                    .test = test};
