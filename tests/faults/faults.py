#!/usr/bin/env python3
"""faults.py --program PATH --run ISTHMUS-RUN [--moments N | --seconds S] [--seed X] [--fault F,...] [--class C,...]
[--launcher run,mpirun] [--transports T,...]: breaks jobs on this host at random moments and checks how they end.

Each round starts the program (faulted.c) with 2 to 4 PEs, which goes through one class of operations, or through init
and finalize, until the file STOP exists, and lets something be lost at a random moment:
  killed       a PE, with signal 9
  stopped      a PE; after a second it goes on, or the job is ended, or it stays so until it counts as lost
  launcher     the launcher, with signal 9
  memory       a PE gets no more address space than it has, or nearly
  descriptors  a PE gets no more file descriptors than it has, or nearly
  shm          /dev/shm is full before the job starts (needs root)
A round is good when the job is over within 10 seconds of the fault with one message that names the cause, no process,
no file in TMPDIR and none of Isthmus, UCX and PMIx in /dev/shm is left (sockets and shared memory without a name end
with their processes), and no result was wrong. A shortage that no PE hits is none: then the job has to end well once
STOP exists. Every choice follows from the seed, which is printed; --only R repeats round R."""
import argparse
import collections
import glob
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

FAULTS = ("killed", "stopped", "launcher", "memory", "descriptors", "shm")
CLASSES = ("life", "rma", "nbi", "amo", "signal", "collective", "lock", "malloc", "context", "team")
LIMIT_S = 10
CALM_S = 1.5  # of a shortage that no PE has hit
START_S = 60  # a machine that is busy
OURS = re.compile(r"^isthmus: (?!warning|info)", re.M)
LAUNCHER = re.compile(r"^isthmus-run: (?!PEs? [\d, -]+ (in|not in|behind|ended|failed)\b)", re.M)
MPIRUN = re.compile(r"^(mpirun noticed that|mpirun has exited|Primary job|MPI_ABORT|ORTE|An ORTE|A system call failed)",
                    re.M)
PULSE_S, START_S_MOST = 2, 3


def choose(seed, number, args):
    pick = random.Random(f"{seed}/{number}")
    plan = {"number": number, "fault": pick.choice(args.fault), "class": pick.choice(args.classes),
            "launcher": pick.choice(args.launcher), "transports": pick.choice(args.transports),
            "pes": pick.randint(2, 4), "victim": pick.random(),
            "delay_ms": round(pick.random() * pick.choice((20, 400)), 1), "early": pick.random() < 0.3,
            "then": pick.choice(("continue", "end", "lost")), "spare": pick.choice((0, 0, 0, 1, 3, 10)),
            "spare_mib": pick.choice((0, 0, 1, 8, 64))}
    # Under other launchers it is the PEs that wait in an operation that detect it.
    if plan["then"] == "lost" and plan["launcher"] != "run" and (plan["early"] or plan["class"] == "life"):
        plan["then"] = "end"
    return plan


# ---- what there is ----

def environ_of(pid):
    try:
        with open(f"/proc/{pid}/environ", "rb") as f:
            return f.read().split(b"\0")
    except OSError:
        return []


def state_of(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0]
    except OSError:
        return "X"


def processes_of(mark):
    pids = (int(name[6:]) for name in glob.glob("/proc/[0-9]*"))
    return [pid for pid in pids if mark.encode() in environ_of(pid) and state_of(pid) not in "ZX"]


def pes_of(mark, program):
    found = []
    for pid in processes_of(mark):
        try:
            if os.readlink(f"/proc/{pid}/exe") == program:
                found.append(pid)
        except OSError:
            pass
    return sorted(found)


def shared_names():
    """What a job could leave for all to see, by the names that Isthmus, UCX and PMIx give to their files: any other
    program may come or go meanwhile."""
    return {name for pattern in ("*sthmus*", "ucx_*", "*pmix*") for name in glob.glob(f"/dev/shm/{pattern}")}


# ---- one round ----

