#!/usr/bin/env python3
"""ISTHMUS_PROFILE: the numbers of a program whose calls are known (known_calls.c), the trace, the map, and what remains
when no report can be written.

usage: profile.py FOLDER-OF-ISTHMUS-RUN PROGRAM PROGRAM-OF-DEVICES DOUBLE-OF-CUDA"""
import json
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree
from collections import defaultdict
from pathlib import Path

SVG = "{http://www.w3.org/2000/svg}"
# Of one thread of known_calls.c: calls, and bytes of one call; what it calls once for each PE comes below.
EACH_THREAD = {"shmem_long_p": (7, 8), "shmem_long_put": (5, 800), "shmem_getmem_nbi": (3, 24),
               "shmem_long_atomic_add": (4, 8), "shmem_long_g": (1, 8), "shmem_long_iput": (1, 48),
               "shmem_quiet": (1, 0)}
EACH_PE = {"shmem_barrier_all": (1, 0), "shmem_long_put_signal": (1, 808), "shmem_signal_wait_until": (1, 0)}
REDUCED_BYTES = 8000
# Of known_device.c, with its barrier at the end.
ON_STREAMS = {"nvshmemx_uint64_put_on_stream": (5, 800), "nvshmemx_uint64_p_on_stream": (3, 8),
              "nvshmemx_signal_op_on_stream": (4, 8), "nvshmemx_signal_wait_until_on_stream": (1, 0),
              "nvshmemx_uint64_iget_on_stream": (1, 64), "nvshmemx_quiet_on_stream": (1, 0)}
IN_KERNELS = {"a kernel's put": (5, 800), "a kernel's p": (3, 8), "a kernel's atomic": (4, 8)}

bin_folder, program, device_program, cuda = (Path(path).resolve() for path in sys.argv[1:5])
folder = Path(tempfile.mkdtemp(prefix="isthmus_profile."))
faults = []


def check(what, seen, expected):
    if seen != expected:
        faults.append(f"{what}: {seen}, expected {expected}")


def run(n, profile, *arguments, status=0, what=program, **settings):
    environment = {**os.environ, "ISTHMUS_PROFILE": profile, **settings}
    done = subprocess.run([bin_folder / "isthmus-run", "-n", str(n), what, *arguments], text=True,
                          capture_output=True, env=environment, timeout=100)
    if (done.returncode == 0) != (status == 0):
        faults.append(f"{n} PEs, {profile}, {arguments}, {settings}: status {done.returncode}\n"
                      f"{done.stdout}{done.stderr}")
    return done.stderr


def check_calls(case, report, n, n_threads):
    routines = {r["name"]: r for r in report["routines"]}
    for name, (calls, length) in EACH_THREAD.items():
        check(f"{case}: calls of {name}", routines[name]["calls"], calls * n * n_threads)
        check(f"{case}: bytes of {name}", routines[name]["bytes"], calls * length * n * n_threads)
    for name, (calls, length) in EACH_PE.items():
        check(f"{case}: calls of {name}", routines[name]["calls"], calls * n)
        check(f"{case}: bytes of {name}", routines[name]["bytes"], calls * length * n)
    check(f"{case}: calls of the reduction", routines["shmem_long_sum_reduce"]["calls"], n)
    check(f"{case}: routines", set(routines), {*EACH_THREAD, *EACH_PE, "shmem_long_sum_reduce"})
    for r in routines.values():
        check(f"{case}: PEs that call {r['name']}", r["pes"], n)
        check(f"{case}: {r['name']} waits no longer than it lasts", r["waited_ns"] <= r["time_ns"], True)
        check(f"{case}: the longest {r['name']}", r["longest_ns"] <= r["time_ns"] <= r["calls"] * r["longest_ns"], True)
    for name in ("shmem_barrier_all", "shmem_signal_wait_until"):
        check(f"{case}: {name} is a wait", routines[name]["waited_ns"], routines[name]["time_ns"])
    return routines


