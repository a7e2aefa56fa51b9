#!/usr/bin/env bash
# ucx_wheel.sh BUILD NAME DOUBLE COMMAND...: runs COMMAND with the UCX that tests/wheels.py calls NAME, which is built
# with CUDA, and with DOUBLE, a folder that has doubles of libcuda.so.1 and libnvidia-ml.so.1. Exit 77 with the reason
# without pip or its registry.
set -eu
build=$1 name=$2 double=$3
shift 3
wheel=$("$(dirname "$(readlink -f "$0")")/../wheels.py" "$build" "$name") || { echo "$wheel"; exit 77; }
library=$(dirname "$(find "$wheel" -name libucp.so.0 | head -n 1)")
export LD_LIBRARY_PATH=$double:$library${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
exec "$@"
