#!/bin/bash
# launch_test.sh CASE ISTHMUS_RUN PROBE: one behaviour of isthmus-run, as a user at a shell would see it.
# Not a test of the runtime: the PEs are launch_probe or tools of the system.
# Read on in launch_probe.c for what the modes do; the cases here are the functions whose names begin with case_.

test_case=$1 run=$2 probe=$3
work=$(mktemp -d) || exit 1
mark=LAUNCH_TEST=$$-$RANDOM    # in the environment of the launcher and so of all that it starts, to find what is left
deadline_s=30                  # of a wait; a busy machine is no failure

marked() { # the processes of this case
    grep -lzsxF "$mark" /proc/[0-9]*/environ | tr -dc '0-9\n'
}

clean_up() {
    local left
    left=$(marked)
    [ -n "$left" ] && kill -9 $left 2>/dev/null
    rm -rf "$work"
}
trap clean_up EXIT

fail() {
    echo "$test_case: $*"
    for file in out err; do [ -s "$work/$file" ] && sed "s/^/  $file: /" "$work/$file" | head -20; done
    exit 1
}

now_ms() { date +%s%3N; }

# The launcher leaves a signal ignored that was ignored when it started, and so does each process between this script
# and nohup (SIGHUP) or the shell of a job in the background (SIGINT, SIGQUIT): the cases send these signals.
environment=(env --default-signal "$mark")

# launch ARGS...: runs isthmus-run to its end; status, took_ms, and the files out and err hold the result
launch() {
    local begin
    begin=$(now_ms)
    "${environment[@]}" "$run" "$@" >"$work/out" 2>"$work/err"
    status=$?
    took_ms=$(($(now_ms) - begin))
}

# launch_in_background ARGS...: launcher is its pid
launch_in_background() {
    : >"$work/out"
    "${environment[@]}" "$run" "$@" >"$work/out" 2>"$work/err" &
    launcher=$!
}

end_of_launcher() {
    wait "$launcher"
    status=$?
}

# until_true CONDITION...: polls the condition, with a deadline
until_true() {
    local end=$(($(now_ms) + deadline_s * 1000))
    until "$@"; do
        [ "$(now_ms)" -lt "$end" ] || return 1
        sleep 0.01
    done
}

lines_with() { grep -c -- "$1" "$work/out"; }
has_lines() { [ "$(lines_with "$1")" -eq "$2" ]; }
nothing_is_left() { [ -z "$(marked)" ]; }

expect_status() { [ "$status" -eq "$1" ] || fail "status is $status, expected $1"; }
expect_lines() { has_lines "$1" "$2" || fail "$(lines_with "$1") lines with '$1', expected $2"; }
expect_message() { # the one line on stderr
    [ "$(wc -l <"$work/err")" -eq 1 ] || fail "$(wc -l <"$work/err") lines on stderr, expected one like: $1"
    grep -qE -- "^isthmus-run: $1\$" "$work/err" || fail "stderr is not like: isthmus-run: $1"
}
expect_last_message() { # on stderr
    tail -n 1 "$work/err" | grep -qE -- "^isthmus-run: $1\$" ||
        fail "the last line of stderr is not like: isthmus-run: $1"
}
expect_silence() { [ ! -s "$work/err" ] || fail "stderr is not empty"; }
expect_end_in_ms() { [ "$took_ms" -le "$1" ] || fail "took $took_ms ms, expected at most $1"; }
expect_nothing_left() { until_true nothing_is_left || fail "still there: $(marked)"; }

case_facts() {
    launch -n 3 "$probe" hello
    expect_status 0
    expect_lines hello 3
    expect_silence
}

case_modex() {
    local mode
    for mode in modex direct_modex; do
        launch -n 5 "$probe" "$mode"
        expect_status 0
        expect_silence
    done
}

case_publish() {
    launch -n 3 "$probe" board
    expect_status 0
}

