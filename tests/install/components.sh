#!/bin/sh
# components.sh COMPONENT...: the components that become packages have each file of an install once, and together they
# are one that works.
. "$(dirname -- "$0")/common.sh"
fresh components
for component; do
    "$CMAKE" --install "$BUILD" --prefix "$WORK/components/$component" --component "$component" >/dev/null
    [ -f "$(find "$component" -name copyright)" ] || fail "the package of $component has no copyright"
    (cd "$component" && find . \( -type f -o -type l \) ! -path './share/doc/*' ! -path './share/lintian/*') >>all.txt
done
expect "files of two components" "" "$(sort all.txt | uniq -d)"
(cd "$prefix" && find . \( -type f -o -type l \) ! -path './share/doc/*') | sort >installed.txt
sort all.txt | diff - installed.txt || fail "\"<\" is in a component only, \">\" in none"

# Only what needs a fabric's library lies apart, and the library's package has no file of the others.
[ -e "library/$LIBDIR/isthmus/loopback.so" ] || fail "loopback is not with the library"
[ ! -e "library/$LIBDIR/isthmus/ib.so" ] || fail "ib is with the library"
[ ! -e "library/$LIBDIR/libisthmus.so" ] || fail "libisthmus.so, for the linker, is with the library"
[ ! -e "library/$LIBDIR/isthmus/compat/liboshmem.so" ] || fail "liboshmem.so, for the linker, is with the library"

mkdir together
for component; do cp -a "$component/." together; done
prefix=$WORK/components/together launcher=$WORK/components/together/$BINDIR/isthmus-run
"$prefix/$BINDIR/oshcc" "$here/outside/neighbour.c" -o neighbour
run_pes ./neighbour
