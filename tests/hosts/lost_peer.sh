#!/usr/bin/env bash
# lost_peer.sh killed|silent PROGRAM: under hosts.sh with two hosts: PE 1 on host2 is lost while PE 0 on host1 works with it
# (killed), or waits for it and its connections break, which no launcher notices (silent). The job ends within 10 seconds, and
# somebody names the host, once: PE 0, or a launcher that says it first.
set -u
how=$1 program=$2
log=$HOSTS_DIR/log.job

break_it() {
  if [[ $how == killed ]]; then
    pkill -KILL --ns "$(cat "$HOSTS_DIR/pid.host2")" --nslist pid -f -- "^$program"
  else
    nsenter -t "$(cat "$HOSTS_DIR/pid.host1")" -n ss -HK dst 10.78.0.2 | grep -q ESTAB
  fi
}

: >"$log"
timeout 30 mpirun --bind-to none -np 2 "$program" ${how/killed/} >"$log" 2>&1 &
job=$!
for ((i = 0; i < 100; i++)); do
  grep -q '^ready' "$log" && break
  sleep 0.1
done
if ! break_it; then
  cat "$log"
  echo "skipped: connections cannot be broken here (ss --kill, pkill --nslist)"
  kill -TERM "$job"
  exit 77
fi
broken_at=$SECONDS
wait "$job"
status=$?
cat "$log"
((status != 0 && status != 124)) || { echo "the job ended with status $status"; exit 1; }
((SECONDS - broken_at <= 10)) || { echo "it took $((SECONDS - broken_at)) s"; exit 1; }
(($(grep -c '^isthmus: ' "$log") <= 1)) || { echo "one message was expected"; exit 1; }
words='^isthmus: PE 0: shmem_.*: ib: PE 1 on host2 is lost: '
[[ $how == silent ]] || words+='|rank 1 .* on node host2'
grep -qE "$words" "$log"
