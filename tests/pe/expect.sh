#!/bin/bash
# expect.sh [-s STATUS] [-1 REGEX]... [-a REGEX]... [-m REGEX]... [-0 REGEX]... [-t SECONDS] -- COMMAND...: runs a job
# and checks how it ends.
#   -s  exit status: a number, several with a comma between them, or "nonzero"; default 0
#   -1  exactly one line of the output (both streams) matches this extended regular expression
#   -a  at least one line matches
#   -m  at most one line matches
#   -0  no line matches
#   -t  it ends within this time; default 30
# No process of the job may be left, no file in its TMPDIR, and none of Isthmus, UCX and PMIx in /dev/shm and /tmp.

given=("$@")
status_wanted=0 within_s=30 once=() at_least_once=() at_most_once=() never=()
while getopts 's:1:a:m:0:t:' option; do
    case $option in
    s) status_wanted=$OPTARG ;;
    1) once+=("$OPTARG") ;;
    a) at_least_once+=("$OPTARG") ;;
    m) at_most_once+=("$OPTARG") ;;
    0) never+=("$OPTARG") ;;
    t) within_s=$OPTARG ;;
    *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))

. "$(dirname "$0")/job.sh"

fail() {
    echo "expect.sh: $*"
    sed 's/^/  output: /' "$work/out" | head -40
    exit 1
}

# But the sockets of the double of libibverbs.
files_left() { ls -A -I verbs "$work/tmp"; }

nothing_is_left() { [ -z "$(marked)" ] && [ -z "$(files_left)" ] && [ -z "$(new_names)" ]; }

names_in_shared_folders >"$work/before"
begin=$EPOCHSECONDS
env "$mark" TMPDIR="$work/tmp" timeout -k 5 "$within_s" "$@" >"$work/out" 2>&1 </dev/null
status=$?
if [ $((EPOCHSECONDS - begin)) -gt "$within_s" ]; then
    # Open MPI 4.1 itself does not end when a PE dies in the middle of connecting to its PMIx server: kill_random.sh.
    # Once more.
    if grep -q 'PMIX ERROR: UNREACHABLE' "$work/out" && [ -z "$PE_TEST_AGAIN" ]; then
        clean_up
        PE_TEST_AGAIN=1 exec "$0" "${given[@]}"
    fi
    fail "took more than $within_s s"
fi
[ "$status" -ne 77 ] || { cat "$work/out"; exit 77; }

case ,$status_wanted, in
,nonzero,) [ "$status" -ne 0 ] || fail "status is 0, expected another" ;;
*,$status,*) ;;
*) fail "status is $status, expected $status_wanted" ;;
esac
for regex in "${once[@]}"; do
    n=$(grep -cE -- "$regex" "$work/out")
    [ "$n" -eq 1 ] || fail "$n lines match '$regex', expected 1"
done
for regex in "${at_least_once[@]}"; do
    grep -qE -- "$regex" "$work/out" || fail "no line matches '$regex'"
done
for regex in "${at_most_once[@]}"; do
    n=$(grep -cE -- "$regex" "$work/out")
    [ "$n" -le 1 ] || fail "$n lines match '$regex', expected at most 1"
done
for regex in "${never[@]}"; do
    ! grep -qE -- "$regex" "$work/out" || fail "a line matches '$regex'"
done

for ((tries = 0; tries < 200; tries++)); do
    ! nothing_is_left || exit 0
    sleep 0.1
done
fail "left behind: $(marked | xargs -r ps -o pid=,args= -p) $(files_left) $(new_names)"
