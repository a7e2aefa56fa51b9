#!/usr/bin/env python3
"""unequal.py: jobs whose PEs run on machines that differ (tests/doubles/host): each ends right, or at once on all PEs
with one message, which names the host, a value and a remedy.

The job is unequal_job.c, launched in each of WAYS: on pairs of the usual machine with each other one, on fours that a
seed draws, and on all other pairs, as far as --seconds reach: all before any of them runs in a second way. With --quick
those of the test suite. unequal.table has the machines on which jobs cannot start, and what the message is then. Logs
of what fails lie in BUILD/tests/places/machines.
"""

import argparse
import concurrent.futures
import functools
import itertools
import json
import os
import random
import re
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "launch"), str(HERE.parent / "doubles" / "host")]
sys.dont_write_bytecode = True  # the source tree stays as it is

import machines
import pmi
import processes

LIMIT_S = 60
PROGRESS_S = 30
SKIPPED = 77
IB = {"ISTHMUS_TRANSPORTS": "ib"}
OFI = {"ISTHMUS_TRANSPORTS": "ofi", "ISTHMUS_OFI_PROVIDER": "tcp+ofi_rxm"}
APART = {"HOST_DOUBLE_APART": "1"}
WAYS = {  # how the job starts, and what is in its environment
    "loopback": ("isthmus-run", {}),
    "ib": ("isthmus-run", IB),
    "ofi": ("isthmus-run", OFI),
    "pmix": ("mpirun", {}),
    "uid": ("torchrun", {}),
    "uid-apart": ("torchrun", APART),  # hosts of their own: ib between them
    "doctor": ("isthmus-run", {}),  # isthmus-info instead of the job: it prints what differs
}
# Of the suite: ways, and the pairs that run in each of them, with settings of the job.
QUICK = [
    ("loopback uid-apart", ["half,usual", "usual,bound_to_one", "many_processors,one_processor", "container,container",
                            "few_descriptors,few_descriptors", "usual,few_locked", "clock_set_back,clock_set_back",
                            "usual,huge_pages", "huge_pages_1g,usual"], {}),
    ("loopback", ["no_vm_readv,no_pidfd", "no_shm,no_ipv6", "no_memfd,usual", "no_peercred,usual", "no_unix,usual",
                  "usual,no_way_to_share"], {}),
    ("doctor", ["usual,v1_ancestor", "quota_ancestor,few_descriptors", "tiny_files,usual", "pages_of_64k,container"],
     {}),
    ("loopback ib uid-apart", ["slow_driver,usual", "usual,slow_files"], {}),
    ("uid-apart", ["docker_first,docker_first", "usual,down_first", "no_ipv6,usual"], {}),
    ("ib", ["usual,no_interfaces", "eight_bridges,usual"], {}),
    ("loopback ib", ["usual,less_4m", "usual,hundredth", "hundredth,usual"], {}),
    ("loopback", ["usual,small_space", "usual,small_space" + 6 * ",usual", "small_files,usual",
                  "usual,tiny_files", "no_large_map,usual"], {}),
    ("loopback ib", ["usual,pages_of_64k", "pages_of_64k,usual"], {}),
]
REPORTS = re.compile(r"^isthmus: (?:the job cannot start|PE \d+: (?!warning|info))", re.M)
STATUS = 'trap : TERM; "$@"; s=$?; echo $s >"$STATUS_FOLDER/$PMIX_RANK$RANK"; exit $s'


def clean():
    """The environment without what other launchers and doubles have set."""
    return {name: value for name, value in os.environ.items()
            if not name.startswith((*pmi.OF_LAUNCHERS, "HOST_DOUBLE", "ISTHMUS_"))}


MACHINES = {machine.name: machine for machine in machines.machines()}


