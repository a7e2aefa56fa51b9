#!/bin/sh
# with_own_setting.sh NAME=VALUE PE PROGRAM ARGS...: PE number PE of the job runs with that variable, "each" PE with its
# number behind the value; the others without.
setting=$1 which=$2
shift 2
if [ "$which" = each ]; then
    export "$setting$PMIX_RANK"
elif [ "$which" = "$PMIX_RANK" ]; then
    export "${setting?}"
fi
exec "$@"
