#!/usr/bin/env python3
"""All C and C++ is as .clang-format says. --fix makes it so."""
import re
import shutil
import subprocess
import sys

import lint

RELEASE = "14"  # other releases lay out some things differently; this one is Debian 12's
PASSES = 4  # some lines (several macro calls in one) settle only after more than one


def find_clang_format():
    for name in (f"clang-format-{RELEASE}", "clang-format"):
        program = shutil.which(name)
        if program:
            version = subprocess.run([program, "--version"], text=True, capture_output=True).stdout
            if re.search(rf"version {RELEASE}\.", version):
                return program
    return None


def main():
    args = lint.arguments(__doc__, ("--fix", {"action": "store_true", "help": "rewrite the files in place"}))
    program = find_clang_format()
    if not program:
        print(f"skipped: clang-format {RELEASE} is not here (apt-get install clang-format-{RELEASE})")
        sys.exit(1 if args.fix else lint.SKIPPED)
    paths = [str(path) for path in lint.sources(args.root, "core", "plugins", "tools", "compat", "include", "tests",
                                                "bench", "docs", suffixes=(".c", ".h", ".cpp", ".hpp"))]
    if not paths:
        sys.exit(0)
    if args.fix:
        for _ in range(PASSES):
            subprocess.run([program, "-i", "--style=file", *paths], cwd=args.root, check=True)
    done = subprocess.run([program, "--dry-run", "--style=file", *paths], cwd=args.root, text=True, capture_output=True)
    report = lint.Report("format", args.root)
    lines_of = {}
    for path, line in re.findall(r"^(.+?):(\d+):\d+: warning:", done.stderr, re.MULTILINE):
        lines_of.setdefault(path, []).append(int(line))
    for path, lines in lines_of.items():
        report.fault(path, lines[0], f"not as .clang-format says ({len(lines)} places): ./dev format")
    if done.returncode and not lines_of:
        report.fault(".clang-format", 1, done.stderr.strip())
    report.finish()


if __name__ == "__main__":
    main()