class Job:
    def __init__(self, way, names, settings=None):
        self.way, self.names, self.settings = way, names, settings or {}
        self.launcher, self.environment = WAYS[way]

    def of_machines(self):
        return dict(one.split(":", 1) for name in self.names for one in MACHINES[name].list("job"))

    def __str__(self):
        return " ".join([self.way, ",".join(self.names), *(f"{k}={v}" for k, v in self.settings.items())])

    def program(self, build):
        doctor = [f"{build}/bin/isthmus-info", "--doctor", "--routes", "--json"]
        return doctor if self.way == "doctor" else [f"{build}/tests/places/unequal_job"]

    def started(self, build, status_folder):
        n = len(self.names)
        environment = {**clean(), **self.environment, **self.of_machines(), **self.settings, "LD_PRELOAD":
                       f"{build}/tests/doubles/host/host.so", "HOST_DOUBLE": ",".join(self.names), "STATUS_FOLDER":
                       status_folder, "TMPDIR": status_folder, "PE_TEST_DEADLINE": str(LIMIT_S)}
        command = ["sh", "-c", STATUS, "sh", *self.program(build)]
        if self.launcher == "torchrun":
            port = str(pmi.master_port()[1])
            return [processes.start(command, {**environment, "RANK": str(i), "WORLD_SIZE": str(n), "MASTER_ADDR":
                                              "127.0.0.1", "MASTER_PORT": port}) for i in range(n)]
        launch = [f"{build}/bin/isthmus-run", "-n", str(n)] if self.launcher == "isthmus-run" else [
            "mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-np", str(n)]
        return [processes.start([*launch, *command], environment)]

    def run(self, build):
        """(the PEs' exit statuses, None: it was killed; the output; the time)."""
        with tempfile.TemporaryDirectory(prefix="unequal.", ignore_cleanup_errors=True) as folder:
            begin = time.monotonic()
            started = self.started(build, folder)
            output = processes.finish(started, LIMIT_S)
            took_s = time.monotonic() - begin
            files = [Path(folder, str(pe)) for pe in range(len(self.names))]
            codes = [int(file.read_text() or -1) if file.exists() else None for file in files]
            if any(job.returncode != 0 for job in started) and all(code == 0 for code in codes):
                codes.append(next(job.returncode for job in started if job.returncode != 0))
            return codes, output, took_s


class Row:
    """Of unequal.table."""

    def __init__(self, line):
        self.machine, self.other, self.ways, self.settings, self.what, self.remedy = re.split(" {2,}", line, maxsplit=5)

    def is_met(self, job):
        given = ",".join(f"{k}={v}" for k, v in job.settings.items()) or "-"
        mine = [name for name in job.names if re.fullmatch(self.machine, name)]
        others = [name for name in job.names if name not in mine[:1]] + mine[1:]
        return bool(mine and re.fullmatch(self.ways, job.way) and re.fullmatch(self.settings, given) and any(
            re.fullmatch(self.other, name) for name in others))


@functools.cache
def rows():
    lines = (HERE / "unequal.table").read_text().splitlines()
    return [Row(line) for line in lines if line and not line.startswith("#")]


def expected(job):
    """The rows that tell why it cannot start; none: it can."""
    return [row for row in rows() if row.is_met(job)]


def judge_facts(job, output):
    """Why what the doctor prints of the hosts is wrong: each fact that differs with the values of all PEs, each other
    one as the same on all."""
    try:
        results = json.loads(output[output.index("{"):output.rindex("}") + 1])["requirements"]
        shown = {result["name"]: result for result in results if result["area"] == "hosts"}
    except (ValueError, KeyError) as error:
        return f"the output is no report: {error!r}"
    facts = [MACHINES[name].facts() for name in job.names]
    for fact in dict.fromkeys(fact for of_one in facts for fact in of_one):
        values = [of_one.get(fact) for of_one in facts]
        evidence = shown.get(fact, {"evidence": ""})["evidence"]
        for pe, (name, value) in enumerate(zip(job.names, values)):
            where = f"PE {pe} on {name})"
            if len(set(values)) > 1 and values.index(value) == pe and (
                    where not in evidence or (value or "") not in evidence):
                return f"'{fact}' of PE {pe} is '{value}', and the doctor says '{evidence}'"
        if len(set(values)) == 1 and not evidence.endswith(("on all hosts", "on the only host")):
            return f"'{fact}' is '{values[0]}' on all, and the doctor says '{evidence}'"
    return None


def judge(job, codes, output, wanted):
    """Why the end was wrong; None if it was right."""
    reports = REPORTS.findall(output)
    if f"ended by the test after {LIMIT_S} s" in output:
        return "it hangs"
    if SKIPPED in codes:
        return None
    if not wanted and job.way == "doctor":
        return judge_facts(job, output)
    if not wanted:
        is_good = set(codes) == {0} and not reports
        return None if is_good else f"the exit statuses are {codes}, with {len(reports)} reports"
    if 0 in codes:
        return f"the exit statuses are {codes}"
    # PEs without sockets, or without word of whose these are, cannot tell each other that one of them reports.
    can_claim = not any(re.search(r"socket\(unix\)|peercred", MACHINES[name].settings.get("fails", ""))
                        for name in job.names)
    if not reports or (len(reports) > 1 and can_claim):
        return f"{len(reports)} reports"
    where = re.search(r"where +PE (\d+) on (\S+)", output) or re.search(r"isthmus: PE (\d+)", output)
    if where is None or (where.lastindex == 2 and where[2] != job.names[int(where[1])]):
        return "the report names no host of the job"
    if not any(re.search(row.what, output) and re.search(row.remedy, output) for row in wanted):
        return "the report does not match " + " or ".join(f"'{row.what}' with '{row.remedy}'" for row in wanted)
    return None


