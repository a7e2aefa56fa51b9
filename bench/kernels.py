"""What NVSHMEM's calls take in kernels: the same text compiled against Isthmus and against NVSHMEM, in turn, beside the
bare instructions of the GPU; part of ./dev bench --gpu and of gpu-bench --gpu.

Every process has a time limit. A row that takes too long ends its PEs, has the reason in the table, and the rows after
it run in a new job; a row with a wrong value has no figure. Not a program of its own: run.py calls run().
Read on: bench_kernels.c, which checks and times the rows; kernels_build.py, which compiles it; table.py.
"""
import contextlib
import dataclasses
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import table

ROW_LIMIT_S = 60  # and the start of a job
JOB_LIMIT_S = 240  # which takes some ten seconds
ROUNDS_LIMIT_S = 300  # after which no further round begins
SKIPPED = 77
NEXT_JOB = 3  # the exit status of a job that a row has ended
MOST_ERRORS = 4  # lines of what a job has printed about its end
MPS_LIMIT_S = 20
TAKE_TURNS = "without MPS"  # in the reason of rows whose PEs share a GPU
MPS = "nvidia-cuda-mps-control"
OURS, THEIRS = "Isthmus", "NVSHMEM"
PROGRAMS = {OURS: "bench/cuda/bench_kernels", THEIRS: "bench/nvshmem/bench_kernels"}
# Of NVSHMEM: all PEs are on this host, and the heap holds two copies of 64 MiB.
ENVIRONMENT = {OURS: {"ISTHMUS_HEAP_KIND": "cuda"},
               THEIRS: {"NVSHMEM_REMOTE_TRANSPORT": "none", "NVSHMEM_SYMMETRIC_SIZE": "512M"}}
# With which NVSHMEM is tried again where it does not start: heaps that the processes of one GPU map in another way.
SECOND_TRY = {THEIRS: {"NVSHMEM_DISABLE_CUDA_VMM": "1"}, OURS: {}}
NO_RING = "NVSHMEM has no ring without a network"
HEAD = ["call in a kernel", OURS, THEIRS, "ratio", "bare", "ratio", "goal", "verdict"]
PAGE = """# Calls from kernels

Made by `./dev bench --gpu --out docs/bench`, {date}:
{heading}

Two processes are two PEs; where the machine has one GPU, both use it. Each row is the same text,
`bench/bench_kernels.c`, compiled against Isthmus and against NVSHMEM, and checked before its figure counts. Bare: the
plain instructions of the GPU for the same work, in the same process, batch by batch. A goal of 1 x NVSHMEM is met up to
{repeatable:g} x: so much do two medians of one program differ. A row whose goals cannot all be judged is open, unless
it has missed one.

{table}
{problems}
"""


@dataclasses.dataclass
class Seen:
    """The runs of one row of one library."""
    values: list = dataclasses.field(default_factory=list)  # (ns, bare ns or None)
    goals: tuple = (None, None, False)  # times the bare operation, ns, no slower than NVSHMEM
    reason: str = ""  # why it has no figure; the first one counts

    @property
    def ns(self):
        return statistics.median(ns for ns, _ in self.values) if self.values and not self.reason else None

    @property
    def bare_ns(self):
        bares = [bare for _, bare in self.values if bare is not None]
        return statistics.median(bares) if bares and not self.reason else None

    @property
    def ratio(self):
        """To the bare operation: the median of the runs' own ratios."""
        if self.reason or self.bare_ns is None:
            return None
        return statistics.median(ns / bare for ns, bare in self.values)