def check_pairs(case, report, n, n_threads, routines, is_direct):
    """Each PE's next one gets everything but the reduction, whose bytes go to all."""
    reduced = routines["shmem_long_sum_reduce"]["bytes"]
    known = n_threads * sum(calls * length for calls, length in EACH_THREAD.values()) + 808
    seen, atomics, sums = defaultdict(int), defaultdict(int), defaultdict(int)
    for pair in report["pairs"]:
        seen[pair["pe"], pair["peer"]] += pair["put_bytes"] + pair["got_bytes"] + pair["atomic_bytes"]
        atomics[pair["pe"], pair["peer"]] += pair["atomics"]
        for key in ("puts", "put_bytes", "gets", "got_bytes", "atomics", "atomic_bytes", "flags"):
            sums[key] += pair[key]
        check(f"{case}: way from PE {pair['pe']} to PE {pair['peer']}", pair["load_store"], is_direct)
    check(f"{case}: bytes of all pairs", sum(seen.values()), n * known + reduced)
    for pe in range(n):
        check(f"{case}: atomics of PE {pe}", atomics[pe, (pe + 1) % n], 4 * n_threads + 1)
        check(f"{case}: PE {pe} moves at least", seen[pe, (pe + 1) % n] >= known, True)
        check(f"{case}: bytes of PE {pe}", report["pes"][pe]["bytes"], sum(b for (p, _), b in seen.items() if p == pe))
    for key, value in sums.items():
        check(f"{case}: {key} of the transports", sum(t[key] for t in report["transports"]), value)
    check_time(case, report, n, n_threads, routines)
    if n == 2:  # each PE combines one half for both: it reads and writes that of the other
        check(f"{case}: bytes of the reduction", reduced, 2 * REDUCED_BYTES)
    return seen


def check_time(case, report, n, n_threads, routines):
    """Calls to one PE, and their time, are those of its pair; a reduction of two PEs may be one."""
    to_one = [name for name in EACH_THREAD if name != "shmem_quiet"] + ["shmem_long_put_signal"]
    calls, time = (sum(routines[name][key] for name in to_one) for key in ("calls", "time_ns"))
    reduced = routines["shmem_long_sum_reduce"]
    for what in ("pairs", "transports"):
        seen = {key: sum(row[key] for row in report[what]) for key in ("calls", "time_ns")}
        check(f"{case}: calls of {what}", seen["calls"] - calls in (0, reduced["calls"]), True)
        rest = reduced["time_ns"] if seen["calls"] > calls else 0
        check(f"{case}: time of {what}", seen["time_ns"], time + rest)
    for pair in report["pairs"]:
        check(f"{case}: time of {pair}", (pair["calls"] > 0) == (pair["time_ns"] > 0), True)
    by_next = sum(pair["calls"] for pair in report["pairs"] if pair["peer"] == (pair["pe"] + 1) % n)
    check(f"{case}: calls to the next PE", by_next >= calls, True)


def check_map(case, file, seen):
    root = xml.etree.ElementTree.parse(file).getroot()
    cells = [rect for rect in root.iter(SVG + "rect") if rect.find(SVG + "title") is not None]
    check(f"{case}: cells of the map", len(cells), sum(value > 0 for value in seen.values()))
    texts = [text.text for text in root.iter(SVG + "text")]
    for label in ("calling PE", "peer", "0", "1"):
        check(f"{case}: the map has the text '{label}'", label in texts, True)


def check_report(case, n, *arguments, n_threads=1, is_direct=True, **settings):
    file = folder / "report.json"
    stderr = run(n, str(file), *arguments, **settings)
    if not file.exists():
        faults.append(f"{case}: no report\n{stderr}")
        return
    report = json.loads(file.read_text())
    check(f"{case}: format", [report["format"], report["pes_per_pair"]], ["isthmus-profile-2", 1])
    check(f"{case}: PEs", [report["n_pes"], len(report["pes"])], [n, n])
    routines = check_calls(case, report, n, n_threads)
    seen = check_pairs(case, report, n, n_threads, routines, is_direct)
    check_map(case, f"{file}.svg", seen)
    lines = stderr.splitlines()
    check(f"{case}: the summary fits a screen", 0 < len(lines) <= 24 and max(len(line) for line in lines[:-1]) <= 120,
          True)
    check(f"{case}: the summary's head", lines[0].startswith(f"isthmus: profile: {n} PEs on 1 host, "), True)
    check(f"{case}: parts are removed", list(folder.glob("*.pe*")), [])
    file.unlink()


def check_trace():
    file = folder / "trace.json"
    stderr = run(2, f"trace:{file}", "threads")
    events = json.loads(file.read_text())["traceEvents"]
    calls = [e for e in events if e["ph"] == "X"]
    expected = 2 * (3 * sum(calls for calls, _ in EACH_THREAD.values()) + len(EACH_PE) + 1)
    check("trace: calls", len(calls), expected)
    check("trace: the summary's number", f"all {expected} calls" in stderr, True)
    names = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    check("trace: processes", [names[pe].split(" on ")[0] for pe in sorted(names)], ["PE 0", "PE 1"])
    tracks = defaultdict(list)
    for e in calls:
        tracks[e["pid"], e["tid"]].append((e["ts"], e["dur"], e["name"]))
    check("trace: tracks, which threads that end leave to later ones", len(tracks) in (4, 5, 6), True)
    for track, slices in tracks.items():
        slices.sort()
        for (ts, dur, name), (later, _, other) in zip(slices, slices[1:]):
            check(f"trace: on track {track} {name} ends before {other} begins", ts + dur <= later + 0.002, True)
    check("trace: no map", Path(f"{file}.svg").exists(), False)


