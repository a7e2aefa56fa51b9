#!/usr/bin/env bash
# multicast.sh COMPILER OPTIONS...: an algorithm of the tile interface that needs multicast memory does not compile, and the
# error names it; unless the program asks for loads and stores in its place.
set -euo pipefail

program() {
  cat <<END
#define ISTHMUS_DEVICE_CPU
#include <nvshmem.h>
int wait(nvshmem_team_t team) { return nvshmemx::tile_collective_wait_block<nvshmemx::tile_coll_algo_t::$1>(team, 0); }
END
}

fail() { echo "multicast.sh: $1"; exit 1; }

for algorithm in NVLS_ONE_SHOT_PUSH_NBI NVLS_ONE_SHOT_PULL_NBI NVLS_TWO_SHOT_PUSH_NBI NVLS_TWO_SHOT_PULL_NBI; do
  if seen=$(program $algorithm | "$@" -std=c++17 -fsyntax-only -xc++ - 2>&1); then fail "$algorithm compiles"; fi
  grep -q "$algorithm needs multicast memory" <<<"$seen" || fail "the error does not name $algorithm: $seen"
  program $algorithm | "$@" -std=c++17 -fsyntax-only -DISTHMUS_TILE_WITHOUT_MULTICAST -xc++ - ||
    fail "$algorithm does not compile with loads and stores"
done
program ISTHMUS_PULL_NBI | "$@" -std=c++17 -fsyntax-only -xc++ - || fail "ISTHMUS_PULL_NBI does not compile"
