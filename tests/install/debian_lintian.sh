#!/bin/sh
# debian_lintian.sh: Debian's checker of packages finds no error in those of debian.sh.
. "$(dirname -- "$0")/common.sh"
command -v lintian >/dev/null || { echo "skipped: lintian is not installed"; exit 77; }
cd "$WORK/debian" && ls ./*.deb >/dev/null 2>&1 || { echo "skipped: install.debian has made no packages"; exit 77; }
if ! lintian --allow-root --fail-on error --tag-display-limit 0 ./*.deb >lintian.txt 2>&1; then
    fail "$(grep '^E' lintian.txt || tail lintian.txt)"
fi
