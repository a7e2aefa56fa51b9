#!/bin/sh
# readme_example.sh README.md: the program that the README shows compiles without a warning and prints what the README
# shows.
. "$(dirname -- "$0")/common.sh"
fresh readme_example
sed -n '/^```c$/,/^```$/{/^```/d;p}' "$1" >example.c
[ -s example.c ] || fail "no program in $1"
"$prefix/$BINDIR/oshcc" -std=c11 -Wall -Wextra -Werror example.c -o example
"$prefix/$BINDIR/isthmus-run" -n 4 --timeout 60 ./example | sort >seen.txt
for line in 'PE 0 of 4: my left neighbour is PE 3' 'PE 3 of 4: my left neighbour is PE 2' \
    'the sum of all PE numbers is 6'; do
    grep -qxF "$line" seen.txt || fail "expected the line '$line', seen: $(cat seen.txt)"
done
