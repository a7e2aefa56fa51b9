#!/usr/bin/env bash
# roce_jobs.sh BUILD [quick|all|bench] [REGEX]: under roce.sh: the jobs of roce.table over its RDMA devices, and proof
# that the data went through these. quick: the lines that begin so; all: every line but those of bench, which run, with
# their output shown, when they are named; REGEX: those lines only whose "KIND NAME SETTINGS" it matches. The hosts
# ROCE_UCX: the folder of the UCX that the jobs load, instead of the system's. The hosts
# of a job are namespaces (hosts.sh): host1 uses rxe0 and host2 rxe1, both of which belong to the first namespace.
set -u
build=$1
wanted=${2:-quick}
only=${3:-}
here=$(dirname "$(readlink -f "$0")")
verbs=rc_verbs,ud_verbs,self
n_passed=0 n_failed=0 n_skipped=0
# It only ends jobs that hang: other work on this machine's processors slows the emulated ones down by any factor.
limit_s=160
[[ $wanted == quick ]] || limit_s=600

failed() {
  echo "FAILED: $*"
  n_failed=$((n_failed + 1))
}

packets() { cat "/sys/class/infiniband/$1/ports/1/hw_counters/sent_pkts"; }

# attempt TITLE PROOF COMMAND...: its output only when it fails. PROOF: both: both devices send; some: one does; none:
# neither may; any: not checked
attempt() {
  local title=$1 proof=$2 start=$SECONDS output status=0 moved0 moved1
  shift 2
  moved0=$(packets rxe0) moved1=$(packets rxe1)
  output=$(timeout "$limit_s" "$@" 2>&1 </dev/null) || status=$?
  moved0=$(($(packets rxe0) - moved0)) moved1=$(($(packets rxe1) - moved1))
  if ((status == 77)); then
    echo "$title: skipped"
    n_skipped=$((n_skipped + 1))
  elif ((status != 0)); then
    printf '%s\n' "$output" | tail -n 25
    failed "$title: status $status"
  elif ! "sent_$proof"; then
    failed "$title: packets: $moved0 by rxe0, $moved1 by rxe1; expected: $proof"
  else
    [[ $wanted != bench ]] || printf '%s\n' "$output"
    echo "$title: passed, $((SECONDS - start)) s, packets: $moved0 + $moved1"
    n_passed=$((n_passed + 1))
  fi
}
sent_both() { ((moved0 > 0 && moved1 > 0)); }
sent_some() { ((moved0 + moved1 > 0)); }
sent_none() { ((moved0 + moved1 == 0)); }
sent_any() { :; }
sent_second() { ((moved0 == 0 && moved1 > 0)); }

# On host N: the PE uses device rxe(N-1). In a job through ofi PE N uses rxeN.
start_pe() {
  if [[ -n ${ISTHMUS_OFI_PROVIDER:-} ]]; then
    export ISTHMUS_OFI_DOMAIN=rxe$PMIX_RANK
  else
    export ISTHMUS_HCA=rxe$(($(hostname | tr -dc 0-9) - 1))
  fi
  exec "$@"
}

# What a job through ofi needs here: the provider's queues have room for 256 peers, more than Soft-RoCE's may have.
ofi=(ISTHMUS_OFI_PROVIDER=verbs+ofi_rxm FI_UNIVERSE_SIZE=4 FI_OFI_RXM_MSG_TX_SIZE=64 FI_OFI_RXM_MSG_RX_SIZE=64)

# job KIND PE-PROGRAM SETTING...
job() {
  local kind=$1 name=$2 proof=both setting
  shift 2
  for setting; do [[ $setting != UCX_TLS=* ]] || proof=any; done
  # Newer UCX asks the system for a route to the peer, and each device's address is this system's own here.
  [[ -z ${ROCE_UCX:-} ]] || set -- "ISTHMUS_IB_UCX=$ROCE_UCX" UCX_IB_ROCE_REACHABILITY_MODE=all "$@"
  # Of the rounds of a program one in 40: each takes some milliseconds in the emulator.
  set -- "UCX_TLS=$verbs" ISTHMUS_TEST_PART=40 PE_TEST_DEADLINE=$((limit_s - 20)) "$@"
  case $kind in
    hosts | pairs | measure)
      local np=2 program=$build/tests/pe/$name
      [[ $kind != pairs ]] || np=4
      [[ $kind != measure ]] || program=$build/bench/$name
      attempt "$kind $name" "$proof" mpirun --bind-to none --map-by node -np "$np" \
        env "$@" "$here/roce_jobs.sh" --pe "$program" ;;
    local) attempt "$kind $name" "$proof" env ISTHMUS_TRANSPORTS=ib "$@" \
        "$build/bin/isthmus-run" -n 2 "$build/tests/pe/$name" ;;
    contract)
      [[ $proof == any ]] || proof=some
      attempt "$kind $name" "$proof" env "$@" "$build/bin/isthmus-check-transport" "$build/lib/isthmus/ib.so" \
        --timeout $((limit_s - 10)) --case "$name" ;;
    hosts_contract)
      [[ $proof == any ]] || proof=some # in some cases one of both writes
      attempt "$kind $name" "$proof" mpirun --bind-to none --map-by node -np 2 env "$@" "$here/roce_jobs.sh" --pe \
        "$build/bin/isthmus-check-transport" "$build/lib/isthmus/ib.so" --timeout $((limit_s - 10)) --case "$name" ;;
    ofi | ofi_litmus)
      local program=("$build/tests/pe/$name")
      [[ $kind != ofi_litmus ]] || program=("$build/tests/litmus/litmus" "$name" 50)
      attempt "$kind $name" "$proof" env ISTHMUS_TRANSPORTS=loopback,ofi ISTHMUS_PRETEND_HOSTS=01 "${ofi[@]}" "$@" \
        "$build/bin/isthmus-run" -n 2 "$here/roce_jobs.sh" --pe "${program[@]}" ;;
    ofi_contract) attempt "$kind $name" some env "${ofi[@]}" "$@" "$build/bin/isthmus-check-transport" \
        "$build/lib/isthmus/ofi.so" --timeout $((limit_s - 10)) --case "$name" ;;
    *) failed "roce.table: no kind '$kind'" ;;
  esac
}

