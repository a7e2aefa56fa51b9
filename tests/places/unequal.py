#!/usr/bin/env python3
"""unequal.py: jobs whose PEs run on machines that differ (tests/doubles/host): each ends right, or at once on all PEs
with one message, which names the host, a value and a remedy.

The job is unequal_job.c, launched in each of WAYS: on pairs of the usual machine with each other one, and on fours that
a seed draws; with --quick those of the test suite. unequal.table has the machines on which jobs cannot start, and what
the message is then. Logs of what fails lie in BUILD/tests/places/machines.
"""

import argparse
import concurrent.futures
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
}
NO_STATICS = {"ISTHMUS_STATIC_DATA": "0"}
# Of the suite: ways, and the pairs that run in each of them, with settings of the job.
QUICK = [
    ("loopback uid-apart", ["half,usual", "usual,bound_to_one", "many_processors,one_processor", "container,container",
                            "few_descriptors,few_descriptors", "usual,few_locked", "clock_set_back,clock_set_back",
                            "usual,huge_pages", "huge_pages_1g,usual"], {}),
    ("loopback", ["no_vm_readv,no_pidfd", "no_shm,no_ipv6", "no_memfd,usual", "no_peercred,usual"], {}),
    ("uid-apart", ["docker_first,docker_first", "usual,down_first", "no_ipv6,usual"], {}),
    ("ib", ["usual,no_interfaces", "eight_bridges,usual"], {}),
    ("loopback ib", ["usual,less_4m", "usual,hundredth", "hundredth,usual"], {}),
    ("loopback", ["usual,small_space", "small_files,usual", "usual,tiny_files", "no_large_map,usual"], {}),
    ("loopback ib", ["usual,pages_of_64k", "pages_of_64k,usual"], NO_STATICS),
]
REPORTS = re.compile(r"^isthmus: (?:the job cannot start|PE \d+: (?!warning|info))", re.M)
STATUS = 'trap : TERM; "$@"; s=$?; echo $s >"$STATUS_FOLDER/$PMIX_RANK$RANK"; exit $s'


def clean():
    """The environment without what other launchers and doubles have set."""
    return {name: value for name, value in os.environ.items()
            if not name.startswith((*pmi.OF_LAUNCHERS, "HOST_DOUBLE", "ISTHMUS_"))}


class Job:
    def __init__(self, way, names, settings=None):
        self.way, self.names, self.settings = way, names, settings or {}
        self.launcher, self.environment = WAYS[way]

    def __str__(self):
        return " ".join([self.way, ",".join(self.names), *(f"{k}={v}" for k, v in self.settings.items())])

    def started(self, build, program, status_folder):
        n = len(self.names)
        environment = {**clean(), **self.environment, **self.settings, "LD_PRELOAD":
                       f"{build}/tests/doubles/host/host.so", "HOST_DOUBLE": ",".join(self.names), "STATUS_FOLDER":
                       status_folder, "TMPDIR": status_folder, "PE_TEST_DEADLINE": str(LIMIT_S)}
        command = ["sh", "-c", STATUS, "sh", *program]
        if self.launcher == "torchrun":
            port = str(pmi.master_port()[1])
            return [processes.start(command, {**environment, "RANK": str(i), "WORLD_SIZE": str(n), "MASTER_ADDR":
                                              "127.0.0.1", "MASTER_PORT": port}) for i in range(n)]
        launch = [f"{build}/bin/isthmus-run", "-n", str(n)] if self.launcher == "isthmus-run" else [
            "mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-np", str(n)]
        return [processes.start([*launch, *command], environment)]

    def run(self, build, program):
        """(the PEs' exit statuses, None: it was killed; the output; the time)."""
        with tempfile.TemporaryDirectory(prefix="unequal.", ignore_cleanup_errors=True) as folder:
            begin = time.monotonic()
            started = self.started(build, program, folder)
            output = processes.finish(started, LIMIT_S)
            took_s = time.monotonic() - begin
            files = [Path(folder, str(pe)) for pe in range(len(self.names))]
            codes = [int(file.read_text() or -1) if file.exists() else None for file in files]
            if any(job.returncode != 0 for job in started) and all(code == 0 for code in codes):
                codes.append(next(job.returncode for job in started if job.returncode != 0))
            return codes, output, took_s


