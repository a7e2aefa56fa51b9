/* tests/models/request_ring.pml: isthmus/device_ring.h and core/proxy/requests.c: threads of kernels write requests
 * into slots whose words arrive one by one; the host takes what has arrived, replies, and completes requests at a
 * quiet. A store is in flight until it is delivered, at any time; a fence waits for the thread's own.
 * Shown: the host takes each request whole and once, and reads the source that was stored before; a reply reaches its
 * thread; after a quiet all earlier requests of the thread are complete; no thread waits for ever.
 * PLANTS 5: 1 the request is not ordered after its source; 2 the slot is given up before its reply is read; 3 the host
 * reports a quiet before it has completed the requests; 4 the host looks at the tag of one word only; 5 the counter of
 * the requests that were read is not ordered after their reading. */
#define ACTORS 2
#define SLOTS 2
#define REPLIES 2
#define TAG(ticket) ((ticket) / SLOTS % 3 + 1)
#ifndef PLANTED
#define PLANTED 0
#endif

mtype = { put_with_reply, put, quiet };

byte tail = 0, consumed = 0, quieted = 0, last_quiet = 0; /* last_quiet: the ticket of the newest quiet + 1 */
byte turn[SLOTS];
byte tag0[SLOTS], tag1[SLOTS], actor_in[SLOTS], value_in[SLOTS]; /* what has arrived of the two words of a slot */
mtype kind_in[SLOTS];
byte reply[SLOTS];        /* ticket + 1 */
byte source[ACTORS];      /* what has arrived of the data to be put */
byte taken[ACTORS], completed[ACTORS]; /* puts that the host has started, and completed */

chan word0[SLOTS] = [1] of { byte, byte };
chan word1[SLOTS] = [1] of { byte, mtype, byte };
chan store[ACTORS] = [1] of { byte };

active [SLOTS] proctype deliver_word0()
{
    byte tag, from;
    end: do
    :: atomic { word0[_pid]?tag, from -> tag0[_pid] = tag; actor_in[_pid] = from }
    od
}

active [SLOTS] proctype deliver_word1()
{
    byte slot = _pid - SLOTS, tag, value;
    mtype kind;
    end: do
    :: atomic { word1[slot]?tag, kind, value -> tag1[slot] = tag; kind_in[slot] = kind; value_in[slot] = value }
    od
}

active [ACTORS] proctype deliver_store()
{
    byte me = _pid - 2 * SLOTS, value;
    end: do
    :: atomic { store[me]?value -> source[me] = value }
    od
}

inline write(kind, what)
{
    atomic { ticket = tail; tail++ }
    slot = ticket % SLOTS;
    ticket - consumed < SLOTS;
    turn[slot] == ticket / SLOTS;
    word0[slot]!TAG(ticket), me;
    word1[slot]!TAG(ticket), kind, what
}

inline store_source(what)
{
    store[me]!what;
#if PLANTED != 1
    empty(store[me])
#endif
}

active [ACTORS] proctype actor()
{
    byte me = _pid - 2 * SLOTS - ACTORS, ticket, slot, before, value = 1;

    /* Puts that wait for their replies: the source may be used again then. */
    do
    :: value <= REPLIES ->
        store_source(value);
        write(put_with_reply, value);
#if PLANTED == 2
        turn[slot] = turn[slot] + 1;
#endif
        reply[slot] == ticket + 1;
#if PLANTED != 2
        turn[slot] = turn[slot] + 1;
#endif
        value++
    :: else -> break
    od;

    /* One that does not, and a quiet, unless another thread's comes after it. */
    store_source(value);
    write(put, value);
    turn[slot] = turn[slot] + 1;
    before = tail;
    if
    :: last_quiet > before
    :: else ->
        write(quiet, 0);
        turn[slot] = turn[slot] + 1;
        last_quiet = ticket + 1
    fi;
    quieted >= before;
    assert(completed[me] == REPLIES + 1)
}

inline complete()
{
    d_step { completed[0] = taken[0]; completed[1] = taken[1] }
}

active proctype host()
{
    byte next = 0, slot, from;
    end: do
    :: atomic {
#if PLANTED == 4
        tag0[next % SLOTS] == TAG(next) ->
#else
        tag0[next % SLOTS] == TAG(next) && tag1[next % SLOTS] == TAG(next) ->
#endif
        slot = next % SLOTS;
        from = actor_in[slot]
       }
#if PLANTED == 5
        consumed = next + 1;
#endif
        if
        :: kind_in[slot] == quiet ->
#if PLANTED == 3
            quieted = next + 1;
            complete()
#else
            complete();
            quieted = next + 1
#endif
        :: else ->
            taken[from]++;
            assert(value_in[slot] == taken[from]);
            assert(source[from] == value_in[slot]);
            if
            :: kind_in[slot] == put_with_reply -> reply[slot] = next + 1
            :: else
            fi
        fi;
        next++;
        consumed = next
    od
}
