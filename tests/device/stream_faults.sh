#!/bin/bash
# stream_faults.sh LAUNCHER PROGRAM CALL...: a job of two PEs on the double of a driver, each time with another use of
# one of the calls failing on both, until the number exceeds that of the uses. Each job ends within its time, by itself,
# and names the call that failed; or it passes, because its result does not depend on what failed.
launcher=$1 program=$2
shift 2
out=$(mktemp)
trap 'rm -f "$out"' EXIT
faults=0
for call in "$@"; do
    for ((nth = 1; ; nth++)); do
        GPU_DOUBLE_FAIL=$call:$nth GPU_DOUBLE_TRACE=1 timeout -k 5 60 "$launcher" -n 2 "$program" few_calls >"$out" 2>&1
        status=$?
        has_failed=$(grep -c "gpu double .*: $call #.* fails" "$out")
        if [ "$status" -ge 124 ] || { [ "$status" -ne 0 ] && ! grep -q "^isthmus: " "$out"; }; then
            echo "$call:$nth: the job ends with status $status"
            grep -v "^gpu double" "$out" | head -20
            exit 1
        fi
        [ "$has_failed" -gt 0 ] || break
        faults=$((faults + 1))
    done
done
echo "$faults failures"
[ "$faults" -gt 0 ]
