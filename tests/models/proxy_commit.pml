/* tests/models/proxy_commit.pml: core/proxy/proxy.c without a closer: one server executes the requests of the ring and
 * waits for nothing. All operations have one context, short fetches another one, but for those behind a fence while
 * operations before it may be under way. A commit covers what its context has under way when it begins; meanwhile the
 * server goes on. Operations of a context arrive in any order but for its fences; those of different contexts in any
 * order.
 * Shown: what a thread puts or fetches after a fence arrives after what it has put before, while another thread's quiet
 * is under way; a quiet ends when all requests before it have arrived; every request is executed.
 * PLANTS 3: 1 a fetch after a fence goes into the context of fetches; 2 the fence is forgotten when a commit begins;
 * 3 a commit ends while an operation that it covers is under way. */
#ifndef PLANTED
#define PLANTED 0
#endif
#define BEFORE 0 /* the operations: of one thread, with a fence between the two; and of another one, before its quiet */
#define AFTER 1
#define OTHER 2
#define LATER 3
#define N 4
#define NONE 0
#define OPERATIONS 1
#define FETCHES 2

mtype = { put, fetch, fence, quiet };
chan ring = [6] of { mtype, byte };

byte context_of[N], epoch_of[N]; /* of operations under way; the context counts its fences */
bool has_arrived[N], is_covered[N];
byte epoch[3];
bool open_has_fence, is_behind_fence, open_is_awaited, is_closing, is_quieted;

#define UNDER_WAY(c) (context_of[0] == (c) || context_of[1] == (c) || context_of[2] == (c) || context_of[3] == (c))
#define COMES_BEFORE(q, op) (context_of[q] == context_of[op] && epoch_of[q] < epoch_of[op])
#define MAY_ARRIVE(op) (context_of[op] != NONE && !COMES_BEFORE(0, op) && !COMES_BEFORE(1, op) && \
                        !COMES_BEFORE(2, op) && !COMES_BEFORE(3, op))
#define COVERED_UNDER_WAY ((is_covered[0] && context_of[0] != NONE) || (is_covered[1] && context_of[1] != NONE) || \
                           (is_covered[2] && context_of[2] != NONE) || (is_covered[3] && context_of[3] != NONE))

active proctype one_thread()
{
    ring!put(BEFORE);
    ring!fence(0);
    if
    :: ring!put(AFTER)
    :: ring!fetch(AFTER)
    fi
}

active proctype other_thread()
{
    ring!put(OTHER);
    ring!quiet(0);
    is_quieted;
    assert(has_arrived[OTHER]);
    if
    :: ring!put(LATER)
    :: ring!fetch(LATER)
    fi
}

active [N] proctype network()
{
    byte op = _pid - 2;
    end: do
    :: atomic {
        MAY_ARRIVE(op) ->
        assert(op != AFTER || has_arrived[BEFORE]);
        has_arrived[op] = true;
        context_of[op] = NONE
       }
    od
}

inline start(op, context)
{
    d_step { epoch_of[op] = epoch[context]; context_of[op] = context }
}

inline commit_start()
{
    d_step {
        is_covered[0] = context_of[0] == OPERATIONS;
        is_covered[1] = context_of[1] == OPERATIONS;
        is_covered[2] = context_of[2] == OPERATIONS;
        is_covered[3] = context_of[3] == OPERATIONS;
#if PLANTED != 2
        is_behind_fence = open_has_fence;
#endif
        open_has_fence = false;
        open_is_awaited = false;
        is_closing = true
    }
}

active proctype server()
{
    mtype kind;
    byte op;
    end: do
    :: nempty(ring) ->
        ring?kind, op;
        if
        :: kind == put -> start(op, OPERATIONS)
        :: kind == fetch ->
            if
#if PLANTED != 1
            :: open_has_fence || (is_closing && is_behind_fence) -> start(op, OPERATIONS)
            :: else -> start(op, FETCHES)
#else
            :: start(op, FETCHES)
#endif
            fi
        :: kind == fence ->
            d_step {
                open_has_fence = open_has_fence || UNDER_WAY(OPERATIONS);
                epoch[OPERATIONS]++
            }
        :: kind == quiet -> open_is_awaited = true
        fi
    :: open_is_awaited && !is_closing -> commit_start()
#if PLANTED != 3
    :: is_closing && !COVERED_UNDER_WAY -> d_step { is_closing = false; is_quieted = true }
#else
    :: is_closing -> d_step { is_closing = false; is_quieted = true }
#endif
    od
}

active proctype at_the_end()
{
    timeout;
    assert(has_arrived[BEFORE] && has_arrived[AFTER] && has_arrived[OTHER] && has_arrived[LATER])
}
