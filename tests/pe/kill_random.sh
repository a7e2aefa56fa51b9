#!/bin/bash
# kill_random.sh ROUNDS PROGRAM LAUNCHER ARGS...: kills a random PE, or the launcher, with signal 9 at a random moment
# of a job that starts and ends all the time. Within 20 s nothing may be left of it: no process, no file in its TMPDIR
# (but what a killed mpirun cannot remove), none of Isthmus, UCX and PMIx in /dev/shm and /tmp; and the launcher's
# status shows it. ISTHMUS_TEST_SEED repeats a run, as far as time can be repeated.

rounds=$1 program=$2
shift 2
seed=${ISTHMUS_TEST_SEED:-$(($$ * 7919 % 32768))}
RANDOM=$seed
. "$(dirname "$0")/job.sh"

pes() {
    local pid
    for pid in $(marked); do
        [ "$(readlink "/proc/$pid/exe" 2>/dev/null)" = "$program" ] && echo "$pid"
    done
}
fail() {
    echo "round $round of $rounds, victim: $victim, after $delay_ms ms: $*; repeat with ISTHMUS_TEST_SEED=$seed"
    sed 's/^/  output: /' "$work/out" | tail -20
    exit 1
}
now_ms() { date +%s%3N; }
files_left() {
    [ "$victim" = launcher ] && [ "$owns_files" = no ] || ls -A "$work/tmp"
    new_names
}
# Open MPI 4.1 does not end when a PE dies in the middle of connecting to its PMIx server; with programs of PMIx alone
# it is the same. All PEs have ended then, so that nothing more is awaited for long.
only_mpirun_hangs() {
    [ "$owns_files" = no ] && [ "$(marked)" = "$launcher" ] && grep -q 'PMIX ERROR: UNREACHABLE' "$work/out"
}

# mpirun keeps its session folder in TMPDIR, which stays when mpirun is killed.
# It also takes its own time to end the other PEs.
case ${1##*/} in mpirun*) owns_files=no limit_ms=40000 ;; *) owns_files=yes limit_ms=20000 ;; esac
hang_ms=10000 # after its last PE a sound mpirun ends within one second, on an idle machine

for ((round = 1; round <= rounds; round++)); do
    rm -rf "$work/tmp"
    mkdir "$work/tmp"
    names_in_shared_folders >"$work/before"
    env "$mark" TMPDIR="$work/tmp" "$@" "$program" >"$work/out" 2>&1 </dev/null &
    launcher=$!
    delay_ms=$((RANDOM % 400))
    sleep "$(printf '%d.%03d' $((delay_ms / 1000)) $((delay_ms % 1000)))"
    mapfile -t running < <(pes)
    victim=launcher
    if ((RANDOM % 4 > 0 && ${#running[@]} > 0)); then
        victim="PE with pid ${running[RANDOM % ${#running[@]}]}"
        kill -9 "${victim##* }"
    else
        kill -9 "$launcher"
    fi
    killed_ms=$(now_ms)

    while [ -n "$(marked)" ] || [ -n "$(files_left)" ]; do
        waited_ms=$(($(now_ms) - killed_ms))
        if [ $waited_ms -gt $hang_ms ] && only_mpirun_hangs; then
            echo "round $round: mpirun itself hangs"
            kill -9 "$launcher"
            break
        fi
        [ $waited_ms -le $limit_ms ] ||
            fail "left after $limit_ms ms: $(marked | xargs -r ps -o pid=,stat=,args= -p) $(files_left)"
        sleep 0.02
    done
    wait "$launcher"
    status=$?
    [ "$status" -ne 0 ] || fail "the launcher's status is 0"
done 2>/dev/null # otherwise bash reports each killed launcher
echo "$rounds rounds"
