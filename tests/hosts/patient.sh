#!/usr/bin/env bash
# patient.sh one|all PROGRAM [ARGS...]: under hosts.sh: the PEs of one host are stopped for less than
# ISTHMUS_PULSE_TIMEOUT, or all PEs for longer than that, as when a job is suspended. Then they continue, and the job
# ends normally: no PE was declared lost.
set -u
who=$1 program=$2
shift
log=$HOSTS_DIR/log.job
n=$(awk '{sub("slots=", "", $2); n += $2} END {print n}' "$HOSTS_DIR/hostfile")
hosts=(host2)
pause_s=2
[[ $who != all ]] || { mapfile -t hosts < <(cut -d' ' -f1 "$HOSTS_DIR/hostfile"); pause_s=8; }
: >"$log"
timeout 100 mpirun --bind-to none -np "$n" "$@" >"$log" 2>&1 &
job=$!
for ((i = 0; i < 150; i++)); do
  grep -q '^part work' "$log" && break
  sleep 0.1
done
for host in "${hosts[@]}"; do "$(dirname "$0")/hosts.sh" --fault stopped "$host" "$program" || exit; done
sleep "$pause_s"
kill -0 "$job" 2>/dev/null || { cat "$log"; echo "the job was over before it was stopped"; exit 1; }
for host in "${hosts[@]}"; do "$(dirname "$0")/hosts.sh" --fault continued "$host" "$program"; done
wait "$job"
status=$?
cat "$log"
((status == 0)) || { echo "the job ended with status $status"; exit 1; }
(($(grep -c '^end' "$log") == n)) || { echo "not all PEs have come to their end"; exit 1; }
(($(grep -c '^isthmus: ' "$log") == 0))
