# job.sh: for scripts that run a job and check what is left of it; they source it. It makes the folder $work, which is
# removed at the end, with all processes that have $mark in their environment.

work=$(mktemp -d) || exit 1
mkdir "$work/tmp"
mark=PE_TEST=$$-$RANDOM # in the environment of all that the job starts

marked() { # the processes of the job
    grep -lzsxF "$mark" /proc/[0-9]*/environ | tr -dc '0-9\n'
}

clean_up() {
    local left
    left=$(marked)
    [ -z "$left" ] || kill -9 $left 2>/dev/null
    rm -rf "$work"
}
trap clean_up EXIT

# Files in the folders that all programs of the machine share, with the names that Isthmus, UCX and PMIx give to theirs:
# any other program may come or go meanwhile. Scripts and unit tests of this tree name theirs in another way.
names_in_shared_folders() {
    ls -Ad /dev/shm/*sthmus* /dev/shm/ucx_* /dev/shm/*pmix* /tmp/*sthmus* /tmp/.*sthmus* 2>/dev/null
}

new_names() { # since $work/before was written
    names_in_shared_folders | grep -vxFf "$work/before"
}
