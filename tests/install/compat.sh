#!/bin/sh
# compat.sh NVSHMEM_CLIENT OPENSHMEM_CLIENT: the folder with other libraries' names, in the installed tree: what it
# needs lies beside it, and a program that names another library's file runs.
. "$(dirname -- "$0")/common.sh"
fresh compat
folder=$prefix/$LIBDIR/isthmus/compat
for library in libnvshmem_host.so.3 liboshmem.so.40; do
    ldd "$folder/$library" | grep -qF "libisthmus.so.0 => $folder/../../libisthmus.so.0" ||
        fail "$(ldd "$folder/$library")"
done
"$CC" -std=gnu11 -D_GNU_SOURCE -rdynamic "$1" -o client -L"$folder" -lnvshmem_host -L"$prefix/$LIBDIR" \
    -Wl,-rpath,"$prefix/$LIBDIR" -listhmus
LD_LIBRARY_PATH=$folder "$launcher" -n 2 --timeout 60 ./client

for name in oshmem sma; do
    "$CC" -std=gnu11 -D_GNU_SOURCE -I"$prefix/$INCLUDEDIR" "$2" -o "$name" -L"$folder" -l"$name" \
        -Wl,-rpath,"$prefix/$LIBDIR"
    "$launcher" -n 2 --timeout 60 "./$name"
    needs_no_build_tree "$name"
done