# table KINDS: the lines of these kinds.
table() {
  local kinds=$1 when kind name settings
  while read -r when kind name settings; do
    [[ -n $when && $when != '#'* ]] || continue
    [[ $when == "$wanted" || ($wanted == all && $when == quick) ]] || continue
    [[ $kind =~ ^($kinds)$ ]] || continue
    [[ "$kind $name $settings" =~ $only ]] || continue
    # shellcheck disable=SC2086
    job "$kind" "$name" $settings
  done <"$here/roce.table"
}

# Without any variable set, the two PEs of one host share the two devices, and each sends through its own.
without_settings() {
  local routes run=("$build/bin/isthmus-run" -n 2)
  export ISTHMUS_TRANSPORTS=ib
  routes=$("${run[@]}" "$build/bin/isthmus-info" --routes 2>&1)
  printf '%s\n' "$routes" | sed -n '/^Through/,/^Not taken/p' | head -n -1
  [[ $routes == *"PE 0: rxe0:1: Soft-RoCE v2 at 10.79.0.1"* &&
    $routes == *"PE 1: rxe1:1: Soft-RoCE v2 at 10.79.0.2"* ]] ||
    failed "each PE has a device of its own"
  attempt "without settings" both "${run[@]}" "$build/tests/pe/r1_pe_numbers"
  attempt "over TCP the devices stand still" none env UCX_TLS=tcp "${run[@]}" "$build/tests/pe/r9_finalize_completes"
  attempt "ISTHMUS_HCA names the device that is used" second \
    env ISTHMUS_HCA=rxe1 "${run[@]}" "$build/tests/pe/r1_pe_numbers"
  unset ISTHMUS_TRANSPORTS
}

# On one host, where nothing else takes the network: ISTHMUS_ATOMICS=nic opens it.
atomics_beside_loopback() {
  local routes run=("$build/bin/isthmus-run" -n 2)
  export ISTHMUS_ATOMICS=nic ISTHMUS_TEST_PART=40
  routes=$("${run[@]}" "$build/bin/isthmus-info" --routes 2>&1 | tr -s ' \n' ' ')
  [[ $routes == *"loopback, by calls into the transport, because ISTHMUS_ATOMICS is nic; "*\
"atomics: ib, executed by the NIC (of 64 bits; "* ]] ||
    failed "isthmus-info shows the home of atomics, and why: $routes"
  attempt "atomics by adapters, the rest by loopback" both "${run[@]}" "$build/tests/pe/r60_fence_and_quiet"
  unset ISTHMUS_ATOMICS ISTHMUS_TEST_PART
}

if [[ $build == --pe ]]; then
  shift
  start_pe "$@"
fi
if [[ -z ${HOSTS_DIR:-} ]]; then # COMMAND of roce.sh: make the hosts first
  unset "${!UCX_@}" "${!ISTHMUS_@}"
  [[ -n $only || $wanted == bench ]] || { without_settings; atomics_beside_loopback; }
  table 'ofi.*' # librdmacm knows the devices' addresses in this namespace only
  "$here/hosts.sh" 2 2 env ROCE_BEFORE="$n_passed $n_failed $n_skipped" "$here/roce_jobs.sh" "$@"
  exit
fi
read -r n_passed n_failed n_skipped <<<"$ROCE_BEFORE"
table 'hosts|pairs|local|contract|hosts_contract|measure'
echo "$n_passed passed, $n_failed failed, $n_skipped skipped"
exit $((n_failed > 0))
