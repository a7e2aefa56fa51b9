#!/bin/sh
# readme_example.sh README.md: the programs that the README shows compile without a warning and print what they should.
. "$(dirname -- "$0")/common.sh"
fresh readme_example

# program NUMBER NAME [OPTION...]: makes NAME of the README's program of this number.
program() {
    awk -v number="$1" '/^```$/ { inside = 0 } inside && n == number { print } /^```c$/ { inside = 1; n++ }' "$readme" >"$2.c"
    [ -s "$2.c" ] || fail "no program $1 in $readme"
    name=$2
    shift 2
    "$prefix/$BINDIR/oshcc" "$@" -Wall -Wextra -Werror "$name.c" -o "$name"
    "$prefix/$BINDIR/isthmus-run" -n 4 --timeout 60 "./$name" | sort >seen.txt
}
expect_line() { grep -qxF "$1" seen.txt || fail "expected the line '$1', seen: $(cat seen.txt)"; }

readme=$1
program 1 hello -std=c11
expect_line 'PE 0 of 4: my left neighbour is PE 3'
expect_line 'PE 3 of 4: my left neighbour is PE 2'
expect_line 'the sum of all PE numbers is 6'
program 2 exchange
for line in 'PE 0: 1.5' 'PE 1: 0.5' 'PE 2: 1.5' 'PE 3: 2.5'; do
    expect_line "$line is the mean of my number and my left neighbour's"
done
