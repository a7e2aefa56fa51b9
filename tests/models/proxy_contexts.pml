/* tests/models/proxy_contexts.pml: core/proxy/proxy.c with a closer: the server executes the requests of the ring in
 * one of two contexts while the closer waits for the completion of the other one; short fetches have a third one.
 * Operations of a context arrive in any order but for its fences; those of different contexts in any order. Without a
 * closer: proxy_commit.pml.
 * Shown: what a thread puts or fetches after a fence arrives after what it has put before, while another thread's quiet
 * moves the server from one context to the other; every request is executed.
 * PLANTS 3: 1 the closer gets a context with a fence, and the server goes on; 2 a fetch after a fence goes into the
 * context of fetches; 3 a fence does not wait for the context that is being completed. */
#ifndef PLANTED
#define PLANTED 0
#endif
#define BEFORE 0 /* the operations: of one thread, with a fence between the two; and of another one, before its quiet */
#define AFTER 1
#define OTHER 2
#define LATER 3
#define N 4
#define NONE 0
#define FETCHES 3

mtype = { put, fetch, fence, quiet };
chan ring = [6] of { mtype, byte };

byte context_of[N], epoch_of[N]; /* of operations under way; the context counts its fences */
bool has_arrived[N];
byte epoch[4];
bool has_fence_in[4];
byte open = 1, closing = NONE;

#define UNDER_WAY(c) (context_of[0] == (c) || context_of[1] == (c) || context_of[2] == (c) || context_of[3] == (c))
#define COMES_BEFORE(q, op) (context_of[q] == context_of[op] && epoch_of[q] < epoch_of[op])
#define MAY_ARRIVE(op) (context_of[op] != NONE && !COMES_BEFORE(0, op) && !COMES_BEFORE(1, op) && \
                        !COMES_BEFORE(2, op) && !COMES_BEFORE(3, op))

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
    if
    :: ring!put(LATER)
    :: ring!fetch(LATER)
    :: has_arrived[LATER] = true
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

active proctype closer()
{
    end: do
    :: atomic { closing != NONE && !UNDER_WAY(closing) -> has_fence_in[closing] = false; closing = NONE }
    od
}

inline start(op, context)
{
    d_step { epoch_of[op] = epoch[context]; context_of[op] = context }
}

active proctype server()
{
    bool is_held = false, fence_waits = false, is_awaited = false;
    mtype kind;
    byte op;
    end: do
#if PLANTED == 3
    :: nempty(ring) && !(is_held && closing != NONE) ->
#else
    :: nempty(ring) && !((is_held || fence_waits) && closing != NONE) ->
#endif
        is_held = false;
        if
        :: fence_waits ->
            d_step {
                has_fence_in[open] = has_fence_in[open] || UNDER_WAY(open);
                epoch[open]++;
                fence_waits = false
            }
        :: else
        fi;
        ring?kind, op;
        if
        :: kind == put -> start(op, open)
        :: kind == fetch ->
            if
#if PLANTED != 2
            :: has_fence_in[open] -> start(op, open)
            :: else -> start(op, FETCHES)
#else
            :: start(op, FETCHES)
#endif
            fi
        :: kind == fence -> fence_waits = true
        :: kind == quiet -> is_awaited = true
        fi
    :: is_awaited && closing == NONE ->
#if PLANTED != 1
        is_held = has_fence_in[open];
#endif
        closing = open;
        open = 3 - open;
        is_awaited = false
    od
}

active proctype at_the_end()
{
    timeout;
    assert(has_arrived[BEFORE] && has_arrived[AFTER] && has_arrived[OTHER] && has_arrived[LATER])
}
