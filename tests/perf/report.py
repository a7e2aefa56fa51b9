#!/usr/bin/env python3
"""report.py BIN KINDS: isthmus-perf measures each operation, names its limits and causes, and refuses what it cannot do.

KINDS is the folder of the transport that stands for a device's, or `none`. No time is judged."""
import os
import subprocess
import sys

BIN, KINDS = sys.argv[1:3]
PERF, RUN = os.path.join(BIN, "isthmus-perf"), os.path.join(BIN, "isthmus-run")
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith(("ISTHMUS_", "UCX_", "PMI"))}
QUICK = ("--repeat", "2", "--seconds", "0.001")
COLUMNS = 100
PAIRS = "put get put_nbi get_nbi put_signal p g fetch_add add compare_swap".split()
TOGETHER = "barrier sync broadcast collect fcollect alltoall sum_reduce".split()


def start(command, **env):
    return subprocess.run(command, capture_output=True, text=True, timeout=120, env={**CLEAN, **env})


def perf(*options, n=2, status=0, **env):
    done = start([RUN, "-n", str(n), PERF, *QUICK, *options], **env)
    assert done.returncode == status, (options, done.returncode, done.stdout, done.stderr)
    return done


def rows(text):
    """The rows of a table as lists of words; continued lines belong to the row before."""
    found = []
    for line in text.splitlines():
        assert len(line) <= COLUMNS, line
        words = line.split()
        if line.startswith(" ") and found:
            found[-1] += words
        elif words and words[0] in PAIRS + TOGETHER:
            found.append(words)
    return found


def each_operation_appears():
    found = rows(perf("--sizes", "8,4K").stdout)
    names = [row[0] for row in found]
    for name in PAIRS + TOGETHER:
        sizes = 1 if name in "p g fetch_add add compare_swap barrier sync".split() else 2
        assert names.count(name) == sizes, (name, names)
    for row in found:
        assert "of" in row, row  # "0.97 of memcpy": on one host each operation has a limit
        assert ("all" in row) == (row[0] in TOGETHER), row


def groups_sizes_and_pairs():
    names = [row[0] for row in rows(perf("--ops", "amo,sync").stdout)]
    assert names == ["fetch_add", "add", "compare_swap", "sync"], names
    sizes = [" ".join(row[1:3]) for row in rows(perf("--ops=get", "--sizes=8-1K,1MiB", "--pes", "1,0").stdout)]
    assert sizes == ["8 B", "64 B", "512 B", "1 KiB", "1 MiB"], sizes
    text = perf("--ops", "p,barrier", "--pes", "all", n=3).stdout
    assert [row[0] for row in rows(text)] == ["barrier", "p"], text
    matrix = [line.split() for line in text.splitlines() if line.split()[:1] in (["0"], ["1"], ["2"])][-3:]
    assert [row[1 + 2 * int(row[0])] for row in matrix] == ["-"] * 3 and all(row.count("-") == 1 for row in matrix), text
    many = perf("--ops", "alltoall,put", "--sizes", "256M", "--pes", "1,0").stdout
    assert "left out: alltoall of 256 MiB" in many and [row[0] for row in rows(many)] == ["put"], many


def causes():
    text = " ".join(perf("--ops", "put,sync", "--sizes", "8", ISTHMUS_ALIAS="0").stdout.split())
    assert "ISTHMUS_ALIAS=0: each access calls transport loopback" in text, text
    assert "no limit measured: no load or store reaches all PEs" in text, text
    text = " ".join(perf("--ops", "fetch_add", ISTHMUS_CHECK="1").stdout.split())
    assert "ISTHMUS_CHECK=1 checks each call" in text or "nothing to gain" in text, text


def progress_is_on_stderr():
    done = perf("--ops", "put,barrier", "--sizes", "8,64")
    lines = [line for line in done.stderr.splitlines() if " of 3: " in line]
    assert lines == ["1 of 3: put, PE 0 to 1", "3 of 3: barrier"], done.stderr


def without_a_launcher():
    done = start([PERF, *QUICK, "--ops", "p"])
    assert done.returncode == 0 and ": 2 PEs, " in done.stdout, done
    assert start([PERF, "--version"]).stdout.startswith("isthmus-perf "), "--version"
    help_text = start([PERF, "--help"]).stdout
    for word in PAIRS + TOGETHER + ["--ops", "--memory", "--sizes", "--pes", "--seconds", "--repeat", "Status"]:
        assert word in help_text, word


def refusals():
    for options, message in (
            (("--pes", "0,7"), "--pes is 0,7 in a job of 2 PEs; accepted: 0 to 1"),
            (("--pes", "1"), "--pes is '1'; accepted: two PE numbers"),
            (("--pes", "1,1"), "--pes names PE 1 twice"),
            (("--sizes", "7"), "--sizes is '7'; accepted: multiples of 8 bytes"),
            (("--sizes", "64-8"), "--sizes is '64-8'"),
            (("--sizes", "8,"), "--sizes is '8,'"),
            (("--sizes", "8X"), "--sizes is '8X'"),
            (("--sizes", ",".join(["8"] * 65)), "more than 64 sizes"),
            (("--ops", "put,pat"), "--ops has 'pat'"),
            (("--memory", "disk"), "--memory is 'disk'; accepted: host, device, mixed"),
            (("--repeat", "0"), "--repeat is '0'; accepted: 1 to 1001"),
            (("--seconds", "-1"), "--seconds is '-1'"),
            (("--seconds",), "--seconds needs a value: S"),
            (("--fast",), "unknown argument '--fast'")):
        done = perf(*options, status=2)
        assert done.stderr.count("isthmus-perf: ") == 1 and message in done.stderr, (options, done.stderr)
        if options != ("--pes", "0,7"):  # that needs the job
            assert start([PERF, *options]).returncode == 2, options
    assert "the job has one PE" in perf(n=1, status=2).stderr
    differ = start([RUN, "-n", "2", "sh", "-c", 'exec "$0" --repeat $((PMIX_RANK + 1))', PERF])
    assert differ.returncode == 2 and "PE 1 has other arguments than PE 0" in differ.stderr, differ


def memory_of_a_device():
    for memory in ("device", "mixed"):
        done = perf("--memory", memory, status=1, ISTHMUS_TRANSPORTS="loopback")
        assert f"--memory is {memory}, but no transport here has memory of a device" in done.stderr, done.stderr
    if KINDS == "none":
        return
    env = {"ISTHMUS_PLUGIN_PATH": KINDS, "ISTHMUS_TRANSPORTS": "kinds,loopback"}
    for memory in ("device", "mixed"):
        text = perf("--memory", memory, "--ops", "put,get,barrier,fcollect", "--sizes", "8,4K", **env).stdout
        assert [row[0] for row in rows(text)] == ["put"] * 2 + ["get"] * 2 + ["barrier"] + ["fcollect"] * 2, text
        assert "by transport kinds" in text, text


def main():
    for case in (each_operation_appears, groups_sizes_and_pairs, causes, progress_is_on_stderr, without_a_launcher, refusals,
                 memory_of_a_device):
        case()
        print(f"ok {case.__name__}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
