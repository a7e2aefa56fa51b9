#!/usr/bin/env python3
"""memory_ends.py --program PATH --run ISTHMUS-RUN --preload DOUBLE [--routine R,...] [--transports T] [--step N]
[--victim PE,...] [--stays 0,1] [--pes N] [--verbose]: private memory, mappings and descriptors of one PE end at the
k-th attempt, for each k, during each routine that allocates (memory_ends.c). Afterwards all PEs agree and nothing is
held that was not before, or one message has ended all PEs. As SQLite does it, the loop over k ends when a run meets no
failure. A routine that can be repeated is tried with every k in one job; one that cannot, with a job for each k, or
for each STEP-th. Prints how many failures each routine has met."""
import argparse
import os
import re
import subprocess
import sys
import tempfile

LIMIT_S = 60  # a busy machine
MOST_ATTEMPTS = 5000
OURS = re.compile(r"^isthmus: (?!warning|info|PE \d+: (?:warning|info))", re.M)
END = re.compile(r"^memory ends: (\d+) failures, the last at attempt (-?\d+)$", re.M)
WRONG = re.compile(r"^.*\.(?:c|h):\d+: PE |(?:Address|Leak)Sanitizer|: runtime error: ", re.M)


class Wrong(Exception):
    pass


def run_job(args, routine, victim, first, stays, note):
    """Returns status and output. The note is what the victim has left of how far it came."""
    env = dict(os.environ)
    if args.transports:
        env["ISTHMUS_TRANSPORTS"] = args.transports
    env["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"  # the double is before it
    command = [args.run, "-n", str(args.pes), "env", "LD_PRELOAD=" + args.preload, args.program, routine, str(victim),
               str(first), str(stays), note]
    try:
        job = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                             env=env, timeout=LIMIT_S, text=True, errors="replace")
        return job.returncode, job.stdout
    except subprocess.TimeoutExpired as late:
        text = (late.stdout or b"").decode(errors="replace")
        raise Wrong(f"attempt {read_note(note)[0] - 1}: has not ended in {LIMIT_S} s\n{text}") from late


def read_note(note):
    """Returns the next attempt, and how many have failed."""
    try:
        with open(note) as file:
            attempt, failures = file.read().split()[:2]
            return int(attempt), int(failures)
    except (OSError, ValueError) as error:
        raise Wrong("has ended before the first attempt") from error


def require_one_message(may_end, first, status, text):
    n = len(OURS.findall(text))
    if WRONG.search(text):
        raise Wrong(f"attempt {first}: a check has failed")
    if status in (134, 135, 136, 139) or status < 0:
        raise Wrong(f"attempt {first}: status {status}")
    if n != 1:
        raise Wrong(f"attempt {first}: {n} messages instead of one")
    if not may_end:
        raise Wrong(f"attempt {first}: has ended the job")


def try_one(args, routine, may_end, is_once, victim, stays):
    """Returns how many failures the victim has met, and how many of them have ended the job."""
    failures = ended = 0
    first = args.first
    while first < MOST_ATTEMPTS:
        with tempfile.TemporaryDirectory(prefix="memory.") as folder:
            note = folder + "/note"
            status, text = run_job(args, routine, victim, first, stays, note)
            end = END.search(text)
            try:
                if status != 0:
                    first, before = read_note(note)
                    if args.verbose:
                        print(f"{routine} {victim} {stays} {first - 1}: {text}", end="")
                    require_one_message(may_end, first - 1, status, text)
                    failures += before
                    ended += 1
                    first += args.step - 1
                    continue
                if end is None:
                    raise Wrong(f"attempt {first}: no result")
                if WRONG.search(text):
                    raise Wrong(f"attempt {first}: a check has failed, but status 0")
                if OURS.search(text):
                    raise Wrong(f"attempt {first}: a message, but status 0")
                failures += int(end.group(1))
                if not is_once or int(end.group(1)) == 0:
                    return failures, ended
                first += args.step
            except Wrong as wrong:
                raise Wrong(f"{wrong}\n{text}") from wrong
    raise Wrong(f"{MOST_ATTEMPTS} attempts, and no end")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--run", required=True)
    parser.add_argument("--preload", required=True)
    parser.add_argument("--routine", type=lambda text: text.split(","))
    parser.add_argument("--except", dest="left_out", type=lambda text: text.split(","), default=[])
    parser.add_argument("--transports", default="")
    parser.add_argument("--pes", type=int, default=3)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--step", type=int, default=1)
    parser.add_argument("--victim", type=lambda text: [int(word) for word in text.split(",")])
    parser.add_argument("--stays", type=lambda text: [int(word) for word in text.split(",")], default=[0, 1])
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()
    listed = subprocess.run([args.program], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    total = n_wrong = 0
    for name, end, is_once in (line.split() for line in listed):
        may_end = end == "ends" or (end == "far" and args.transports != "loopback")
        if (args.routine and name not in args.routine) or name in args.left_out:
            continue
        failures = ended = 0
        for victim in args.victim or [0, args.pes - 1]:
            for stays in args.stays:
                try:
                    more = try_one(args, name, may_end, is_once == "once", victim, stays)
                    failures, ended = failures + more[0], ended + more[1]
                except Wrong as wrong:
                    n_wrong += 1
                    print(f"{name}, PE {victim}{', memory stays away' if stays else ''}: {wrong}", flush=True)
        print(f"{name:24}{failures:7} failures, {ended} ends", flush=True)
        total += failures
    print(f"{'all':24}{total:7} failures")
    return 1 if n_wrong or total == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
