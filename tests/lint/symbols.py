#!/usr/bin/env python3
"""The library exports what its version script lists, no more and no less, under our names only; a plugin exports one
symbol."""
import fnmatch
import re
import subprocess
from pathlib import Path

import lint

OURS = re.compile(r"(shmem|shmemx|pshmem|pshmemx|nvshmem|nvshmemx|nvshmemid|ishmem|ishmemx|rocshmem|isthmus)_\w+")
OLD = {"start_pes", "_my_pe", "_num_pes", "my_pe", "num_pes", "shmalloc", "shfree", "shrealloc", "shmemalign"}
REPLACED = {"_Fork", "clone"}  # of the C library: core/heap/fork.c
PLUGIN = "isthmus_transport_v1"


def exported(library):
    listing = subprocess.run(["nm", "-D", "--defined-only", str(library)], text=True, capture_output=True, check=True)
    names = (line.split()[-1].split("@")[0] for line in listing.stdout.splitlines())
    kinds = (line.split()[-2] for line in listing.stdout.splitlines())
    return {name for name, kind in zip(names, kinds) if kind != "A"}  # A: the names of versions


def listed(script):
    text = lint.without_comments(lint.read(script))
    part = re.search(r"global\s*:(.*?)(local\s*:|\})", text, re.DOTALL)
    return set(re.findall(r"[\w*?]+", part.group(1))) if part else set()


def check_library(report, library, script):
    names, entries = exported(library), listed(script)
    patterns = {entry for entry in entries if re.search(r"[*?]", entry)}
    for name in sorted(names):
        if name not in entries and not any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns):
            report.fault(library, 0, f"exports {name}, which {script.name} does not list")
        if not OURS.fullmatch(name) and name not in OLD | REPLACED:
            report.fault(library, 0, f"exports {name}: not a name of the specifications and not isthmus_")
    for entry in sorted(entries - names):
        if not any(fnmatch.fnmatchcase(name, entry) for name in names):
            report.fault(script, 0, f"lists {entry}, which {library.name} does not export")


def main():
    args = lint.arguments(__doc__, ("--library", {"type": Path}), ("--script", {"type": Path}),
                          ("--plugin", {"type": Path, "action": "append", "default": []}))
    report = lint.Report("symbols", args.root)
    if args.library:
        check_library(report, args.library, args.script)
    for plugin in args.plugin:
        names = exported(plugin)
        if names != {PLUGIN}:
            report.fault(plugin, 0, f"exports {', '.join(sorted(names)) or 'nothing'}; a plugin exports {PLUGIN} alone")
    report.finish()


if __name__ == "__main__":
    main()
