#!/usr/bin/env bash
# waits.sh BUILD MPIRUN: how waits of a job pass their time, by what can end them, according to the first line of its
# log.
set -u
build=$1 mpirun=$2
here=$(dirname "$(readlink -f "$0")")
unset "${!UCX_@}" "${!ISTHMUS_@}"
program=$build/tests/pe/r1_pe_numbers
failed=0

# expect TEXT COMMAND...
expect() {
  local text=$1 output status=0
  shift
  output=$("$@" 2>&1) || status=$?
  ((status != 77)) || { printf '%s\n' "$output"; exit 77; }
  if ((status != 0)) || [[ $output != *"waits"*"then $text"* ]]; then
    echo "FAILED: '$text' is not said, or status $status: $*"
    printf '%s\n' "$output"
    failed=1
  fi
}

through_ib() { env ISTHMUS_LOG=info ISTHMUS_TRANSPORTS=ib UCX_TLS="$1" "$build/bin/isthmus-run" -n 2 "$program"; }

expect "yield, or nap between looks while other threads compute" \
    env ISTHMUS_LOG=info "$build/bin/isthmus-run" -n 2 "$program"
expect "nap between looks, as stores wake no PE" through_ib tcp,self
expect "yield, then nap between looks, as what arrives wakes no PE" through_ib sm,tcp,self
expect "sleep until something arrives" "$here/hosts.sh" 2 1 "$mpirun" --bind-to none -np 2 \
    -x ISTHMUS_LOG=info -x UCX_TLS=tcp,self "$program"
exit $failed
