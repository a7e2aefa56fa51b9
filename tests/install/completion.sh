#!/usr/bin/env bash
# completion.sh DATADIR TOOL...: what a shell offers behind our tools, from the installed files.
. "$(dirname -- "$0")/common.sh"
fresh completion
datadir=$1
shift
PATH=$prefix/$BINDIR:$PATH
set +u

# offered TOOL WORD...: what bash offers for the last word, one a line.
offered() {
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
    . "$prefix/$datadir/bash-completion/completions/$1"
    "$(complete -p "$1" | sed 's/.*-F \([^ ]*\).*/\1/')"
    printf '%s\n' "${COMPREPLY[@]}"
}
offers() {
    wanted=$1
    shift
    offered "$@" | grep -qxF -e "$wanted" || fail "bash does not offer '$wanted' after '$*': $(offered "$@" | head)"
}
offers_not() {
    if offered "${@:2}" | grep -qxF -e "$1"; then fail "bash offers '$1' after '${*:2}'"; fi
}

# Each option of each tool, in both shells.
for tool; do
    for option in $("$tool" --help | sed -n 's/\[=[^ ]*//; s/^  \(-[^ ]*\)\(, -[^ ]*\)\{0,1\}.*/\1\2/p' | tr -d ','); do
        offers "$option" "$tool" "${option:0:2}"
        grep -qF -e "'$option" "$prefix/$datadir/zsh/vendor-completions/_$tool" ||
            fail "zsh does not offer $tool $option"
    done
    if command -v zsh >/dev/null; then zsh -n "$prefix/$datadir/zsh/vendor-completions/_$tool"; fi
done

# Values, behind a blank and behind "=".
offers core isthmus-run --bind c
offers none isthmus-run -n 2 --bind = ''
offers_not none isthmus-run --bind c
export ISTHMUS_TEST_VARIABLE=1
offers ISTHMUS_TEST_VARIABLE isthmus-run -x ISTHMUS_TEST_V
offers_not --bind isthmus-run -n -
offers --profile isthmus-run --prof
offers_not '--profile[=FILE]' isthmus-run --prof
grep -qF -e "'--profile=-[" "$prefix/$datadir/zsh/vendor-completions/_isthmus-run" ||
    fail "zsh takes the value of --profile[=FILE] for a part of its name"
touch figures.json
for option in --json --svg --compare '--compare a.json'; do
    # shellcheck disable=SC2086
    offers figures.json isthmus-perf $option fig
done
offers figures.json isthmus-run --profile = fig
offers table isthmus-check-transport --case tab

# The program, and what it takes: its own options are not ours.
touch program argument plugin.so other.txt
offers program isthmus-run -n 4 prog
offers program isthmus-run -n 4 --tag-output -- prog
offers argument isthmus-run -n 4 ./program arg
offers program isthmus-run --profile = figures.json -n 4 prog
offers_not --bind isthmus-run -n 4 ./program --b
offers program oshrun -n 4 prog
offers plugin.so isthmus-check-transport ''
offers_not other.txt isthmus-check-transport ''
