#!/bin/bash
# checker.sh CHECKER PLUGIN PLANTED PYTHON ISTHMUS-RUN: the output of isthmus-check-transport: usage, status, JSON; as a
# job. What it checks: planted.sh.
checker=$1 plugin=$2 planted=$3 python=$4 run=$5
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
fail() {
    echo "FAILED: $*"
    head -50 "$work/out" "$work/err"
    exit 1
}
# expect STATUS TEXT ARGUMENTS...: that status, and that text on either stream
expect() {
    local wanted=$1 text=$2
    shift 2
    "$checker" "$@" >"$work/out" 2>"$work/err"
    local status=$?
    [ "$status" -eq "$wanted" ] || fail "$*: status $status, expected $wanted"
    grep -qF -- "$text" "$work/out" "$work/err" || fail "$*: not said: $text"
}
# expect_json EXPRESSION: true of the document d that was printed last
expect_json() {
    "$python" -c 'import json, sys; d = json.load(open(sys.argv[1])); sys.exit(0 if eval(sys.argv[2]) else 1)' \
        "$work/out" "$1" || fail "not true of the document: $1"
}

expect 2 "0 plugins are named; valid: one"
expect 2 "2 plugins are named; valid: one" a b
expect 2 "/nowhere.so: No such file or directory" /nowhere.so
expect 2 "--pes is '9'; valid: 1 to 8" --pes 9 "$plugin"
expect 2 "--timeout is '0'; valid: 1 to 3600 seconds" --timeout 0 "$plugin"
expect 2 "--case is 'put'; valid: a name printed by --list" --case put "$plugin"
expect 2 "unrecognized option '--wrong'" --wrong "$plugin"
expect 0 "usage: isthmus-check-transport PLUGIN.so" --help
expect 0 "(transport ABI 1." --version
expect 0 "put_get " --list
echo "no plugin" >"$work/text.so"
expect 1 "file too short" "$work/text.so"
expect 1 "the other cases need a table without faults: not run" "$work/text.so"
[ "$(grep -c '^FAILED' "$work/out")" -eq 1 ] || fail "more was asked of what is no plugin"

expect 0 "1 passed, 0 failed, 0 skipped" "$plugin" --case all_pairs --pes 6
expect 0 '"pes": 6' "$plugin" --case all_pairs --pes 6 --json
expect_json 'd["passed"] == 1 and d["failed"] == 0 and d["cases"][0]["findings"] == [] and d["cut_short"] is None'
expect 0 '"pes": 2' "$plugin" --case put_get --pes 6 --json
PLANTED_BUG=cuts_17 expect 1 '"result": "failed"' "$planted" --case put_get --case card_room --json
expect_json 'd["failed"] == 1 and d["passed"] == 1'
expect_json '[f["slot"] for c in d["cases"] for f in c["findings"]][0] == "put"'
expect_json 'all(f["contract"] and "of 17 bytes" in f["seen"] for c in d["cases"] for f in c["findings"])'
expect 2 "--soak is '0'; valid: 1 to 604800 seconds" --soak 0 "$plugin"
expect 0 "1 passed, 0 failed, 0 skipped; " "$plugin" --case table --soak 1
expect 0 '"rounds": ' "$plugin" --case table --soak 1 --json
expect_json 'd["rounds"] > 1 and d["passed"] == 1 and len(d["cases"]) == 1'
PLANTED_BUG=hangs expect 1 "it hangs: nothing from it for 1 s; the slot it called last is open" \
    "$planted" --case open_close --timeout 1
PLANTED_BUG=exits expect 1 "it ended with status 3" "$planted" --case open_close
PLANTED_BUG=prints expect 1 "hello from the plugin" "$planted" --case open_close

# As a job: process 1 of a case is on PE 1, and ends there as it would end here.
expect_job() {
    local checker=$run
    expect "$1" "$2" -n 2 "$own" "${@:3}"
}
own=$checker
expect_job 0 '1 passed, 0 failed' "$plugin" --case all_pairs
expect_job 0 '"pes": 3' "$plugin" --case reach_is_steady --json
expect_job 0 '1 passed, 0 failed' "$plugin" --case peer_dies
ISTHMUS_PRETEND_HOSTS=01 expect_job 77 "the peer runs on another host" "$plugin" --case put_get
ISTHMUS_BOOTSTRAP=alone expect_job 0 '1 passed, 0 failed' "$plugin" --case put_get
PLANTED_BUG=fence_leaks expect_job 1 "seen      PE 1: round" "$planted" --case fence
PLANTED_BUG=crashes expect_job 1 "it was killed by signal 11" "$planted" --case path_to_dead_peer
PLANTED_BUG=hangs expect_job 1 "PE 1: it hangs: nothing from it for 2 s" "$planted" --case put_get --timeout 2
PLANTED_BUG=prints expect_job 1 "hello from the plugin" "$planted" --case all_pairs
[ -z "$(pgrep -P $$ -f "$planted")" ] || fail "processes are left"
exit 0