case_exit_status() {
    launch -n 2 true
    expect_status 0
    launch -n 4 "$probe" exit 2 3
    expect_status 3
    expect_message 'PE 2 \(pid [0-9]+\) exited with status 3; ending the other 3 PEs'
    launch -n 1 sh -c 'exit 7'
    expect_status 7
    expect_message 'PE 0 \(pid [0-9]+\) exited with status 7'
    expect_nothing_left
}

case_signal_named() {
    launch -n 4 "$probe" kill_self 3 9
    expect_status 137
    expect_message 'PE 3 \(pid [0-9]+\) was killed by signal 9 \(Killed\); ending the other 3 PEs'
    launch -n 2 "$probe" kill_self 0 11
    expect_status 139
    expect_message 'PE 0 \(pid [0-9]+\) was killed by signal 11 \(Segmentation fault.*\); ending the other PE'
    for pe in 0 3; do # also when the others fail because of it, and end earlier
        launch -n 4 --timeout 20 "$probe" kill_in_fence $pe
        expect_status 137
        expect_message "PE $pe \(pid [0-9]+\) was killed by signal 9 \(Killed\)(; ending the other .*)?"
    done
    expect_nothing_left
}

case_stubborn_pes() { # they ignore SIGTERM
    launch -n 3 "$probe" stubborn 1 4
    expect_status 4
    expect_message 'PE 1 \(pid [0-9]+\) exited with status 4; ending the other 2 PEs'
    expect_end_in_ms 5000
    expect_nothing_left
}

case_abort() {
    launch -n 3 "$probe" abort 1 5 'out of luck'
    expect_status 5
    expect_message 'PE 1 \(pid [0-9]+\) aborted the job with status 5: out of luck'
    launch -n 3 "$probe" abort 2 6 ''
    expect_status 6
    expect_silence
    launch -n 3 "$probe" abort 0 0 ''
    expect_status 0
    launch -n 2 "$probe" abort 0 256 ''
    expect_status 1
    expect_nothing_left
}

# A PE that ends well without PMIx_Finalize, or before PMIx_Init: no failure, unless others need it in a fence.
case_missing_pe() {
    launch -n 4 "$probe" desert 1
    expect_status 0
    expect_silence
    launch -n 4 --timeout 20 "$probe" desert_fence 1 later
    expect_status 1
    expect_message 'PE 1 \(pid [0-9]+\) exited with status 0 without finalizing, and the others wait.*'
    launch -n 4 --timeout 20 "$probe" desert_fence 2 now
    [ "$status" -ne 0 ] || fail "status is 0"
    expect_message 'PE 2 \(pid [0-9]+\) exited with status 0 without finalizing, .*'
    launch -n 4 --timeout 20 "$probe" absent 3
    [ "$status" -ne 0 ] || fail "status is 0"
    expect_message 'PE 3 \(pid [0-9]+\) exited with status 0 without initializing, .*'
    expect_nothing_left
}

case_timeout() {
    launch -n 3 --timeout 0.3 "$probe" wait
    expect_status 124
    expect_last_message 'timeout after 0.3 s; still running: PEs 0-2; ending them'
    grep -qE '^isthmus-run: PE.* not in shmem_init so far, process ' "$work/err" || fail "nobody says where the PEs are"
    expect_end_in_ms 5000
    launch --timeout=60 -n 2 true
    expect_status 0
    expect_nothing_left
}

case_tag_output() {
    local line='^\[PE [0-7]\] (<line [0-9]+ of [0-7] [a-z]*>|<no end of [0-7]>)$'
    launch --tag-output -n 8 "$probe" lines 300
    expect_status 0
    [ "$(cat "$work/out" "$work/err" | wc -l)" -eq 2408 ] || fail "lines are missing"
    [ "$(cat "$work/out" "$work/err" | grep -vcE "$line")" -eq 0 ] || fail "mixed lines"
    [ "$(grep -cE '^\[PE (.)\] <.* of \1[ >]' "$work/out")" -eq 1208 ] || fail "lines with another PE's tag"
    launch -n 2 "$probe" lines 2
    expect_lines '^\[PE' 0
}

