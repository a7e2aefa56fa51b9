#!/bin/bash
# check.sh MODEL.pml CC: all states of a Promela model: no assertion fails and no process is left waiting; and with its
# planted error one does, which proves that the search finds errors. A model with several (PLANTS n) gets PLANTED=1 to
# n. Skipped where spin is not installed.
model=$(readlink -f "$1") cc=$2
command -v spin >/dev/null || { echo "skipped: spin is not here (apt-get install spin)"; exit 77; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

# search [-DPLANTED]: its report in the file report
search() {
    spin "$@" -a "$model" >log 2>&1 && "$cc" -O1 -w -DSAFETY -DCOLLAPSE -DMEMLIM=2048 -o pan pan.c >>log 2>&1 ||
        { cat log; exit 1; }
    ./pan -m1000000 >report 2>&1
}
fail() { echo "FAILED: $*"; cat report; exit 1; }

search
grep -qE 'errors: 0$' report || fail "the model has an error"
grep -qE 'max search depth too small|Search not completed|out of memory' report && fail "not all states were seen"
grep -E 'states, stored' report
n_plants=$(sed -n 's/.*PLANTS \([0-9]*\):.*/\1/p' "$model")
for plant in $(seq "${n_plants:-1}"); do
    search -DPLANTED="$plant"
    grep -qE 'errors: [1-9]' report || fail "the planted error $plant is not found"
done
