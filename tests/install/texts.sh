#!/bin/sh
# texts.sh PYTHON TEXTS.PY: what installed headers and documents point to is installed.
. "$(dirname -- "$0")/common.sh"
exec "$@" "$prefix/$INCLUDEDIR" "$prefix/share/doc/isthmus"