# A reader that closes, or does not read for some time, affects the PEs as without tags.
case_tag_output_reader() {
    "${environment[@]}" "$run" --tag-output -n 2 yes 2>/dev/null | head -3 >"$work/out"
    expect_lines '^\[PE [01]\] y$' 3
    until_true nothing_is_left || fail "the PEs go on writing to nobody"
    mkfifo "$work/pipe"
    "${environment[@]}" "$run" --tag-output --timeout 0.5 -n 2 yes >"$work/pipe" 2>"$work/err" &
    launcher=$!
    exec 9<"$work/pipe"
    until_true grep -q timeout "$work/err" || fail "no timeout while the reader does not read"
    cat <&9 >/dev/null
    exec 9<&-
    end_of_launcher
    expect_status 124
}

case_stdin() {
    seq 100000 >"$work/in"
    launch -n 3 "$probe" count_input <"$work/in"
    expect_status 0
    expect_lines "PE 0 read $(wc -c <"$work/in") bytes" 1
    expect_lines 'PE [12] read 0 bytes' 2
    launch -n 2 "$probe" count_input <&-
    expect_lines 'PE [01] read 0 bytes' 2
}

case_forward_signal() {
    local name
    for name in USR1 USR2 TERM HUP; do
        launch_in_background -n 3 "$probe" catch "$(kill -l $name)"
        until_true has_lines waiting 3 || fail "the PEs do not start"
        kill -"$name" "$launcher"
        end_of_launcher
        expect_status 0
        expect_lines 'caught it' 3
    done
    expect_nothing_left
}

case_signal_ends_job() {
    launch_in_background -n 3 "$probe" wait
    until_true has_lines waiting 3 || fail "the PEs do not start"
    kill -TERM "$launcher"
    end_of_launcher
    expect_status 143
    expect_silence
    expect_nothing_left
}

case_second_signal_kills() {
    launch_in_background -n 3 "$probe" stubborn 9 0
    until_true has_lines waiting 3 || fail "the PEs do not start"
    kill -TERM "$launcher"
    until_true taken_by_launcher TERM || fail "the launcher does not take SIGTERM"
    kill -TERM "$launcher"
    end_of_launcher
    [ "$status" -eq 137 ] || [ "$status" -eq 143 ] || fail "status is $status"
    expect_nothing_left
}

taken_by_launcher() { # no signal of that name pending any more
    local pending number
    number=$(kill -l "$1")
    pending=$(awk '/^(ShdPnd|SigPnd)/ { print $2 }' "/proc/$launcher/status")
    for mask in $pending; do [ $((0x$mask >> (number - 1) & 1)) -eq 0 ] || return 1; done
}

states_of_pes() { for pid in $(marked); do
    [ "$(readlink "/proc/$pid/exe")" = "$(readlink -f "$probe")" ] && awk '/^State/ { print $2 }' "/proc/$pid/status"
done; }
has_stopped() { [ "$(states_of_pes | grep -c T)" -eq "$1" ]; }

case_stop_and_continue() {
    launch_in_background -n 3 "$probe" wait
    until_true has_lines waiting 3 || fail "the PEs do not start"
    kill -TSTP "$launcher"
    until_true has_stopped 3 || fail "the PEs do not stop"
    until_true grep -q '^State:.T' "/proc/$launcher/status" || fail "the launcher does not stop"
    kill -CONT "$launcher"
    until_true has_stopped 0 || fail "the PEs do not continue"
    kill -TERM "$launcher"
    end_of_launcher
    expect_status 143
}

