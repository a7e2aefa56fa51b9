#!/bin/sh
# demo.sh BUILD_DIR [FILE]: sorts a real file with 4 PEs through the symmetric heap, checks the result against sort(1).
# Not a benchmark: bench/run.py is. Status 0 only when the result is right and the transports could be named.
# Read on: sample_sort.c beside this file.
set -eu

WORDS=/usr/share/dict/american-english-insane # Debian's largest English word list, package wamerican-insane
N_PES=4
SEED=20120131

if [ -t 1 ]; then
    bold=$(printf '\033[1m') red=$(printf '\033[1;31m') green=$(printf '\033[1;32m') plain=$(printf '\033[0m')
else
    bold='' red='' green='' plain=''
fi

step() { printf '\n%s%s%s\n' "$bold" "$1" "$plain"; }

give_up() {
    printf '\n%sdemo failed: %s%s\n' "$red" "$1" "$plain"
    exit 1
}

now_ms() { echo $(($(date +%s%N) / 1000000)); }

# The same bytes on every machine: the minimal standard generator, in awk because it is there.
random_bytes() {
    LC_ALL=C awk -v n="$1" -v x="$SEED" \
        'BEGIN { for (; n > 0; n--) { x = x * 16807 % 2147483647; printf "%c", 1 + int(x / 2147483647 * 255) } }'
}

if [ $# -lt 1 ] || [ $# -gt 2 ]; then
    echo "usage: demo.sh BUILD_DIR [FILE]" >&2
    exit 2
fi
bin=$1/bin
file=${2:-$WORDS}
for program in isthmus-run isthmus-info sample_sort; do
    [ -x "$bin/$program" ] || give_up "there is no $bin/$program; build first"
done
[ -r "$file" ] || give_up "cannot read $file; the word list is in the package wamerican-insane"

work=$(mktemp -d "${TMPDIR:-/tmp}/demo.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

step "1. Shuffle the lines of $file"
random_bytes $(($(wc -l <"$file") * 4 + 4096)) >"$work/random" # shuf takes log2(lines) bits a line
shuf --random-source="$work/random" "$file" >"$work/shuffled"
echo "  $(wc -l <"$work/shuffled") lines, $(wc -c <"$work/shuffled") bytes; the same order every time, seed $SEED"

step "2. Sort them with $N_PES PEs"
start_ms=$(now_ms)
"$bin/isthmus-run" -n $N_PES "$bin/sample_sort" "$work/shuffled" "$work/sorted" || give_up "sample_sort ended with $?"
ours_ms=$(($(now_ms) - start_ms))

step "3. Check against sort(1)"
start_ms=$(now_ms)
LC_ALL=C sort "$work/shuffled" >"$work/expected"
sort_ms=$(($(now_ms) - start_ms))
cmp "$work/sorted" "$work/expected" || give_up "the result differs from that of LC_ALL=C sort"
echo "  identical; $ours_ms ms with start and end of the job, sort(1) $sort_ms ms"

step "4. Who carried it"
"$bin/isthmus-run" -n $N_PES "$bin/isthmus-info" --routes || give_up "isthmus-info --routes ended with $?"

printf '\n%sdemo passed: %d PEs sorted %d lines in %d ms, identical to sort(1)%s\n' \
    "$green" $N_PES "$(wc -l <"$work/sorted")" "$ours_ms" "$plain"