class Library:
    """The rows of one library, by name, in the order of the program."""

    def __init__(self, program, environment, second_try):
        self.program, self.environment, self.second_try = program, environment, second_try
        self.rows, self.device, self.name, self.problem, self.tried = {}, None, None, "", {}
        self.is_skipped = False  # there is no GPU, or no program

    @property
    def has_failed(self):
        """It has been started, or is not there, and has named no device."""
        return self.device is None and bool(self.problem)

    def take(self, kind, *fields):
        """A line of the program's output."""
        if kind == "plan":
            self.rows.setdefault(fields[0], Seen())
        elif kind == "device":
            self.device = fields[0]
        elif kind == "library":
            self.name = " with ".join([fields[0], *(f"{key}={value}" for key, value in self.tried.items())])
        elif kind == "skipped":
            self.problem, self.is_skipped = fields[0], True
        elif kind == "row":
            numbers = [None if text == "-" else float(text) for text in fields[1:5]]
            seen = self.rows.setdefault(fields[0], Seen())
            seen.values.append((numbers[0], numbers[1]))
            seen.goals = (numbers[2], numbers[3], fields[5] == "1")
        elif kind == "not":
            if fields[0] in self.rows:
                self.rows[fields[0]].reason = self.rows[fields[0]].reason or fields[1]
            else:
                self.problem = f"{fields[0]}: {fields[1]}"

    def run(self, kind, options, environment):
        """The rows of a set; once more where the library has not started, if there is another way."""
        self.run_once(kind, options, environment)
        if self.device is None and self.second_try and not self.tried and not self.is_skipped:
            self.tried, self.rows, self.problem = self.second_try, {}, ""
            self.run_once(kind, options, environment)

    def run_once(self, kind, options, environment):
        """In as many jobs as the rows need. A row that a run leaves out has a reason then."""
        first, planned, reported = "0", None, set()
        environment = {**os.environ, **self.environment, **self.tried, **environment}
        while first is not None:
            arguments = [str(self.program), "-s", kind, "-t", str(ROW_LIMIT_S), "-f", first, *options]
            lines, errors, status = output_of(arguments, environment, JOB_LIMIT_S)
            fields = [line.split("\t") for line in lines]
            for line in fields:
                self.take(*line)
            planned = planned or [line[1] for line in fields if line[0] == "plan"]
            reported |= {line[1] for line in fields if line[0] in ("row", "not")}
            following = [line[1] for line in fields if line[0] == "next"]
            first = following[0] if status == NEXT_JOB and following else None
            if first is not None:  # the line before is about the row that has ended the job
                seen = self.rows[fields[-2][1]]
                seen.reason = with_cause(seen.reason, errors)
        if status != 0:
            self.problem = with_cause(self.problem, errors) or f"exit status {status}"
        for seen in (self.rows[name] for name in planned if name not in reported):
            seen.reason = seen.reason or self.problem or "the program has not reported it"


def with_cause(reason, errors):
    """The reason, and what the program has printed about it."""
    return reason if not errors or errors in reason else f"{reason} ({errors})" if reason else errors


