#!/bin/sh
# pkg-config isthmus, and its names by the interface that a program uses.
. "$(dirname -- "$0")/common.sh"
fresh pkg_config
export PKG_CONFIG_PATH="$prefix/$LIBDIR/pkgconfig"
for package in isthmus shmem; do
    # The flags are words: no quotes around them.
    # shellcheck disable=SC2046
    "$CC" "$here/outside/neighbour.c" -o neighbour $(pkg-config --cflags --libs "$package")
    needs_no_build_tree ./neighbour
    run_pes ./neighbour
    rm neighbour
done
# build COMPILER SOURCE PACKAGE
build() {
    # shellcheck disable=SC2046
    "$1" "$here/outside/$2" -o neighbour $(pkg-config --cflags --libs "$3")
    run_pes ./neighbour
    rm neighbour
}
build "$CC" neighbour_nvshmem.c nvshmem
build "$CXX" neighbour_ishmem.cpp ishmem

if pkg-config --libs nvshmem | grep -F -e -Wl,; then fail "nvcc does not accept the option above"; fi
