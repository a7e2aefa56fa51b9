#!/bin/sh
# documents.sh README.md PAGE...: the programs of the README compile without a warning and print what they should; so do
# those of the pages, built and started by the commands that stand there.
. "$(dirname -- "$0")/common.sh"
fresh documents

# program NUMBER NAME [OPTION...]: makes NAME of the README's program of this number.
program() {
    awk -v number="$1" '/^```$/ { inside = 0 } inside && n == number { print } /^```c$/ { inside = 1; n++ }' \
        "$readme" >"$2.c"
    [ -s "$2.c" ] || fail "no program $1 in $readme"
    name=$2
    shift 2
    "$prefix/$BINDIR/oshcc" "$@" -Wall -Wextra -Werror "$name.c" -o "$name"
    "$prefix/$BINDIR/isthmus-run" -n 4 --timeout 60 "./$name" | sort >seen.txt
}
expect_line() { grep -qxF "$1" seen.txt || fail "expected the line '$1', seen: $(cat seen.txt)"; }

readme=$1
shift
program 1 hello -std=c11
expect_line 'PE 0 of 4: my left neighbour is PE 3'
expect_line 'PE 3 of 4: my left neighbour is PE 2'
expect_line 'the sum of all PE numbers is 6'
program 2 exchange
for line in 'PE 0: 1.5' 'PE 1: 0.5' 'PE 2: 1.5' 'PE 3: 2.5'; do
    expect_line "$line is the mean of my number and my left neighbour's"
done

# block MARK: the fenced block of the page behind the line <!-- MARK -->.
block() {
    awk -v mark="<!-- $1 -->" '/^```/ { inside = !inside && marked; marked = 0; next } inside { print; next }
        { marked = $0 == mark }' "$page" >"$2"
    [ -s "$2" ] || fail "no block behind <!-- $1 --> in $page"
}

# A page has three marked blocks: a program, the commands that build and start it, and the lines that these print, in
# any order.
for page in "$@"; do
    fresh "documents/$(basename "$page" .md)"
    name=$(sed -n 's/^<!-- program \(.*\) -->$/\1/p' "$page")
    [ -n "$name" ] || fail "no program in $page"
    block "program $name" "$name"
    block commands commands.sh
    block prints wanted.txt
    PATH="$prefix/$BINDIR:$PATH" OSHCC_CC="$CC -Wall -Wextra -Werror" OSHCXX_CXX="$CXX -Wall -Wextra -Werror" \
        timeout 60 sh -eu commands.sh >seen.txt || fail "the commands of $page end with $?"
    expect "output of $name in $page" "$(sort wanted.txt)" "$(sort seen.txt)"
done
