#!/bin/sh
# The example of a transport, as its reader builds it: the installed one, against the installation, with an empty
# environment. The result is a plugin: one symbol, nothing of ours linked. tests/transport_tcp shows that it works. And
# the template beside it, and with the argument "ofi" the transport over libfabric.
. "$(dirname -- "$0")/common.sh"
examples=$prefix/share/doc/isthmus/examples

# alone COMMAND...: without the variables of this shell.
alone() { env -i PATH=/usr/local/bin:/usr/bin:/bin HOME="$WORK" CC="$CC" "$@"; }

# build NAME: the example of that name, into a folder of its own outside of the installation.
build() {
    alone "$CMAKE" -S "$examples/$1" -B . -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Release \
        -DCMAKE_C_FLAGS=-Werror -DCMAKE_VERBOSE_MAKEFILE=ON >configure.txt 2>&1 || fail "$(cat configure.txt)"
    alone "$CMAKE" --build . >build.txt 2>&1 || fail "$(cat build.txt)"
    if grep -F -e "$BUILD/gen" -e "$BUILD/lib" build.txt; then fail "$1 is built with more than the installation"; fi
}

fresh transport_template
build transport-template
alone "$prefix/$BINDIR/isthmus-check-transport" mine.so >check.txt && fail "the template has no findings"
expect "slots that the template lacks" "    slot      expose" "$(grep '^ *slot ' check.txt)"

fresh transport_tcp
build transport-tcp
expect "exported symbols" isthmus_transport_v1 "$(nm -D --defined-only tcp.so | sed 's/.* //')"
if ldd tcp.so | grep -i isthmus; then fail "the plugin links with the library"; fi
alone "$prefix/$BINDIR/isthmus-check-transport" --case table --case traits --case card_room \
    --case key_room --case damaged_card --case damaged_key --case put_get_self --case many_channels \
    "$WORK/transport_tcp/tcp.so" >check.txt ||
    fail "$(cat check.txt)"
ISTHMUS_PLUGIN_PATH=$WORK/transport_tcp "$prefix/$BINDIR/isthmus-info" >info.txt
grep -qF "$WORK/transport_tcp/tcp.so" info.txt || fail "isthmus-info does not find it: $(cat info.txt)"

[ "${1:-}" = ofi ] || exit 0
fresh transport_ofi
build transport-ofi
expect "exported symbols" isthmus_transport_v1 "$(nm -D --defined-only ofi.so | sed 's/.* //')"
alone ISTHMUS_OFI_PROVIDER=tcp+ofi_rxm "$prefix/$BINDIR/isthmus-check-transport" --case table --case traits \
    --case damaged_key --case put_get_self "$WORK/transport_ofi/ofi.so" >check.txt || fail "$(cat check.txt)"
