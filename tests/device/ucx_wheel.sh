#!/usr/bin/env bash
# ucx_wheel.sh CACHE VERSION DOUBLE COMMAND...: runs COMMAND with the UCX of PyPI's libucx-cu12 of that version, which is built with CUDA,
# and with DOUBLE, a folder that has doubles of libcuda.so.1 and libnvidia-ml.so.1. CACHE keeps the wheel, which is fetched once.
# Exit 77 with the reason without pip or its registry.
set -eu
skip() { echo "skipped: $*" >&2; exit 77; }
cache=$1 version=$2 double=$3
shift 3
folder=$cache/libucx-cu12-$version
mkdir -p "$cache"
exec 9>"$folder.lock"
flock 9
if [[ ! -e $folder/libucx/lib/libucp.so.0 ]]; then
  python3 -m pip --version >/dev/null 2>&1 || skip "pip is not here (apt-get install python3-pip)"
  rm -rf "$folder.part"
  python3 -m pip install -q --no-deps --disable-pip-version-check --target "$folder.part" "libucx-cu12==$version" \
    >"$folder.log" 2>&1 || skip "libucx-cu12 $version cannot be fetched: $(tail -n 1 "$folder.log")"
  mv "$folder.part" "$folder"
fi
exec 9>&-
export LD_LIBRARY_PATH=$double:$folder/libucx/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
exec "$@"
