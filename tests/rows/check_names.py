#!/usr/bin/env python3
"""No routine is left out: a face's headers declare the routines of its list and no others, and the tests call each of
them.

check_names.py LIST --prefix REGEX --compiler "CC FLAGS" --header HEADER... --source FILE...
A source that is made by gen_rows.py or written by hand calls a routine when its name stands before a parenthesis.
With --left-out FILE, whose lines are NAME ... | REASON, those need no call, and type-generic names neither."""
import argparse
import re
import shlex
import subprocess
import sys
from pathlib import Path

from row_list import RowList

COMMENT_OR_LITERAL = re.compile(r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.DOTALL)


def called_names(paths):
    names = set()
    for path in paths:
        text = COMMENT_OR_LITERAL.sub(" ", Path(path).read_text())
        names |= set(re.findall(r"\b(\w+)\)?\s*\(", text)) | set(re.findall(r"\.\w+ = (\w+)", text))
    return names


def preprocess(compiler, headers, *options):
    text = "".join(f"#include <{header}>\n" for header in headers)
    command = [*shlex.split(compiler), "-E", *options, "-"]
    return subprocess.run(command, input=text, text=True, capture_output=True, check=True).stdout


def declared_names(text):
    """Functions that are declared or defined at file scope."""
    text = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    text = re.sub(r'"(?:\\.|[^"\\])*"', '""', text)
    text = re.sub(r'(extern ""|namespace rocshmem)\s*\{', "", text)
    while re.search(r"\{[^{}]*\}", text):
        text = re.sub(r"\{[^{}]*\}", " ;", text)
    while re.search(r"\([^()]*\)", text):
        text = re.sub(r"\([^()]*\)", "#", text)
    text = re.sub(r"__(attribute|asm)__\s*#", "", text)
    return {name for part in text.split(";") if not re.search(r"\btypedef\b|=", part)
            for name in re.findall(r"(\w+)\s*#", part)[-1:]}


def read_left_out(path):
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    return {name for line in lines for name in line.split(" | ")[0].split()}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("list", type=Path)
    parser.add_argument("--prefix", required=True)
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--header", action="append", default=[])
    parser.add_argument("--source", action="append", default=[])
    parser.add_argument("--left-out", type=Path)
    args = parser.parse_args()
    rows = RowList(args.list)
    listed, generics = rows.functions(), rows.generics()
    declared = {name for name in declared_names(preprocess(args.compiler, args.header)) if re.match(args.prefix, name)}
    macros = set(re.findall(r"#define (\w+)", preprocess(args.compiler, args.header, "-dM")))
    called = called_names(args.source)
    wanted, left_out = listed | generics, set()
    if args.left_out:
        left_out = read_left_out(args.left_out) & listed
        wanted = listed - left_out
    faults = [f"{name}: in {args.list.name}, but no header declares it" for name in listed - declared - macros]
    faults += [f"{name}: declared, but not in {args.list.name}" for name in declared - listed - generics]
    faults += [f"{name}: no program calls it" for name in wanted - called]
    faults += [f"{name}: called, although {args.left_out.name} says that it is left out" for name in left_out & called]
    faults += [f"{name}: no macro or function of that name" for name in generics - macros - declared]
    if args.left_out:
        told = f"{len(wanted)} of {len(listed)} functions called, {len(left_out)} left out"
    else:
        told = f"{len(listed)} functions and {len(generics)} generic names, all called"
    print("\n".join(sorted(faults)) or told)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
