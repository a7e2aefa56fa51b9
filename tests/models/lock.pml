/* tests/models/lock.pml: core/sync/lock.c: a queue of PEs. The tail lies at one PE; each PE has a node, where its
 * successor writes its name, and its predecessor hands over the lock. All updates are atomic, each step of a PE may be
 * late.
 * Shown: one holder at a time; no PE waits for ever; in the end the lock is free and all nodes are empty.
 * PLANTED: a holder that sees no successor stores 0 to the tail without a check whether a PE has joined. */
#define PES 3
#define TURNS 2
#define FREE 0

byte tail = FREE;       /* a PE's number + 1 */
byte next[PES];         /* the low bits of the node */
bool handed_over[PES];  /* its top bit */
byte holders = 0;

active [PES] proctype pe()
{
    byte turn = 0, last, successor;
    do
    :: turn < TURNS ->
        /* set: */
        atomic { last = tail; tail = _pid + 1 }
        if
        :: last != FREE ->
            atomic { next[last - 1] = next[last - 1] | (_pid + 1) }
            handed_over[_pid]
        :: else
        fi;

        holders++;
        assert(holders == 1);
        holders--;

        /* clear: */
        successor = next[_pid];
        if
        :: successor == 0 ->
#ifdef PLANTED
            last = _pid + 1;
            tail = FREE;
#else
            atomic {
                last = tail;
                if
                :: tail == _pid + 1 -> tail = FREE
                :: else
                fi
            }
#endif
            if
            :: last != _pid + 1 -> next[_pid] != 0; successor = next[_pid]
            :: else
            fi
        :: else
        fi;
        atomic { next[_pid] = 0; handed_over[_pid] = false }
        if
        :: successor != 0 -> handed_over[successor - 1] = true
        :: else
        fi;
        turn++
    :: else -> break
    od
}

active proctype at_the_end()
{
    timeout;
    assert(tail == FREE && next[0] == 0 && next[1] == 0 && next[2] == 0);
    assert(!handed_over[0] && !handed_over[1] && !handed_over[2])
}
