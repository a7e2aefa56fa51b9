#!/usr/bin/env bash
# run.sh [--seconds N] [--merge] [TARGET...]: runs libFuzzer programs (preset "fuzz") one after the other, each from its
# kept corpus, and prints the result. --merge: what covers more goes into the corpus, as few and small inputs as do.
# Called by ./dev fuzz.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
programs=$here/../../build-fuzz/tests/fuzz
seconds=5 merge=0 targets=() failed=0
while (($#)); do
  case $1 in
    --seconds) seconds=$2; shift ;;
    --merge) merge=1 ;;
    -*) echo "usage: run.sh [--seconds N] [--merge] [TARGET...]" >&2; exit 2 ;;
    *) targets+=("$1") ;;
  esac
  shift
done
[[ $seconds =~ ^[1-9][0-9]*$ ]] || { echo "--seconds takes a number above 0, not '$seconds'" >&2; exit 2; }
if ((${#targets[@]} == 0)); then
  for program in "$programs"/fuzz_*; do targets+=("${program##*/fuzz_}"); done
fi
export ASAN_OPTIONS=detect_leaks=1:intercept_tls_get_addr=0 UBSAN_OPTIONS=print_stacktrace=1

# field NAME LOG: the last value that libFuzzer printed under this name
field() { grep -oE "$1:? *[0-9]+" "$2" | tail -n 1 | grep -oE '[0-9]+$' || echo 0; }

printf '%-14s %12s %8s %9s %7s  %s\n' target executions 'edges' 'features' 'kept' findings
for target in "${targets[@]}"; do
  program=$programs/fuzz_$target corpus=$here/corpus/$target
  [[ -x $program ]] || {
    echo "there is no target '$target'; there are: $(cd "$programs" && echo fuzz_* | sed 's/fuzz_//g')" >&2
    exit 2
  }
  work=$(mktemp -d) # new inputs, and what was found
  log=$programs/$target.log status=0
  mkdir -p "$corpus"
  "$program" "$work" "$corpus" -max_total_time="$seconds" -max_len=4096 -timeout=20 -rss_limit_mb=3000 \
    -artifact_prefix="$programs/" -print_final_stats=1 >"$log" 2>&1 </dev/null || status=$?
  if ((merge && status == 0)); then
    kept=$(mktemp -d)
    "$program" -merge=1 -max_len=4096 "$kept" "$corpus" "$work" >>"$log" 2>&1
    rm -rf "$corpus" && mkdir "$corpus" && cp "$kept"/* "$corpus"/
    rm -rf "$kept"
  fi
  rm -rf "$work"
  findings=none
  if ((status != 0)); then
    findings="status $status: $(grep -m 1 -E '^SUMMARY|Test unit written' "$log" || echo "see the log")"
    failed=1
  fi
  n_kept=$(find "$corpus" -type f | wc -l)
  printf '%-14s %12s %8s %9s %7s  %s\n' "$target" "$(field 'number_of_executed_units' "$log")" \
    "$(field cov "$log")" "$(field ft "$log")" "$n_kept" "$findings"
  ((status == 0)) || printf '%14s all of it: %s\n' '' "$log"
done
exit "$failed"
