#!/usr/bin/env python3
"""gpu_test.py [TRANSPORT...]: the tests of a transport between GPUs, on the real driver instead of its double.

For each of nvlink, xelink, xgmi: the programs of tests/doubles that need nothing of the double, the contract suite, and
the jobs of tests/device, without what only a double can do: fail, delay, have other devices than the machine. All PEs
of a job share the GPUs that are there, several on one where there are fewer. On NVIDIA's GPUs also kernels that make
calls, where nvcc was there to compile them. A transport without a GPU is skipped, with its own reason.
What runs is read from ctest, or from the listing that pack.py has put into a build that was carried to this machine.
Logs of what fails lie in BUILD/log/gpu.
"""

import argparse
import concurrent.futures
import json
import os
import re
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
sys.dont_write_bytecode = True  # the source tree stays as it is

import jobs as shared

LIBRARIES = {"nvlink": "libcuda.so.1", "xelink": "libze_loader.so.1", "xgmi": "libamdhip64.so.5"}
PROGRAMS = ["all_calls", "memory_grows", "attached_in_place", "kind_of_address", "stream_order"]  # of p2p_test
JOBS = re.compile(r"^(device\.|contract\.(nvlink|xelink|xgmi)\.)")
ONLY_A_DOUBLE = re.compile(r"GPU_DOUBLE_|stream_faults|hosts\.sh")
SKIPPED = 77
REPORT_S = 10  # so long before a job of kernels would be killed, its launcher ends it, with what each PE waits for
SHOWN_LINES = 15  # of the output of what fails
# (name, program in tests/gpu, PEs, environment): every operation of kernels, whichever way it goes; room beside a
# kernel; ordering shapes; each kind of module, also with a heap that grows; the examples
KERNELS = [
    ("kernels.direct", "matrix", 1, []),
    ("kernels.direct", "matrix", 2, []),
    ("kernels.direct", "matrix", 4, []),
    ("kernels.check", "matrix", 2, ["ISTHMUS_CHECK=1"]),
    ("kernels.ring", "matrix", 2, ["ISTHMUS_DEVICE_DIRECT=0"]),
    ("kernels.ring_spin", "matrix", 3, ["ISTHMUS_DEVICE_DIRECT=0", "ISTHMUS_DEVICE_PROXY=spin"]),
    ("kernels.hosts", "matrix", 2, ["ISTHMUS_PRETEND_HOSTS=01"]),
    ("kernels.hosts", "matrix", 4, ["ISTHMUS_PRETEND_HOSTS=0011"]),
    ("kernels.clients", "clients", 3, []),
    ("kernels.clients_ring", "clients", 2, ["ISTHMUS_DEVICE_DIRECT=0"]),
    ("kernels.tiles_and_queues", "tiles_and_queues", 1, []),
    ("kernels.tiles_and_queues", "tiles_and_queues", 3, []),
    ("kernels.tiles_and_queues.ring", "tiles_and_queues", 2, ["ISTHMUS_DEVICE_DIRECT=0"]),
    ("kernels.tiles_and_queues.hosts", "tiles_and_queues", 2, ["ISTHMUS_PRETEND_HOSTS=01"]),
    ("kernels.private", "private", 2, []),
    ("kernels.private.ring", "private", 2, ["ISTHMUS_DEVICE_DIRECT=0"]),
    ("kernels.private.hosts", "private", 2, ["ISTHMUS_PRETEND_HOSTS=01"]),
    ("kernels.room", "room", 2, ["ISTHMUS_PRETEND_HOSTS=01"]),
    *((f"kernels.litmus.{way}", "litmus", 3, ["LITMUS_ROUNDS=32", *environment]) for way, environment in
      (("direct", []), ("ring", ["ISTHMUS_DEVICE_DIRECT=0"]), ("hosts", ["ISTHMUS_PRETEND_HOSTS=001"]))),
    *((f"kernels.modules.{way}", "modules", n, environment) for n in (1, 2) for way, environment in
      (("direct", []), ("ring", ["ISTHMUS_DEVICE_DIRECT=0"]), ("grows", ["ISTHMUS_HEAP_SIZE=16m"]))),
    *((f"kernels.{example}.{way}", f"{example}_kernel", 2, environment) for example in ("jacobi", "moe", "allreduce")
      for way, environment in (("direct", []), ("ring", ["ISTHMUS_DEVICE_DIRECT=0"]))),
]
LOADED = {"modules": ["modules_loaded.so", "image.*"]}  # what a program loads of its own folder
# (name, PEs, case of tests/gpu/wrong.cu, environment, exit status, the line about it, if any): kernels that call
# wrongly, wait for a PE that dies, or end the job: it ends
NO_PE = "PE 0: a kernel's p: pe is 9 for address 0x[0-9a-f]+; valid: 0 to 1; in thread 3 of block 1"
RING = ["ISTHMUS_DEVICE_DIRECT=0"]
WRONG_KERNELS = [
    ("kernels.wrong.pe.direct", 2, "pe", [], "nonzero", NO_PE),
    ("kernels.wrong.pe.ring", 2, "pe", RING, "nonzero", NO_PE),
    ("kernels.wrong.address.direct", 2, "address", [], "nonzero",
     "PE 0: a kernel's p: address 0x[0-9a-f]+ for PE 1 is not symmetric; valid: .*; in thread 3 of block 1"),
    ("kernels.wrong.address.ring", 2, "address", RING, "nonzero",
     "PE 0: .*a kernel's p: dest is 0x[0-9a-f]+, which is not symmetric; valid: "),
    ("kernels.wrong.state", 1, "state", [], "nonzero",
     "isthmus: a kernel's p: called before init, after finalize, or in a module that was not initialised, "
     "with address 0x[0-9a-f]+ and PE 9; valid: between init and finalize; in .*wrong.cu"),
    *((f"kernels.killed.{way}", 2, "killed", environment, "nonzero", r"PE 1 \(pid [0-9]+\) was killed by signal 9")
      for way, environment in (("direct", []), ("ring", RING), ("hosts", ["ISTHMUS_PRETEND_HOSTS=01"]))),
    ("kernels.exit.direct", 2, "exit", [], "7", None),
    ("kernels.exit.ring", 2, "exit", RING, "7", None),
]


