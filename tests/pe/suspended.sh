#!/bin/bash
# suspended.sh whole|pes SECONDS PROGRAM LAUNCHER ARGS...: a job is suspended for SECONDS, by the launcher (as Ctrl-Z
# does) or by a stop of each PE, while PEs wait for one another; then it continues and ends normally.

how=$1 pause_s=$2 program=$3
shift 3
. "$(dirname "$0")/job.sh"

fail() {
    echo "suspended.sh: $*"
    sed 's/^/  output: /' "$work/out" | tail -20
    exit 1
}
until_true() { # polls, with a deadline
    local end=$((SECONDS + 60))
    until "$@"; do
        [ $SECONDS -lt $end ] || return 1
        sleep 0.02
    done
}
pes() {
    local pid
    for pid in $(marked); do
        [ "$(readlink "/proc/$pid/exe" 2>/dev/null)" = "$program" ] && echo "$pid"
    done
}
has_stopped() {
    [ "$(for pid in $(pes); do awk '/^State/ { print $2 }' "/proc/$pid/status"; done | grep -c T)" -eq "$1" ]
}
signal_job() { # NAME
    if [ $how = whole ]; then kill -"$1" "$launcher"; else kill -"$1" "${all[@]}"; fi
}

env "$mark" TMPDIR="$work/tmp" ISTHMUS_PULSE_TIMEOUT=1 "$@" "$program" suspended "$work/go" \
    >"$work/out" 2>&1 </dev/null &
launcher=$!
until_true grep -q ready "$work/out" || fail "the PEs do not start"
all=($(pes))
if [ $how = whole ]; then signal_job TSTP; else signal_job STOP; fi
until_true has_stopped ${#all[@]} || fail "the PEs do not stop"
sleep "$pause_s" # longer than the timeout
signal_job CONT
until_true has_stopped 0 || fail "the PEs do not continue"
touch "$work/go"
wait "$launcher"
status=$?
[ $status -eq 0 ] || fail "status is $status"
! grep -E '^isthmus' "$work/out" || fail "somebody has something to say"
