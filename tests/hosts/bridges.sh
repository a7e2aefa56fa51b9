#!/usr/bin/env bash
# bridges.sh PROGRAM [ofi]: jobs on two hosts with Docker, which has bridges of the same addresses on each, with a
# container at each of them. Run on the machine that starts jobs (hosts.sh).
set -eu
for name in host1 host2; do
  nsenter -t "$(cat "$HOSTS_DIR/pid.$name")" -m -n sh -eu -c "
    mount -t sysfs sysfs /sys # of this network
    number=17
    for bridge in docker0 br-1 br-2; do
      ip link add \$bridge type bridge forward_delay 0
      ip addr add 172.\$number.0.1/16 dev \$bridge
      ip link add veth\$number type veth peer name inside\$number
      ip link set veth\$number master \$bridge
      for link in veth\$number inside\$number \$bridge; do ip link set \$link up; done
      until ip addr show \$bridge | grep -q LOWER_UP; do :; done
      number=\$((number + 1))
    done"
done
out=$(mktemp)
trap 'rm -f "$out"' EXIT
failed=0

# job TITLE MESSAGE NAME=VALUE...: ends well (MESSAGE is -), or with that message
job() {
  local title=$1 message=$2 status=0 settings=()
  shift 2
  for setting; do settings+=(-x "$setting"); done
  timeout 60 mpirun --bind-to none -np 2 "${settings[@]}" "$PROGRAM" >"$out" 2>&1 || status=$?
  if [[ $message == - ]]; then
    ((status == 0)) && return
  else
    ((status != 0)) && grep -Eq "$message" "$out" && return
  fi
  failed=1
  echo "$title: status $status"
  sed 's/^/  /' "$out" | head -20
}

PROGRAM=$1
shared="have the address 172\.17\.0\.1; name another network in ISTHMUS_INTERFACE"
ofi=(ISTHMUS_TRANSPORTS=loopback,ofi ISTHMUS_OFI_PROVIDER=tcp+ofi_rxm ISTHMUS_OFI_TIMEOUT=8)
job "ib" -
job "ib, by name" - ISTHMUS_INTERFACE=eth
job "ib, by range" - ISTHMUS_INTERFACE=10.78.0.0/24
job "ib, through the bridges" "$shared" ISTHMUS_INTERFACE=docker0 ISTHMUS_PULSE_TIMEOUT=0
job "ib, none" "no network interface fits ISTHMUS_INTERFACE 'ib0'" ISTHMUS_INTERFACE=ib0
if [[ ${2:-} == ofi ]]; then
  job "ofi" - "${ofi[@]}"
  job "ofi, by range" - "${ofi[@]}" ISTHMUS_INTERFACE=10.78.0.0/24
  job "ofi, through the bridges" "$shared" "${ofi[@]}" ISTHMUS_INTERFACE=172.17.0.0/16 ISTHMUS_PULSE_TIMEOUT=0
fi
exit $failed
