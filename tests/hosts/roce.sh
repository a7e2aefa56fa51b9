#!/usr/bin/env bash
# roce.sh CACHE COMMAND...: runs COMMAND on a small virtual machine that has two RDMA devices, rxe0 and rxe1
# (Soft-RoCE), joined by a cable. It runs Debian's kernel in an emulator, needs no hardware and no privileges of this
# machine's kernel, and sees this machine's files; what it writes is lost, but for the output and the exit status of
# COMMAND, which are passed on. COMMAND runs as root in the current folder, with the current environment. CACHE is a
# folder for the kernel (70 MB, fetched once) and what is made of it. ROCE_SECONDS is how long it may take (540),
# ROCE_KERNEL more parameters of the kernel. With ROCE_COUNTS=1 the machine has one processor, whose clock counts
# instructions: one is a nanosecond.
# Exit 77 with the reason when this machine cannot do that: tools missing, no kernel to be had.
set -eu
skip() { echo "skipped: $*" >&2; exit 77; }

# ---- on the virtual machine ----

# Both ends of the cable belong to one kernel: this lets it take packets from its own addresses, and find the other end.
join_devices() {
  local end
  ip link set lo up
  ip link add roce0 type veth peer name roce1
  for end in all roce0 roce1; do
    echo 1 >/proc/sys/net/ipv4/conf/$end/accept_local
    echo 0 >/proc/sys/net/ipv4/conf/$end/rp_filter
  done
  for end in 0 1; do
    ip addr add 10.79.0.$((end + 1))/24 dev roce$end
    ip link set roce$end up
    rdma link add rxe$end type rxe netdev roce$end
  done
  ip neigh replace 10.79.0.2 lladdr "$(cat /sys/class/net/roce1/address)" dev roce0 nud permanent
  ip neigh replace 10.79.0.1 lladdr "$(cat /sys/class/net/roce0/address)" dev roce1 nud permanent
}

# The kernel enters addresses into a device's table a moment after they are there.
wait_for_gids() {
  local end i
  for end in 0 1; do
    for ((i = 0; i < 100; i++)); do
      grep -qs ffff:0a4f /sys/class/infiniband/rxe$end/ports/1/gids/* && continue 2
      read -rt 0.1 <> <(:) || true
    done
    echo "rxe$end has got no address"
    return 1
  done
}

guest() { # DIR: shared with the machine outside
  local status=0
  mkdir -p /dev/pts /dev/shm
  mount -t devpts devpts /dev/pts
  mount -t tmpfs -o mode=1777 tmpfs /dev/shm
  ln -sfn /proc/self/fd /dev/fd
  hostname roce
  {
    join_devices && wait_for_gids &&
      ( . "$1/environment" && . "$1/command" ) </dev/null
  } >"$1/output" 2>&1 || status=$?
  echo "$status" >"$1/status"
  sync
  /bin/busybox poweroff -f
}

if [[ ${1:-} == --guest ]]; then
  guest "$2"
  exit
fi

# ---- outside ----

(($# >= 2)) || { sed -n 's/^# //p' "$0" >&2; exit 2; }
cache=$1
shift
[[ $(uname -m) == x86_64 ]] || skip "this is no x86-64 machine"
for tool in qemu-system-x86_64=qemu-system-x86 busybox=busybox-static depmod=kmod cpio=cpio ip=iproute2 rdma=iproute2 \
  dpkg-deb=dpkg apt-get=apt /etc/libibverbs.d/rxe.driver=ibverbs-providers; do
  command -v "${tool%=*}" >/dev/null || [[ -e ${tool%=*} ]] ||
    skip "${tool%=*} is not here (apt-get install ${tool#*=})"
done
! ldd "$(command -v busybox)" >/dev/null 2>&1 || skip "busybox needs libraries (apt-get install busybox-static)"

# The newest kernel of the package lists; the one that is there already when there are no lists, or no network.
fetch_kernel() {
  local package
  package=$(apt-cache depends linux-image-amd64 2>/dev/null | sed -n 's/^ *Depends: //p' | head -n 1)
  if [[ -n $package ]] && ! compgen -G "$cache/${package}_*.deb" >/dev/null; then
    rm -rf "$cache/part"
    mkdir "$cache/part"
    if (cd "$cache/part" && apt-get -q download "$package") >"$cache/log" 2>&1; then
      rm -f "$cache"/linux-image-*.deb
      mv "$cache"/part/*.deb "$cache/"
    fi
    rm -rf "$cache/part"
  fi
  compgen -G "$cache/linux-image-*.deb" | head -n 1
}

modules="virtio_pci 9p 9pnet_virtio overlay veth bridge sch_netem crc32_generic crc32c_generic ib_uverbs rdma_ucm
  rdma_rxe"

# What the kernel runs first: it loads the modules, and makes a root folder of this machine's files with memory over
# them.
write_init() { # FILE
  cat >"$1" <<'END_OF_INIT'
#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
while read -r module; do insmod "/modules/$module" || echo "$module cannot be loaded"; done </modules/order
mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144,cache=loose,ro machine /below
mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144 shared /shared
mount -t tmpfs -o size=75% tmpfs /above
mkdir /above/files /above/work
mount -t overlay -o lowerdir=/below,upperdir=/above/files,workdir=/above/work overlay /root
for folder in proc sys dev; do mount --move /$folder /root/$folder; done
mount -t tmpfs tmpfs /root/run
mkdir /root/run/shared
mount --move /shared /root/run/shared
exec switch_root /root /bin/bash /run/shared/roce.sh --guest /run/shared
END_OF_INIT
  chmod +x "$1"
}

# Modules in the order in which each finds those that it needs.
copy_modules() { # KERNEL-FOLDER VERSION DESTINATION
  local module file
  for module in $modules; do
    modprobe -d "$1" -S "$2" --show-depends "$module" | sed -n 's/^insmod \([^ ]*\).*/\1/p'
  done | awk '!seen[$0]++' | while read -r file; do
    cp "$file" "$3/"
    basename "$file"
  done >"$3/order"
}

