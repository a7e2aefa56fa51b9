#!/usr/bin/env python3
"""The ordering instructions of the fast paths, on a processor other than this one: compiles program.c and library.c
with a cross compiler and compares the ordering instructions with a committed table.

An emulator keeps the order of the machine that it runs on, so that a missing barrier never shows there; the code that
the compiler emits does show it. The fast path is count.py's: the shortest way from the entry to a return without a
call. Columns of the table: file (library or program), function, and its ordering instructions in their order, "-" where
there are none. They are compared exactly; a helper of the compiler that executes one atomic (__aarch64_ldadd8_acq_rel)
counts as an instruction.

--print writes the table's lines as they are now."""
import argparse
import collections
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SKIPPED = 77
sys.dont_write_bytecode = True  # the source tree stays as it is

Processor = collections.namedtuple("Processor", "order helper branch always ends call")
PROCESSORS = {
    "aarch64": Processor(
        order=r"(ldar|ldapr|ldaxr|stlr|stlxr|dmb|dsb|isb|ld\w+al|swp\w*al|cas\w*al)\w*$",
        helper=r"<(__aarch64_\w+?)(?:@plt)?>", branch=r"(b\.\w+|cbn?z|tbn?z)$", always=r"b$", ends=r"(ret|br)$",
        call=r"blr?$"),
}


def compile_for(args, source, folder):
    out = Path(folder) / f"{source.stem}.so"
    flags = ["-O3", "-std=gnu11", "-fPIC", "-shared", "-nostdlib", "-w", "-D_GNU_SOURCE"]
    flags += ["-DISTHMUS_LIBRARY"] * (source.stem == "library") + [f"-I{path}" for path in args.include] + args.flag
    done = subprocess.run([args.cc, *flags, str(source), "-o", str(out), *args.link], text=True, capture_output=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(done.args)}:\n{done.stderr}")
    listing = subprocess.run([args.objdump, "-d", "--no-show-raw-insn", str(out)], text=True, capture_output=True,
                             check=True)
    functions, rows = {}, None
    for line in listing.stdout.splitlines():
        start = re.fullmatch(r"[0-9a-f]+ <([^>]+)>:", line)
        row = re.fullmatch(r"\s*([0-9a-f]+):\s+(.*)", line)
        if start:
            rows = functions.setdefault(start.group(1), [])
        elif row and rows is not None:
            rows.append((int(row.group(1), 16), re.split(r"\s*//", row.group(2))[0].strip()))
    return functions


def ordering(processor, text):
    """Returns the ordering of this instruction as one word, or None."""
    name = text.split()[0]
    helper = re.search(processor.helper, text)
    if helper and re.match(processor.call, name):
        return helper.group(1)
    if not re.match(processor.order, name):
        return None
    return " ".join(text.split()) if name in ("dmb", "dsb") else name


def fast_path(processor, rows):
    """Returns the ordering instructions of the shortest path without a call, or None."""
    code = {at: (text, rows[i + 1][0] if i + 1 < len(rows) else None) for i, (at, text) in enumerate(rows)}
    queue, seen = collections.deque([(rows[0][0], ())]), {rows[0][0]}
    while queue:
        at, way = queue.popleft()
        text, following = code[at]
        name, word = text.split()[0], ordering(processor, text)
        way += (word,) if word else ()
        if re.match(processor.ends, name):
            return way
        target = re.search(r"([0-9a-f]+) <", text)
        further = []
        if re.match(processor.always, name) or re.match(processor.branch, name):
            further = [int(target.group(1), 16)] if target else []
        if not re.match(processor.always, name) and (word or not re.match(processor.call, name)):
            further.append(following)
        for next_at in further:
            if next_at in code and next_at not in seen:
                seen.add(next_at)
                queue.append((next_at, way))
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=Path)
    parser.add_argument("--processor", required=True, choices=PROCESSORS)
    parser.add_argument("--cc", required=True)
    parser.add_argument("--objdump", required=True)
    parser.add_argument("--include", action="append", default=[])
    parser.add_argument("--flag", action="append", default=[])
    parser.add_argument("--link", action="append", default=[])
    parser.add_argument("--only", choices=["library", "program"])
    parser.add_argument("--print", action="store_true")
    args = parser.parse_args()
    for tool in (args.cc, args.objdump):
        if not shutil.which(tool):
            print(f"skipped: {tool} is not here")
            sys.exit(SKIPPED)
    processor, faults = PROCESSORS[args.processor], []
    with tempfile.TemporaryDirectory() as folder:
        code = {name: compile_for(args, HERE / f"{name}.c", folder) for name in ("library", "program")
                if args.only in (None, name)}
    for line in args.table.read_text().splitlines():
        if not line or line.startswith("#"):
            if args.print:
                print(line)
            continue
        file, function, wanted = line.split("\t")
        if file not in code:
            continue
        rows = code[file].get(f"{file}_{function}")
        if rows is None:
            faults.append(f"{file} has no function {file}_{function}")
            continue
        way = fast_path(processor, rows)
        found = "no way without a call" if way is None else ", ".join(way) or "-"
        if args.print:
            print(f"{file}\t{function}\t{found}")
        elif found != wanted:
            faults.append(f"{file} {function}: ordered by {found}; the table says {wanted}")
    print("\n".join(faults), end="\n" if faults else "")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
