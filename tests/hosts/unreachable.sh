#!/usr/bin/env bash
# unreachable.sh HOST|all VAR=VALUE PROGRAM: under hosts.sh: on one host, or on all, UCX gets a setting with which it
# reaches no other host. The start fails, in seconds, and one block names the PE that cannot be reached, from which, and
# what each side has.
set -u
where=$1 assignment=$2 program=$3
log=$HOSTS_DIR/log.job
: >"$log"
# shellcheck disable=SC2016
timeout 20 mpirun --bind-to none bash -c '[[ $0 != all && $(hostname) != "$0" ]] || export "$1"; exec "$2" barrier' \
  "$where" "$assignment" "$program" >"$log" 2>&1
status=$?
cat "$log"
((status != 0 && status != 124)) || { echo "the job ended with status $status"; exit 1; }
(($(grep -c '^isthmus: ' "$log") == 1)) || { echo "one message was expected"; exit 1; }
what="what  *ib: no connection to PE [0-9] on host[1-3]: .*; compare links and settings: here is UCX .*$assignment"
grep -q "$what" "$log" && grep -q "where  *PE [0-9] on host[1-3]" "$log"
