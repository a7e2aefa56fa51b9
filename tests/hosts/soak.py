#!/usr/bin/env python3
"""soak.py --program PATH [--moments N | --seconds S] [--seed X] [--jobs J]: breaks jobs at random moments and checks
how they end.

Each round makes 2 or 3 hosts (hosts.sh), starts the program there with 1 or 2 PEs on each, and at a random moment lets
one host be lost in one of the ways of hosts.sh --fault: some milliseconds after the job has reached a part of one of
the program's lives, or while the launcher starts it. A round is good when within 10 seconds no PE is left on any host,
a message has named what was lost, at most one of them from Isthmus, and nothing lies in any /dev/shm or in TMPDIR.
Every choice follows from the seed, which is printed; --only R repeats round R of it.
A launcher that stays although all PEs are gone is counted by itself: that is not the library's doing, but not hidden
either."""
import argparse
import collections
import concurrent.futures
import glob
import json
import os
import random
import re
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
HOSTS = os.path.join(HERE, "hosts.sh")
FAULTS = ("killed", "stopped", "halted", "down", "vanish")
LIMIT_S = 10
PULSE_S, START_S = 1, 3  # short, for short rounds; the result does not depend on it
N_LIVES, N_ROUNDS = 4, 2
MOST_MS = {"launch": 400, "init": 60, "work": 100, "finalize": 30}  # about how long each takes
QUIET_S = 1.0  # PEs may start late: none may appear for so long, as long as there is a launcher
OURS = re.compile(r"^isthmus: .*(PE \d+ on host\d+ is lost|not all PEs have arrived|PE \d+ on host\d+ does not answer|"
                  r"no connection to PE \d+ on host\d+)", re.M)
LAUNCHERS = re.compile(r"rank \d+ .* on node host\d|remote daemon|a daemon .* (died|on node)|"
                       r"ORTE has lost communication|daemon.*unexpectedly|An ORTE daemon|the launcher has ended", re.I)


def choose(seed, number):
    """What happens in this round."""
    pick = random.Random(f"{seed}/{number}")
    n_hosts = pick.choice((2, 3))
    part = pick.choice(("launch", "init", "init", "init", "work", "work", "work", "finalize", "finalize", "finalize"))
    return {"number": number, "fault": pick.choice(FAULTS), "hosts": n_hosts, "slots": pick.choice((1, 2)),
            "victim": pick.randint(1, n_hosts), "part": part, "life": pick.randint(1, N_LIVES),
            "delay_ms": round(pick.random() * MOST_MS[part], 1)}


# ---- one round, inside hosts.sh ----

def processes_of(program, states="RSDTt"):
    pids = []
    for entry in glob.glob("/proc/[0-9]*"):
        try:
            with open(entry + "/cmdline", "rb") as f:
                words = f.read().split(b"\0")
            with open(entry + "/stat") as f:
                state = f.read().rsplit(")", 1)[1].split()[0]
        except OSError:
            continue
        if words[0] == program.encode() and state in states:
            pids.append(int(entry[6:]))
    return pids


def parts_of(log_name):
    with open(log_name, errors="replace") as log:
        return re.findall(r"^part (\w+)", log.read(), re.M)


def wait_for_moment(plan, log_name, job):
    while plan["part"] != "launch" and job.poll() is None and parts_of(log_name).count(plan["part"]) < plan["life"]:
        time.sleep(0.003)
    time.sleep(plan["delay_ms"] / 1000)


def wait_until_gone(program, job, start):
    """Seconds after the fault when the last PE was seen, or None if some are left."""
    last_seen = start
    while time.monotonic() < start + LIMIT_S + 2:
        now = time.monotonic()
        if processes_of(program):
            last_seen = now
        elif job.poll() is not None or now - last_seen > QUIET_S:
            return last_seen - start
        time.sleep(0.05)
    return None


def end_launcher(job):
    """True: it has ended by itself."""
    try:
        job.wait(3)
        return True
    except subprocess.TimeoutExpired:
        os.killpg(job.pid, signal.SIGKILL)
        job.wait()
        return False


def left_behind(directory):
    found = []
    for name in glob.glob(directory + "/pid.*"):
        with open(name) as f:
            shm = f"/proc/{f.read().strip()}/root/dev/shm"
        if os.path.isdir(shm):
            found += [f"{name[-5:]}:/dev/shm/{entry}" for entry in os.listdir(shm)]
    return found + glob.glob(directory + "/scratch/*")


