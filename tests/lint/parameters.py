#!/usr/bin/env python3
"""No function of the core, a plugin or a tool has more than 7 parameters, as many as a data slot of the ABI.

Entry points have the parameters of their routine in the three APIs: the routines themselves, and in core/api the
functions ist_entry_... that take the same with an element's size and the routine's name. Callbacks whose prototype is
another library's are in allowed.txt. `--figures` prints how many functions have how many."""
import re
from collections import Counter

import lint

MOST = 7
ENTRY_POINT = re.compile(r"(ist_entry|p?shmemx?|nvshmemx?|ishmemx?|rocshmem)_\w+")
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
NAME = re.compile(r"(?<!\w)([A-Za-z_]\w*)\s*\(")
BODY = re.compile(r"[^(){};=]*\{")
DEPTH = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}


def closing(code, start):
    """Behind the bracket that closes the one before `start`, and the commas on its own level."""
    depth, commas, at = 1, 0, start
    while at < len(code) and depth:
        depth += DEPTH.get(code[at], 0)
        commas += code[at] == "," and depth == 1
        at += 1
    return at, commas


def functions(text):
    """(line, name, parameters) of the functions that a file defines."""
    code = DIRECTIVE.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), lint.code_only(text))
    at = 0
    for match in NAME.finditer(code):
        if match.start() < at:
            continue
        end, commas = closing(code, match.end())
        body = BODY.match(code, end)
        if body:
            empty = code[match.end():end - 1].strip() in ("", "void")
            yield code.count("\n", 0, match.start()) + 1, match.group(1), 0 if empty else commas + 1
            at, _ = closing(code, body.end())


def main():
    args = lint.arguments(__doc__, ("--figures", {"action": "store_true", "help": "print the distribution"}))
    report, counts = lint.Report("parameters", args.root), Counter()
    for path in lint.sources(args.root, "core", "plugins", "tools", "compat", suffixes=(".c", ".h", ".cpp", ".hpp")):
        for line, name, n in functions(lint.read(args.root / path)):
            counts[n] += 1
            if n <= MOST or (path.parts[:2] == ("core", "api") and ENTRY_POINT.fullmatch(name)):
                continue
            report.fault_unless_allowed(path, line, name, f"{name} has {n} parameters; at most {MOST}: pass "
                                        "what belongs together as a struct (struct ist_transfer in core/ops)")
    if args.figures:
        print("\n".join(f"{n:3} parameters: {counts[n]} functions" for n in sorted(counts)))
    report.finish()


if __name__ == "__main__":
    main()
