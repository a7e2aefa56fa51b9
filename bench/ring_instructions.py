#!/usr/bin/env python3
"""Instructions that the thread of the host takes for a p of a kernel through the ring, and how many of them are the
transport's own: bench_device under callgrind, through loopback without aliases. What was executed about once for each
request belongs to a request. Needs valgrind; takes a minute."""
import argparse
import collections
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

COMPILER = "GNU 12."
REQUESTS, ROUNDS = 2000, 5
FEWEST, MOST = REQUESTS * ROUNDS, REQUESTS * ROUNDS * 11 // 10  # and those that the other measurements make
TIMEOUT_S = 240  # less than ctest gives it
RUN = """#!/bin/sh
[ "$PMIX_RANK" = 0 ] || exec "$@"
exec valgrind --tool=callgrind --dump-instr=yes --compress-pos=no --compress-strings=no --separate-threads=yes \\
    --callgrind-out-file="$PROFILE" "$@"
"""


def per_request(profile):
    """Returns the number of instructions by (object, function), or nothing if it is not the thread of the host."""
    times, place, owner, function, is_call = collections.Counter(), {}, "", "", False
    for line in profile.read_text().splitlines():
        if line.startswith("ob="):
            owner = Path(line[3:]).name
        elif line.startswith("fn="):
            function = line[3:]
        elif line.startswith("calls="):
            is_call = True
        elif line.startswith("0x"):
            if not is_call:
                address, *_, count = line.split()
                times[address] += int(count)
                place[address] = (owner, function)
            is_call = False
    if not any(function == "ist_batch_add" for _, function in place.values()):
        return None
    return collections.Counter(place[address] for address, n in times.items() if FEWEST <= n <= MOST)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=Path("build"))
    parser.add_argument("--most", type=int,
                        help="exit status 1 if it takes more than that; 77 if this cannot be counted")
    parser.add_argument("--compiler", default=COMPILER,
                        help="with --most, which is for one release: what has compiled this build")
    args = parser.parse_args()
    if args.most and not args.compiler.startswith(COMPILER):
        print(f"skipped: the limit is that of {COMPILER[:-1]}, and this build is of {args.compiler}")
        sys.exit(77)
    if args.most and shutil.which("valgrind") is None:
        print("skipped: valgrind is not here")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "run"
        script.write_text(RUN)
        script.chmod(0o755)
        environment = {**os.environ, "PROFILE": f"{folder}/profile", "ISTHMUS_ALIAS": "0", "ISTHMUS_DEVICE_DIRECT": "0"}
        subprocess.run([args.build / "bin/isthmus-run", "-n", "2", script, args.build / "bench/bench_device",
                        str(REQUESTS)], env=environment, check=True, capture_output=True, timeout=TIMEOUT_S)
        found = [counts for file in Path(folder).glob("profile-*") if (counts := per_request(file))]
    if len(found) != 1:
        sys.exit("no thread has executed requests: is valgrind here, and are functions named in the library?")
    own = sum(n for (owner, name), n in found[0].items() if owner == "loopback.so" or "memcpy" in name)
    for (owner, function), n in found[0].most_common():
        print(f"{n:6}  {function} ({owner})")
    above = sum(found[0].values()) - own
    print(f"{sum(found[0].values()):6}  in all; without loopback and its memcpy {above}")
    if args.most and above > args.most:
        sys.exit(f"a p through the ring takes {above} instructions; at most {args.most}")


if __name__ == "__main__":
    main()
