#!/usr/bin/env bash
# fault.sh HOW WHEN PROGRAM: under hosts.sh: the host of the job's last PE is lost (hosts.sh --fault HOW) while the
# other PEs do WHEN (works.c). Within 10 seconds, or 15 where other work keeps the processors busy, no PE is left, on
# either side, and one message has named the host: of a PE, or of a launcher that detected the loss. A launcher that
# stays behind is printed, and is no failure: Open MPI's does when a link is cut.
set -u
how=$1 when=$2 program=$3
log=$HOSTS_DIR/log.job
read -r n_hosts slots < <(awk '{n++; sub("slots=", "", $2); s = $2} END {print n, s}' "$HOSTS_DIR/hostfile")
victim_host=host$n_hosts

pes() { pgrep -f "^$program" | wc -l; }

: >"$log"
# In `init` the last PE starts when its host is lost already, so that no other PE knows of it; in `meeting` it is in
# init with the others, which have its address only when all have arrived.
is_start() { [[ $when == init || $when == meeting ]]; }
! is_start || export ISTHMUS_START_TIMEOUT=3
mapfile -t settings < <(compgen -e ISTHMUS_ | sed 's/^/-x\n/')
timeout 40 mpirun --bind-to none "${settings[@]}" -np $((n_hosts * slots)) \
    "$program" "$when" >"$log" 2>&1 &
job=$!
for ((i = 0; i < 150; i++)); do
  grep -q '^ready' "$log" && break
  sleep 0.1
done
grep -q '^ready' "$log" || { cat "$log"; echo "the job did not start"; exit 1; }
[[ $when != init ]] || sleep 0.5 # until PE 0 is inside
[[ $when != meeting ]] || sleep 1 # until all but one are inside

limit_ms=10000
load=$(cut -d. -f1 /proc/loadavg)
((load < $(nproc))) || limit_ms=15000
broken_at=$(date +%s%N)
"$(dirname "$0")/hosts.sh" --fault "$how" "$victim_host" "$program" || exit
for ((i = 0; i < 200; i++)); do
  (($(pes) > 0)) || break
  sleep 0.1
done
took_ms=$((($(date +%s%N) - broken_at) / 1000000))
n_left=$(pes)
for ((i = 0; i < 20; i++)); do
  kill -0 $job 2>/dev/null || break
  sleep 0.1
done
if kill -0 $job 2>/dev/null; then
  echo "the launcher stayed"
  kill -KILL $job
  pkill -KILL --ns $$ --nslist pid -x mpirun
else
  wait $job && { cat "$log"; echo "the job ended with status 0"; exit 1; }
fi
cat "$log"
echo "all PEs gone after $took_ms ms"
((n_left == 0)) || { echo "$n_left PEs are left"; exit 1; }
((took_ms <= limit_ms)) || { echo "that is too long: the limit is $limit_ms ms"; exit 1; }
(($(grep -c '^isthmus: ' "$log") <= 1)) || { echo "one message was expected"; exit 1; }
words="^isthmus: PE [0-9]+: (.*: )?PE [0-9]+ on host[0-9]+ is lost: |(rank|process rank) [0-9]+ .* on node $victim_host"
words+="|remote daemon|daemon .* on node $victim_host"
! is_start || words+="|not all PEs have arrived at the start"
grep -qE "$words" "$log" || { echo "no message names the cause"; exit 1; }
