#!/usr/bin/env python3
"""unit.requests finds mistakes in the ring: one of its headers or sources gets one mistake at a time, is compiled with
the test, and the case that is about it has to fail, or ThreadSanitizer has to report a race. Without a mistake the case
passes."""
import argparse
import concurrent.futures
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RING, RMA, WIRE = (f"include/isthmus/device_{name}.h" for name in ("ring", "rma", "wire"))
HOST = "core/proxy/requests.c"
DATA, STORED = "the_host_reads_the_data_that_a_request_names", "a_kernel_reads_what_the_host_has_stored"
ARRIVE, QUIET = "requests_of_a_thread_arrive_once_and_in_order", "a_quiet_waits_for_all_earlier_requests"
REPLY, WHOLE = "a_reply_reaches_the_thread_that_waits_for_it", "a_request_is_read_only_when_all_of_it_has_arrived"
SLOT = "a_slot_is_not_used_again_before_its_reply_was_read"
# (what, case, file, text, text in its place, whether it takes ThreadSanitizer)
PLANTS = (
    ("the submission of a group is not ordered after the source", DATA, RMA,
     "        isthmus_dev_fence();\n        if (is_nbi)", "        if (is_nbi)", True),
    ("a reply is published without an order", STORED, HOST,
     "ist_store_release(reply + 1, ticket + 1)", "ist_store_relaxed(reply + 1, ticket + 1)", True),
    ("a quiet is published without an order", STORED, HOST,
     "ist_store_release(requests->ring.quieted, ticket)", "ist_store_relaxed(requests->ring.quieted, ticket)", True),
    ("a slot is given up before its reply is read", REPLY, RING,
     "    uint32_t spins = 0;\n    while (isthmus_dev_load_acquire(reply + 1, 8) != ticket + 1)",
     "    uint32_t spins = 0;\n    isthmus_dev_give_slot(ticket);\n"
     "    while (isthmus_dev_load_acquire(reply + 1, 8) != ticket + 1)", False),
    ("the turn of a slot is not waited for", SLOT, RING, "    isthmus_dev_await_turn(ticket);\n", "", False),
    ("a slot is written before the host has read it", ARRIVE, RING, "    isthmus_dev_await_room(ticket);\n", "", False),
    ("two words of a slot are swapped", ARRIVE, RING,
     "isthmus_dev_store_pair(words + i, isthmus_wire_word(request, i, tag), isthmus_wire_word(request, i + 1, tag));",
     "isthmus_dev_store_pair(words + i, isthmus_wire_word(request, i + 1, tag), isthmus_wire_word(request, i, tag));",
     False),
    ("a quiet of an earlier request is waited for", QUIET, RING,
     "if ((int64_t)(isthmus_dev_load_device(ring->quiet) - before) <= 0)",
     "if (isthmus_dev_load_device(ring->quiet) == 0)", False),
    ("a quiet returns early", QUIET, RING,
     "while ((int64_t)(before - (quieted = isthmus_dev_load_acquire(ring->quieted, 8))) > 0)",
     "while ((int64_t)(before - 1 - (quieted = isthmus_dev_load_acquire(ring->quieted, 8))) > 0)", False),
    ("the tag is the same in every turn", ARRIVE, WIRE,
     "return ((uint32_t)turn & 127) + 1;", "return ((uint32_t)turn & 0) + 1;", False),
    ("one word's tag is not looked at", WHOLE, WIRE,
     "for (int i = 0; i < ISTHMUS_WIRE_WORDS; i++) wrong", "for (int i = 1; i < ISTHMUS_WIRE_WORDS; i++) wrong", False),
)
SOURCES = ("tests/unit/test_requests.c", "core/proxy/requests.c", "core/proxy/kernel_memory.c", "core/base/status.c")
TSAN = ("-fsanitize=thread",)


def build_and_run(root, work, case, cc, flags, limit_s):
    """Compiles the test, files below `work` before those of the tree, and runs one case. Returns its exit status; 0: it
    passed."""
    program = work / "test"
    first = [work / source if (work / source).exists() else root / source for source in SOURCES]
    folders = [flag for folder in (work / "include", work, root / "include", root) for flag in ("-I", str(folder))]
    built = subprocess.run([*cc, "-std=gnu11", "-D_GNU_SOURCE", "-O1", *flags, *folders, *map(str, first), "-o",
                            str(program), "-lcmocka", "-pthread"], text=True, capture_output=True)
    if built.returncode != 0:
        sys.exit(f"does not compile:\n{built.stderr}")
    try:
        environment = {**os.environ, "TSAN_OPTIONS": "halt_on_error=1 exitcode=66"}
        return subprocess.run([str(program), case], capture_output=True, timeout=limit_s, env=environment).returncode
    except subprocess.TimeoutExpired:
        return "it hangs"


def plant(root, work, file, text, instead):
    """Writes the file with the mistake below `work`."""
    before = (root / file).read_text()
    if before.count(text) != 1:
        sys.exit(f"{file} has no single place for: {text}")
    (work / file).parent.mkdir(parents=True)
    (work / file).write_text(before.replace(text, instead))


def try_sound(root, cc, case, flags):
    """Returns a report, and how long the case may take with a mistake: without one it passes, or all has failed."""
    with tempfile.TemporaryDirectory() as folder:
        begin = time.monotonic()
        status = build_and_run(root, Path(folder), case, cc, flags, 120)
        return (f"{case} {' '.join(flags)}: {'passes' if status == 0 else f'FAILED ({status})'}",
                time.monotonic() - begin)


def try_plant(root, cc, limits_s, row):
    what, case, file, text, instead, takes_tsan = row
    flags = TSAN if takes_tsan else ()
    with tempfile.TemporaryDirectory() as folder:
        plant(root, Path(folder), file, text, instead)
        status = build_and_run(root, Path(folder), case, cc, flags, limits_s[case, flags])
    return f"{what}: {'NOT FOUND' if status == 0 else f'found ({status})'}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--cc", required=True)
    args = parser.parse_args()
    cc, limits_s = args.cc.split(), {}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        cases = sorted({(row[1], TSAN if row[5] else ()) for row in PLANTS})
        sound = list(pool.map(lambda key: try_sound(args.root, cc, *key), cases))
        for key, (_, took_s) in zip(cases, sound):
            limits_s[key] = max(2, took_s)
        lines = ([line for line, _ in sound]
                 + list(pool.map(lambda row: try_plant(args.root, cc, limits_s, row), PLANTS)))
    print("\n".join(lines))
    sys.exit(any("FAILED" in line or "NOT FOUND" in line for line in lines))


if __name__ == "__main__":
    main()
