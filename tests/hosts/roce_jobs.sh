#!/usr/bin/env bash
# roce_jobs.sh BUILD: under roce.sh: jobs of two PEs over its RDMA devices, and proof that the data went through these. Programs
# and cases are few and small: what is emulated here is slow.
set -u
build=$1
export ISTHMUS_TRANSPORTS=ib
unset "${!UCX_@}"
verbs=rc_verbs,ud_verbs,self
n_failed=0

failed() {
  echo "FAILED: $*"
  n_failed=$((n_failed + 1))
}

# attempt TITLE COMMAND...: its output only when it fails
attempt() {
  local title=$1 start=$SECONDS output status=0
  shift
  output=$(timeout 160 "$@" 2>&1) || status=$?
  if ((status == 0)); then
    echo "$title: passed, $((SECONDS - start)) s"
  else
    printf '%s\n' "$output" | tail -n 25
    failed "$title: status $status"
  fi
}

packets() { cat "/sys/class/infiniband/$1/ports/1/hw_counters/sent_pkts"; }

# moved COMMAND...: the packets that rxe0 and rxe1 sent meanwhile, into moved0 and moved1
moved() {
  local before0 before1
  before0=$(packets rxe0) before1=$(packets rxe1)
  "$@"
  moved0=$(($(packets rxe0) - before0)) moved1=$(($(packets rxe1) - before1))
}

job() { attempt "$1${UCX_TLS:+ over $UCX_TLS}" "$build/bin/isthmus-run" -n 2 "$build/tests/pe/$1"; }

contract() {
  attempt "contract: $1" "$build/bin/isthmus-check-transport" "$build/lib/isthmus/ib.so" --timeout 150 --case "$1"
}

# Nobody has to know of any variable: the two PEs share the two devices, and each sends through its own.
without_settings() {
  local routes
  routes=$("$build/bin/isthmus-run" -n 2 "$build/bin/isthmus-info" --routes 2>&1)
  printf '%s\n' "$routes" | sed -n '/^Through/,/^Not taken/p' | head -n -1
  [[ $routes == *"PE 0: rxe0:1: Soft-RoCE v2 at 10.79.0.1"* && $routes == *"PE 1: rxe1:1: Soft-RoCE v2 at 10.79.0.2"* ]] ||
    failed "each PE has a device of its own"
  moved job r1_pe_numbers
  echo "packets: $moved0 by rxe0, $moved1 by rxe1"
  ((moved0 > 0 && moved1 > 0)) || failed "both devices send"
}

over_verbs() {
  local program
  for program in r9_finalize_completes r22_target_computes r30_static_data r45_allocation_is_barrier r78_local_complete; do
    moved job "$program"
    ((moved0 > 0 && moved1 > 0)) || failed "$program: packets: $moved0 by rxe0, $moved1 by rxe1"
  done
  for program in put_get registered_buffers nbi fence remote_commit amo_values expose_late attach_twice; do
    contract "$program"
  done
}

over_tcp() {
  moved job r9_finalize_completes
  echo "packets: $moved0 by rxe0, $moved1 by rxe1"
  ((moved0 == 0 && moved1 == 0)) || failed "the devices stand still when the network is TCP"
}

one_device_for_both() {
  moved job r1_pe_numbers
  echo "packets with ISTHMUS_HCA=$ISTHMUS_HCA: $moved0 by rxe0, $moved1 by rxe1"
  ((moved0 == 0 && moved1 > 0)) || failed "ISTHMUS_HCA names the device that is used"
}

without_settings
ISTHMUS_HCA=rxe1 one_device_for_both
UCX_TLS=$verbs over_verbs
UCX_TLS=tcp over_tcp
((n_failed == 0)) || echo "$n_failed failed"
exit $((n_failed > 0))
