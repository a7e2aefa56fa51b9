#!/usr/bin/env python3
"""unchanged.py --record FILE [--input PATH]... [--tool PROGRAM]... -- COMMAND...: runs a test that compiles or searches
and whose result follows from what it reads, unless all of that is as it was when the test last passed: the command, the
contents of the inputs (files, and folders with all below them), the compilers, by place, size, time and version, and
Python. TEST_UNCHANGED=run runs every such test, as does a build folder without records."""

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

VERSION_TIMEOUT_S = 20


def files_below(path):
    if not path.is_dir():
        return [path]
    return sorted(p for p in path.rglob("*") if p.is_file() and p.parent.name != "__pycache__")


def version_of(program):
    """What it prints about itself: a script of a few lines may start another compiler than before."""
    try:
        done = subprocess.run([program, "--version"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=VERSION_TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as reason:
        return str(reason).encode()
    return done.stdout


def state_of(inputs, tools, command):
    """A digest of everything that the result follows from. An input that is absent is a state, too."""
    digest = hashlib.sha256("\0".join([sys.executable, sys.version, *command]).encode())
    for path in (file for entry in inputs for file in files_below(entry)):
        content = path.read_bytes() if path.is_file() else b"absent"
        digest.update(f"\0{path}\0{hashlib.sha256(content).hexdigest()}".encode())
    for tool in tools:
        found = shutil.which(tool)
        if found:
            about = os.stat(found)
            digest.update(f"\0{os.path.realpath(found)}\0{about.st_size}\0{about.st_mtime_ns}\0".encode())
            digest.update(version_of(found))
        else:
            digest.update(f"\0{tool} is absent".encode())
    return digest.hexdigest()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", type=Path, required=True)
    parser.add_argument("--input", type=Path, action="append", default=[])
    parser.add_argument("--tool", action="append", default=[])
    parser.add_argument("command", nargs="+")
    args = parser.parse_args()
    state = state_of([*args.input, Path(__file__)], args.tool, args.command)
    record = args.record
    if os.environ.get("TEST_UNCHANGED") != "run" and record.is_file() and record.read_text() == state:
        print(f"passed before, and nothing that it reads has changed; TEST_UNCHANGED=run runs it ({record})")
        return 0
    record.unlink(missing_ok=True)
    status = subprocess.run(args.command, check=False).returncode
    if status == 0:
        record.parent.mkdir(parents=True, exist_ok=True)
        record.write_text(state)
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main())
