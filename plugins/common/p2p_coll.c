/* plugins/common/p2p_coll.c: see p2p.h. The extension collectives.1: what the kernel in common/kernels is given. */
#include "plugins/common/kernels/coll_args.h"
#include "plugins/common/p2p_priv.h"

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
        args.data_delta[i] = what->members[i].data_delta;
        args.flags_delta[i] = what->members[i].flags_delta;
    }
    return args;
}

static isthmus_status enqueue(isthmus_tr *tr, void *stream, const struct isthmus_collective *theirs)
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

const struct isthmus_collectives p2p_collectives = {
    .struct_size = sizeof p2p_collectives, .prepare = prepare, .flag_words = flag_words, .enqueue = enqueue};
