"""The output of the bench programs, as rows: medians, verdicts, the printed table, the file of results.

Not a program of its own.
Read on: run.py and hosts.py, which start the programs; bench.h, what they print.
"""
import collections
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import textwrap

TIMEOUT_S = 300
PAGE_WIDTH = 120
COLUMNS = ["call", "isthmus", "bare", "ratio", "budget", "unit", "verdict", "reference", "reference_ratio"]

Row = collections.namedtuple("Row", COLUMNS)
HEAD = ["call", "Isthmus", "bare", "ratio", "budget", "verdict", "Open MPI", "its ratio"]
REFERENCE_COLUMNS = 2
REPEATABLE = 1.02  # so much do two medians of the same program differ


class Runs:
    """The output of the runs of one runtime: call -> list of (value, bare or None, budget or None, unit)."""

    def __init__(self, launch, folder, environment):
        self.launch, self.folder, self.environment = launch, folder, environment
        self.seen = {}
        self.problems = []
        self.device = "unknown GPU"

    def run(self, program, n_pes, *arguments):
        command = self.launch(n_pes, os.path.join(self.folder, program), *arguments)
        try:
            done = subprocess.run(command, env=self.environment, timeout=TIMEOUT_S, text=True,
                                  stdin=subprocess.DEVNULL, capture_output=True, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            self.problems.append(f"{program} with {n_pes} PEs: {error}")
            return
        lines = [line.split("\t") for line in done.stdout.splitlines()]
        for line in lines:
            if line[0] == "row":
                self.add(line[1], *line[2:4], *line[5:7])
            elif line[0] == "device":
                self.device = line[1]
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


def progress(text):
    """On a terminal one line that renews itself; nothing in a log."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def is_slower(row):
    """Than the reference: by the bare operation that both had beside them, if they had, since a machine may change its
    speed."""
    if row.reference_ratio is not None:
        return row.ratio > row.reference_ratio * REPEATABLE
    return row.reference is not None and row.isthmus > row.reference


def verdict_of(row, beat_reference):
    """A ratio is held against a budget in x, a value against any other."""
    if beat_reference and row.unit == "x" and is_slower(row):
        return "over"
    if row.budget is None:
        return "-"
    return "ok" if (row.ratio if row.unit == "x" else row.isthmus) <= row.budget else "over"


def make_rows(ours, theirs, beat_reference=False):
    """One Row per call, with the verdict. beat_reference: a call that takes longer than the reference is over the
    budget too."""
    rows = []
    for call in ours.seen:
        value, bare, ratio, budget, unit = ours.median(call)
        reference_value, _, reference_ratio, _, _ = theirs.median(call) if theirs else [None] * 5
        row = Row(call, value, bare, ratio, budget, unit, None, reference_value, reference_ratio)
        rows.append(row._replace(verdict=verdict_of(row, beat_reference)))
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
            quantity(row.reference, row.unit), "-" if row.reference_ratio is None else f"{row.reference_ratio:.2f} x"]


def print_aligned(lines):
    """The first column to the left, the others to the right, under their heads; verdicts in colour on a terminal."""
    widths = [max(map(len, column)) for column in zip(*lines)]
    colours = {"ok": "\033[32m", "over": "\033[31m"} if sys.stdout.isatty() else {}
    for number, line in enumerate(lines):
        texts = [line[0].ljust(widths[0])] + [text.rjust(width) for text, width in zip(line[1:], widths[1:])]
        print("  ".join(f"{colours[text.strip()]}{text}\033[0m" if text.strip() in colours else text for text in texts))
        if number == 0:
            print("  ".join("-" * width for width in widths))


def paragraph(text):
    """The text in lines that fit a page."""
    return textwrap.fill(text, PAGE_WIDTH, break_long_words=False, break_on_hyphens=False)


def markdown(lines):
    """Lines of cells, the first one the head, as a table of a page."""
    head, *body = ["| " + " | ".join(line) + " |" for line in lines]
    return "\n".join([head, "|" + "---|" * len(lines[0]), *body])


def print_all(rows, heading, with_reference):
    lines = [HEAD] + [cells(row) for row in rows]
    print(heading, end="\n\n")
    print_aligned(lines if with_reference else [line[:-REFERENCE_COLUMNS] for line in lines])


def machine():
    """One line: where the figures come from."""
    model = "unknown CPU"
    for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            model = line.split(":", 1)[1].strip()
            break
    release = platform.release().partition("-")[0]  # what follows names a distribution's or a vendor's build
    return f"{model}, {os.cpu_count()} cores, {platform.system()} {release}"


def write_results(path, rows, heading):
    """Tab-separated, for programs: values in ns, or in the budget's unit if that is not x; '-' where there is none."""
    with open(path, "w", encoding="utf-8") as file:
        print(f"# {heading}", "\t".join(COLUMNS), sep="\n", file=file)
        for row in rows:
            texts = ["-" if field is None else f"{field:.4g}" if isinstance(field, float) else field for field in row]
            print("\t".join(texts), file=file)


def read_results(path):
    """The rows that write_results() has written."""
    rows = []
    for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines()[2:]:
        call, *numbers, unit, verdict, reference, reference_ratio = line.split("\t")
        value, bare, ratio, budget, reference, reference_ratio = [
            None if text == "-" else float(text) for text in (*numbers, reference, reference_ratio)]
        rows.append(Row(call, value, bare, ratio, budget, unit, verdict, reference, reference_ratio))
    return rows


def conclude(rows, ours, theirs, check):
    """Reports failures and calls over their budget; returns the exit status."""
    for problem in ours.problems + (theirs.problems if theirs else []):
        print(f"bench: {problem}", file=sys.stderr)
    over = [row.call for row in rows if row.verdict == "over"]
    print(f"\n{len(over)} over budget: {'; '.join(over)}" if over else "\nall within budget")
    return 1 if ours.problems or (check and over) else 0
