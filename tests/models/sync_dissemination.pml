/* tests/models/sync_dissemination.pml: core/coll/sync_algorithms.c: in round r a PE notifies the PE 2^r further on,
 * and waits for the notice of the PE 2^r before. Flags are put, not sent: a put in flight arrives at any time, and in
 * any order; a PE may be one sync ahead.
 * Shown: no PE leaves a sync before all have entered it, and no PE stays in one for ever.
 * PLANTED: the last round is left out. */
#define PES 3
#define ROUNDS 2 /* 2^ROUNDS is no less than PES */
#define MEETINGS 3
#ifdef PLANTED
#define LAST (PES - 1)
#else
#define LAST PES
#endif

byte flag[PES * ROUNDS];  /* of each PE, for each round: the newest sync of which it was notified */
byte came[PES];           /* the newest sync that a PE has entered */
chan wire[PES * ROUNDS] = [MEETINGS] of { byte }; /* puts in flight to a flag: it has one writer */

active [PES * ROUNDS] proctype deliver()
{
    end: do
    :: atomic { wire[_pid]??1 -> flag[_pid] = 1 }
    :: atomic { wire[_pid]??2 -> flag[_pid] = 2 }
    :: atomic { wire[_pid]??3 -> flag[_pid] = 3 }
    od
}

active [PES] proctype pe()
{
    byte me = _pid - PES * ROUNDS, meeting = 1, round, distance;
    do
    :: meeting <= MEETINGS ->
        came[me] = meeting;
        round = 0;
        distance = 1;
        do
        :: distance < LAST ->
            wire[((me + distance) % PES) * ROUNDS + round]!meeting;
            flag[me * ROUNDS + round] >= meeting;
            round++;
            distance = distance * 2
        :: else -> break
        od;
        assert(came[0] >= meeting && came[1] >= meeting && came[2] >= meeting);
        meeting++
    :: else -> break
    od
}
