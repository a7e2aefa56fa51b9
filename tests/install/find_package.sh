#!/bin/sh
# find_package(Isthmus COMPONENTS shmem nvshmem ishmem) in a project outside of the tree.
. "$(dirname -- "$0")/common.sh"
fresh find_package
"$CMAKE" -S "$here/outside" -B . -DCMAKE_PREFIX_PATH="$prefix" >configure.txt 2>&1 || fail "$(cat configure.txt)"
"$CMAKE" --build . >build.txt 2>&1 || fail "$(cat build.txt)"
for program in neighbour neighbour_cxx neighbour_nvshmem neighbour_ishmem; do
    needs_no_build_tree "./$program"
    run_pes "./$program"
done
