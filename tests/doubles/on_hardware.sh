#!/bin/bash
# on_hardware.sh BUILD TRANSPORT: the programs that test a transport between GPUs on the double of its driver, on the real one.
# The last line is a summary, or with status 77 why there was nothing to test.
build=$1 transport=$2
plugin=$build/lib/isthmus/$transport.so
if [[ ! -e $plugin ]]; then
    echo "transport $transport was not built: its headers are not here"
    exit 77
fi
passed=0 failed=0
for case in all_calls memory_grows kind_of_address stream_order; do
    status=0
    said=$(timeout 120 "$build/tests/doubles/p2p_test" "$plugin" - "$case" 2>&1) || status=$?
    if [[ $case == all_calls && $status -eq 77 ]]; then
        echo "$said"
        exit 77
    fi
    case $status in
    0) passed=$((passed + 1)) ;;
    77) ;;
    *) failed=$((failed + 1)) && echo "FAILED $case: $said" ;;
    esac
done
"$build/bin/isthmus-check-transport" "$plugin" | tee "$build/log/on_hardware.$transport" | grep -E -A4 '^(FAILED|slow)'
[[ $(tail -n 1 "$build/log/on_hardware.$transport") =~ ([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+)\ skipped ]] || exit 1
failed=$((failed + BASH_REMATCH[2]))
echo "$((passed + BASH_REMATCH[1])) passed, $failed failed, ${BASH_REMATCH[3]} skipped"
((failed == 0))
