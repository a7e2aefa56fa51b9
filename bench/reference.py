"""The same bench programs on Debian's Open MPI.

Not a program of its own.
Read on: run.py and hosts.py, which run them in turn with ours.
"""
import os
import pathlib
import subprocess
import sys

CC = "/usr/bin/oshcc"  # not that of PATH, which may be ours


def is_here():
    """Returns True if they can be built; reports if not."""
    if os.access(CC, os.X_OK):
        return True
    print(f"bench: no reference: {CC} is missing (Debian's libopenmpi-dev has it)", file=sys.stderr)
    return False


def build(folder, programs, more=()):
    """Builds programs into folder, with the flags of a release build; `more` are further sources and libraries."""
    here = pathlib.Path(__file__).resolve().parent
    for program in programs:
        subprocess.run([CC, "-std=gnu11", "-O3", "-DNDEBUG", "-D_GNU_SOURCE", f"{program}.c", *more, "-o",
                        os.path.join(folder, program)], check=True, cwd=here)
