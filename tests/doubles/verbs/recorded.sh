#!/bin/sh
# recorded.sh COMMAND...: runs a job on the double; then prints, each once, the kinds of packets that its PEs have sent:
# lines such as "fetch_add pkey 0xffff class 106 level 0 adapter 0". Returns the job's status.
VERBS_DOUBLE_RECORD=$TMPDIR/record "$@"
status=$?
sed 's/:[^:]*$//' "$TMPDIR"/record.* 2>/dev/null | sort -u
exit $status
