#!/bin/bash
# planted.sh CHECKER PLUGIN PLANTED_DEF [BUG]...: every bug of the planted plugin is found by its case, at its slot; and
# every case of the checker has a bug that it finds. With names of bugs: these only.
checker=$1 plugin=$2 table=$3
shift 3
failed=0
complain() { echo "$*"; failed=1; }

rows=$(sed -n 's/^BUG(\([a-z0-9_]*\), \([a-z0-9_]*\), \([a-z0-9_]*\), .*/\1 \2 \3/p' "$table")
while read -r bug case slot; do
    (($# == 0)) || [[ " $* " == *" $bug "* ]] || continue
    # Only a bug that silences a PE gets a short time-out: on a busy machine others would time out, too.
    case $bug in
        hangs | commit_leaks | never_done | arm_forgets | *_the_dead | *_waits | commit_starves) patience_s=3 ;;
        nbi_* | request_left | progress_of_* | notify_replaces) patience_s=3 ;;
        *) patience_s=60 ;;
    esac
    case $bug in *_rarely_*) soak=(--soak 60) ;; *) soak=() ;; esac
    # These show only when PEs collide within some nanoseconds, which a busy machine may not permit.
    case $bug in torn_* | commit_leaks) tries=10 ;; *) tries=1 ;; esac
    for ((status = 0; tries > 0 && status == 0; tries--)); do
        out=$(PLANTED_BUG=$bug ISTHMUS_PLANTED_TIMEOUT=1 timeout 100 "$checker" "$plugin" --case "$case" \
            --timeout $patience_s "${soak[@]}")
        status=$?
    done
    [ "$status" -eq 1 ] || complain "bug $bug: case $case ends with status $status, expected 1"
    grep -qE "^ +slot +$slot\$" <<<"$out" ||
        complain "bug $bug: case $case names no slot '$slot', but: $(grep -A3 '^ *slot ' <<<"$out")"
done <<<"$rows"

if (($# == 0)); then
    while read -r case _; do
        grep -qE "^[a-z0-9_]+ $case " <<<"$rows" || complain "case $case has no bug in $table"
    done < <("$checker" --list)
    out=$(timeout 120 "$checker" "$plugin") || complain "without a bug there are findings: $(grep -A4 FAILED <<<"$out")"
fi
exit "$failed"
