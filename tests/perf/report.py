#!/usr/bin/env python3
"""report.py BIN KINDS: isthmus-perf measures each operation, names its limits and causes, and refuses what it cannot
do.

KINDS is the folder of the transport that stands for a device's, or `none`. No time is judged."""
import json
import os
import pty
import subprocess
import sys
from xml.etree import ElementTree

from job import CLEAN, PERF, QUICK, RUN, path, perf, start

KINDS = sys.argv[2]
COLUMNS = 100
SVG = "{http://www.w3.org/2000/svg}"
PAIRS = "put get put_nbi get_nbi put_signal p g fetch_add add compare_swap".split()
TOGETHER = "barrier sync broadcast collect fcollect alltoall alltoalls sum_reduce sum_inscan sum_exscan".split() + \
    ["sum_reducescatter"]
ON_STREAM = [f"{name}_on_stream" for name in "put get put_signal barrier sync broadcast fcollect alltoall".split() +
             ["sum_reduce", "sum_reducescatter"]]


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
    assert [row[1 + 2 * int(row[0])] for row in matrix] == ["-"] * 3 and all(row.count("-") == 1
                                                                             for row in matrix), text
    assert " by transport " not in text and " by transport " not in perf("--ops", "sync").stdout, text
    text = perf("--ops", "sync,p", "--pes", "1,0").stdout
    assert "\nPE 1 to PE 0 by transport loopback\n" in text, text
    many = perf("--ops", "alltoall,put", "--sizes", "256M", "--pes", "1,0").stdout
    assert "left out: alltoall of 256 MiB" in many and [row[0] for row in rows(many)] == ["put"], many


def causes():
    text = " ".join(perf("--ops", "sync", ISTHMUS_ALIAS="0").stdout.split())
    assert "no limit measured: a bare one needs loads and stores between all PEs" in text, text


def progress_is_on_stderr():
    done = perf("--ops", "put,barrier", "--sizes", "8,64")
    lines = [line for line in done.stderr.splitlines() if " of 3: " in line]
    assert lines == ["1 of 3: put, PE 0 to 1", "3 of 3: barrier"], done.stderr
    for how, text in (("none", ""), ("place", "\x1b[K1 of 3: put of 8 B, PE 0 to 1\r\x1b[K2 of 3: put of 64 B, "
                                              "PE 0 to 1\r\x1b[K3 of 3: barrier\r\x1b[K")):
        shown = subprocess.run([RUN, "-n", "2", PERF, *QUICK, "--ops", "put,barrier", "--sizes", "8,64", "--progress",
                                how],
                               stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, timeout=120, env=CLEAN,
                               check=True).stderr.decode()
        assert shown == text, (how, shown)


def read_terminal(fd):
    text = b""
    try:
        while part := os.read(fd, 1000):
            text += part
    except OSError:  # the other end is closed
        pass
    os.close(fd)
    return text


def without_a_launcher():
    done = start([PERF, *QUICK, "--ops", "p"])
    assert done.returncode == 0 and ": 2 PEs, " in done.stdout, done
    done = start([PERF, *QUICK, "--ops", "p"], RANK="0", WORLD_SIZE="1")
    assert done.returncode == 0 and ": 2 PEs, " in done.stdout, done  # torchrun sets an address too
    for options, shown in (((), b"\x1b[K1 of 1: p, PE 0 to 1\r\x1b[K"), (("--progress", "none"), b"")):
        ours, theirs = pty.openpty()  # the PEs have a pipe; isthmus-perf passes on that there is a terminal behind it
        subprocess.run([PERF, *QUICK, "--ops", "p", *options], stdout=subprocess.DEVNULL, stderr=theirs, timeout=120,
                       env=CLEAN, check=True)
        os.close(theirs)
        seen = read_terminal(ours)
        assert seen == shown, (options, seen)
    assert start([PERF, "--version"]).stdout.startswith("isthmus-perf "), "--version"
    help_text = start([PERF, "--help"]).stdout
    assert start([RUN, "-n", "3", PERF, "--help"]).stdout == help_text, "PE 0 prints"
    with open("/dev/full", "w") as full:
        failed = subprocess.run([PERF, "--help"], stdout=full, stderr=subprocess.PIPE, env=CLEAN, text=True)
    assert failed.returncode == 1 and "isthmus-perf: stdout: No space left" in failed.stderr, failed
    options = ["--ops", "--memory", "--sizes", "--pes", "--seconds", "--repeat", "Status"]
    for word in PAIRS + TOGETHER + ON_STREAM + options:
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
            (("--progress", "some"), "--progress is 'some'; accepted: place, lines, none"),
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
        assert "kinds.so stands for hardware in tests" in text, text
        assert "by transport kinds" in text, text
        assert "CUDA's driver, HIP and Level Zero, which are not in use" in " ".join(text.split()), text
    text = " ".join(perf("--memory", "device", "--ops", "barrier", ISTHMUS_ALIAS="0", **env).stdout.split())
    assert "no limit measured: a bare one needs loads and stores between all PEs" in text, text