make_image() { # PACKAGE VERSION: into $cache/image.VERSION
  local work=$cache/work root=$cache/work/root
  rm -rf "$cache"/image.* "$work"
  mkdir -p "$work" "$root"/{bin,modules,proc,sys,dev,below,above,root,shared}
  dpkg-deb -x "$1" "$work/kernel"
  [[ -e $work/kernel/lib ]] || ln -s usr/lib "$work/kernel/lib"
  depmod -b "$work/kernel" "$2"
  copy_modules "$work/kernel" "$2" "$root/modules"
  cp "$(command -v busybox)" "$root/bin/busybox"
  write_init "$root/init"
  mkdir "$work/image"
  cp "$work/kernel/boot/vmlinuz-$2" "$work/image/kernel"
  (cd "$root" && find . | cpio -o -H newc --quiet) | gzip -1 >"$work/image/initramfs"
  cp "$self" "$work/image/made_by"
  mv "$work/image" "$cache/image.$2"
  rm -rf "$work"
}

self=$(readlink -f "$0")
mkdir -p "$cache"
cache=$(readlink -f "$cache")
exec 9>"$cache/lock"
flock 9
package=$(fetch_kernel) || true
[[ -n $package ]] || skip "Debian's kernel cannot be fetched (apt-get update; apt-get download linux-image-...)"
version=${package##*/linux-image-}
version=${version%%_*}
image=$cache/image.$version
cmp -s "$self" "$image/made_by" || make_image "$package" "$version"
flock -u 9

shared=$(mktemp -d "${TMPDIR:-/tmp}/roce.XXXXXX")
vm='' viewer=''
clean_up() {
  kill $vm $viewer 2>/dev/null || true
  wait 2>/dev/null || true
  rm -rf "$shared"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
cp "$self" "$shared/roce.sh"
export -p >"$shared/environment"
printf 'cd %q && %s\n' "$PWD" "$(printf '%q ' "$@")" >"$shared/command"
: >"$shared/output"
tail -f -n +1 "$shared/output" &
viewer=$!

processors=(-accel tcg,thread=multi -smp 2)
[[ -z ${ROCE_COUNTS:-} ]] || processors=(-accel tcg,thread=single -smp 1 -icount shift=0)
setpriv --pdeathsig KILL timeout --foreground -k 5 "${ROCE_SECONDS:-540}" qemu-system-x86_64 \
  "${processors[@]}" -cpu max -m 2048 -nodefaults -display none -no-reboot \
  -kernel "$image/kernel" -initrd "$image/initramfs" -append "console=ttyS0 quiet panic=-1 ${ROCE_KERNEL:-}" \
  -serial "file:$shared/console" -device virtio-rng-pci \
  -virtfs local,path=/,mount_tag=machine,security_model=none,readonly=on,multidevs=remap \
  -virtfs "local,path=$shared,mount_tag=shared,security_model=none" </dev/null 2>"$shared/emulator" 9>&- &
vm=$!
ended=0
wait "$vm" || ended=$?
vm=''
read -rt 0.5 <> <(:) || true # what was written last is shown too
[[ -s $shared/status ]] && exit "$(cat "$shared/status")"
((ended != 124 && ended != 137)) || { echo "roce.sh: it took longer than ${ROCE_SECONDS:-540} s" >&2; exit 124; }
echo "roce.sh: the virtual machine ended without a result:" >&2
tail -n 15 "$shared/console" "$shared/emulator" >&2 || true
exit 125