def judge(job, codes, output, wanted):
    """Why the end was wrong; None if it was right. `wanted`: what the report has to match if the job cannot start."""
    reports = REPORTS.findall(output)
    if f"ended by the test after {LIMIT_S} s" in output:
        return "it hangs"
    if SKIPPED in codes:
        return None
    if wanted is None:
        is_good = set(codes) == {0} and not reports
        return None if is_good else f"the exit statuses are {codes}, with {len(reports)} reports"
    if 0 in codes:
        return f"the exit statuses are {codes}"
    if len(reports) != 1:
        return f"{len(reports)} reports"
    where = re.search(r"where +PE (\d+) on (\S+)", output) or re.search(r"isthmus: PE (\d+)", output)
    what = re.search(r"what +(.*)|isthmus: PE \d+: (.*)", output)
    if where is None:
        return "the report names no host"
    if re.search(wanted, what.group(1) or what.group(2)) is None:
        return f"the report does not match '{wanted}'"
    return None


def expected(job):
    for line in (HERE / "unequal.table").read_text().splitlines():
        if line and not line.startswith("#"):
            names, ways, settings, text = line.split(None, 3)
            given = ",".join(f"{k}={v}" for k, v in job.settings.items()) or "-"
            if re.fullmatch(ways, job.way) and re.fullmatch(settings, given) and any(
                    re.fullmatch(names, name) for name in job.names):
                return text
    return None


def drawn(seed, n):
    """A list of n machines on which every job can start, as HOST_DOUBLE."""
    able = [m.name for m in machines.machines()
            if m.name != "pages_of_64k" and not any(expected(Job(way, [m.name])) for way in WAYS)]
    return ",".join(random.Random(seed).choices(able, k=n))


def pairs(way):
    names = [machine.name for machine in machines.machines()]
    for name in names:
        settings = NO_STATICS if name == "pages_of_64k" else {}
        yield Job(way, ["usual", name], settings)
        yield Job(way, [name, "usual"], settings)


def run_all(jobs, build, n_at_once):
    program = [f"{build}/tests/places/unequal_job"]
    logs = Path(build, "tests", "places", "machines")
    logs.mkdir(parents=True, exist_ok=True)
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    with concurrent.futures.ThreadPoolExecutor(n_at_once) as pool:
        for job, (codes, output, took_s) in zip(jobs, pool.map(lambda job: job.run(build, program), jobs)):
            why = judge(job, codes, output, expected(job))
            counts["failed" if why else "skipped" if SKIPPED in codes else "passed"] += 1
            if why:
                print(f"unequal: {job}: {why} ({took_s:.1f} s)\n" + "".join(
                    f"    {line[:240]}\n" for line in output.splitlines()[:9]), flush=True)
                (logs / f"{job.way}.{'.'.join(job.names)}.log").write_text(f"{job}: {why}\n{output}")
    print(f"unequal: {counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped", flush=True)
    return counts["failed"] == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("ways", nargs="*", default=[*WAYS], metavar="WAY", help=", ".join(WAYS))
    parser.add_argument("--build", default=str(HERE.parents[1] / "build"))
    parser.add_argument("--quick", action="store_true", help="the jobs of the test suite, whatever WAY is")
    parser.add_argument("--only", default="", metavar="REGEX", help="jobs whose description matches")
    parser.add_argument("--jobs", type=int, default=2, help="how many at once")
    parser.add_argument("--fours", type=int, default=0, metavar="N", help="so many fours in each way")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 30))
    given = parser.parse_args()
    draw, jobs = random.Random(given.seed), []
    names = [machine.name for machine in machines.machines()]
    for way in given.ways if not given.quick else []:
        jobs += pairs(way)
        jobs += [Job(way, draw.choices(names, k=4)) for _ in range(given.fours)]
    if given.quick:
        jobs = [Job(way, pair.split(","), settings) for ways, pairs_there, settings in QUICK for way in ways.split()
                for pair in pairs_there]
    jobs = [job for job in jobs if re.search(given.only, str(job))]
    print(f"unequal: {len(jobs)} jobs, seed {given.seed}")
    return 0 if run_all(jobs, given.build, given.jobs) else 1


if __name__ == "__main__":
    sys.exit(main())