class Round:
    def __init__(self, plan, args):
        self.plan, self.args = plan, args
        self.directory = tempfile.mkdtemp(prefix="faults.")
        self.scratch, self.stop_file = self.directory + "/scratch", self.directory + "/stop"
        self.log_name = self.directory + "/log"
        self.mark = f"FAULTS_ROUND={os.getpid()}-{plan['number']}-{random.randrange(1 << 30)}"
        self.before = shared_names()
        self.is_ended_by_us = False
        os.mkdir(self.scratch)

    def start(self):
        plan = self.plan
        name, value = self.mark.split("=")
        env = dict(os.environ, TMPDIR=self.scratch, ISTHMUS_PULSE_TIMEOUT=str(PULSE_S),
                   ISTHMUS_START_TIMEOUT=str(START_S_MOST))
        env[name] = value
        if plan["transports"] != "all":
            env["ISTHMUS_TRANSPORTS"] = plan["transports"]
        if plan["launcher"] == "run":
            command = [self.args.run, "-n", str(plan["pes"])]
        else:
            command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-np", str(plan["pes"])]
        command += [self.args.program, plan["class"], self.stop_file]
        if plan["fault"] == "shm":
            inside = ("mount -t tmpfs -o size=64k none /dev/shm && (cat /dev/zero >/dev/shm/full; true) 2>/dev/null; "
                      "exec \"$@\"")
            command = ["unshare", "--mount", "sh", "-c", inside, "sh"] + command
        with open(self.log_name, "wb") as log:
            self.job = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=env,
                                        start_new_session=True)

    def text(self):
        with open(self.log_name, errors="replace") as log:
            return log.read()

    def wait_for_moment(self):
        """Returns False if the job has ended before it began."""
        begin = time.monotonic()
        is_early = self.plan["early"] and self.plan["fault"] != "shm"
        while self.job.poll() is None and time.monotonic() < begin + START_S:
            if is_early or ("ready" in self.text() if self.plan["class"] != "life"
                            else len(self.pes()) == self.plan["pes"]):
                break
            time.sleep(0.005)
        time.sleep(self.plan["delay_ms"] / 1000)
        return self.job.poll() is None

    def pes(self):
        return pes_of(self.mark, self.args.program)

    def limit(self, pid):
        if self.plan["fault"] == "memory":
            with open(f"/proc/{pid}/statm") as f:
                room = int(f.read().split()[0]) * resource.getpagesize() + (self.plan["spare_mib"] << 20)
            resource.prlimit(pid, resource.RLIMIT_AS, (room, room))
        else:
            room = len(os.listdir(f"/proc/{pid}/fd")) + self.plan["spare"]
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (room, room))

    def strike(self):
        """Returns what has been lost, or None if there was no PE."""
        fault, pes = self.plan["fault"], self.pes()
        if fault == "launcher":
            self.job.kill()
            return fault
        if not pes:
            return None
        pid = pes[int(self.plan["victim"] * len(pes))]
        try:
            if fault == "killed":
                os.kill(pid, signal.SIGKILL)
            elif fault == "stopped":
                os.kill(pid, signal.SIGSTOP)
                self.stopped = pid
            else:
                self.limit(pid)
        except OSError:
            return None
        return fault

    def is_gone(self):
        return self.job.poll() is not None and not processes_of(self.mark)

    def wait_until_gone(self, seconds):
        begin = time.monotonic()
        while not self.is_gone() and time.monotonic() < begin + seconds:
            time.sleep(0.02)
        return self.is_gone()

    def tell_to_stop(self):
        self.is_ended_by_us = True
        open(self.stop_file, "w").close()

    def go_on_after_stop(self):
        """Where a network transport is in use its signs of life may fail sooner than it goes on."""
        if self.plan["transports"] == "ib" or self.plan["then"] == "lost":
            return
        time.sleep(1)
        if self.is_gone() and self.plan["class"] != "life":
            return
        if self.plan["then"] == "continue":
            self.tell_to_stop()
            os.kill(self.stopped, signal.SIGCONT)
        elif self.plan["then"] == "end":
            self.is_ended_by_us = True
            self.job.terminate()

    def run(self):
        self.start()
        is_there = self.wait_for_moment()
        struck = self.plan["fault"] if self.plan["fault"] == "shm" else self.strike() if is_there else None
        begin = time.monotonic()
        if struck is None:
            self.tell_to_stop()
        elif struck == "stopped":
            self.go_on_after_stop()
        elif struck in ("memory", "descriptors", "shm"):
            if not self.wait_until_gone(CALM_S):
                self.tell_to_stop()
        is_gone = self.wait_until_gone(LIMIT_S)
        seconds = time.monotonic() - begin
        if not is_gone:
            self.ask()
        result = {"struck": struck, "seconds": seconds, "is_gone": is_gone, "status": self.job.poll(),
                  "left": self.names_left(), "text": self.text()}
        if not is_gone:
            pids = processes_of(self.mark)
            result["processes"] = [
                " ".join([str(pid), state_of(pid)] + [a.decode(errors="replace") for a in command_of(pid)])
                for pid in pids]
            result["only_mpirun"] = self.plan["launcher"] == "mpirun" and not self.pes()
        if not (self.plan["launcher"] == "mpirun" and (struck == "launcher" or not is_gone)):
            result["left"] += os.listdir(self.scratch)  # mpirun leaves its session folder when it is killed
        self.clean_up()
        return result

    def names_left(self):
        """Other jobs on this host have names there for a short time."""
        names = shared_names() - self.before
        if names:
            time.sleep(2)
            names &= shared_names()
        return sorted(names)

    def ask(self):
        """Where the PEs are, for an analysis."""
        asked = self.pes() if self.plan["launcher"] == "mpirun" else [self.job.pid] if self.job.poll() is None else []
        for pid in asked:
            with open(f"/proc/{pid}/status") as f:
                caught = int(re.search(r"^SigCgt:\s*(\w+)", f.read(), re.M).group(1), 16)
            if caught >> (signal.SIGUSR1 - 1) & 1 or self.plan["launcher"] == "run":
                os.kill(pid, signal.SIGUSR1)
        time.sleep(0.5)

    def clean_up(self):
        for pid in processes_of(self.mark):
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        self.job.wait()
        shutil.rmtree(self.directory, ignore_errors=True)