# The terminal belongs to the launcher alone: it passes on what is typed, and the terminal's signals.
case_terminal() {
    command -v script >/dev/null || {
        echo "needs script(1) for a terminal"
        exit 77
    }
    mkfifo "$work/typed"
    "${environment[@]}" script -qec "$run -n 2 $probe count_input" /dev/null <"$work/typed" >"$work/out" &
    launcher=$!
    exec 8>"$work/typed"
    until_true has_lines 'PE 1 read 0 bytes' 1 || fail "PE 1 gets the terminal's input"
    printf 'hello\nworld\n\004' >&8
    end_of_launcher
    expect_status 0
    expect_lines 'PE 0 read 12 bytes' 1

    "${environment[@]}" script -qec "$run -n 2 $probe wait" /dev/null <"$work/typed" >"$work/out" &
    launcher=$!
    until_true has_lines waiting 2 || fail "the PEs do not start"
    printf '\003' >&8 # Ctrl-C
    end_of_launcher
    exec 8>&-
    expect_status 130
    expect_nothing_left
}

case_env_export() {
    export PROBE_INHERITED=yes
    launch -n 2 "$probe" variable PROBE_INHERITED
    expect_lines '^yes$' 2
    launch -x PROBE_INHERITED -x PROBE_NEW=a=b -n 2 "$probe" variable PROBE_NEW
    expect_lines '^a=b$' 2
    expect_silence
    launch -x PROBE_INHERITED=other -n 1 "$probe" variable PROBE_INHERITED
    expect_lines '^other$' 1
    launch -x PROBE_UNSET -n 1 "$probe" variable PROBE_UNSET
    expect_status 0
    expect_lines '^(unset)$' 1
    expect_message 'warning: -x PROBE_UNSET has no effect: .*'
}

case_job_secret() {
    launch -n 3 "$probe" variable ISTHMUS_JOB_SECRET
    [ "$(sort -u "$work/out" | grep -cE '^[0-9a-f]{32}$')" -eq 1 ] || fail "not one secret of 128 bits"
    local before
    before=$(sort -u "$work/out")
    launch -n 3 "$probe" variable ISTHMUS_JOB_SECRET
    [ "$(sort -u "$work/out")" != "$before" ] || fail "the same secret in two jobs"
    ISTHMUS_JOB_SECRET=mine launch -n 1 "$probe" variable ISTHMUS_JOB_SECRET
    expect_lines '^mine$' 1
}

# The second probe is of the same user, knows where the server listens, and guesses the name of the job as far as
# possible.
case_guessed_name() {
    launch -n 1 sh -c 'PMIX_NAMESPACE=${PMIX_NAMESPACE%-*} "$0" hello && exit 6; "$0" hello || exit 5; exit 0' "$probe"
    expect_status 0
    launch -n 1 "$probe" variable PMIX_NAMESPACE
    expect_lines '^isthmus-run-[0-9]*-[0-9a-f]\{32\}$' 1
}

usage_error() { # MESSAGE ARGS...
    local message=$1
    shift
    launch "$@"
    expect_status 2
    expect_message "$message"
}

case_bad_usage() {
    usage_error 'the number of PEs is missing; .*'
    usage_error 'the number of PEs is missing; .*' true
    usage_error '-n needs a value.*' -n
    usage_error "-n is '0'; valid: .*" -n 0 true
    usage_error "-n is '-4'; valid: .*" -n -4 true
    usage_error "-np is 'two'; valid: .*" -np two true
    usage_error "--np is '99999999999999999999'; valid: .*" --np 99999999999999999999 true
    usage_error "-n is '100000'; valid: .*" -n 100000 true
    usage_error 'the program is missing; .*' -n 2
    usage_error 'the program is missing; .*' -n 2 --
    usage_error "unknown option '--tags'.*" --tags -n 2 true
    usage_error "--bind is 'socket'; valid: core, none" --bind socket -n 2 true
    usage_error "--timeout is '-1'; valid: .*" --timeout -1 -n 2 true
    usage_error "-x is '=1'; valid: .*" -x =1 -n 2 true
    launch --help
    expect_status 0
    expect_lines '^usage: isthmus-run' 1
    launch --version
    expect_status 0
    expect_lines '^isthmus-run .*PMIx' 1
    expect_nothing_left
}

