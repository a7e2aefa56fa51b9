#!/bin/sh
# The kit for authors of transports in a bare Debian, where nothing but a compiler, CMake and the installation is: the
# example is built from it, checked with it, and carries a job.
. "$(dirname -- "$0")/common.sh"
. "$here/bare.sh"
root=$WORK/bare_debian
packages=cmake,make,gcc,libc6-dev,libpmix2,libhwloc15
if [ ! -e "$root/ready" ]; then
    rm -rf "${root:?}"
    bare_make "$root" --include="$packages"
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
bare_run "$root" /root/kit.sh "$WORK/kit_debian.txt" || fail "$(cat "$WORK/kit_debian.txt")"
grep -q 'A *tcp, ' "$WORK/kit_debian.txt" || fail "the job does not use the example: $(cat "$WORK/kit_debian.txt")"