def check_failures():
    for value, reason in ((f"{folder}/absent/report", "No such file or directory"), (str(folder), "Is a directory"),
                          ("trace:", "it has no file name")):
        stderr = run(2, value, status=1)
        expected = f"ISTHMUS_PROFILE is '{value}', but "
        check(f"'{value}': the message", expected in stderr and f": {reason}; name a file" in stderr, True)
    run(2, f"{folder}/unborn.json", status=1, ISTHMUS_HEAP_SIZE="1000000g")
    check("a start that fails: nothing remains", list(folder.glob("unborn*")), [])


def check_death():
    file = folder / "dead.json"
    run(3, str(file), "dies", status=1)
    check("a PE dies: no report", file.exists(), False)
    check("a PE dies: the parts", sorted(p.name for p in folder.glob("dead.json*")),
          [f"dead.json.pe{pe}" for pe in range(3)])
    done = subprocess.run([bin_folder / "isthmus-info", "--profile", file], text=True, capture_output=True)
    check("a PE dies: the summary", done.stdout.split("\n")[0],
          "isthmus: profile: 3 PEs on 1 host, ended without shmem_finalize")
    if done.returncode == 0:
        routines = {r["name"]: r["calls"] for r in json.loads(file.read_text())["routines"]}
        check("a PE dies: its calls", {name: routines[name] for name in EACH_THREAD},
              {name: 3 * calls for name, (calls, _) in EACH_THREAD.items()})
    (folder / "dead.json.pe1").unlink()
    done = subprocess.run([bin_folder / "isthmus-info", "--profile", file], text=True, capture_output=True)
    check("a part is missing: the summary", "parts of 2 PEs" in done.stdout, True)
    kept = (folder / "dead.json.pe2").read_bytes()
    run(3, str(file), "dies", status=1)
    (folder / "dead.json.pe2").write_bytes(kept)  # as of a host that the second job does not use
    done = subprocess.run([bin_folder / "isthmus-info", "--profile", file], text=True, capture_output=True)
    check("a part of another job: the message",
          f"{file}: the part of PE 2 is left out: it is of another job than that of PE 0" in done.stderr, True)
    check("a part of another job: the summary", "parts of 2 PEs" in done.stdout, True)
    done = subprocess.run([bin_folder / "isthmus-info", "--profile", folder / "absent"], text=True, capture_output=True)
    check("no part: the message", "there is no " in done.stderr and done.returncode == 1, True)


def check_device(case, expected, *arguments, **settings):
    """Each call is one row, wherever it is executed; nothing else is there but the barrier and requests of kernels."""
    file = folder / "device.json"
    file.unlink(missing_ok=True)  # of the case before
    stderr = run(2, str(file), *arguments, what=device_program, **settings)
    if not file.exists():
        faults.append(f"{case}: no report\n{stderr}")
        return
    report = json.loads(file.read_text())
    routines = {r["name"]: (r["calls"], r["bytes"]) for r in report["routines"]}
    for name, (calls, length) in expected.items():
        check(f"{case}: calls and bytes of {name}", routines.get(name), (2 * calls, 2 * calls * length))
    besides = {"nvshmem_barrier_all", "nvshmem_calloc", "a kernel's quiet", "finalize"}
    check(f"{case}: other routines", set(routines) - set(expected) - besides, set())
    moved = sum(pair["put_bytes"] + pair["got_bytes"] + pair["atomic_bytes"] for pair in report["pairs"])
    check(f"{case}: bytes of the pairs", moved, 2 * sum(calls * length for calls, length in expected.values()))


def check_option():
    """isthmus-run --profile, without a file and with one."""
    for option, file in (("--profile", "profile.json"), ("--profile=other.json", "other.json")):
        subprocess.run([bin_folder / "isthmus-run", "-n", "2", option, program], cwd=folder, stderr=subprocess.DEVNULL,
                       timeout=100, check=True)
        check(f"{option}: its file", (folder / file).exists(), True)


check_option()
check_report("2 PEs", 2)
check_report("3 PEs", 3)
check_report("threads", 2, "threads", n_threads=3)
check_report("levels", 2, "levels")
check_device("kernel", IN_KERNELS, "kernel", ISTHMUS_DEVICE_DIRECT="0")
check_device("streams", ON_STREAMS, "streams", ISTHMUS_NVLINK_LIBRARY=str(cuda), ISTHMUS_HEAP_KIND="cuda",
             ISTHMUS_TRANSPORTS="nvlink,loopback")
check_device("streams that are names", ON_STREAMS, "streams")
check_trace()
check_failures()
check_death()
for path in folder.iterdir():
    path.unlink()
folder.rmdir()
print("\n".join(faults), end="\n" if faults else "")
sys.exit(1 if faults else 0)
