#!/usr/bin/env python3
"""Runs the bench programs several times and prints one table: call, Isthmus, bare operation, ratio, budget, verdict.

With --reference the same sources, built with Debian's oshcc, run in turn with ours, and the table has a column for
Open MPI. Not a judge of correctness; exits with 1 when a program failed, and with --check when one is over its budget.
Read on: bench.h (what a program measures and prints), startup.py (start-up), plot.py (the picture).
"""
import argparse
import collections
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the source tree stays as it is

import plot
import startup

# Program, PEs, arguments ("B": the number of batches). In the order of the table.
PROGRAMS = [("bench_p_g", 2, "B"), ("bench_putmem_small", 2, "B"), ("bench_amo", 2, "B"), ("bench_p_quiet", 2, "B"),
            ("bench_bulk", 2, "B"), ("bench_pingpong", 2, "B"), ("bench_barrier", 2, "B"), ("bench_malloc", 2, "B"),
            ("bench_collectives", 2, "B"), ("bench_collectives", 4, "B"), ("bench_barrier", 4, "B"), ("bench_barrier", 16, "B"),
            ("bench_empty", 2, "memory"), ("bench_empty", 64, "memory")]
STARTUP_PES = [2, 64]
REFERENCE_CC = "/usr/bin/oshcc"  # not that of PATH, which may be ours
COLUMNS = ["call", "isthmus", "bare", "ratio", "budget", "unit", "verdict", "reference", "reference_ratio"]

Row = collections.namedtuple("Row", COLUMNS)