case_mpirun_options() { # a script that calls mpirun
    local name
    name=$(hostname)
    for option in --oversubscribe --allow-run-as-root -oversubscribe '--host localhost' '-H localhost:2,127.0.0.1' \
        "-host $name:4" "--host=${name%%.*}" '-N 2' '--npernode 3' '--map-by node' \
        '--map-by Socket:OVERSUBSCRIBE:span' '--map-by ppr:2:node' '--bind-to none' '-bind-to none'; do
        # shellcheck disable=SC2086
        launch -np 2 $option echo here
        expect_status 0
        expect_lines '^here$' 2
        expect_silence
    done
    launch -N 3 echo here
    expect_lines '^here$' 3
    environment+=(ISTHMUS_LOG=info)
    launch -n 1 --oversubscribe true
    expect_message '--oversubscribe changes nothing on one host'
    launch -n 1 --map-by slot true
    expect_message '--map-by slot changes nothing on one host'
    unset 'environment[-1]'
    usage_error "--host names 'host.invalid', which is not this host, .*" --host localhost,host.invalid:2 -n 2 true
    usage_error "-H names '', which is not .*" -H localhost, -n 2 true
    usage_error '3 PEs, and at most 2 on each host, need more hosts than one; .*' -n 3 -N 2 true
    usage_error "-N is '0'; valid: .*" -N 0 true
    usage_error "--map-by is 'ppr:2:socket'; valid: .*" --map-by ppr:2:socket -n 2 true
    usage_error "--map-by is 'core:PE=2'; valid: .*" --map-by core:PE=2 -n 2 true
    usage_error "--hostfile is 'list'; .* mpirun and srun" --hostfile list -n 2 true
    usage_error '--mca is an option for Open MPI, .* -x OMPI_MCA_pml=VALUE' --mca pml ucx -n 2 true
    expect_nothing_left
}

case_program_not_found() {
    launch -n 2 no-such-program-anywhere
    expect_status 127
    expect_message "cannot start 'no-such-program-anywhere': no such file in PATH; .*"
    launch -n 2 "$work/none"
    expect_status 127
    launch -n 2 /
    expect_status 126
    : >"$work/text"
    launch -n 2 "$work/text"
    expect_status 126
    expect_message "cannot start '$work/text': .* is not executable; .*"
    printf '#!/no/interpreter\n' >"$work/script"
    chmod +x "$work/script"
    launch -n 2 "$work/script"
    expect_status 127
    expect_nothing_left
}

case_options_end() { # what has the form of an option behind PROGRAM is PROGRAM's
    launch -n 1 -- echo -n --tag-output -x
    expect_status 0
    [ "$(cat "$work/out")" = '--tag-output -x' ] || fail "the arguments do not arrive as they are"
}

case_bind_core() {
    launch -n 1 --bind core "$probe" cpus
    expect_status 0
    [ "$(nproc)" -lt 2 ] && return
    launch -n 2 --bind core "$probe" cpus
    expect_silence
    [ "$(grep -o 'CPUs from .*' "$work/out" | sort -u | wc -l)" -eq 2 ] || fail "two PEs on one core"
    launch -n $(($(nproc) + 1)) --bind core "$probe" cpus
    expect_status 0
    expect_message 'warning: --bind core has no effect: .*'
}

case_descriptors() { # a PE has the same open files, and may open as many, as a program without launcher
    ulimit -Sn 40
    exec 7</dev/null
    "$probe" descriptors >"$work/expected"
    launch -n 2 "$probe" descriptors
    expect_lines "^$(cat "$work/expected")$" 2
    exec 7<&-
    ulimit -n 200
    launch -n 100 true
    expect_status 1
    expect_message 'too few open files.*'
}

case_leftovers() { # what PEs start and do not wait for ends with the job, a daemon of its own session too
    launch -n 2 sh -c 'sleep 1000 & setsid sleep 1001 & exit 0'
    expect_status 0
    expect_silence
    expect_end_in_ms 5000
    nothing_is_left || fail "still there: $(marked)"
    launch -n 1 sh -c "(trap '' TERM; sleep 1000) & exit 3"
    expect_status 3
    nothing_is_left || fail "still there: $(marked)"
}

