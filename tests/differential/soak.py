#!/usr/bin/env python3
"""soak.py --program PATH --run ISTHMUS-RUN [--programs N | --seconds S] [--seed X] [--jobs J]: random programs against
a model.

Each round draws a number of PEs, a transport and a way to reach memory, and runs `differential` with a seed of its own
for a few hundred epochs (differential.h describes a program). A program that fails is shown with the command that
repeats it, and counted; the others count by what they went through. Every choice follows from the seed, which is
printed."""
import argparse
import collections
import concurrent.futures
import os
import random
import subprocess
import sys
import time

PLACES = {
    "loopback": {},
    "loopback, no alias": {"ISTHMUS_ALIAS": "0"},
    "loopback, checked": {"ISTHMUS_CHECK": "1"},
    "ib": {"ISTHMUS_TRANSPORTS": "ib"},
    "ib over shared memory": {"ISTHMUS_TRANSPORTS": "ib", "UCX_TLS": "sm,tcp,self"},
    "two hosts pretended": {"ISTHMUS_PRETEND_HOSTS": "01"},
}
EPOCHS = {"loopback": 500, "loopback, no alias": 300, "loopback, checked": 200}
MOST_S = 300


def choose(seed, number, places):
    pick = random.Random(f"{seed}/{number}")
    place = pick.choice(sorted(places))
    return {"number": number, "place": place, "n": pick.randint(2, 6), "threads": pick.choice((1, 1, 2, 3)),
            "seed": pick.randrange(1 << 63), "epochs": EPOCHS.get(place, 60)}


def run(plan, args):
    env = dict(os.environ, **PLACES[plan["place"]])
    command = [args.run, "-n", str(plan["n"]), "--timeout", str(MOST_S), args.program, "--seed", str(plan["seed"]),
               "--epochs", str(plan["epochs"])]
    if plan["threads"] > 1:
        command += ["--threads", str(plan["threads"])]
    done = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace")
    settings = [f"{name}='{value}'" for name, value in PLACES[plan["place"]].items()]
    return plan, done.returncode, " ".join(settings + command), done.stdout


def soak(args):
    rows = collections.defaultdict(lambda: [0, 0, 0])
    begin, number = time.monotonic(), 0
    print(f"seed {args.seed}", flush=True)
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        running = set()
        while True:
            while len(running) < args.jobs and number < args.programs and time.monotonic() < begin + args.seconds:
                running.add(pool.submit(run, choose(args.seed, number, args.places), args))
                number += 1
            if not running:
                break
            done, running = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
            for plan, status, command, output in (future.result() for future in done):
                row = rows[plan["place"]]
                row[0] += 1
                row[1] += plan["epochs"]
                row[2] += status != 0
                if status != 0:
                    print(f"status {status}: {command}\n  " + output[-2000:].replace("\n", "\n  "), flush=True)
    print("%-22s %9s %9s %7s" % ("place", "programs", "epochs", "failed"))
    for place, row in sorted(rows.items()):
        print("%-22s %9d %9d %7d" % ((place,) + tuple(row)))
    return 1 if any(row[2] for row in rows.values()) else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--run", required=True)
    parser.add_argument("--programs", type=int)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--seed", default=None)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--places", type=lambda text: text.split(","), default=list(PLACES))
    args = parser.parse_args()
    if args.programs is None and args.seconds is None:
        args.seconds = 60
    args.programs = args.programs if args.programs is not None else 1 << 30
    args.seconds = args.seconds if args.seconds is not None else float("inf")
    args.seed = args.seed or str(random.SystemRandom().randrange(1 << 32))
    return soak(args)


if __name__ == "__main__":
    sys.exit(main())
