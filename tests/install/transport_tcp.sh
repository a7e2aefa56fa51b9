#!/bin/sh
# transport_tcp.sh SOURCE: the example of a transport outside of this tree, as its reader builds it: against an installed tree, in
# another folder. The result is a plugin: one symbol, nothing of ours linked. tests/transport_tcp shows that it works.
. "$(dirname -- "$0")/common.sh"
rm -rf "$WORK/transport_tcp_source"
cp -r "$1" "$WORK/transport_tcp_source"
fresh transport_tcp
"$CMAKE" -S "$WORK/transport_tcp_source" -B . -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_C_FLAGS=-Werror >configure.txt 2>&1 || fail "$(cat configure.txt)"
"$CMAKE" --build . >build.txt 2>&1 || fail "$(cat build.txt)"
if grep -E -- "-I *[^ ]*$BUILD/gen|-I *[^ ]*/include/isthmus" build.txt; then fail "other headers than the installed ones"; fi
expect "exported symbols" isthmus_transport_v1 "$(nm -D --defined-only tcp.so | sed 's/.* //')"
if ldd tcp.so | grep -i isthmus; then fail "the plugin links with the library"; fi
"$prefix/$BINDIR/isthmus-check-transport" --case table --case traits --case card_room --case key_room --case damaged_card \
    --case damaged_key --case put_get_self --case many_channels "$WORK/transport_tcp/tcp.so" >check.txt ||
    fail "$(cat check.txt)"
ISTHMUS_PLUGIN_PATH=$WORK/transport_tcp "$prefix/$BINDIR/isthmus-info" >info.txt
grep -qF "$WORK/transport_tcp/tcp.so" info.txt || fail "isthmus-info does not find it: $(cat info.txt)"