def command_of(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            return f.read().split(b"\0")[:3]
    except OSError:
        return []


def verdict_of(plan, result):
    """'' when the round is good, else what is wrong with it."""
    text, struck = result["text"], result["struck"]
    n_ours = len(OURS.findall(text))
    n_launcher = len(LAUNCHER.findall(text))
    if re.search("^faulted: .*wrong", text, re.M):
        return "a result was wrong"
    if not result["is_gone"]:
        return "mpirun hangs" if result["only_mpirun"] else "left after 10 s: " + "; ".join(result["processes"])
    if result["left"]:
        return "left behind: " + " ".join(result["left"])
    if n_ours > 1 or n_launcher > 1:
        return "more than one message"
    if struck is None and result["status"] != 0:
        return "failed without a fault"
    is_calm = struck in (None, "memory", "descriptors", "shm") or (struck == "stopped" and plan["then"] == "continue")
    if result["status"] == 0:
        return "" if is_calm else "status 0 after a loss"
    if (struck != "launcher" and n_ours + n_launcher == 0 and not MPIRUN.search(text)
            and not (struck == "stopped" and plan["then"] == "end")):
        return "no message names the cause"
    return ""


# ---- all rounds ----

def print_table(rows):
    print("%-12s %-11s %8s %6s %9s %10s %6s %6s" % ("fault", "class", "moments", "ended", "unnoticed", "slowest s",
                                                    "mpirun", "wrong"))
    totals = [0, 0, 0, 0.0, 0, 0]
    for (fault, kind), row in sorted(rows.items()):
        print("%-12s %-11s %8d %6d %9d %10.1f %6d %6d" % ((fault, kind) + tuple(row)))
        totals = [max(a, b) if i == 3 else a + b for i, (a, b) in enumerate(zip(totals, row))]
    print("%-12s %-11s %8d %6d %9d %10.1f %6d %6d" % (("all", "") + tuple(totals)))
    return totals[5]


def soak(args):
    rows = collections.defaultdict(lambda: [0, 0, 0, 0.0, 0, 0])
    begin, number, n_moments = time.monotonic(), args.only or 0, 0
    print(f"seed {args.seed}", flush=True)
    while n_moments < args.moments and time.monotonic() < begin + args.seconds:
        plan = choose(args.seed, number, args)
        result = Round(plan, args).run()
        wrong = verdict_of(plan, result)
        row = rows[plan["fault"], plan["class"]]
        row[0] += 1
        row[1] += result["struck"] is not None and result["status"] != 0 and not wrong
        row[2] += result["status"] == 0 and not wrong
        row[3] = max(row[3], result["seconds"] if result["is_gone"] else LIMIT_S)
        row[4] += wrong == "mpirun hangs"
        row[5] += bool(wrong) and wrong != "mpirun hangs"
        n_moments += 1
        if wrong or args.only is not None:
            print(f"round {number} of seed {args.seed}: {wrong or 'good'}: {plan}\n  status {result['status']}, "
                  f"{result['seconds']:.1f} s, struck {result['struck']}\n  "
                  + result["text"][-1500:].replace("\n", "\n  "), flush=True)
        if args.only is not None:
            break
        number += 1
    return 1 if print_table(rows) else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--run", required=True)
    parser.add_argument("--moments", type=int)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--seed", default=os.environ.get("ISTHMUS_TEST_SEED"))
    parser.add_argument("--only", type=int)
    parser.add_argument("--fault", type=lambda text: text.split(","), default=list(FAULTS))
    parser.add_argument("--class", dest="classes", type=lambda text: text.split(","), default=list(CLASSES))
    parser.add_argument("--launcher", type=lambda text: text.split(","), default=["run", "mpirun"])
    parser.add_argument("--transports", type=lambda text: text.split(","), default=["all", "all", "ib"])
    args = parser.parse_args()
    if args.moments is None and args.seconds is None:
        args.seconds = 60
    args.moments = args.moments if args.moments is not None else 1 << 30
    args.seconds = args.seconds if args.seconds is not None else float("inf")
    args.program, args.run = os.path.realpath(args.program), os.path.realpath(args.run)
    args.seed = args.seed or str(random.SystemRandom().randrange(1 << 32))
    if os.geteuid() != 0 or subprocess.run(["unshare", "--mount", "true"], stderr=subprocess.DEVNULL).returncode != 0:
        args.fault = [fault for fault in args.fault if fault != "shm"]
        if not args.fault:
            print("needs root for a /dev/shm of its own")
            return 77
    if not shutil.which("mpirun"):
        args.launcher = ["run"]
    return soak(args)


if __name__ == "__main__":
    sys.exit(main())