@functools.cache
def able(is_stopped):
    """Machines such that every job can start on any of them together. `is_stopped`: its PEs stop or kill themselves,
    which the first process of a container cannot."""
    names = []
    for name, machine in MACHINES.items():
        is_fit = name != "pages_of_64k" and not (is_stopped and "pid_namespace" in machine.settings)
        if is_fit and not any(expected(Job(way, [name, other])) for way in WAYS for other in ["usual", *names]):
            names.append(name)
    return names


def drawn(seed, n, is_stopped=False, has_heap_size=False):
    """A list of n of these, as HOST_DOUBLE."""
    # A PE of a large job needs addresses and descriptors for each of the others, and a size that is set is a demand.
    unfit = ({"as", "nofile"} if n > 4 else set()) | ({"fsize"} if has_heap_size else set())
    names = [name for name in able(is_stopped) if not MACHINES[name].settings.keys() & unfit]
    return ",".join(random.Random(seed).choices(names, k=n))


def turns(groups, ways):
    """Each group of machines in each way; all groups before any of them runs a second time, the ways in turn."""
    for turn in range(len(ways)):
        for number, names in enumerate(groups):
            yield Job(ways[(number + turn) % len(ways)], list(names))


def whole(ways, n_fours, draw):
    """The usual machine with each, all fours, then all other pairs in an order that is drawn."""
    names = list(MACHINES)
    with_usual = [pair for name in names for pair in dict.fromkeys([("usual", name), (name, "usual")])]
    others = [pair for pair in itertools.product(names, repeat=2) if pair not in with_usual]
    draw.shuffle(others)
    yield from turns(with_usual, ways)
    yield from turns([draw.choices(names, k=4) for _ in range(n_fours)], ways)
    yield from turns(others, ways)


class Counts:
    def __init__(self, n_jobs, n_seconds):
        self.of = {"passed": 0, "failed": 0, "skipped": 0}
        self.n_jobs, self.begin = n_jobs, time.monotonic()
        self.end = self.begin + n_seconds if n_seconds else None
        self.next = self.begin + PROGRESS_S

    def is_over(self):
        return self.end is not None and time.monotonic() > self.end

    def __str__(self):
        left = self.n_jobs - sum(self.of.values())
        return ", ".join([f"{n} {what}" for what, n in self.of.items()] + [f"{left} not run"] * (left > 0))

    def add(self, what):
        self.of[what] += 1
        if time.monotonic() > self.next:
            self.next += PROGRESS_S
            print(f"unequal: {time.monotonic() - self.begin:.0f} s: {self}", flush=True)


def run_all(jobs, build, n_at_once, n_seconds):
    logs = Path(build, "tests", "places", "machines")
    logs.mkdir(parents=True, exist_ok=True)
    counts = Counts(len(jobs), n_seconds)
    with concurrent.futures.ThreadPoolExecutor(n_at_once) as pool:
        for job, done in zip(jobs, pool.map(lambda job: None if counts.is_over() else job.run(build), jobs)):
            if done is None:
                continue
            codes, output, took_s = done
            why = judge(job, codes, output, expected(job))
            counts.add("failed" if why else "skipped" if SKIPPED in codes else "passed")
            if why:
                print(f"unequal: {job} FAILED: {why} ({took_s:.1f} s)\n" + "".join(
                    f"    {line[:240]}\n" for line in output.splitlines()[:9]), flush=True)
                (logs / f"{job.way}.{'.'.join(job.names)}.log").write_text(f"{job}: {why}\n{output}")
    print(f"unequal: {counts}", flush=True)
    return counts.of["failed"] == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("ways", nargs="*", default=[*WAYS], metavar="WAY", help=", ".join(WAYS))
    parser.add_argument("--build", default=str(HERE.parents[1] / "build"))
    parser.add_argument("--quick", action="store_true", help="the jobs of the test suite, whatever WAY is")
    parser.add_argument("--only", default="", metavar="REGEX", help="jobs whose description matches")
    parser.add_argument("--jobs", type=int, default=2, help="how many at once")
    parser.add_argument("--fours", type=int, default=0, metavar="N", help="so many fours in each way")
    parser.add_argument("--seconds", type=int, default=0, metavar="N", help="starts no job after that time")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 30))
    given = parser.parse_args()
    jobs = list(whole(given.ways, given.fours, random.Random(given.seed)))
    if given.quick:
        jobs = [Job(way, pair.split(","), settings) for ways, pairs_there, settings in QUICK for way in ways.split()
                for pair in pairs_there]
    jobs = [job for job in jobs if re.search(given.only, str(job))]
    print(f"unequal: {len(jobs)} jobs, seed {given.seed}", flush=True)
    return 0 if run_all(jobs, given.build, given.jobs, given.seconds) else 1


if __name__ == "__main__":
    sys.exit(main())
