# What the tests of this folder share; read with `.`. The environment comes from CMakeLists.txt:
# BUILD the build tree, WORK this folder's part of it, BINDIR LIBDIR INCLUDEDIR as installed, CMAKE CC CXX the tools.
set -eu
here=$(dirname -- "$(readlink -f -- "$0")")
prefix=$WORK/moved # where the installed tree lies now
launcher=$prefix/$BINDIR/isthmus-run
unset LD_LIBRARY_PATH ISTHMUS_PLUGIN_PATH
export CC CXX

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

# expect WHAT WANTED SEEN
expect() { [ "$2" = "$3" ] || fail "$1: expected '$2', seen '$3'"; }

# run_pes PROGRAM: two PEs of it; they have to print what outside/neighbour.c prints.
run_pes() {
    expect "output of $1" "$(printf 'PE 0 of 2: neighbour 1\nPE 1 of 2: neighbour 0')" \
        "$("$launcher" -n 2 --timeout 60 "$@" | sort)"
}

# needs_no_build_tree PROGRAM: nothing of the build tree is loaded.
needs_no_build_tree() {
    if ldd "$1" | grep -F "$BUILD/lib"; then fail "$1 loads its libraries from the build tree"; fi
}

# fresh NAME: an empty folder of that name to work in.
fresh() {
    rm -rf "${WORK:?}/$1"
    mkdir -p "$WORK/$1"
    cd "$WORK/$1"
}
