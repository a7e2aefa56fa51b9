#!/bin/bash
# hang.sh launcher|pes REGEX... -- LAUNCHER ARGS...: starts a job that hangs and requests by SIGUSR1, from the launcher
# or from each PE, a report of what it waits for, until all lines of a report match one of the extended regular
# expressions, and each of these a line; then ends the job. In earlier reports some PEs may not be where they will hang.

. "$(dirname "$0")/job.sh"
whom=$1 wanted=()
shift
while [ "$1" != -- ]; do
    wanted+=("$1")
    shift
done
shift
program_of_pes=${*: -2:1}

fail() {
    echo "hang.sh: $*"
    sed 's/^/  output: /' "$work/out" | tail -40
    exit 1
}
# Signals a process whose set FIELD of /proc/PID/status has SIGUSR1. Before that the signal would end it: a launcher has
# to block the signal, which it reads from a descriptor, and a PE to catch it.
signal_if() {
    local mask
    mask=$(awk -v field="$2:" '$1 == field { print $2 }' "/proc/$1/status" 2>/dev/null)
    if ((0x${mask:-0} >> 9 & 1)); then kill -USR1 "$1"; fi
}
ask() {
    local pid
    case $whom in
    launcher) signal_if "$launcher" SigBlk ;;
    pes) for pid in $(marked); do
        [ "$(readlink "/proc/$pid/exe" 2>/dev/null)" != "$program_of_pes" ] || signal_if "$pid" SigCgt
    done ;;
    esac
}
answer() { tail -c "+$((asked_at + 1))" "$work/out" | grep -E '^isthmus(-run)?: '; }
is_complete() {
    local regex
    for regex in "${wanted[@]}"; do grep -qE -- "$regex" <<<"$1" || return; done
}

env "$mark" TMPDIR="$work/tmp" "$@" >"$work/out" 2>&1 </dev/null &
launcher=$!
hears_all() { # of one request, to which a busy machine may reply late: each time it may take longer
    local i
    for ((i = 0; i < 2 + questions; i++)); do
        said=$(answer)
        is_complete "$said" && return
        sleep 0.1
    done
    return 1
}
for ((questions = 1; SECONDS < 100; questions++)); do # bounded, so that what is there is shown
    sleep 0.3
    asked_at=$(stat -c %s "$work/out")
    ask
    hears_all || { kill -0 "$launcher" 2>/dev/null || fail "the job has ended"; continue; }
    for regex in "${wanted[@]}"; do said=$(grep -vE -- "$regex" <<<"$said"); done
    [ -n "$said" ] || exit 0
done
fail "this and nothing else was not said at any time: ${wanted[*]}"
