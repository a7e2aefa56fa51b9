#!/bin/sh
# The kit for authors of transports in a bare Debian, where nothing but a compiler, CMake and the installation is: the
# example is built from it, checked with it, and carries a job. Needs root, debootstrap and a mirror:
# debootstrap's own, or ISTHMUS_TEST_MIRROR.
. "$(dirname -- "$0")/common.sh"
skip() {
    echo "skipped: $*"
    exit 77
}
PATH=$PATH:/usr/sbin:/sbin
[ "$(id -u)" -eq 0 ] || skip "a root of its own needs the user root"
command -v debootstrap >/dev/null || skip "debootstrap is not installed"
root=$WORK/bare_debian
packages=cmake,make,gcc,libc6-dev,libpmix2,libhwloc15
suite=$(. /etc/os-release && [ "$ID" = debian ] && echo "$VERSION_CODENAME") ||
    skip "the installation is not for Debian"
if [ ! -e "$root/ready" ]; then
    rm -rf "${root:?}"
    debootstrap --variant=minbase --include="$packages" "$suite" "$root" \
        ${ISTHMUS_TEST_MIRROR:+"$ISTHMUS_TEST_MIRROR"} >"$WORK/debootstrap.txt" 2>&1 ||
        skip "debootstrap: $(tail -n 1 "$WORK/debootstrap.txt")"
    touch "$root/ready"
fi
rm -rf "$root/opt/isthmus" "$root/root/tcp"
cp -r "$prefix" "$root/opt/isthmus"
cat >"$root/root/kit.sh" <<'END'
set -eu
PATH=/opt/isthmus/bin:/usr/bin:/bin:/usr/sbin:/sbin
cd /opt/isthmus/share/doc/isthmus
ls writing-a-transport.md findings.md transport-abi-v1.tsv transports/hook.md examples/transport-template/mine.c
cmake -S examples/transport-tcp -B /root/tcp -DCMAKE_PREFIX_PATH=/opt/isthmus -DCMAKE_C_FLAGS=-Werror
cmake --build /root/tcp
for check in table damaged_key put_get amo_values fence peer_dies; do
    isthmus-check-transport --case "$check" /root/tcp/tcp.so
done
ISTHMUS_PLUGIN_PATH=/root/tcp ISTHMUS_TRANSPORTS=tcp isthmus-run -n 2 isthmus-info --routes
END
# shellcheck disable=SC2016
unshare --mount sh -c 'mount -t proc proc "$0/proc" && mount -t tmpfs tmpfs "$0/dev/shm" &&
    exec env -i HOME=/root PATH="$PATH" chroot "$0" /bin/sh /root/kit.sh' "$root" >"$WORK/kit_debian.txt" 2>&1 ||
    fail "$(cat "$WORK/kit_debian.txt")"
grep -q 'A *tcp, ' "$WORK/kit_debian.txt" || fail "the job does not use the example: $(cat "$WORK/kit_debian.txt")"
