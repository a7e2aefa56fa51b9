/* tests/models/sync_dissemination.pml: core/coll/sync_dissemination.c: in round r a PE tells the one 2^r further on, and waits to
 * be told by the one 2^r before. Flags are put, not sent: what is under way arrives when it likes, and in any order; a PE may be a
 * meeting ahead.
 * Shown: nobody leaves a meeting before all have come to it, and nobody stays in one for ever.
 * PLANTED: the last round is left out. */
#define PES 3
#define ROUNDS 2 /* 2^ROUNDS is no less than PES */
#define MEETINGS 3
#ifdef PLANTED
#define LAST (PES - 1)
#else
#define LAST PES
#endif

byte flag[PES * ROUNDS];  /* of each PE, for each round: the newest meeting that it was told of */
byte came[PES];           /* the newest meeting that a PE has come to */
chan wire[PES * ROUNDS] = [MEETINGS] of { byte }; /* puts under way to a flag: it has one writer */

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