def run_round(plan, program):
    directory = os.environ["HOSTS_DIR"]
    log_name = directory + "/log.job"
    env = dict(os.environ, ISTHMUS_PULSE_TIMEOUT=str(PULSE_S), ISTHMUS_START_TIMEOUT=str(START_S),
               TMPDIR=directory + "/scratch")
    command = ["mpirun", "--bind-to", "none", "-x", "ISTHMUS_PULSE_TIMEOUT", "-x", "ISTHMUS_START_TIMEOUT",
               "-x", "TMPDIR", "-np", str(plan["hosts"] * plan["slots"]), program, str(N_LIVES), str(N_ROUNDS)]
    os.mkdir(env["TMPDIR"])
    with open(log_name, "w") as log:
        job = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=env,
                               start_new_session=True)
    wait_for_moment(plan, log_name, job)
    parts = parts_of(log_name)
    if job.poll() is not None:
        return {"part": "over"}
    struck = subprocess.run([HOSTS, "--fault", plan["fault"], f"host{plan['victim']}", program],
                            stderr=subprocess.DEVNULL)
    if struck.returncode != 0:  # no PE there at this moment
        subprocess.run([HOSTS, "--fault", "halted", f"host{plan['victim']}"], check=True)
        plan["fault"] = "halted"
    seconds = wait_until_gone(program, job, time.monotonic())
    pes_left = len(processes_of(program))
    all_stopped = plan["fault"] == "stopped" and pes_left == len(processes_of(program, "T"))
    launcher_ended = end_launcher(job)
    for pid in processes_of(program):
        os.kill(pid, signal.SIGKILL)
    with open(log_name, errors="replace") as log:
        text = log.read()
    # A PE past its last finalize has synchronized with all others: the job had done its work. Or no PE had to be ended
    # any more.
    gone_at_once = seconds is not None and seconds < 0.1 and not pes_left
    if "\nend" in text or (gone_at_once and text.count("part finalize") == N_LIVES):
        parts.append("end")
    return {"part": parts[-1] if parts else "launch", "fault": plan["fault"], "seconds": seconds, "pes_left": pes_left,
            "all_stopped": all_stopped,
            "launcher_ended": launcher_ended, "status": job.returncode,
            "ours": len(re.findall("^isthmus: ", text, re.M)), "named_by_us": bool(OURS.search(text)),
            "named_by_launcher": bool(LAUNCHERS.search(text)), "behind": left_behind(directory), "text": text[-3000:]}


# ---- all rounds ----

def start_round(plan, program):
    done = subprocess.run([HOSTS, str(plan["hosts"]), str(plan["slots"]), sys.executable, os.path.abspath(__file__),
                           "--program", program, "--round", json.dumps(plan)], capture_output=True, text=True)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode == 77:
        return plan, {"part": "skipped", "text": done.stderr}
    return plan, json.loads(lines[-1]) if lines else {"part": "broken", "text": done.stdout + done.stderr}


def verdict_of(result):
    """'' when the round is good, else what is wrong with it."""
    if result["part"] == "broken":
        return "the round itself failed"
    if result["part"] in ("finalize", "end") and result["all_stopped"] and not result["ours"]:
        return ""  # it had left the job when it was stopped, and no PE needs it
    if result["pes_left"] or result["seconds"] is None or result["seconds"] > LIMIT_S:
        return "PEs left after 10 s"
    if result["behind"]:
        return "left behind: " + " ".join(result["behind"])
    if result["ours"] > 1:
        return "more than one message"
    # A job that the fault did not reach any more ends well; a launcher that had no PE so far reports by itself.
    if (result["status"] != 0 and result["part"] not in ("launch", "end")
            and not result["named_by_us"] and not result["named_by_launcher"]):
        return "no message names the cause"
    return ""


def print_table(rows):
    heads = ("fault", "part", "moments", "ended well", "launcher hung", "wrong", "slowest s")
    print(("%-9s %-9s" + " %13s" * 5) % heads)
    totals = [0, 0, 0, 0, 0.0]
    for (fault, part), row in sorted(rows.items()):
        print("%-9s %-9s %13d %13d %13d %13d %13.1f" % ((fault, part) + tuple(row)))
        totals = [a + b for a, b in zip(totals[:4], row[:4])] + [max(totals[4], row[4])]
    print("%-9s %-9s %13d %13d %13d %13d %13.1f" % (("all", "") + tuple(totals)))
    return totals[3]


def record(rows, result, wrong):
    row = rows[result.get("fault", "?"), result["part"]]
    row[0] += 1
    row[1] += not wrong and result.get("launcher_ended", True)
    row[2] += not result.get("launcher_ended", True)
    row[3] += bool(wrong)
    row[4] = max(row[4], result.get("seconds") or 0.0)


def soak(args):
    rows = collections.defaultdict(lambda: [0, 0, 0, 0, 0.0])
    program, seed = os.path.abspath(args.program), args.seed
    print(f"seed {seed}", flush=True)
    begin, n_moments = time.monotonic(), 0
    numbers = iter([args.only]) if args.only is not None else iter(range(1 << 30))
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        running = set()
        while True:
            is_over = time.monotonic() - begin > args.seconds or n_moments + len(running) >= args.moments
            while not is_over and len(running) < args.jobs and (number := next(numbers, None)) is not None:
                running.add(pool.submit(start_round, choose(seed, number), program))
            if not running:
                break
            done, running = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
            for plan, result in (future.result() for future in done):
                if result["part"] == "skipped":
                    print(result["text"].strip())
                    return 77
                if result["part"] == "over":
                    continue
                n_moments += 1
                wrong = verdict_of(result)
                record(rows, result, wrong)
                if wrong or args.only is not None:
                    print(f"round {plan['number']} of seed {seed}: {wrong or 'good'}: {plan}\n{result}\n", flush=True)
                elif n_moments % 20 == 0:
                    print(f"{n_moments} moments, {time.monotonic() - begin:.0f} s", flush=True)
    return 1 if print_table(rows) else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--moments", type=int, default=1 << 30)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--seed", default=None)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", type=int)
    parser.add_argument("--round", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.round:
        print(json.dumps(run_round(json.loads(args.round), args.program)))
        return 0
    if args.moments == 1 << 30 and args.seconds == float("inf"):
        args.seconds = 60
    args.seed = args.seed or str(random.SystemRandom().randrange(1 << 32))
    return soak(args)


sys.exit(main())
