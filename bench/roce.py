"""What the way between two hosts costs over RDMA devices: ./dev bench --roce.

The hosts are two namespaces of a small virtual machine (tests/hosts/roce.sh), one PE on each, the devices Soft-RoCE:
all of it is emulated. Each call and its bare operation run in turn in the same processes, with the same UCX and the
same device, twice: once with a processor for each PE, where the clock shows time, as far as other work on this machine
lets it; and once with one processor whose clock counts its instructions, those of both PEs and of the kernel: these
figures are the same on a busy machine. Packets are counted by the devices. Not a program of its own: run.py calls
run(). Read on: bench_hosts.c, bench_signal.c, packets.h; hosts.py is the same over TCP.
"""
import os
import pathlib
import shlex
import subprocess
import sys
import time

import table

TESTS = pathlib.Path(__file__).resolve().parent.parent / "tests" / "hosts"
SKIPPED = 77
SECONDS = 3600  # for one virtual machine, which runs all rounds
# Each PE takes the device of its host. mpirun hands no variables on. UCX 1.13 drops datagrams of Soft-RoCE unless it is
# set not to compare their addresses: then the endpoints of bare UCP never connect.
ON_HOST = ("export UCX_TLS=rc_verbs,ud_verbs,self UCX_UD_VERBS_ETH_DGID_CHECK=n UCX_WARN_UNUSED_ENV_VARS=n "
           "UCX_NET_DEVICES=rxe$(($(hostname | tr -dc 0-9) - 1)):1; exec \"$@\"")
# By itself the emulated kernel reads its clock from a device, which takes longer than an operation.
SETTINGS = {"ROCE_KERNEL": "tsc=reliable clocksource=tsc", "ROCE_SECONDS": str(SECONDS)}
# Program, rows, home of atomics. An emulated read of 4 MiB takes a second, and shows nothing of this library.
JOBS = [("bench_hosts", "of 8 B", "cpu"), ("bench_hosts", "atomic_fetch_add", "cpu"),
        ("bench_hosts", "atomic_fetch_add", "nic"), ("bench_hosts", "barrier_all", "cpu"),
        ("bench_signal", "of 8 B", "cpu"), ("bench_signal", "of 1 KiB", "cpu")]
REPS, COUNTED_REPS = 100, 1000  # in a batch: few where the machine changes its speed, many where a timer's tick counts
COUNTED_BATCHES = 5             # of one round: two such medians differ by less than 1 %
EACH_PUTS = "barrier_all of 2 (bare: put + flush)"
HEAD = ["call", "Isthmus", "bare", "ratio", "budget", "verdict", "instructions", "bare", "ratio", "packets", "bare"]

PAGE = """# Between hosts over RDMA

Made by `./dev bench --roce --out docs/bench`, {date}:
{heading}

The hosts are two namespaces of a small virtual machine with one Soft-RoCE device each (`rc_verbs`); all of it is
emulated, without hardware support, and an instruction takes some 20 times as long as on hardware. Times depend on what
else the machine runs; compare instructions. Call and bare UCP take turns in the same processes, batch by batch, with
the same UCX and device. While PE 0 measures, PE 1 is in a wait: after a millisecond without a message it naps, on both
sides.

Instructions are those of an operation on both PEs, from the program down to the kernel's device driver, with everything
else that runs meanwhile: in a second run the virtual machine has one processor, whose clock counts instructions. They
do not depend on other work on this machine. Where the peer's processor takes part, that is in `atomic_fetch_add`, a
barrier and a put with signal, both PEs share that one processor there, and a poll too early costs a turn. Packets are
what both devices have sent, acknowledgements included.

Ratio and budget: of the call's time, or instructions, to those of the bare operation; 1.053 is 0.95 of its speed. The
verdict compares the ratio of instructions with the budget.

{table}

- `atomic_fetch_add`: Soft-RoCE lacks some of the atomics that UCX requires of an adapter, so UCX's own is a message and
  its reply too, which the peer's processor executes.
- `atomic_fetch_add by the adapter`: with `ISTHMUS_ATOMICS=nic`. UCX with `ATOMIC_MODE=device` sends messages to this
  adapter's processor all the same, so a get, which is one request and one response as well, is the bare operation of a
  second row.
- A barrier is one put by each PE, and a wait. Beside a put and its flush, which one PE makes, stand the instructions of
  one PE: half of those of both.
- A put with signal is two writes, one behind the other, and each is a system call here; one flush waits for both. It
  has a put of the same size beside it, each with a quiet.
"""


