#!/bin/sh
# compat.sh CLIENT: the folder with other libraries' names, in the installed tree: what it needs lies beside it, and a program that
# names another library's file runs.
. "$(dirname -- "$0")/common.sh"
fresh compat
folder=$prefix/$LIBDIR/isthmus/compat
ldd "$folder/libnvshmem_host.so.3" | grep -qF "libisthmus.so.0 => $folder/../../libisthmus.so.0" ||
    fail "$(ldd "$folder/libnvshmem_host.so.3")"
"$CC" -std=gnu11 -D_GNU_SOURCE -rdynamic "$1" -o client -L"$folder" -lnvshmem_host -L"$prefix/$LIBDIR" \
    -Wl,-rpath,"$prefix/$LIBDIR" -listhmus
LD_LIBRARY_PATH=$folder "$launcher" -n 2 --timeout 60 ./client
