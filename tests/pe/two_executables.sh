#!/bin/sh
# two_executables.sh EVEN ODD [ARGS...]: becomes EVEN on PEs of even numbers, ODD on the others.
even=$1 odd=$2
shift 2
if [ $((${PMIX_RANK:-0} % 2)) = 0 ]; then exec "$even" "$@"; fi
exec "$odd" "$@"
