#!/bin/sh
# oshcc and oshc++: installed, through a symbolic link, in the build tree, and their options that print the command.
. "$(dirname -- "$0")/common.sh"
fresh wrappers
unset OSHCC_CC OSHCXX_CXX
oshcc=$prefix/$BINDIR/oshcc

"$oshcc" "$here/outside/neighbour.c" -o neighbour
needs_no_build_tree ./neighbour
run_pes ./neighbour

"$oshcc" -c "$here/outside/neighbour.c" -o neighbour.o
"$oshcc" neighbour.o -o from_object
run_pes ./from_object

"$prefix/$BINDIR/oshc++" -std=c++17 "$here/outside/neighbour.cpp" -o neighbour_cxx
run_pes ./neighbour_cxx

ln -s "$oshcc" linked
./linked "$here/outside/neighbour.c" -o through_link
run_pes ./through_link

mkdir "with space"
"$oshcc" "$here/outside/neighbour.c" -o "with space/it's" -DTEXT='"a  b"'
run_pes "./with space/it's"

"$BUILD/bin/oshcc" "$here/outside/neighbour.c" -o in_build_tree
(launcher=$BUILD/bin/isthmus-run && run_pes ./in_build_tree)

expect "oshcc --showme:compile" "-I$prefix/$INCLUDEDIR" "$("$oshcc" --showme:compile)"
expect "oshcc --showme:link" "-L$prefix/$LIBDIR -Wl,-rpath,$prefix/$LIBDIR -listhmus" "$("$oshcc" --showme:link)"
expect "oshcc --showme:incdirs" "$prefix/$INCLUDEDIR" "$("$oshcc" --showme:incdirs)"
expect "oshcc --showme:libdirs" "$prefix/$LIBDIR" "$("$oshcc" --showme:libdirs)"
expect "oshcc --showme:libs" "isthmus" "$("$oshcc" --showme:libs)"
expect "oshcc --showme:command" "my-cc --fast" "$(OSHCC_CC='my-cc --fast' "$oshcc" --showme:command)"
if "$oshcc" --showme:other 2>/dev/null; then fail "oshcc accepts --showme:other"; fi
expect "oshcc -show, another compiler" \
    "my-cc --fast -I$prefix/$INCLUDEDIR 'a b.c' -L$prefix/$LIBDIR -Wl,-rpath,$prefix/$LIBDIR -listhmus" \
    "$(OSHCC_CC='my-cc --fast' "$oshcc" -show 'a b.c')"
expect "oshcc -c --showme" "my-cc -I$prefix/$INCLUDEDIR -c a.c" "$(OSHCC_CC=my-cc "$oshcc" -c a.c --showme)"
expect "oshc++ --showme -c, another compiler" "my-cxx -I$prefix/$INCLUDEDIR -c a.cpp" \
    "$(OSHCXX_CXX=my-cxx "$prefix/$BINDIR/oshc++" --showme -c a.cpp)"
if "$oshcc" -c "$here/outside/no_such_file.c" 2>/dev/null; then fail "oshcc hides the compiler's failure"; fi
"$oshcc" --version >/dev/null || fail "oshcc --version ends with $?"
