/* tests/models/amo_forwarding.pml: atomics of the domain CPU: a transport without mapped memory sends them to the
 * owner, whose progress thread executes them one by one; PEs of the owner's host, and the owner itself, use
 * instructions on the same word.
 * Shown: no addition is lost, no two have fetched the same value, and the reply to a commit follows the requests before
 * it.
 * PLANTED: the progress thread loads and stores instead of one instruction. */
#define SENDERS 2
#define NEIGHBOURS 1
#define ADDITIONS 2
#define ALL ((SENDERS + NEIGHBOURS) * ADDITIONS)

mtype = { add, fetch_add, commit };

byte word = 0;
bool was_fetched[ALL];
chan request[SENDERS] = [ADDITIONS + 1] of { mtype };
chan reply[SENDERS] = [1] of { byte };
byte n_done[SENDERS]; /* additions executed for each */
byte finished = 0;

inline note(value)
{
    d_step { assert(!was_fetched[value]); was_fetched[value] = true }
}

/* One addition with the old value, one without; then a commit. */
active [SENDERS] proctype sender()
{
    byte old;
    request[_pid]!add;
    request[_pid]!fetch_add;
    reply[_pid]?old;
    note(old);
    request[_pid]!commit;
    reply[_pid]?old;
    assert(n_done[_pid] == ADDITIONS);
    finished++
}

active [NEIGHBOURS] proctype neighbour()
{
    byte i = 0, old;
    do
    :: i < ADDITIONS -> atomic { old = word; word++ } note(old); i++
    :: else -> break
    od;
    finished++
}

inline execute()
{
#ifdef PLANTED
    old = word;
    word = old + 1;
#else
    atomic { old = word; word++ }
#endif
    n_done[who]++
}

inline serve(number)
{
    who = number;
    if
    :: what == add -> execute(); note(old)
    :: what == fetch_add -> execute(); reply[who]!old
    :: what == commit -> reply[who]!0
    fi
}

active proctype progress()
{
    mtype what;
    byte old, who;
    end: do
    :: request[0]?what -> serve(0)
    :: request[1]?what -> serve(1)
    od
}

active proctype at_the_end()
{
    finished == SENDERS + NEIGHBOURS;
    assert(word == ALL)
}
