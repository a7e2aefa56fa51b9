#!/usr/bin/env bash
# lost_peer.sh PROGRAM: under hosts.sh with two hosts: the PE on host2 is killed while PE 0 on host1 works with it. The job ends
# within 10 seconds, and somebody names the host: the launcher, or where it says nothing PE 0, once.
set -u
log=$HOSTS_DIR/log.job
timeout 20 mpirun --bind-to none -np 2 "$1" >"$log" 2>&1 &
job=$!
for ((i = 0; i < 100; i++)); do
  grep -q '^ready' "$log" && break
  sleep 0.1
done
pkill -KILL --ns "$(cat "$HOSTS_DIR/pid.host2")" --nslist pid -f -- "^$1" || exit 1
killed_at=$SECONDS
wait "$job"
status=$?
cat "$log"
((status != 0 && status != 124)) || { echo "the job ended with status $status"; exit 1; }
((SECONDS - killed_at <= 10)) || { echo "it took $((SECONDS - killed_at)) s"; exit 1; }
(($(grep -c '^isthmus: ' "$log") <= 1)) || { echo "one message was expected"; exit 1; }
grep -qE 'rank 1 .* on node host2|^isthmus: PE 0: shmem_.*: ib: PE 1 on host2 is lost: ' "$log"
