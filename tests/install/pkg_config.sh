#!/bin/sh
# pkg-config isthmus, and its second name shmem.
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
