#!/usr/bin/env bash
# hosts.sh [--delay MS] [--loss PERCENT] N SLOTS COMMAND...: runs COMMAND on a machine that sees N hosts, made of
# namespaces of this one. The hosts (host1 at 10.78.0.1, host2 ...) are joined by a bridge. Each has its own network,
# name, /dev/shm, System V IPC, processes and boot id, as separate machines have; they share the file system, as over
# NFS. COMMAND runs on a further machine, whose mpirun reaches them: OMPI_MCA variables name the hosts and a stand-in
# for ssh. SLOTS is how many processes each host takes before mpirun goes on to the next. All is gone when COMMAND ends;
# its exit status is returned. COMMAND may break things: hosts.sh --fault HOW HOST [PROGRAM], where HOW is
#   killed, stopped   the processes of PROGRAM there are (SIGKILL, SIGSTOP)
#   continued         they go on after that
#   halted            the host is gone at once, as when its power fails
#   down              its link is, without notice to any process
#   vanish            its packets get lost, while the link stays up
# HOSTS_DELAY_MS (--delay) delays what each host sends, of which HOSTS_LOSS_PERCENT (--loss) gets lost: by the kernel's
# netem, or else by the program HOSTS_SLOW_SWITCH.
# Exit 77 with the reason when this machine cannot do that: not root, no namespaces, tools missing.
set -eu
skip() { echo "skipped: $*" >&2; exit 77; }

# ---- on a host: process 1 there ----

host_init() { # DIR NAME
  mount -t proc proc /proc
  mount -t tmpfs -o mode=1777 tmpfs /dev/shm
  mount --bind "$1/etc-hosts" /etc/hosts
  mount --bind "$1/boot_id.$2" /proc/sys/kernel/random/boot_id
  hostname "$2"
  exec </dev/null
  echo up >"$1/up.$2"
  trap : CHLD
  while :; do sleep 3600 & wait $! || true; done # reaps what its parents left
}

# ---- on the machine that starts jobs ----

pid_of_child() { # of process $1: process 1 of a host, as seen from here
  local children
  read -r children <"/proc/$1/task/$1/children"
  echo "${children%% *}"
}

add_host() { # DIR NAME NUMBER
  mkfifo "$1/up.$2"
  cat /proc/sys/kernel/random/uuid >"$1/boot_id.$2"
  setpriv --pdeathsig KILL unshare --net --mount --uts --ipc --pid --fork --kill-child \
    "$0" --host-init "$1" "$2" 2>"$1/log.$2" &
  read -r _ <"$1/up.$2"
  local pid
  pid=$(pid_of_child $!)
  echo "$pid" >"$1/pid.$2"
  ip link add "$2" type veth peer name eth0 netns "$pid"
  ip link set "$2" up
  # The slow switch takes no frames that are larger than the network's.
  nsenter -t "$pid" -n sh -eu -c "ip link set lo up; ip addr add 10.78.0.$3/24 dev eth0
    ip link set eth0 up ${slow:+gso_max_segs 1 gso_max_size 1514}"
  if [[ -n $slow ]]; then ports+=("$2"); else ip link set "$2" master switch; fi
  [[ -z $netem ]] || nsenter -t "$pid" -n tc qdisc add dev eth0 root netem limit 100000 delay "${HOSTS_DELAY_MS}ms" \
    loss "$HOSTS_LOSS_PERCENT%"
}

# How delays are made, if any: sets `netem` or `slow`.
choose_delay() {
  [[ $HOSTS_DELAY_MS$HOSTS_LOSS_PERCENT != 00 ]] || return 0
  ip link add try0 type veth peer name try1
  if tc qdisc add dev try0 root netem delay 1ms 2>/dev/null; then
    netem=1
  else
    slow=${HOSTS_SLOW_SWITCH:-$(dirname "$0")/../../build/bench/slow_switch}
  fi
  ip link del try0
  [[ -n $netem || -x $slow ]] || skip "no delays: this kernel has no netem, and HOSTS_SLOW_SWITCH is no program"
}

add_switch() { # the end of the wire to this machine is always called `switch`
  if [[ -n $slow ]]; then
    ip link add plug type veth peer name switch
    ip link set plug up
    ports=(plug)
  else
    ip link add switch type bridge forward_delay 0 stp_state 0
  fi
  ip addr add 10.78.0.254/24 dev switch
  ip link set switch up ${slow:+gso_max_segs 1 gso_max_size 1514}
}

