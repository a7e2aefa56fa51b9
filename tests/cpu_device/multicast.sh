#!/usr/bin/env bash
# multicast.sh COMPILER OPTIONS...: algorithms of the tile interface that need multicast memory do not compile, and an
# error names each; unless the program asks for loads and stores in their place.
set -euo pipefail

program() {
  printf '#define ISTHMUS_DEVICE_CPU\n#include <nvshmem.h>\n'
  for algorithm; do
    echo "int wait_$algorithm(nvshmem_team_t team)"
    echo "{ return nvshmemx::tile_collective_wait_block<nvshmemx::tile_coll_algo_t::$algorithm>(team, 0); }"
  done
}

fail() { echo "multicast.sh: $1"; exit 1; }

algorithms=(NVLS_ONE_SHOT_PUSH_NBI NVLS_ONE_SHOT_PULL_NBI NVLS_TWO_SHOT_PUSH_NBI NVLS_TWO_SHOT_PULL_NBI)
seen=$(program "${algorithms[@]}" | "$@" -std=c++17 -fsyntax-only -xc++ - 2>&1) && fail "they compile"
for algorithm in "${algorithms[@]}"; do
  grep -q "error: .*$algorithm needs multicast memory" <<<"$seen" || fail "no error names $algorithm: $seen"
done
program "${algorithms[@]}" | "$@" -std=c++17 -fsyntax-only -DISTHMUS_TILE_WITHOUT_MULTICAST -xc++ - ||
  fail "they do not compile with loads and stores"
program ISTHMUS_PULL_NBI | "$@" -std=c++17 -fsyntax-only -xc++ - || fail "ISTHMUS_PULL_NBI does not compile"
