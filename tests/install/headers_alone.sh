#!/bin/sh
# headers_alone.sh HEADERS.PY: every installed header compiles alone as strict C11 and strict C++17.
. "$(dirname -- "$0")/common.sh"
fresh headers_alone
ln -s "$prefix/$INCLUDEDIR" include
python3 "$1" --root . --cc "$CC" --cxx "$CXX"
