#!/bin/sh
# debian_bare.sh HELLO: the packages of debian.sh in a bare Debian, made for this test and removed with it: apt installs
# them with what they depend on, a program is built and runs, a changed isthmus.conf outlives all but a purge, which
# leaves nothing.
. "$(dirname -- "$0")/common.sh"
. "$here/bare.sh"
ls "$WORK"/debian/*.deb >/dev/null 2>&1 || skip "install.debian has made no packages"
root=$(mktemp -d "$WORK/debian_bare.XXXXXX")
log=$WORK/debian_bare.txt
trap 'rm -rf --one-file-system "$root"' EXIT
trap 'exit 1' HUP INT TERM
bare_make "$root"
if command -v apt-config >/dev/null; then # proxies, for example
    apt-config dump Acquire >"$root/etc/apt/apt.conf"
fi
cp -L /etc/resolv.conf /etc/hosts "$root/etc"
mkdir "$root/packages"
cp "$WORK"/debian/*.deb "$1" "$root/packages"

cat >"$root/packages/test.sh" <<'END_OF_TEST'
set -eu
fail() {
    echo "FAILED: $*"
    exit 1
}
# All but what the system's own programs leave: lists, logs, caches, and the copy of a list of users.
all_files() {
    find / -xdev \( -type f -o -type l \) ! -path '/var/lib/dpkg/*' ! -path '/var/lib/apt/*' ! -path '/var/cache/*' \
        ! -path '/var/log/*' ! -path '/packages/*' ! -path '/proc/*' ! -path '/tmp/*' ! -path '/run/*' \
        ! -path '/etc/*-' ! -path '/etc/ld.so.cache' | sort
}
conf=/etc/isthmus.conf
cd /packages
export DEBIAN_FRONTEND=noninteractive
echo 'Dpkg::Use-Pty "0";' >>/etc/apt/apt.conf
names=$(for one in ./*.deb; do dpkg-deb -f "$one" Package; done)
apt-get -q update || exit 77
all_files >before.txt
apt-get -qy install --no-install-recommends ./*.deb || fail "apt-get does not install them"

oshcc hello.c -o hello
isthmus-run -n 4 --timeout 60 ./hello >hello.txt
grep -qxF "the sum of all PE numbers is 6" hello.txt || fail "hello does not run: $(cat hello.txt)"
for transport in loopback ib ofi; do
    ! dpkg-query -W "libisthmus-$transport" >/dev/null 2>&1 && [ $transport != loopback ] && continue
    isthmus-info >info.txt
    grep -qF "isthmus/$transport.so" info.txt || fail "isthmus-info does not find $transport: $(cat info.txt)"
done
for page in man1/isthmus-run.1 man3/shmem_put.3 man5/isthmus.conf.5; do
    [ -e "/usr/share/man/$page.gz" ] || fail "there is no $page"
done

echo "ISTHMUS_SPIN = 300ns" >>$conf
isthmus-info --env | grep -A3 ISTHMUS_SPIN | grep -qF "$conf" || fail "$(isthmus-info --env | grep -A3 ISTHMUS_SPIN)"
dpkg --force-confdef --force-confold -i ./isthmus-tools_*.deb
grep -q 300ns $conf || fail "another install of the package has replaced $conf"
# shellcheck disable=SC2086
apt-get -qy remove $names
grep -q 300ns $conf || fail "a removal has deleted $conf, which had been changed"
apt-get -qy purge --autoremove isthmus-tools # the others have left nothing to purge
[ ! -e $conf ] || fail "a purge has left $conf"
all_files | diff before.txt - || fail "\"<\" has gone, \">\" is left, after a purge"
echo "installed and removed"
END_OF_TEST

status=0
bare_run "$root" /packages/test.sh "$log" || status=$?
[ "$status" -ne 77 ] || skip "apt-get update: $(tail -n 1 "$log")"
[ "$status" -eq 0 ] || fail "$(cat "$log")"
[ "$(tail -n 1 "$log")" = "installed and removed" ] || fail "the test ended early: $(cat "$log")"
