#!/usr/bin/env python3
"""short_of.py BUILD WAY: jobs in which one PE may have few descriptors, or little address space
(tests/pe/r3_short_of.c), from a limit with which the job starts downwards: each job starts, or it ends on all PEs with
one message that names the cause. WAY: run, mpirun, torchrun. Prints failures and nothing else; with a third argument,
a case such as nofile:1, the end of each of its jobs."""

import concurrent.futures
import os
import re
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import pmi  # noqa: E402
import processes  # noqa: E402

N, AT_ONCE, LIMIT_S, TRIES = 4, 10, 60, 4
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-np", str(N)]
CASES = {  # of each way: the limit and the PE, and the limit's values
    "torchrun": {"nofile:1": range(24, 2, -1), "nofile:0": range(24, 2, -1), "as:1": range(72, -1, -8)},
    "run": {"nofile:1": range(22, 2, -1), "nofile:0": range(22, 2, -2), "as:1": range(72, -1, -8)},
    "mpirun": {"nofile:1": range(18, 2, -8)},
}
CAUSES = {"nofile": "Too many open files|ulimit -n", "as": "Cannot allocate memory|no memory|ulimit -v"}
# With fewer descriptors PE 0 cannot serve the job. The others do not learn why: one of each host reports that.
SERVES_FROM = 7
UNSERVED = re.compile(r"PE 0, which serves the job at \S+ port \d+, cannot be reached within")
REPORTS = re.compile(r"^isthmus: (?:the job cannot start\n  what +(.*)|PE \d+: (?!warning|info)(.*))", re.M)


def start(build, way, port, limit, value, pe):
    command = [f"{build}/tests/pe/r3_short_of", limit, str(value), pe]
    environment = {**os.environ, "PE_TEST_DEADLINE": str(LIMIT_S)}
    if way != "torchrun":
        return [processes.start([*([f"{build}/bin/isthmus-run", "-n", str(N)] if way == "run" else MPIRUN), *command],
                                environment)]
    environment.update(WORLD_SIZE=str(N), MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
    if (limit, pe) == ("nofile", "0") and value < SERVES_FROM:
        environment.update(ISTHMUS_START_TIMEOUT="2")
    return [processes.start(command, {**environment, "RANK": str(i)}) for i in range(N)]


def judge(limit, codes, output):
    """Why the end was wrong; None if it was right."""
    reports = [start or other for start, other in REPORTS.findall(output)]
    if f"ended by the test after {LIMIT_S} s" in output or "the deadline of this PE" in output:
        return "it hangs"
    if set(codes) == {0}:
        return f"it starts, with {len(reports)} reports" if reports else None
    if 0 in codes:
        return "some PEs end well"
    unserved = [report for report in reports if UNSERVED.match(report)]
    reports = [report for report in reports if report not in unserved]
    # The claim of the report is a socket: a PE 0 without a descriptor for it cannot tell that another PE has it.
    if len(reports) == 2 and any("cannot be reached; raise 'ulimit -n'" in report for report in reports):
        reports = [report for report in reports if "cannot be reached" not in report]
    if len(reports) != 1 or len(unserved) > 1:
        return f"{len(reports)} reports, and {len(unserved)} that PE 0 cannot be reached"
    return None if re.search(CAUSES[limit], reports[0]) else "the report does not name the cause"


def run(build, way, case, value, port):
    limit, pe = case.split(":")
    with tempfile.TemporaryDirectory(prefix="short_of.", ignore_cleanup_errors=True) as folder:
        os.environ["TMPDIR"] = folder if way == "mpirun" else os.environ.get("TMPDIR", "/tmp")
        for _ in range(TRIES):
            started = start(build, way, port, limit, value, pe)
            output = processes.finish(started, LIMIT_S)
            if "Address already in use" not in output:  # of another job, or by the search of another test
                break
            port = str(pmi.master_port()[1])
    return [process.returncode for process in started], output


def main():
    build, way = Path(sys.argv[1]).resolve(), sys.argv[2]
    pmi.clean_environment()
    cases = sys.argv[3:] or [*CASES[way]]
    # All ports before the first job: the search takes those that it tries for a moment.
    jobs = [(case, value, str(pmi.master_port()[1])) for case in cases for value in CASES[way][case]]
    failed = False
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE if way != "mpirun" else 1) as pool:
        for (case, value, _), (codes, output) in zip(jobs, pool.map(lambda job: run(build, way, *job), jobs)):
            why = judge(case.split(":")[0], codes, output)
            failed = failed or why is not None
            if why or len(sys.argv) > 3:
                print(f"{way} {case} {value}: {why or 'right'}, {codes}", flush=True)
                print("".join(f"    {line[:200]}\n" for line in output.splitlines()[:12]), end="")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
