#!/usr/bin/env python3
"""unit.requests finds mistakes in the ring: a copy of its headers gets one mistake at a time, is compiled with the test,
and the test has to fail, or ThreadSanitizer has to report a race. Without a mistake it passes."""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# (what, file, text, text in its place, whether it takes ThreadSanitizer)
PLANTS = (
    ("the submission of a group is not ordered after the source", "include/isthmus/device_rma.h",
     "        isthmus_dev_fence();\n        if (is_nbi)", "        if (is_nbi)", True),
    ("a slot is given up before its reply is read", "include/isthmus/device_ring.h",
     "    uint32_t spins = 0;\n    while (isthmus_dev_load_acquire(reply + 1, 8) != ticket + 1)",
     "    uint32_t spins = 0;\n    isthmus_dev_give_slot(ticket);\n"
     "    while (isthmus_dev_load_acquire(reply + 1, 8) != ticket + 1)", False),
    ("a slot is written before the host has read it", "include/isthmus/device_ring.h",
     "    isthmus_dev_await_room(ticket);\n", "", False),
    ("a slot is written before the thread of the turn before has given it up", "include/isthmus/device_ring.h",
     "    isthmus_dev_await_turn(ticket);\n", "", False),
    ("a quiet of an earlier request is waited for", "include/isthmus/device_ring.h",
     "if ((int64_t)(isthmus_dev_load_device(ring->quiet) - before) <= 0)",
     "if (isthmus_dev_load_device(ring->quiet) == 0)", False),
    ("a quiet returns early", "include/isthmus/device_ring.h",
     "while ((int64_t)(before - (quieted = isthmus_dev_load_acquire(ring->quieted, 8))) > 0)",
     "while ((int64_t)(before - 1 - (quieted = isthmus_dev_load_acquire(ring->quieted, 8))) > 0)", False),
    ("the tag is that of the ticket's lowest bits", "include/isthmus/device_wire.h",
     "return ((uint32_t)turn & 127) + 1;", "return ((uint32_t)turn & 0) + 1;", False),
    ("one word's tag is not looked at", "include/isthmus/device_wire.h",
     "for (int i = 0; i < ISTHMUS_WIRE_WORDS; i++) wrong", "for (int i = 1; i < ISTHMUS_WIRE_WORDS; i++) wrong", False),
)
SOURCES = ("tests/unit/test_requests.c", "core/proxy/requests.c", "core/proxy/kernel_memory.c", "core/base/status.c")


def build_and_run(tree, work, cc, flags, limit_s):
    """Returns the exit status of the test; 0: it passed."""
    program = work / "test"
    command = [*cc, "-std=gnu11", "-D_GNU_SOURCE", "-O1", "-g", *flags, "-I", str(tree), "-I", str(tree / "include"),
               *(str(tree / source) for source in SOURCES), "-o", str(program), "-lcmocka", "-pthread"]
    built = subprocess.run(command, text=True, capture_output=True)
    if built.returncode != 0:
        sys.exit(f"does not compile:\n{built.stderr}")
    try:
        environment = {**os.environ, "TSAN_OPTIONS": "halt_on_error=1 exitcode=66"}
        return subprocess.run([str(program)], capture_output=True, timeout=limit_s, env=environment).returncode
    except subprocess.TimeoutExpired:
        return "it hangs"


def copy_tree(root, tree):
    for folder in ("include", "core/proxy", "core/base", "core/team", "tests/unit"):
        shutil.copytree(root / folder, tree / folder)


def plant(tree, file, text, instead):
    path = tree / file
    before = path.read_text()
    if before.count(text) != 1:
        sys.exit(f"{file} has no single place for: {text}")
    path.write_text(before.replace(text, instead))
    return before


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--cc", required=True)
    args = parser.parse_args()
    cc, failed = args.cc.split(), 0
    with tempfile.TemporaryDirectory() as folder:
        tree, work = Path(folder) / "tree", Path(folder)
        copy_tree(args.root, tree)
        limit_s = 10
        for flags in ([], ["-fsanitize=thread"]):
            begin = time.monotonic()
            status = build_and_run(tree, work, cc, flags, 120)
            limit_s = max(limit_s, 5 * (time.monotonic() - begin))
            print(f"as it is {' '.join(flags)}: {'passes' if status == 0 else f'FAILED ({status})'}")
            failed += status != 0
        for what, file, text, instead, takes_tsan in PLANTS:
            before = plant(tree, file, text, instead)
            status = build_and_run(tree, work, cc, ["-fsanitize=thread"] if takes_tsan else [], limit_s)
            (tree / file).write_text(before)
            print(f"{what}: {'NOT FOUND' if status == 0 else f'found ({status})'}")
            failed += status == 0
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
