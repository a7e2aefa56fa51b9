#!/bin/sh
# debian.sh SOURCE HELLO: Debian packages, made as a packager makes them: they install into an empty root, a program is
# built and runs with what lies there, and a purge leaves nothing. Not into a real Debian: debian_bare.sh.
. "$(dirname -- "$0")/common.sh"
for tool in cpack dpkg dpkg-shlibdeps file fakeroot; do
    command -v "$tool" >/dev/null || { echo "skipped: there is no $tool"; exit 77; }
done
[ "$(id -u)" = 0 ] || { echo "skipped: only root can install packages"; exit 77; }
export DEBFULLNAME="Isthmus developers" DEBEMAIL=isthmus@example.org
mkdir -p "$WORK/debian"
cd "$WORK/debian"
rm -rf root ./*.deb
"$CMAKE" -S "$1" -B . -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX=/usr -DBUILD_TESTING=OFF \
    -DISTHMUS_PACKAGE_MAINTAINER="$DEBFULLNAME <$DEBEMAIL>" >configure.txt 2>&1 || fail "$(tail configure.txt)"
"$CMAKE" --build . >build.txt 2>&1 || fail "$(tail build.txt)"
cpack -G DEB >cpack.txt 2>&1 || fail "$(cat cpack.txt)"
set -- "$2" ./*.deb

# field PACKAGE NAME
field() { dpkg-deb -f ./"$1"_*.deb "$2"; }
# Its files name the folder of this architecture's libraries.
expect "architecture of isthmus-oshcc" "$(dpkg --print-architecture)" "$(field isthmus-oshcc Architecture)"
expect "what isthmus-oshcc conflicts with" openmpi-bin "$(field isthmus-oshcc Conflicts)"
for one in "libisthmus0 libc6" "libisthmus0 libpmix2" "isthmus-tools libpmix2" "libisthmus-dev libisthmus0" \
    "isthmus-oshcc g++"; do
    field "${one% *}" Depends | grep -qF "${one#* }" || fail "$one: ${one% *} depends on $(field "${one% *}" Depends)"
done
if ls libisthmus-ib_*.deb >/dev/null 2>&1; then
    field libisthmus-ib Depends | grep -qF libucx0 || fail "libisthmus-ib does not depend on UCX"
fi
expect "files that dpkg asks about" /etc/isthmus.conf "$(dpkg-deb --info ./isthmus-tools_*.deb conffiles)"

hello=$1
shift
root=$WORK/debian/root
mkdir -p "$root/var/lib/dpkg/info" "$root/var/lib/dpkg/updates" "$root/usr/share/man"
: >"$root/var/lib/dpkg/status"
dpkg_there() {
    dpkg --root="$root" --force-depends --force-script-chrootless --log=/dev/null "$@" >dpkg.txt 2>&1 ||
        fail "$(cat dpkg.txt)"
}
dpkg_there --install "$@"
folder=$(dirname "$(find "$root" -name libisthmus.so.0)")
case $folder in */usr/lib/*-linux-*) ;; *) fail "the library lies in $folder" ;; esac
"$root/usr/bin/oshcc" "$hello" -o hello
needs_no_build_tree ./hello
"$root/usr/bin/isthmus-run" -n 4 --timeout 60 ./hello | grep -qxF "the sum of all PE numbers is 6" ||
    fail "hello does not run"
"$root/usr/bin/isthmus-info" | grep -qF "$folder/isthmus/loopback.so" ||
    fail "isthmus-info does not find the transports"
# shellcheck disable=SC2046
dpkg_there --purge $(for one; do dpkg-deb -f "$one" Package; done)
expect "files that are left" "" "$(find "$root" \( -type f -o -type l \) ! -path "$root/var/lib/dpkg/*")"
