#!/bin/sh
# The install itself; then the tree is moved, so that every later test shows that it works at any place.
. "$(dirname -- "$0")/common.sh"
rm -rf "$WORK/first" "$prefix"
"$CMAKE" --install "$BUILD" --prefix "$WORK/first" >/dev/null
mv "$WORK/first" "$prefix"
for file in "$BINDIR/oshcc" "$BINDIR/oshc++" "$BINDIR/oshrun" "$BINDIR/isthmus-run" "$BINDIR/isthmus-info" \
    "$BINDIR/isthmus-check-transport" "$BINDIR/isthmus-perf" \
    "$LIBDIR/libisthmus.so" "$LIBDIR/isthmus/loopback.so" "$LIBDIR/pkgconfig/isthmus.pc" \
    "$LIBDIR/pkgconfig/shmem.pc" "$LIBDIR/pkgconfig/nvshmem.pc" "$LIBDIR/pkgconfig/ishmem.pc" \
    "$LIBDIR/pkgconfig/rocshmem.pc" "$INCLUDEDIR/rocshmem/rocshmem.hpp" "$INCLUDEDIR/isthmus/device_hip.h" \
    "$INCLUDEDIR/rocshmem/rocshmem_device.hpp" \
    "$INCLUDEDIR/shmem.h" "$INCLUDEDIR/shmemx.h" "$INCLUDEDIR/pshmem.h" "$INCLUDEDIR/nvshmem.h" \
    "$INCLUDEDIR/nvshmemx.h" "$INCLUDEDIR/nvshmem_host.h" "$INCLUDEDIR/ishmem.h" "$INCLUDEDIR/ishmemx.h" \
    "$INCLUDEDIR/isthmus/transport.h" "$INCLUDEDIR/nvshmem_device.h" "$INCLUDEDIR/isthmus/nvshmem_tile.hpp" \
    "$INCLUDEDIR/host/nvshmem_api.h" "$INCLUDEDIR/device/nvshmem_defines.h" \
    "$INCLUDEDIR/device_host/nvshmem_common.cuh" "$LIBDIR/libnvshmem_device.a"; do
    [ -e "$prefix/$file" ] || fail "$file is not installed"
done
if [ -e "$BUILD/lib/libnvshmem_device.bc" ] && [ ! -e "$prefix/$LIBDIR/libnvshmem_device.bc" ]; then
    fail "libnvshmem_device.bc is not installed"
fi
# No path of this machine in what people read or source; programs may name it in debug information.
if grep -rIlF -e "$BUILD" -e "$WORK" "$prefix"; then fail "the files above name the build tree"; fi
for program in "$BINDIR/isthmus-run" "$BINDIR/isthmus-info" "$BINDIR/isthmus-check-transport" \
    "$BINDIR/isthmus-perf" "$LIBDIR/isthmus/loopback.so"; do
    needs_no_build_tree "$prefix/$program"
    if ldd "$prefix/$program" | grep 'not found'; then fail "$program misses the libraries above"; fi
done
"$prefix/$BINDIR/isthmus-info" >"$WORK/info.txt" || fail "isthmus-info ends with $?"
grep -qF "$prefix/$LIBDIR/isthmus/loopback.so" "$WORK/info.txt" ||
    fail "isthmus-info does not find the installed transport: $(cat "$WORK/info.txt")"
"$prefix/$BINDIR/isthmus-perf" --ops p --repeat 1 >"$WORK/perf.txt" || fail "isthmus-perf ends with $?"
