#!/bin/bash
# abi_test.sh CASE ISTHMUS_RUN JOB PLUGINS: how a plugin is loaded and used, as a user sees it: from its file to the
# routes. PLUGINS holds one folder for each plugin of these tests. Not the ABI's bytes (layout.c), nor the contract of
# the slots (tests/contract). The cases are the functions whose names begin with case_.

test_case=$1 run=$2 job=$3 plugins=$4
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
unset ISTHMUS_TRANSPORTS ISTHMUS_PLUGIN_PATH ISTHMUS_ALIAS
export ISTHMUS_LOG=debug

fail() {
    echo "$test_case: $*"
    for file in out err; do [ -s "$work/$file" ] && sed "s/^/  $file: /" "$work/$file" | head -30; done
    exit 1
}

# run_job [VARIABLE=VALUE...]: two PEs of the job; status, and the files out and err, hold the result
run_job() {
    env "$@" "$run" -n 2 --timeout 60 "$job" >"$work/out" 2>"$work/err"
    status=$?
}

expect_success() { [ "$status" -eq 0 ] || fail "the status is $status, expected 0"; }
expect_failure() { [ "$status" -ne 0 ] && [ "$status" -ne 124 ] || fail "the status is $status, expected a failure"; }
expect_said() { grep -qF -- "$1" "$work/err" || fail "not said: $1"; }
expect_not_said() { ! grep -qF -- "$1" "$work/err" || fail "said: $1"; }
expect_carrier() { expect_said "the symmetric heap through $1"; }
# expect_block TEXT: the one block of a job that cannot start, with this in its line "what"
expect_block() {
    expect_failure
    [ "$(grep -c 'the job cannot start' "$work/err")" -eq 1 ] || fail "not one block that says why the job cannot start"
    grep -F '  what ' "$work/err" | grep -qF -- "$1" || fail "the block does not say: $1"
}
# expect_refused FILE REASON: as a warning that names the file; the job runs without the plugin
expect_refused() {
    grep -F 'warning' "$work/err" | grep -F -- "plugin $1 is refused" | grep -qF -- "$2" ||
        fail "no warning that $1 is refused, and that $2"
    expect_success
    expect_carrier loopback
}

# ---- shapes ----

case_old_shape_works() {
    run_job ISTHMUS_PLUGIN_PATH="$plugins/old_shape" ISTHMUS_TRANSPORTS=oldshape
    expect_success
    expect_carrier oldshape
}

case_old_shape_works_without_aliases() {
    run_job ISTHMUS_PLUGIN_PATH="$plugins/old_shape" ISTHMUS_TRANSPORTS=oldshape ISTHMUS_ALIAS=0
    expect_success
    expect_carrier oldshape
}

case_newer_shape_works() {
    run_job ISTHMUS_PLUGIN_PATH="$plugins/newer_shape" ISTHMUS_TRANSPORTS=newershape
    expect_success
    expect_carrier newershape
}

# ---- refused ----

case_major_two_refused() {
    run_job ISTHMUS_PLUGIN_PATH="$plugins/major_two"
    expect_refused "$plugins/major_two/major_two.so" \
        "it has version 2 of the transport ABI, this library version 1; \
use a newer Isthmus, or a build of the plugin for this one"
}

# ---- the same plugins under isthmus-check-transport ----

# expect_checked PLUGIN CASE...: no finding
expect_checked() {
    local plugin=$1 cases=()
    shift
    for one; do cases+=(--case "$one"); done
    "$(dirname "$run")/isthmus-check-transport" "$plugins/$plugin/$plugin.so" "${cases[@]}" \
        >"$work/out" 2>"$work/err" ||
        fail "isthmus-check-transport finds something in $plugin"
}

case_checker_takes_other_shapes() {
    for plugin in old_shape newer_shape; do
        expect_checked "$plugin" table traits longer_structs shorter_structs put_get amo_values expose_late
    done
}

