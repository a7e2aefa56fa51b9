#!/usr/bin/env python3
"""memory_ends.py --program PATH --run ISTHMUS-RUN --preload DOUBLE [--routine R,...] [--transports T] [--step N]
[--victim PE,...] [--stays 0,1] [--pes N] [--torchrun] [--verbose]: private memory, mappings and descriptors of one PE
end at the k-th attempt, for each k, during each routine that allocates (memory_ends.c). Afterwards all PEs agree and
nothing is held that was not before, or one message has ended all PEs. As SQLite does it, the loop over k ends when a
run meets no failure. A routine that can be repeated is tried with every k in one job; one that cannot, with a job for
each k, or for each STEP-th. Prints how many failures each routine has met."""
import argparse
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "launch")]
sys.dont_write_bytecode = True  # the source tree stays as it is
import pmi  # noqa: E402
import processes  # noqa: E402

LIMIT_S = 60  # a busy machine
LEARN_S = 4
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
    command = ["env", "LD_PRELOAD=" + args.preload, args.program, routine, str(victim), str(first), str(stays), note]
    if args.torchrun:
        return run_by_torchrun(args, command, env, note)
    command[:0] = [args.run, "-n", str(args.pes)]
    try:
        job = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                             env=env, timeout=LIMIT_S, text=True, errors="replace")
        return job.returncode, job.stdout
    except subprocess.TimeoutExpired as late:
        text = (late.stdout or b"").decode(errors="replace")
        raise Wrong(f"attempt {read_note(note)[0] - 1}: has not ended in {LIMIT_S} s\n{text}") from late


def run_by_torchrun(args, command, env, note):
    """The same by the variables that torchrun sets. As torchrun does, it ends all PEs once one has failed; before that
    they have the time to learn it from each other."""
    env.update(WORLD_SIZE=str(args.pes), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(pmi.master_port()[1]))
    started = [processes.start(command, {**env, "RANK": str(pe)}) for pe in range(args.pes)]
    running = {os.pidfd_open(process.pid): process for process in started}
    end = time.monotonic() + LIMIT_S
    while running and time.monotonic() < end:
        for ended in select.select(running, [], [], max(0, end - time.monotonic()))[0]:
            if running.pop(ended).wait() != 0:
                end = min(end, time.monotonic() + LEARN_S)
            os.close(ended)
    for left in running:
        os.close(left)
    is_late = not any(process.returncode for process in started) and bool(running)
    for end_of in signal.SIGSTOP, signal.SIGKILL:  # stopped first, because they would report the end of each other
        for process in started:
            if process.returncode is None:
                os.killpg(process.pid, end_of)
    text = "".join(process.communicate()[0] for process in started)
    if is_late:
        raise Wrong(f"attempt {read_note(note)[0] - 1}: has not ended in {LIMIT_S} s\n{text}")
    codes = [process.returncode for process in started]
    if any(codes) and 0 in codes:
        raise Wrong(f"the exit statuses are {codes}\n{text}")
    crashes = [code for code in codes if code < 0 and code != -signal.SIGKILL]
    return (crashes or [max(codes)])[0], text


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
    parser.add_argument("--torchrun", action="store_true", help="a start by a unique id, without a launcher")
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