class Runs:
    """What the runs of one runtime said: call -> list of (value, bare or None, budget or None, unit)."""

    def __init__(self, launch, folder):
        self.launch, self.folder = launch, folder
        self.seen = {}
        self.problems = []

    def run(self, program, n_pes, argument):
        command = self.launch(n_pes, os.path.join(self.folder, program), argument)
        try:
            done = subprocess.run(command, env=startup.environment(), timeout=startup.TIMEOUT_S, text=True,
                                  stdin=subprocess.DEVNULL, capture_output=True, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            self.problems.append(f"{program} with {n_pes} PEs: {error}")
            return
        lines = [line.split("\t") for line in done.stdout.splitlines()]
        for line in lines:
            if line[0] == "row":
                self.add(line[1], *line[2:4], *line[5:7])
        if done.returncode != 0:
            reasons = [line[1] for line in lines if line[0] == "skipped"] or done.stderr.strip().splitlines()[:1]
            self.problems.append(f"{program} with {n_pes} PEs: status {done.returncode}: {' '.join(reasons)}")

    def add(self, call, value, bare, budget, unit):
        numbers = [None if text == "-" else float(text) for text in (value, bare, budget)]
        self.seen.setdefault(call, []).append((*numbers, unit))

    def median(self, call):
        """(value, bare, ratio, budget, unit) of a call; the ratio is the median of the runs' own ratios."""
        runs = self.seen.get(call)
        if not runs:
            return None, None, None, None, None
        values, bares, budgets, units = zip(*runs)
        has_bare = bares[0] is not None
        return (statistics.median(values), statistics.median(bares) if has_bare else None,
                statistics.median(v / b for v, b in zip(values, bares)) if has_bare else None, budgets[0], units[0])


def build_reference(folder):
    """Builds the bench programs with Debian's oshcc, with the flags of a release build."""
    here = pathlib.Path(__file__).resolve().parent
    for source in sorted(here.glob("bench_*.c")):
        subprocess.run([REFERENCE_CC, "-std=gnu11", "-O3", "-DNDEBUG", "-D_GNU_SOURCE", str(source), "-o",
                        os.path.join(folder, source.stem)], check=True)


def progress(text):
    """On a terminal one line that renews itself; nothing in a log."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def run_programs(args, runtimes):
    """The runtimes take turns with every program, round after round."""
    for round_number in range(1, args.rounds + 1):
        for program, n_pes, argument in PROGRAMS:
            for name, runs in runtimes.items():
                progress(f"round {round_number} of {args.rounds}: {program}, {n_pes} PEs, {name}")
                runs.run(program, n_pes, str(args.batches) if argument == "B" else argument)
    progress("")


def run_startup(args, ours, theirs, reference_folder):
    """The empty program under both launchers; the reference knows only mpirun."""
    for n_pes in STARTUP_PES:
        repeats = args.rounds if n_pes > 16 else 3 * args.rounds
        for name, launch, reference in (("mpirun", startup.mpirun, reference_folder),
                                        ("isthmus-run", startup.isthmus_run(args.build), None)):
            call = f"empty program, {n_pes} PEs, {name}"
            progress(call)
            try:
                ns, bare_ns, reference_ns = startup.measure(args.build, launch, n_pes, repeats, reference)
            except (OSError, subprocess.SubprocessError) as error:
                ours.problems.append(f"{call}: {error}")
                continue
            ours.add(call, ns, bare_ns, startup.BUDGET, "x")
            if reference_ns:
                theirs.add(call, reference_ns, bare_ns, startup.BUDGET, "x")
    progress("")


def make_rows(ours, reference):
    """One Row per call, with the verdict: a ratio is held against a budget in x, a value against any other."""
    rows = []
    for call in ours.seen:
        value, bare, ratio, budget, unit = ours.median(call)
        measured = ratio if unit == "x" else value
        verdict = "-" if budget is None else "ok" if measured <= budget else "over"
        reference_value, _, reference_ratio, _, _ = reference.median(call) if reference else [None] * 5
        rows.append(Row(call, value, bare, ratio, budget, unit, verdict, reference_value, reference_ratio))
    return rows


def quantity(value, unit):
    """A measured value for people: nanoseconds in the unit that suits, anything else as it is."""
    if value is None:
        return "-"
    if unit not in ("x", "ns"):
        return f"{value:.2f} {unit}"
    for limit, divisor, name in ((1e3, 1, "ns"), (1e6, 1e3, "us"), (1e9, 1e6, "ms"), (float("inf"), 1e9, "s")):
        if value < limit:
            return f"{value / divisor:.{2 if value / divisor < 10 else 1}f} {name}"


def cells(row):
    """The texts of one line of the table."""
    ratio = "-" if row.ratio is None else f"{row.ratio:.2f} x"
    budget = "-" if row.budget is None else f"{row.budget:g} x" if row.unit == "x" else quantity(row.budget, row.unit)
    return [row.call, quantity(row.isthmus, row.unit), quantity(row.bare, row.unit), ratio, budget, row.verdict,
            quantity(row.reference, row.unit)]


def print_table(rows, with_reference):
    table = [["call", "Isthmus", "bare", "ratio", "budget", "verdict", "Open MPI"]] + [cells(row) for row in rows]
    if not with_reference:
        table = [line[:-1] for line in table]
    widths = [max(map(len, column)) for column in zip(*table)]
    colours = {"ok": "\033[32m", "over": "\033[31m"} if sys.stdout.isatty() else {}
    for number, line in enumerate(table):
        texts = [line[0].ljust(widths[0])] + [text.rjust(width) for text, width in zip(line[1:], widths[1:])]
        colour = colours.get(line[5])
        if colour:
            texts[5] = f"{colour}{texts[5]}\033[0m"
        print("  ".join(texts))
        if number == 0:
            print("  ".join("-" * width for width in widths))


def machine():
    """One line: where the figures come from."""
    model = "unknown CPU"
    for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            model = line.split(":", 1)[1].strip()
            break
    return f"{model}, {os.cpu_count()} cores, {platform.system()} {platform.release()}"


def write_results(path, rows, heading):
    """Tab-separated, for programs: values in ns, or in the budget's unit if that is not x; '-' where there is none."""
    with open(path, "w", encoding="utf-8") as file:
        print(f"# {heading}", "\t".join(COLUMNS), sep="\n", file=file)
        for row in rows:
            texts = ["-" if field is None else f"{field:.4g}" if isinstance(field, float) else field for field in row]
            print("\t".join(texts), file=file)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build", help="build folder (default: %(default)s)")
    parser.add_argument("--out", help="folder for results.tsv and latency.png (default: write no files)")
    parser.add_argument("--rounds", type=int, help="runs of each program (default: 5)")
    parser.add_argument("--batches", type=int, help="batches that each program times (default: 101)")
    parser.add_argument("--quick", action="store_true", help="1 round, 21 batches: a look, not a measurement")
    parser.add_argument("--reference", action="store_true", help="in turn with the same sources on Open MPI")
    parser.add_argument("--check", action="store_true", help="exit with 1 when a call is over its budget")
    args = parser.parse_args()
    if args.reference and not os.access(REFERENCE_CC, os.X_OK):
        print(f"bench: no reference: {REFERENCE_CC} is missing (Debian's libopenmpi-dev has it)", file=sys.stderr)
        args.reference = False
    args.rounds = args.rounds or (1 if args.quick else 5)
    args.batches = args.batches or (21 if args.quick else 101)
    return args


def main():
    args = parse_arguments()
    with tempfile.TemporaryDirectory(prefix="isthmus-bench-") as reference_folder:
        ours = Runs(startup.isthmus_run(args.build), os.path.join(args.build, "bench"))
        theirs = Runs(startup.mpirun, reference_folder)
        if args.reference:
            build_reference(reference_folder)
        run_programs(args, {"Isthmus": ours, "Open MPI": theirs} if args.reference else {"Isthmus": ours})
        run_startup(args, ours, theirs, reference_folder if args.reference else None)

    rows = make_rows(ours, theirs if args.reference else None)
    heading = f"{machine()}; medians of {args.rounds} runs of {args.batches} batches"
    print(heading, end="\n\n")
    print_table(rows, args.reference)
    if args.out:
        os.makedirs(args.out, exist_ok=True)
        write_results(os.path.join(args.out, "results.tsv"), rows, heading)
        plot.draw(os.path.join(args.out, "latency.png"), rows, quantity)
        print(f"\nwritten to {args.out}: {', '.join(sorted(os.listdir(args.out)))}")
    for problem in ours.problems + theirs.problems:
        print(f"bench: {problem}", file=sys.stderr)
    over = [row.call for row in rows if row.verdict == "over"]
    print(f"\n{len(over)} over budget: {'; '.join(over)}" if over else "\nall within budget")
    return 1 if ours.problems or (args.check and over) else 0


if __name__ == "__main__":
    sys.exit(main())