case_checker_names_the_major() {
    "$(dirname "$run")/isthmus-check-transport" "$plugins/major_two/major_two.so" >"$work/out" 2>"$work/err" &&
        fail "isthmus-check-transport finds nothing in a plugin of another major version"
    grep -qF "it is of major version 2: check it with" "$work/out" || fail "the version is not named"
}

case_missing_slot_refused() {
    run_job ISTHMUS_PLUGIN_PATH="$plugins/lacking"
    expect_refused "$plugins/lacking/lacking.so" "its table lacks the required entry 'attach'"
}

case_bad_name_refused() {
    run_job ISTHMUS_PLUGIN_PATH="$plugins/bad_name"
    expect_refused "$plugins/bad_name/bad_name.so" "its name is 'No Good'; valid: 1 to 15 lower case letters and digits"
}

case_no_symbol_refused() {
    run_job ISTHMUS_PLUGIN_PATH="$plugins/no_symbol"
    expect_refused "$plugins/no_symbol/no_symbol.so" "it does not export isthmus_transport_v1"
}

case_text_file_refused() {
    mkdir "$work/text"
    echo "not a shared object" >"$work/text/text.so"
    run_job ISTHMUS_PLUGIN_PATH="$work/text"
    expect_refused "$work/text/text.so" "file too short"
}

case_broken_files_refused() {
    mkdir "$work/broken" "$work/broken/folder.so"
    : >"$work/broken/empty.so"
    head -c 40 "$plugins/twin/twin.so" >"$work/broken/cut.so"
    ln -s /nowhere/at/all "$work/broken/dangling.so"
    run_job ISTHMUS_PLUGIN_PATH="$work/broken"
    for file in empty cut dangling folder; do expect_refused "$work/broken/$file.so" ""; done
}

case_other_files_are_ignored() {
    mkdir "$work/other"
    cp "$plugins/major_two/major_two.so" "$work/other/major_two.so.bak"
    cp "$plugins/major_two/major_two.so" "$work/other/.hidden.so"
    echo "notes" >"$work/other/README"
    run_job ISTHMUS_PLUGIN_PATH="$work/other"
    expect_success
    expect_not_said "is refused"
}

# ---- where plugins are searched ----

case_first_of_two_names_wins() {
    run_job ISTHMUS_PLUGIN_PATH="$plugins/twin:$plugins/twin_two" ISTHMUS_TRANSPORTS=twin
    expect_success
    expect_carrier twin
    expect_said "transport twin 1.0: open"
    expect_said "plugin $plugins/twin_two/twin_two.so is refused: \
a transport of the name 'twin' was loaded before, from $plugins/twin/twin.so"
}

case_path_is_searched_in_order() {
    run_job ISTHMUS_PLUGIN_PATH="$plugins/twin_two:$plugins/twin" ISTHMUS_TRANSPORTS=twin
    expect_success
    expect_said "transport twin 2.0: open"
    expect_said "plugin $plugins/twin/twin.so is refused: a transport of the name 'twin' was loaded before"
}

case_path_comes_before_own_folder() {
    run_job ISTHMUS_PLUGIN_PATH="$plugins/stand_in"
    expect_success
    expect_said "transport loopback 9.9: open"
    expect_said "a transport of the name 'loopback' was loaded before, from $plugins/stand_in/stand_in.so"
}

case_path_entries_that_are_nothing() {
    run_job ISTHMUS_PLUGIN_PATH="::/nowhere/at/all:$plugins/twin::" ISTHMUS_TRANSPORTS=twin
    expect_success
    expect_carrier twin
}

# ---- ISTHMUS_TRANSPORTS ----

case_fastest_is_taken() {
    run_job ISTHMUS_PLUGIN_PATH="$plugins/twin"
    expect_success
    expect_carrier twin
}

case_list_selects() {
    run_job ISTHMUS_PLUGIN_PATH="$plugins/twin" ISTHMUS_TRANSPORTS=loopback
    expect_success
    expect_carrier loopback
    expect_not_said "transport twin 1.0: open"
}

