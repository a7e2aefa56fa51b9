#!/usr/bin/env python3
"""No file includes from a floor above its own, and no plugin includes a core header (docs/architecture.md, floors)."""
import re

import lint

# The longest prefix that fits decides. Folders of one floor may include one another. Files that lie in core/ itself are the
# composition root, above all; what it offers to the entry points (init, finalize, the state of both) is core/runtime.h.
COMPOSITION_ROOT = 7
FLOORS = {
    "tools/": 8,
    "core/life/": 6,
    "include/shmem.h": 5, "include/shmemx.h": 5, "include/nvshmem.h": 5, "include/nvshmemx.h": 5,
    "include/ishmem.h": 5, "include/ishmemx.h": 5, "include/mpp/": 5, "include/pshmem.h": 5,
    "include/nvshmem_host.h": 5, "include/isthmus/ishmem": 5,
    "core/api/": 5, "core/runtime.h": 5,
    "core/ops/": 4, "core/sync/": 4, "core/coll/": 4, "core/check/": 4, "core/proxy/": 4, "core/stream/": 4,
    "core/team/": 3, "core/ctx/": 3, "core/heap/": 3,
    "core/transport/": 2,
    "core/boot/": 1, "core/topo/": 1, "core/base/": 1,
    "include/isthmus/": 0,
}
FACES = ("shmem.h", "shmemx.h", "pshmem.h", "nvshmem.h", "nvshmemx.h", "nvshmem_host.h", "ishmem.h", "ishmemx.h",
         "mpp/shmem.h", "mpp/shmemx.h")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)


def floor_of(path):
    fitting = [prefix for prefix in FLOORS if path.startswith(prefix)]
    if not fitting and path.startswith("core/") and path.count("/") == 1:
        return COMPOSITION_ROOT
    return FLOORS[max(fitting, key=len)] if fitting else None


def resolve(root, includer, name, quoted):
    """The path in the tree that an include means, or None for a system header."""
    if quoted and (root / includer.parent / name).exists():
        return str((root / includer.parent / name).resolve().relative_to(root))
    if name in FACES or name.startswith("isthmus/"):
        return "include/" + name
    top = name.split("/")[0]
    return name if "/" in name and top in ("core", "plugins", "tools", "tests", "include") else None


def check_core(report, path, line, target):
    own, other = floor_of(str(path)), floor_of(target)
    if own is None:
        report.fault(path, line, "this folder has no floor: give it one in tests/lint/floors.py and docs/architecture.md")
    elif target.startswith("plugins/"):
        report.fault(path, line, f"includes {target}: the core knows no plugin; extend include/isthmus/transport.h instead")
    elif other is None:
        report.fault(path, line, f"includes {target}, which has no floor")
    elif other > own:
        report.fault(path, line, f"floor {own} includes {target} of floor {other}: a file includes from its own floor or "
                                 "a lower one")


def check_plugin(report, path, line, target):
    own_folder = "/".join(path.parts[:2]) + "/"
    if not target.startswith(("include/isthmus/", "plugins/common/", own_folder)):
        report.fault(path, line, f"includes {target}: a plugin knows isthmus/*.h, plugins/common and its own folder only")


def check_program(report, path, line, target):
    if target.startswith(("core/", "plugins/")):
        report.fault(path, line, f"includes {target}: examples and benchmarks use the public headers, as any program does")


def main():
    root = lint.arguments(__doc__).root.resolve()
    report = lint.Report("floors", root)
    for folder, check in (("core", check_core), ("include", check_core), ("tools", check_core),
                          ("plugins", check_plugin), ("docs/examples", check_program), ("bench", check_program)):
        for path in lint.sources(root, folder):
            text = lint.without_comments(lint.read(root / path))
            for match in INCLUDE.finditer(text):
                target = resolve(root, path, match.group(2), match.group(1) == '"')
                if target:
                    check(report, path, text.count("\n", 0, match.start()) + 1, target)
    report.finish()


if __name__ == "__main__":
    main()
