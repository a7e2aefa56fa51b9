# A bare Debian of its own, for a test; read with `.` after common.sh. Needs root, debootstrap and a mirror:
# debootstrap's own, or ISTHMUS_TEST_MIRROR.
skip() {
    echo "skipped: $*"
    exit 77
}
PATH=$PATH:/usr/sbin:/sbin
[ "$(id -u)" -eq 0 ] || skip "a root of its own needs the user root"
command -v debootstrap >/dev/null || skip "debootstrap is not installed"
suite=$(. /etc/os-release && [ "$ID" = debian ] && echo "$VERSION_CODENAME") || skip "the files are for another system"

# bare_make ROOT OPTION...: a new one, with options of debootstrap.
bare_make() {
    bare_root=$1 bare_log=$WORK/debootstrap.txt
    shift
    debootstrap --variant=minbase "$@" "$suite" "$bare_root" ${ISTHMUS_TEST_MIRROR:+"$ISTHMUS_TEST_MIRROR"} \
        >"$bare_log" 2>&1 || skip "debootstrap: $(tail -n 1 "$bare_log")"
}

# bare_run ROOT SCRIPT LOG: as root of that Debian; what it starts ends with it.
bare_run() {
    # shellcheck disable=SC2016
    unshare --mount --pid --fork --kill-child sh -c 'mount -t proc proc "$0/proc" &&
        mount -t tmpfs tmpfs "$0/dev/shm" && exec env -i HOME=/root PATH="$PATH" LC_ALL=C chroot "$0" /bin/sh "$1"' \
        "$1" "$2" >"$3" 2>&1 </dev/null
}