case_script_starts_pe() {
    launch -n 2 sh -c '"$0" modex && "$0" hello' "$probe" # two calls of PMIx_Init, one after the other
    expect_status 0
    expect_lines hello 2
    launch -n 2 sh -c '"$0" exit 1 3; exit $?' "$probe"
    expect_status 3
    expect_nothing_left
}

case_launcher_in_job() { # each PE is a launcher itself
    launch -n 2 "$run" -n 2 "$probe" modex
    expect_status 0
    expect_silence
}

case_many_pes() {
    launch -n 64 "$probe" modex
    expect_status 0
    expect_silence
    launch -n 300 --tag-output "$probe" hello
    expect_status 0
    expect_lines '^\[PE [0-9]*\] hello' 300
    launch -n 64 "$probe" exit 63 5
    expect_status 5
    expect_end_in_ms $((deadline_s * 1000))
    expect_nothing_left
}

# kill -9 of the launcher and of PEs at random moments. In a mount namespace of its own, so that all files in /tmp and
# /dev/shm are this case's.
case_kill9_leaves_nothing() {
    [ "$(id -u)" -eq 0 ] && unshare --mount true 2>/dev/null || {
        echo "needs root for a private /tmp and /dev/shm"
        exit 77
    }
    unshare --mount "$BASH" "$0" kill9_inside "$run" "$probe" || exit 1
}

case_kill9_inside() {
    mount -t tmpfs none /mnt && cp "$run" /mnt/run && cp "$probe" /mnt/probe || fail "cannot prepare the namespace"
    mount -t tmpfs none /tmp && mount -t tmpfs none /dev/shm || fail "cannot prepare the namespace"
    run=/mnt/run probe=/mnt/probe work=/mnt/work
    mkdir -p "$work"
    RANDOM=${ISTHMUS_LAUNCH_TEST_SEED:-$$}
    echo "seed ${ISTHMUS_LAUNCH_TEST_SEED:-$$}"
    local round
    for round in $(seq 20); do kill9_of_launcher "$round" && expect_clean_host "$round"; done
    for round in $(seq 20); do kill9_of_pe "$round" && expect_clean_host "$round"; done
}

# Half of the PEs are scripts that start the PE and wait, so that there are processes which only the guardian knows.
start_round() {
    if [ $(($1 % 2)) -eq 0 ]; then launch_in_background -n 4 "$probe" wait
    else launch_in_background -n 4 sh -c '"$0" wait & wait $!' "$probe"; fi
    sleep "0.0$((RANDOM % 60 + 10))" # not to hide a race but to hit one: 10 to 69 ms
}

kill9_of_launcher() {
    start_round "$1"
    kill -9 "$launcher"
    wait "$launcher" 2>/dev/null
    deadline_s=5
    expect_nothing_left
}

kill9_of_pe() {
    local victims victim=none begin
    start_round "$1"
    victims=($(marked | grep -vx "$launcher"))
    [ ${#victims[@]} -gt 0 ] && victim=${victims[RANDOM % ${#victims[@]}]}
    case $(cat "/proc/$victim/comm" 2>/dev/null) in
    '' | isthmus-guard | run) kill -TERM "$launcher" ;; # no PE yet, or none of its processes: nothing fails on its own
    *) kill -9 "$victim" ;;
    esac
    begin=$(now_ms)
    end_of_launcher
    took_ms=$(($(now_ms) - begin))
    [ "$status" -ne 0 ] || fail "round $1: status is 0"
    expect_end_in_ms 5000
    expect_nothing_left
}

expect_clean_host() {
    local files
    files=$(find /tmp /dev/shm -mindepth 1)
    [ -z "$files" ] || fail "round $1: files left: $files"
}

declare -F "case_$test_case" >/dev/null || fail "no such case"
"case_$test_case"
exit 0