def script(args, is_counted):
    """What the virtual machine runs: every job, round after round."""
    lines = []
    batches, reps = (COUNTED_BATCHES, COUNTED_REPS) if is_counted else (args.batches, REPS)
    for number in range(1, 2 if is_counted else args.rounds + 1):
        for program, rows, atomics in JOBS:
            command = ["mpirun", "--bind-to", "none", "--map-by", "node", "-np", "2", "env",
                       f"ISTHMUS_ATOMICS={atomics}", "bash", "-c", ON_HOST, "bash",
                       os.path.join(os.path.abspath(args.build), "bench", program), str(batches), rows, str(reps)]
            lines.append(f"echo 'progress\tround {number}: {rows}'; {shlex.join(command)} || "
                         f"echo 'failed\t{program}, {rows}: status' $?")
    return "\n".join(lines)


def collect(lines, note=""):
    """What the virtual machine printed: the runs, and {call: [packets, bare packets]}."""
    runs, packets = table.Runs(None, None, None), {}
    for line in lines:
        kind, *fields = line.rstrip("\n").split("\t")
        if kind == "row":
            runs.add(fields[0], *fields[1:3], *fields[4:6])
        elif kind == "packets":
            packets[fields[0]] = fields[1:3]
        elif kind == "failed":
            runs.problems.append(fields[0])
        elif kind == "progress":
            table.progress(fields[0] + note)
    return runs, packets


def run_all(args, is_counted):
    """Runs the jobs in one virtual machine; returns what collect() does."""
    environment = {**os.environ, **SETTINGS, **({"ROCE_COUNTS": "1"} if is_counted else {})}
    command = [str(TESTS / "roce.sh"), os.path.join(os.path.abspath(args.build), "roce"), str(TESTS / "hosts.sh"), "2",
               "1", "bash", "-c", script(args, is_counted)]
    with subprocess.Popen(command, env=environment, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE) as process:
        runs, packets = collect(process.stdout, ", counting instructions" if is_counted else "")
    if process.returncode not in (0, SKIPPED):
        runs.problems.append(f"roce.sh: status {process.returncode}")
    return runs, packets


def instructions_of(counted, call):
    """Those of the call, of its bare operation, and their ratio. Both PEs put in a barrier, and one PE in the put and
    flush beside it: there they are those of a PE."""
    ours, bare, ratio = counted.median(call)[:3]
    n_pes = 2 if call == EACH_PUTS and ratio is not None else 1
    return (ours, bare, ratio) if n_pes == 1 else (ours / n_pes, bare, ratio / n_pes)


def judge(rows, counted):
    """The rows with the verdict of their instructions: times of an emulator are those of the machine's other work
    too."""
    def verdict(row):
        ratio = instructions_of(counted, row.call)[2]
        if ratio is None or row.budget is None:
            return row.verdict
        return "ok" if ratio <= row.budget else "over"
    return [row._replace(verdict=verdict(row)) for row in rows]


def lines_of(rows, counted, packets):
    """Lines of cells: each row with its instructions and packets."""
    lines = [HEAD]
    for row in rows:
        instructions, bare, ratio = instructions_of(counted, row.call)
        texts = ["-", "-", "-"] if ratio is None else [f"{instructions:.0f}", f"{bare:.0f}", f"{ratio:.2f} x"]
        lines.append(table.cells(row)[:-table.REFERENCE_COLUMNS] + texts + packets.get(row.call, ["-", "-"]))
    return lines


def report(args, ours, counted, packets):
    """Prints and writes what was measured; returns the rows."""
    rows = judge(table.make_rows(ours, None), counted)
    lines = lines_of(rows, counted, packets)
    heading = (f"{table.machine()}; Soft-RoCE, emulated; medians of {args.rounds} run{'s' if args.rounds != 1 else ''} "
               f"of {args.batches} batches of {REPS}")
    print(heading, end="\n\n")
    table.print_aligned(lines)
    if args.out:
        os.makedirs(args.out, exist_ok=True)
        table.write_results(os.path.join(args.out, "roce.tsv"), rows, heading)
        page = PAGE.format(date=time.strftime("%Y-%m-%d"), heading=table.paragraph(f"{heading}."),
                           table=table.markdown(lines))
        pathlib.Path(args.out, "roce.md").write_text(page, encoding="utf-8")
    return rows


def run(args):
    """All of it; returns the exit status."""
    ours, packets = run_all(args, is_counted=False)
    table.progress("")
    if not ours.seen:
        print(f"bench: {' '.join(ours.problems) or 'no virtual machine here'}", file=sys.stderr)
        return 1 if ours.problems else SKIPPED
    counted, counted_packets = run_all(args, is_counted=True)
    ours.problems += counted.problems
    table.progress("")
    return table.conclude(report(args, ours, counted, {**packets, **counted_packets}), ours, None, args.check)