def listing(build):
    """The tests as ctest lists them, with the paths of this machine."""
    carried = build / "listing.json"
    if not carried.exists():
        return shared.listed(build)
    text = carried.read_text(encoding="utf-8")
    made = json.loads(text)
    here = {made["build"]: str(build), made["source"]: str(ROOT)}
    there = "|".join(re.escape(path) for path in here)  # the build first: it lies in the source as a rule
    return re.sub(rf'({there})(?=[/":])', lambda found: here[found[1]], text)


def jobs_of(transport, tests):
    """(name, command, environment) of the jobs whose environment names the double of the transport's driver."""
    variable = f"ISTHMUS_{transport.upper()}_LIBRARY="
    for test, values in tests:
        environment = shared.settings_of(values)
        library = next((e[len(variable):] for e in environment if e.startswith(variable)), None)
        command = test.get("command", [])
        if (values.get("DISABLED") or not JOBS.match(test["name"]) or library is None
                or "/doubles/" not in str(environment)):
            continue
        if ONLY_A_DOUBLE.search(" ".join(environment + command)):
            continue
        real = [LIBRARIES[transport] if word == library else word for word in command]
        yield test["name"], real, [e for e in environment if not e.startswith((variable, "ZE_ENABLE_"))]


class Counts:
    """The results, and the lines about them."""

    def __init__(self, transport, logs, timeout_s):
        self.transport, self.logs, self.timeout_s = transport, logs, timeout_s
        self.values, self.failed = [0, 0, 0], []

    def add(self, name, command, status, took_s):
        """passed, failed, skipped: one more of them. A failure is printed with the end of its output, a skipped test
        with its reason."""
        index = 0 if status == 0 else 2 if status == SKIPPED else 1
        self.values[index] += 1
        lines = [f"{self.transport}: {name} {('ok', 'FAILED', 'skipped')[index]} ({took_s:.1f} s)"]
        path = self.logs / f"{name}.log"
        if index > 0 and path.exists():
            output = path.read_text(encoding="utf-8", errors="replace").splitlines()
            lines += [f"    {line}" for line in output[-(1 if index == 2 else SHOWN_LINES):]]
        if index == 1:
            how = f"no end within {self.timeout_s} s" if status is None else f"status {status}"
            lines.append(f"    {how}: {' '.join(command)}")
            self.failed.append(name)
            with open(path, "a", encoding="utf-8") as log:
                print(f"\n{' '.join(command)}\n{how}", file=log)
        print("\n".join(lines), flush=True)

    def one(self, name, command, environment=()):
        start = time.monotonic()
        status = shared.run(command, environment, self.logs / f"{name}.log", self.timeout_s)
        self.add(name, command, status, time.monotonic() - start)


