#!/usr/bin/env python3
"""No file includes from a floor above its own or calls a function there, and no plugin includes a core header
(docs/architecture.md, floors).

With --build also by the symbols of the objects: a call needs no include, where a header of a lower floor or a file
itself declares the function. A lower floor calls a higher one through what that has registered."""
import re
import subprocess
from pathlib import Path

import lint

# From the lowest up: a floor knows those before it, and its own folders. The longest prefix that fits decides; files
# that lie in core/ itself are the composition root, of which the entry points know core/runtime.h only.
ROOT = "core/"
FLOORS = (
    ("include/isthmus/",),
    ("core/base/",),
    ("core/topo/",),
    ("core/boot/",),
    ("core/transport/",),
    ("core/heap/",),
    ("core/team/",),
    ("core/ctx/",),
    ("core/ops/",),
    ("core/sync/",),
    ("core/check/",),
    ("core/coll/",),
    ("core/memory/",),
    ("core/profile/",),
    ("core/stream/",),
    ("core/proxy/",),
    (ROOT, "core/life/"),
    ("core/api/", "include/shmem.h", "include/shmemx.h", "include/nvshmem.h", "include/nvshmemx.h", "include/ishmem.h",
     "include/ishmemx.h", "include/mpp/", "include/pshmem.h", "include/nvshmem_host.h", "include/isthmus/ishmem",
     "include/nvshmem_device.h", "include/ishmem_device.hpp", "include/ishmemx_device.hpp", "include/rocshmem/"),
    ("tools/", "compat/"),
)
# What measures a plugin's library uses the plugin's choice of an adapter.
MEASURES = {"tools/isthmus-perf/driver_ofi.c": "plugins/ofi/"}
NUMBER = {prefix: number for number, floor in enumerate(FLOORS) for prefix in floor}
FACES = ("shmem.h", "shmemx.h", "pshmem.h", "nvshmem.h", "nvshmemx.h", "nvshmem_host.h", "ishmem.h", "ishmemx.h",
         "mpp/shmem.h", "mpp/shmemx.h", "rocshmem/rocshmem.hpp")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)


def prefix_of(path):
    fitting = [prefix for prefix in NUMBER if path.startswith(prefix) and (prefix != ROOT or path.count("/") == 1)]
    return max(fitting, key=len) if fitting else None


def is_above(path, other):
    """Whether the second path, not the first, is on the higher floor; both have one."""
    return NUMBER[prefix_of(other)] > NUMBER[prefix_of(path)]


def resolve(root, includer, name, quoted):
    """The path in the tree that an include means, or None for a system header."""
    if quoted and (root / includer.parent / name).exists():
        return str((root / includer.parent / name).resolve().relative_to(root))
    if name in FACES or name.startswith("isthmus/"):
        return "include/" + name
    top = name.split("/")[0]
    return name if "/" in name and top in ("core", "plugins", "tools", "tests", "include") else None


def check_core(report, path, line, target):
    own, other = prefix_of(str(path)), prefix_of(target)
    if own is None:
        report.fault(path, line,
                     "this folder has no floor: give it one in tests/lint/floors.py and docs/architecture.md")
    elif str(path) in MEASURES and target.startswith(MEASURES[str(path)]):
        return
    elif target.startswith("plugins/"):
        report.fault(path, line,
                     f"includes {target}: the core knows no plugin; extend include/isthmus/transport.h instead")
    elif other is None:
        report.fault(path, line, f"includes {target}, which has no floor")
    elif is_above(str(path), target):
        report.fault(path, line, f"{own} includes {target}, which is above it: move what both need down, or let the "
                                 "upper one register a callback")
    elif own == "core/api/" and other == ROOT and target != "core/runtime.h":
        report.fault(path, line, f"includes {target}: of the composition root entry points know core/runtime.h only")


def check_plugin(report, path, line, target):
    own_folder = "/".join(path.parts[:2]) + "/"
    if not target.startswith(("include/isthmus/", "plugins/common/", own_folder)):
        report.fault(path, line,
                     f"includes {target}: a plugin knows isthmus/*.h, plugins/common and its own folder only")


def check_program(report, path, line, target):
    if target.startswith(("core/", "plugins/")):
        report.fault(path, line,
                     f"includes {target}: examples and benchmarks use the public headers, as any program does")


def check_includes(report, root):
    for folder, check in (("core", check_core), ("include", check_core), ("tools", check_core), ("compat", check_core),
                          ("plugins", check_plugin), ("docs/examples", check_program), ("bench", check_program)):
        for path in lint.sources(root, folder):
            text = lint.without_comments(lint.read(root / path))
            for match in INCLUDE.finditer(text):
                target = resolve(root, path, match.group(2), match.group(1) == '"')
                if target:
                    check(report, path, text.count("\n", 0, match.start()) + 1, target)


def symbols_of(root, build):
    """Two tables by source file: the symbols that its object defines, and those that it needs. Objects whose source is
    gone are left over from an earlier build."""
    folder = build / "core/CMakeFiles/isthmus_objects.dir"
    objects = {}
    for path in sorted(folder.rglob("*.o")):
        name = str(path.relative_to(folder))[:-len(".o")]
        made = name.removeprefix("__/gen/") if name.startswith("__/gen/") else None
        source = made or "core/" + name
        if (build / "gen" / source if made else root / source).exists():
            objects[str(path)] = source
    listing = subprocess.run(["nm", "-A", *objects], text=True, capture_output=True, check=True) if objects else None
    defined, needed = {}, {}
    for line in listing.stdout.splitlines() if listing else []:
        path, rest = line.split(":", 1)
        kind, symbol = rest.split()[-2:]
        if kind == "U":
            needed.setdefault(objects[path], []).append(symbol)
        elif kind.isupper() or kind in "vw":
            defined[symbol] = objects[path]
    return defined, needed


def line_of(root, source, symbol):
    text = lint.code_only(lint.read(root / source)) if (root / source).exists() else ""
    match = re.search(rf"\b{re.escape(symbol)}\b", text)
    return text.count("\n", 0, match.start()) + 1 if match else 1


def check_calls(report, root, build):
    defined, needed = symbols_of(root, build)
    if not defined:
        report.fault(build, 1, "has no objects of the core: ./dev build")
    for source, symbols in needed.items():
        for symbol in symbols:
            target = defined.get(symbol)
            if target and prefix_of(source) and prefix_of(target) and is_above(source, target):
                report.fault(source, line_of(root, source, symbol),
                             f"uses {symbol} of {target}, which is above {prefix_of(source)}: let that file register a "
                             "callback")


def main():
    args = lint.arguments(__doc__, ("--build", {"type": Path, "help": "where the core was built"}))
    root = args.root.resolve()
    report = lint.Report("floors", root)
    check_includes(report, root)
    if args.build:
        check_calls(report, root, args.build.resolve())
    report.finish()


if __name__ == "__main__":
    main()