start() { # DIR N SLOTS COMMAND...: inside the namespaces of that machine
  local dir=$1 n=$2 slots=$3 i netem='' slow='' ports=()
  shift 3
  mount -t tmpfs -o mode=1777 tmpfs /dev/shm
  mount --bind "$dir/etc-hosts" /etc/hosts
  hostname head
  ip link set lo up
  choose_delay
  add_switch
  for ((i = 1; i <= n; i++)); do
    add_host "$dir" "host$i" "$i"
    echo "host$i slots=$slots" >>"$dir/hostfile"
  done
  [[ -z $slow ]] || setpriv --pdeathsig KILL "$slow" "$HOSTS_DELAY_MS" "$HOSTS_LOSS_PERCENT" "${ports[@]}" &
  export OMPI_MCA_plm_rsh_agent="$dir/rsh" OMPI_MCA_orte_default_hostfile="$dir/hostfile" \
    OMPI_MCA_orte_tmpdir_base="$dir/tmp" OMPI_MCA_btl=^openib \
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 HOSTS_DIR="$dir"
  "$@"
}

write_files() { # DIR N
  local i
  mkdir "$1/tmp"
  { echo "127.0.0.1 localhost"; echo "10.78.0.254 head"
    for ((i = 1; i <= $2; i++)); do echo "10.78.0.$i host$i"; done; } >"$1/etc-hosts"
  cat >"$1/rsh" <<END_OF_RSH
#!/usr/bin/env bash
# Stands in for ssh: rsh [-options] HOST COMMAND... Like ssh it is not notified when the host is halted, and stays.
while [[ \${1:-} == -* ]]; do shift; done
host=\$1; shift
pid=\$(cat "$1/pid.\$host")
nsenter -t "\$pid" -m -u -i -n -p --wd=/ -- setpriv --pdeathsig TERM \\
  env -i PATH="\$PATH" HOME="\${HOME:-/root}" USER=root LOGNAME=root SHELL=/bin/sh /bin/sh -c "\$*"
status=\$?
((status != 128 + 9)) || exec sleep infinity # only the end of a host kills its processes so
exit "\$status"
END_OF_RSH
  chmod +x "$1/rsh"
}

signal_program() { # SIGNAL HOST PROGRAM
  pkill "-$1" --ns "$(cat "$HOSTS_DIR/pid.$2")" --nslist pid -f -- "^$3"
}

fault() { # HOW HOST [PROGRAM]
  case $1 in
    killed) signal_program KILL "$2" "$3" ;;
    stopped) signal_program STOP "$2" "$3" ;;
    continued) signal_program CONT "$2" "$3" ;;
    halted) ip link set "$2" down; kill -KILL "$(cat "$HOSTS_DIR/pid.$2")" ;;
    down) ip link set "$2" down ;;
    vanish) bridge link set dev "$2" state 0 ;;
    *) echo "hosts.sh: no fault '$1'" >&2; exit 2 ;;
  esac
}

case ${1:-} in
  --fault) shift; fault "$@"; exit ;;
  --host-init) shift; host_init "$@"; exit ;;
  --start) shift; start "$@"; exit ;;
esac

# ---- what the caller sees ----

export HOSTS_DELAY_MS=${HOSTS_DELAY_MS:-0} HOSTS_LOSS_PERCENT=${HOSTS_LOSS_PERCENT:-0}
while (($# > 1)); do
  case $1 in
    --delay) HOSTS_DELAY_MS=$2; shift 2 ;;
    --loss) HOSTS_LOSS_PERCENT=$2; shift 2 ;;
    *) break ;;
  esac
done
(($# >= 3)) || { sed -n 's/^# //p' "$0" >&2; exit 2; }
((EUID == 0)) || skip "not root: network namespaces cannot be made"
for tool in ip unshare nsenter setpriv hostname mpirun; do
  command -v "$tool" >/dev/null || skip "$tool is not here (apt-get install iproute2 util-linux hostname openmpi-bin)"
done
unshare --net --mount --uts --ipc --pid --fork true 2>/dev/null || skip "this machine lets nobody make namespaces"
unshare --net ip link add switch type bridge 2>/dev/null || skip "this kernel has no bridges"

# Not named after Isthmus: tests search for mappings that are, and Open MPI maps files below.
dir=$(mktemp -d "${TMPDIR:-/tmp}/hosts.XXXXXX")
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
write_files "$dir" "$1"
self=$(readlink -f "$0")
status=0
setpriv --pdeathsig KILL unshare --net --mount --uts --ipc --pid --fork --kill-child --mount-proc \
  "$self" --start "$dir" "$@" <&0 || status=$?
exit "$status"
