#!/bin/sh
# headers.sh FOLDER...: the installed headers are those of these folders, no more and no fewer. lint.headers shows that
# each of them compiles alone.
. "$(dirname -- "$0")/common.sh"
fresh headers
for folder; do
    (cd "$folder" && find . -name '*.h' -o -name '*.hpp' -o -name '*.cuh') >names
    while read -r name; do
        cmp -- "$folder/$name" "$prefix/$INCLUDEDIR/$name" || fail "$name is not installed as it is in $folder"
    done <names
    cat names >>expected
done
(cd "$prefix/$INCLUDEDIR" && find . -type f) | sort >installed
sort expected | diff - installed || fail "\"<\" is in the folders only, \">\" is installed only"