def output_of(command, environment, limit_s):
    """(lines, the errors in one line, exit status or None after the limit). All processes of the job are ended."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+", errors="replace") as err:
        try:
            job = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                   start_new_session=True)
        except OSError as error:
            return [], str(error), None
        try:
            status = job.wait(limit_s)
        except subprocess.TimeoutExpired:
            status = None
        with contextlib.suppress(ProcessLookupError):
            os.killpg(job.pid, signal.SIGKILL)
        job.wait()
        out.seek(0), err.seek(0)
        errors = [] if status is not None else [f"no end within {limit_s} s"]
        errors += dict.fromkeys(" ".join(line.split()) for line in err.read().splitlines() if line.strip())
        shown = errors[:MOST_ERRORS - 1] + errors[MOST_ERRORS - 1:][-1:]  # causes first, and how it ended
        return out.read().splitlines(), "; ".join(shown), status


def start_mps(places):
    """Returns the reason why there is none, or nothing."""
    try:
        subprocess.run([MPS, "-d"], env={**os.environ, **places}, timeout=MPS_LIMIT_S, check=True,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    except OSError as error:
        return f"{MPS}: {error.strerror}"
    except subprocess.SubprocessError as error:
        return f"{MPS}: {error}"
    return ""


@contextlib.contextmanager
def mps():
    """Yields (environment, reason): an MPS of its own, which lets kernels of several processes run at once, or why
    there is none."""
    with tempfile.TemporaryDirectory(prefix="mps-", ignore_cleanup_errors=True) as folder:
        places = {"CUDA_MPS_PIPE_DIRECTORY": folder, "CUDA_MPS_LOG_DIRECTORY": folder}
        reason = start_mps(places)
        try:
            yield ({}, reason) if reason else ({**places, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": "50"}, "")
        finally:
            end_mps(folder, places)


def end_mps(folder, places):
    """Asks the server to end, and ends it if it does not."""
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        subprocess.run([MPS], input="quit\n", text=True, env={**os.environ, **places}, timeout=MPS_LIMIT_S, check=False,
                       capture_output=True)
    with contextlib.suppress(OSError, ValueError):
        os.kill(int(pathlib.Path(folder, f"{MPS}.pid").read_text(encoding="utf-8")), signal.SIGKILL)


def verdict(ours, theirs):
    """met, missed, or open: a goal that is not missed as far as it can be judged; -: there is no goal."""
    of_bare, ns, against = ours.goals
    judged = []
    if of_bare is not None:
        judged.append(None if ours.ratio is None else ours.ratio <= of_bare)
    if ns is not None:
        judged.append(ours.ns <= ns)
    if against:
        judged.append(None if theirs.ns is None else ours.ns <= theirs.ns * table.REPEATABLE)
    if not judged:
        return "-"
    return "missed" if False in judged else "open" if None in judged else "met"


def goal_text(goals):
    of_bare, ns, against = goals
    texts = ([f"1 x {THEIRS}"] if against else []) + ([f"{of_bare:.4g} x bare"] if of_bare is not None else [])
    return ", ".join(texts + ([table.quantity(ns, "ns")] if ns is not None else [])) or "-"


def times(value):
    return "-" if value is None else f"{value:.2f} x"


def cells(name, ours, theirs):
    """One line of the table; a row without a figure has its reason below the table."""
    if ours.ns is None:
        return [name, "not run", table.quantity(theirs.ns, "ns"), "-", "-", "-", goal_text(ours.goals), "not run"]
    ratio = None if theirs.ns is None else ours.ns / theirs.ns
    return [name, table.quantity(ours.ns, "ns"), table.quantity(theirs.ns, "ns"), times(ratio),
            table.quantity(ours.bare_ns, "ns"), times(ours.ratio), goal_text(ours.goals), verdict(ours, theirs)]


def lines_of(ours, theirs):
    """The table, its head first."""
    return [HEAD] + [cells(name, seen, theirs.rows.get(name, Seen())) for name, seen in ours.rows.items()]


def problems_of(ours, theirs):
    """Why rows have no figure, once for all rows with the same reason; and what went wrong beside them."""
    reasons = {}
    for label, library in ((OURS, ours), (THEIRS, theirs)):
        for name in ours.rows:
            seen = library.rows.get(name)
            reason = seen.reason if seen else library.problem
            if reason:
                reasons.setdefault(f"{label}: {reason}", []).append(name)
        if library.problem:
            reasons.setdefault(f"{label}: {library.problem}", [])
    return [f"{reason}: {'all rows' if len(names) == len(ours.rows) else '; '.join(names)}" if names else reason
            for reason, names in reasons.items()]


def sets(build):
    """(set of rows, environment, of both libraries) in the order of the table."""
    plugins = pathlib.Path(build, "bench", "plugins").resolve()
    ring = {"ISTHMUS_DEVICE_DIRECT": "0", "ISTHMUS_DEVICE_PROXY": "spin"}
    nothing = {**ring, "ISTHMUS_PLUGIN_PATH": str(plugins), "ISTHMUS_TRANSPORTS": "nothing,loopback",
               "NOTHING_BASE": str(pathlib.Path(build, "lib", "isthmus", "nvlink.so").resolve()),
               "BENCH_NOTHING": str(plugins / "nothing.so")}
    return [("alone", {}, True), ("together", {}, True), ("ring", ring, False), ("nothing", nothing, False)]


def libraries_of(build):
    """Both; one whose program is not there has the reason."""
    found = []
    for label, program in PROGRAMS.items():
        path = pathlib.Path(build, program).resolve()
        reason_file = path.with_suffix(".reason")
        library = Library(path, ENVIRONMENT[label], SECOND_TRY[label])
        if not path.exists():
            library.is_skipped = True
            library.problem = reason_file.read_text(encoding="utf-8").strip() if reason_file.exists() else (
                f"{path} is not there: nvcc has not compiled it")
        found.append(library)
    return found


def run_together(library, options):
    """The rows of two PEs at once: where these share a GPU, with MPS."""
    library.run("together", options, {})
    waiting = [seen for seen in library.rows.values() if TAKE_TURNS in seen.reason]
    if not waiting:
        return
    with mps() as (environment, why_not):
        for seen in waiting:
            seen.reason = with_cause(seen.reason, why_not)
        if environment:
            for seen in waiting:
                seen.reason = ""
            library.run("together", options, environment)


def measure(build, libraries, rounds, options):
    """All rows of both, in turn. Returns the number of rounds, 0 if Isthmus has not started. What has not started once
    is not started again, and no round begins late."""
    begin = time.monotonic()
    for number in range(1, rounds + 1):
        for kind, environment, of_both in sets(build):
            for label, library in zip((OURS, THEIRS), libraries):
                if library.has_failed or (label == THEIRS and not of_both):
                    continue
                table.progress(f"round {number} of {rounds}: kernels, {kind}, {label}")
                if kind == "together":
                    run_together(library, options)
                else:
                    library.run(kind, options, environment)
            if libraries[0].has_failed:
                return 0
        if time.monotonic() - begin > ROUNDS_LIMIT_S:
            break
    return number


def write_page(folder, heading, lines, problems):
    text = PAGE.format(date=time.strftime("%Y-%m-%d"), heading=table.paragraph(f"{heading}."),
                       repeatable=table.REPEATABLE, table=table.markdown(lines),
                       problems="".join(f"\n- {problem}" for problem in problems))
    pathlib.Path(folder, "kernels.md").write_text(text.rstrip() + "\n", encoding="utf-8")
    with open(os.path.join(folder, "kernels.tsv"), "w", encoding="utf-8") as file:
        print(f"# {heading}", *("\t".join(line) for line in lines), sep="\n", file=file)


def run(args):
    """All of it; returns the exit status."""
    ours, theirs = libraries_of(args.build)
    rounds = measure(args.build, (ours, theirs), args.rounds, ["-b", str(args.batches)])
    table.progress("")
    if rounds == 0:
        print(f"bench: no kernel was measured: {ours.problem}", file=sys.stderr)
        return SKIPPED if ours.is_skipped else 1
    for name in (name for name in ours.rows if name.find("through the ring") > 0):
        theirs.rows[name] = Seen(reason=NO_RING)
    heading = (f"Kernels of 2 PEs, {ours.device}; {ours.name}, {theirs.name or 'no NVSHMEM'}; {table.machine()}; "
               f"medians of {rounds} runs of {args.batches} batches")
    lines, problems = lines_of(ours, theirs), problems_of(ours, theirs)
    print(f"\n{heading}\n")
    table.print_aligned(lines)
    print("", *problems, sep="\n")
    if args.out:
        os.makedirs(args.out, exist_ok=True)
        write_page(args.out, heading, lines, problems)
    missed = [line[0] for line in lines if line[-1] == "missed"]
    print(f"\n{len(missed)} missed: {'; '.join(missed)}" if missed else "\nno goal is missed")
    wrong = any(True for seen in ours.rows.values() if seen.reason and TAKE_TURNS not in seen.reason)
    return 1 if wrong or (args.check and missed) else 0