case_list_orders() {
    run_job ISTHMUS_PLUGIN_PATH="$plugins/twin" ISTHMUS_TRANSPORTS=loopback,twin
    expect_success
    expect_carrier loopback
    run_job ISTHMUS_PLUGIN_PATH="$plugins/slow" ISTHMUS_TRANSPORTS=slow,loopback
    expect_success
    expect_carrier slow
}

case_list_may_repeat_and_have_blanks() {
    run_job ISTHMUS_PLUGIN_PATH="$plugins/twin" ISTHMUS_TRANSPORTS=" loopback, twin,loopback,"
    expect_success
    expect_carrier loopback
}

case_caret_excludes() {
    run_job ISTHMUS_PLUGIN_PATH="$plugins/twin" ISTHMUS_TRANSPORTS=^twin
    expect_success
    expect_carrier loopback
    expect_not_said "transport twin 1.0: open"
}

case_all_excluded() {
    run_job ISTHMUS_PLUGIN_PATH="$plugins/twin" ISTHMUS_TRANSPORTS=^twin,loopback
    expect_failure
    expect_said "ISTHMUS_TRANSPORTS excludes it"
}

case_unknown_name() {
    run_job ISTHMUS_TRANSPORTS=lopback
    # Which others are found depends on the build.
    expect_block "ISTHMUS_TRANSPORTS names 'lopback', but there is no such plugin; did you mean 'loopback'?; found: "
}

case_unknown_name_to_exclude() {
    run_job ISTHMUS_TRANSPORTS=^lopback
    expect_block "ISTHMUS_TRANSPORTS names 'lopback', but there is no such plugin; did you mean 'loopback'?"
}

case_caret_inside_list() {
    run_job ISTHMUS_TRANSPORTS=loopback,^twin
    expect_block "ISTHMUS_TRANSPORTS has a '^' inside the list"
}

case_empty_list() {
    run_job ISTHMUS_TRANSPORTS=,
    expect_block "ISTHMUS_TRANSPORTS names no transport"
}

case_refused_by_name() {
    run_job ISTHMUS_PLUGIN_PATH="$plugins/lacking" ISTHMUS_TRANSPORTS=lacking,loopback
    expect_block "its table lacks the required entry 'attach'"
    run_job ISTHMUS_PLUGIN_PATH="$plugins/major_two" ISTHMUS_TRANSPORTS=major_two
    expect_block "it has version 2 of the transport ABI"
}

case_unfit_by_name() {
    run_job ISTHMUS_PLUGIN_PATH="$plugins/unfit" ISTHMUS_TRANSPORTS=unfit,loopback
    expect_block "ISTHMUS_TRANSPORTS names 'unfit', which cannot be used: there is no flux capacitor in this machine"
}

case_cannot_open_by_name() {
    run_job ISTHMUS_PLUGIN_PATH="$plugins/closed" ISTHMUS_TRANSPORTS=loopback,closed
    expect_block "ISTHMUS_TRANSPORTS names 'closed', which cannot be opened: the flux capacitor does not answer"
}

case_unusable_and_not_named() {
    run_job ISTHMUS_PLUGIN_PATH="$plugins/unfit:$plugins/closed"
    expect_success
    expect_carrier loopback
    expect_not_said "warning"
}

case_dissenter_is_named() {
    cat >"$work/dissent" <<END
#!/bin/sh
[ "\$PMIX_RANK" = 1 ] && export ISTHMUS_TRANSPORTS=twin
exec "$job"
END
    chmod +x "$work/dissent"
    job="$work/dissent"
    run_job ISTHMUS_PLUGIN_PATH="$plugins/twin"
    expect_block "ISTHMUS_TRANSPORTS is 'twin' on PE 1, and not set on PE 0 on "
    grep -F '  where ' "$work/err" | grep -qF 'PE 1 on ' || fail "the block does not name PE 1"
}

"case_$test_case"