def kernel_jobs(build, timeout_s):
    """(name, program, command, environment) of each job."""
    within = str(timeout_s - REPORT_S)
    run = [str(build / "bin" / "isthmus-run"), "--timeout", within, "-n"]
    for name, program, n_pes, environment in KERNELS:
        path = build / "tests" / "gpu" / program
        loaded = [str(file) for name_ in LOADED.get(program, []) for file in sorted(path.parent.glob(name_))]
        yield f"{name}.np{n_pes}", path, [*run, str(n_pes), str(path), *loaded], environment
    for name, n_pes, case, environment, status, line in WRONG_KERNELS:
        path = build / "tests" / "gpu" / "wrong"
        expect = [str(ROOT / "tests/pe/expect.sh"), "-t", within, "-s", status, *(["-1", line] if line else []), "--"]
        yield f"{name}.np{n_pes}", path, [*expect, *run, str(n_pes), str(path), case], environment


def test_kernels(counts, build):
    """One after the other: each fills the GPU, or waits for the other PEs' turns on it."""
    for name, path, command, environment in kernel_jobs(build, counts.timeout_s):
        if path.exists():
            counts.one(name, command, ["ISTHMUS_HEAP_KIND=cuda", *environment])
        else:
            counts.add(f"{name}: not compiled, nvcc was not there", [], SKIPPED, 0)


def test(transport, build, logs, tests, given):
    """The counts, or None when there is no GPU for the transport."""
    plugin = build / "lib" / "isthmus" / f"{transport}.so"
    if not plugin.exists():
        print(f"{transport}: was not built: its headers were not there", flush=True)
        return None
    counts = Counts(transport, logs, given.timeout)
    program = [str(build / "tests" / "doubles" / "p2p_test"), str(plugin), "-"]
    if shared.run([*program, PROGRAMS[0]], [], logs / f"{transport}.log", given.timeout) == SKIPPED:
        print((logs / f"{transport}.log").read_text(errors="replace").strip(), flush=True)
        return None
    for case in PROGRAMS:
        counts.one(f"{transport}.{case}", [*program, case])
    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        for done in [pool.submit(counts.one, *job) for job in jobs_of(transport, tests)]:
            done.result()
    if transport == "nvlink":
        test_kernels(counts, build)
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("transports", nargs="*", default=list(LIBRARIES), metavar="TRANSPORT",
                        help="nvlink, xelink, xgmi")
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--jobs", type=int, default=2, help="how many at once")
    parser.add_argument("--timeout", type=int, default=120, metavar="S",
                        help=f"of each program, in seconds; more than {REPORT_S}")
    given = parser.parse_args()
    if given.timeout <= REPORT_S:
        parser.error(f"--timeout is {given.timeout}; valid: more than {REPORT_S}")
    unknown = [t for t in given.transports if t not in LIBRARIES]
    if unknown:
        parser.error(f"TRANSPORT is {unknown[0]}; valid: {', '.join(LIBRARIES)}")
    build = given.build.resolve()
    logs = build / "log" / "gpu"
    logs.mkdir(parents=True, exist_ok=True)
    os.environ["PATH"] = f"{build}/bin:{os.environ['PATH']}"
    tests = shared.tests_of(listing(build))
    found = [counts for counts in (test(t, build, logs, tests, given) for t in given.transports) if counts]
    if not found:
        print("no GPU of this machine can be used: nothing was tested")
        return SKIPPED
    for counts in found:
        for name in counts.failed:
            print(f"failed: {counts.transport}: {name}; {logs / name}.log")
    passed, failed, skipped = map(sum, zip(*(counts.values for counts in found)))
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
