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

# Files in the folders that all jobs share, but those of MPI programs that other tests run.
names_in_shared_folders() {
    ls -A /dev/shm -I 'vader_segment*' 2>/dev/null | sed 's,^,/dev/shm/,'
    ls -Ad /tmp/*sthmus* /tmp/.*sthmus* 2>/dev/null
}

new_names() { # since $work/before was written
    names_in_shared_folders | grep -vxFf "$work/before"
}
