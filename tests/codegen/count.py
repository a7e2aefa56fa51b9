#!/usr/bin/env python3
"""Counts the instructions on fast paths and compares them with a committed table.

The fast path of a function is its shortest way from the entry to a return that calls nothing and stays in the function:
rare cases branch to a .cold part or to another function. Columns of the table: file (library or program), function,
instructions, conditional branches, locked instructions on that way. More than the table allows is a fault; fewer are
welcome. So is a way that reads anything of the profile or the recorder (ISTHMUS_PROFILE), which is to cost nothing
while it is off. Counts are those of GCC at the release build's flags on x86-64; elsewhere the test is skipped.

--print writes the table's lines as they are now."""
import argparse
import collections
import re
import shutil
import subprocess
import sys
from pathlib import Path

SKIPPED = 77
TOLERANCE = 0.15  # of instructions: another release of the compiler schedules otherwise
RECORDING = re.compile(r"<[^>]*(profile|recorder)[^>]*>")
Way = collections.namedtuple("Way", "instructions branches locked recording", defaults=((),))


def disassemble(path):
    """{function: {address: (text, next address, names of the profile's that it refers to)}}"""
    listing = subprocess.run(["objdump", "-d", "--no-show-raw-insn", str(path)], text=True, capture_output=True,
                             check=True)
    functions, rows = {}, None
    for line in listing.stdout.splitlines():
        start = re.fullmatch(r"[0-9a-f]+ <([^>]+)>:", line)
        row = re.fullmatch(r"\s*([0-9a-f]+):\t(.*)", line)
        if start:
            rows = functions.setdefault(start.group(1).split("@")[0], [])
        elif row and rows is not None:
            recording = tuple(name.group() for name in RECORDING.finditer(row.group(2)))
            rows.append((int(row.group(1), 16), row.group(2).split("#")[0].strip(), recording))
    return {name: {at: (text, rows[i + 1][0] if i + 1 < len(rows) else None, recording)
                   for i, (at, text, recording) in enumerate(rows)}
            for name, rows in functions.items()}


def is_locked(text):
    return text.startswith("lock ") or (text.startswith("xchg") and "(" in text)


def steps(text, following):
    """The next addresses inside of the function; None for a return, () where the fast path ends otherwise."""
    name = re.sub(r"^(notrack|bnd|rep|repz) ", "", text).split()[0]
    if name.startswith("ret"):
        return None
    if name.startswith("call"):
        return ()
    if name.startswith("j"):
        target = re.search(r"\s([0-9a-f]+) <", text)
        taken = (int(target.group(1), 16),) if target else ()
        return taken if name == "jmp" else taken + (following,)
    return (following,)


def fast_path(code):
    """Returns the counts of the shortest path without a call, or None."""
    entry = min(code)
    queue, seen = collections.deque([(entry, Way(0, 0, 0))]), {entry}
    while queue:
        at, way = queue.popleft()
        text, following, recording = code[at]
        if not text.startswith(("nop", "data16", "endbr64")):
            way = Way(way.instructions + 1, way.branches + bool(re.match(r"j(?!mp)", text)),
                      way.locked + is_locked(text), way.recording + (() if text.startswith("j") else recording))
        further = steps(text, following)
        if further is None:
            return way
        for target in further:
            if target in code and target not in seen:
                seen.add(target)
                queue.append((target, way))
    return None


def why_not(args):
    if args.compiler != "GNU":
        return f"the table is for GCC, this is {args.compiler}"
    if args.build_type != "Release":
        return f"the table is for the Release build, this is {args.build_type}"
    if args.processor != "x86_64":
        return f"the table is for x86-64, this is {args.processor}"
    if not shutil.which("objdump"):
        return "objdump is not here (binutils)"
    return None


def compare(row, way):
    file, function, *limits = row
    most = Way(*map(int, limits))
    if way is None:
        return [f"{file} {function}: there is no way to its end without a call"]
    faults = []
    if way.instructions > most.instructions * (1 + TOLERANCE):
        faults.append(f"{file} {function}: {way.instructions} instructions on the fast path, "
                      f"the table says {most.instructions}")
    faults += [f"{file} {function}: the fast path reads {name}" for name in way.recording]
    for what in ("branches", "locked"):
        if getattr(way, what) > getattr(most, what):
            faults.append(f"{file} {function}: {getattr(way, what)} {what} on the fast path, the table says "
                          f"{getattr(most, what)}")
    return faults


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=Path)
    parser.add_argument("--library", type=Path, required=True)
    parser.add_argument("--program", type=Path, required=True)
    parser.add_argument("--compiler", default="GNU")
    parser.add_argument("--build-type", default="Release")
    parser.add_argument("--processor", default="x86_64")
    parser.add_argument("--print", action="store_true")
    args = parser.parse_args()
    reason = why_not(args)
    if reason:
        print(f"skipped: {reason}")
        sys.exit(SKIPPED)
    code = {"library": disassemble(args.library), "program": disassemble(args.program)}
    faults = []
    for line in args.table.read_text().splitlines():
        if not line or line.startswith("#"):
            if args.print:
                print(line)
            continue
        row = line.split("\t")
        function = code[row[0]].get(row[1]) or code[row[0]].get(f"p{row[1]}")  # two names for one function
        if function is None:
            faults.append(f"{row[0]} has no function {row[1]}")
            continue
        way = fast_path(function)
        if args.print:
            print("\t".join([row[0], row[1]] + [str(n) for n in way or ("call", "call", "call")][:3]))
        else:
            faults += compare(row, way)
    print("\n".join(faults), end="\n" if faults else "")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
