"""Replaces this process with a tool of the package: `python3 -m isthmus isthmus-run -n 4 ./program`."""

import os
import sys
from pathlib import Path

import isthmus


def run(name, arguments):
    try:
        tool = isthmus.get_tool(name)
    except ValueError as error:
        sys.exit(str(error))
    os.execv(tool, [tool, *arguments])


def run_named():
    """What an install makes the commands of: each runs the tool of its own name."""
    run(Path(sys.argv[0]).name, sys.argv[1:])


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: python3 -m isthmus TOOL [ARGUMENT...], where TOOL is isthmus-run, isthmus-info, isthmus-perf "
                 "or isthmus-check-transport")
    run(sys.argv[1], sys.argv[2:])