def on_streams():
    text = perf("--ops", "on_stream,p").stdout
    assert f"left out: {len(ON_STREAM)} on streams, which need a heap" in text and "stands for" not in text, text


def files():
    figures, picture = path("figures.json"), path("picture.svg")
    done = perf("--ops", "put,fetch_add,barrier,alltoall", "--sizes", "8,64,4K", "--pes", "1,0", "--json", figures,
                "--svg", picture)
    with open(figures) as file:
        report = json.load(file)
    assert report["n_pes"] == 2 and done.stdout.startswith(f"isthmus-perf {report['version']}: 2 PEs, "
                                                           f"PE 0 on {report['host']};"), report
    seen = [(r["operation"], r["size_bytes"], r["from"], r["to"]) for r in report["results"]]
    assert seen == [("put", n, 1, 0) for n in (8, 64, 4096)] + [("fetch_add", 0, 1, 0), ("barrier", 0, 0, -1)] + \
        [("alltoall", n, 0, -1) for n in (8, 64, 4096)], seen
    for r in report["results"]:
        for figure in (r["call"], r["limit"]):
            assert 0 < figure["low_ns"] <= figure["median_ns"] <= figure["high_ns"], r
        assert (r["memory"], r["transport"]) == ("host", "loopback"), r
        assert r["verdict"].split(" of ")[1].startswith(r["limit_name"]), r
    root = ElementTree.parse(picture).getroot()
    curves = root.findall(f"{SVG}polyline")
    assert sorted(c.get("class") for c in curves) == ["call", "call", "limit", "limit"], [c.attrib for c in curves]
    assert all(len(c.get("points").split()) == 3 for c in curves), [c.attrib for c in curves]
    text = " ".join(t.text for t in root.findall(f"{SVG}text"))
    for word in ("put", "alltoall", "4 KiB", "GB/s", "fetch_add", "barrier"):
        assert word in text, text
    assert perf("--ops", "p", "--svg", picture) and not ElementTree.parse(picture).getroot().findall(f"{SVG}polyline")
    perf("--ops", "put", "--pes", "all", "--sizes", "8,64", "--svg", picture, n=3)
    assert len(ElementTree.parse(picture).getroot().findall(f"{SVG}polyline")) == 12, "two for each of six pairs"
    done = perf("--json", "/nowhere/figures.json", status=1)
    assert "isthmus-perf: cannot write /nowhere/figures.json: No such file or directory" in done.stderr, done
    assert not done.stdout, done


def row(operation, size, low, median, high, **more):
    return {"operation": operation, "memory": "host", "from": 0, "to": 1, "size_bytes": size, "limit": None,
            "unknown": [{}, True, -1.5e3], "call": {"median_ns": median, "low_ns": low, "high_ns": high}, **more}


def run_of(*results, n_pes=2):
    return {"version": "9", "host": "h\u00e9 \"", "n_pes": n_pes, "results": list(results)}


def comparisons():
    def compare(a, b, status):
        done = start([PERF, "--compare", path("a.json", a), path("b.json", b)])
        assert done.returncode == status, done
        return done.stdout, done.stderr

    first = run_of(row("put", 8, 9, 10, 11), row("put", 64, 9, 10, 11), row("get", 8, 9, 10, 11),
                   row("p", 0, 9, 10, 11))
    text, _ = compare(first, run_of(row("put", 8, 11.5, 12, 13), row("put", 64, 4, 5, 8.9), row("get", 8, 10.9, 12, 13),
                                    row("put", 8, 1, 1, 1, memory="device"), n_pes=3), 1)
    table = [line.split() for line in text.splitlines() if "0-1" in line]
    assert [(r[0], " ".join(r[r.index("0-1") + 7:])) for r in table] == [("put", "1.20 slower"), ("put", "0.50 faster"),
                                                                        ("get", "1.20 within the spread")], text
    assert "1 faster, 1 slower, 1 within the spread; 1 only in A, 1 only in B" in text, text
    assert "The jobs differ in size" in text, text
    text, _ = compare(first, first, 0)
    assert "0 faster, 0 slower, 4 within the spread; 0 only in A, 0 only in B" in text and "differ" not in text, text
    _, error = compare(run_of(row("put", 8, 9, 10, 11)), run_of(row("get", 8, 9, 10, 11)), 1)
    assert "have no figure in common" in error, error
    whole = json.dumps(first)
    for bad in ("", "[]", "{}", whole[:-1], whole + "x", whole.replace('"put"', "3"), whole.replace("10", "-10"),
                "[" * 100000, '{"x": ' * 100000, '{"x": "\\u12', '{"results": [{}]}'):
        _, error = compare(first, bad, 1)
        assert "b.json" in error, (bad[:50], error)
    assert "No such file" in start([PERF, "--compare", path("a.json"), "/nowhere"]).stderr
    assert start([PERF, "--compare", path("a.json")]).returncode == 2


def main():
    for case in (files, comparisons, each_operation_appears, groups_sizes_and_pairs, causes, progress_is_on_stderr,
                 without_a_launcher, refusals, memory_of_a_device, on_streams):
        case()
        print(f"ok {case.__name__}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
