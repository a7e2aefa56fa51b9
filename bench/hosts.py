"""What the way between hosts costs: ./dev bench --hosts.

The hosts are namespaces of this machine (tests/hosts/hosts.sh), the network TCP over a bridge. Measured are the calls
beside bare UCP in the same processes, those through ofi beside bare libfabric (tcp;ofi_rxm), and beside Open MPI in the
same round, what the split of quiet gives under delays, what an idle PE costs and how late it wakes up through ofi
beside ib, and whether the start of a PE costs more when there are more hosts. Not a program of its own: run.py calls
run(). Read on: bench_hosts.c, bench_signal.c, bench_split.c, bench_idle.c, bench_wake.c, bench_startup.c; table.py;
plot.py.
"""
import collections
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import plot
import reference
import table

HOSTS_SH = pathlib.Path(__file__).resolve().parent.parent / "tests" / "hosts" / "hosts.sh"
SKIPPED = 77
REFERENCE_BATCHES = "21"
MANY_PES, MANY_SLOTS = 32, 4  # PEs that one of them has connections to, and how many of them are on a host
DELAYS_MS = ["0", "1", "5", "20"]
IDLE = ["sleep", "wait_until", "barrier_all"]
WAKE = "wake-up after a put 20 ms later, beside a loop of loads, median"  # the row of bench_wake
WAKE_BUDGET = 1.2  # of ofi, times that of ib
IDLE_BUDGET_MS = 25
OFI_ROW = "ofi: "  # as bench_hosts_ofi begins its rows
OFI = {"ISTHMUS_TRANSPORTS": "loopback,ofi", "ISTHMUS_OFI_PROVIDER": "tcp+ofi_rxm"}
STARTUP_HOSTS = [1, 2, 4, 8]
STARTUP_SLOTS = [1, 2, 4, 8]
STARTUP_BUDGET = 1.5  # of 8 hosts, times that of 2
COSTS = ["CPU ms", "values got", "cards among them", "connections"]

Cost = collections.namedtuple("Cost", ["cpu_ms", "gets", "cards", "connections"])


def launch(hosts, slots, settings=()):
    """A function from (PEs, program, arguments) to the command that runs it on these hosts. mpirun passes on only the
    variables that it is given as settings, texts like NAME=VALUE."""
    passed_on = [word for setting in settings for word in ("-x", setting)]
    return lambda n_pes, *program: [str(HOSTS_SH), str(hosts), str(slots), "mpirun", "--bind-to", "none", *passed_on,
                                    "-np", str(n_pes), *program]


def environment(**more):
    """hosts.sh sets what mpirun needs; osc/rdma leaves a hook behind that crashes Debian's 4.1.4 in finalize."""
    return {"OMPI_MCA_osc": "^rdma", **more, **os.environ}


def runs_on(folder, hosts, slots, **more):
    settings = [f"{name}={value}" for name, value in more.items() if name.startswith("ISTHMUS_")]
    return table.Runs(launch(hosts, slots, settings), folder, environment(**more))


def why_not():
    """Returns None, or the reason why there can be no hosts here."""
    done = subprocess.run([str(HOSTS_SH), "1", "1", "true"], text=True, stdin=subprocess.DEVNULL, capture_output=True,
                          check=False)
    return None if done.returncode == 0 else done.stderr.strip() or f"hosts.sh: status {done.returncode}"


# ---- the calls ----


def run_calls(args, ours, theirs, many, ofi):
    """In turn, round after round. Idling takes its 5 s whatever the machine does: once is enough."""
    for number in range(1, args.rounds + 1):
        table.progress(f"round {number} of {args.rounds}: calls between two hosts")
        ours.run("bench_hosts", 2, str(args.batches))
        ours.run("bench_signal", 2, str(args.batches))
        if theirs:
            theirs.run("bench_hosts", 2, REFERENCE_BATCHES)
        many.run("bench_peers", MANY_PES, str(args.batches))
        if ofi:
            ofi.run("bench_hosts_ofi", 2, str(args.batches))
    for how in IDLE:
        for runs in filter(None, (ours, theirs)):
            table.progress(f"5 s of {how}")
            runs.run("bench_idle", 2, how)


def run_ofi_beside_ib(args, ours, folder):
    """What waits cost through ofi and through ib, in turn."""

    def run_both(row, program, *arguments):
        both = [runs_on(folder, 2, 1, **OFI), runs_on(folder, 2, 1)]
        for runs in both:
            runs.run(program, 2, *arguments)
            ours.problems += runs.problems
        values = [runs.median(row)[0] for runs in both]
        return None if None in values else values

    for number in range(1, args.rounds + 1):
        table.progress(f"round {number} of {args.rounds}: wake-ups through ofi and ib")
        late_us = run_both(WAKE, "bench_wake")
        if late_us:
            ours.add(f"{OFI_ROW}wake-up after a put 20 ms later (bare: through ib)", *[1e3 * us for us in late_us],
                     WAKE_BUDGET, "x")
    for how in IDLE:
        table.progress(f"5 s of {how}, through ofi and ib")
        cpu_ms = run_both(f"CPU time of 5 s in {how}", "bench_idle", how)
        if cpu_ms:
            ours.add(f"{OFI_ROW}CPU time of 5 s in {how} (bare: through ib)", *cpu_ms, IDLE_BUDGET_MS, "ms")


def run_split(args, ours, folder):
    """The rows of every delay go into one table. A switch that delays may not be possible here: reported, not
    failed."""
    for delay_ms in DELAYS_MS:
        table.progress(f"the split of quiet, {delay_ms} ms of delay")
        split = runs_on(folder, 2, 1, HOSTS_DELAY_MS=delay_ms,
                        HOSTS_SLOW_SWITCH=os.path.abspath(os.path.join(folder, "slow_switch")))
        for _ in range(args.rounds):
            split.run("bench_split", 2, delay_ms)
        ours.seen.update(split.seen)
        ours.problems += split.problems[:1]


# ---- start-up ----


def start(args, hosts, slots):
    """Cost of a PE's start and end: medians over PEs and rounds of its CPU time, means of what it counts."""
    n_pes = hosts * slots
    program = os.path.join(args.build, "bench", "bench_startup")
    costs = []
    for _ in range(args.rounds):
        done = subprocess.run(launch(hosts, slots)(n_pes, program), env=environment(), timeout=table.TIMEOUT_S,
                              text=True, stdin=subprocess.DEVNULL, capture_output=True, check=True)
        fields = [line.split("\t") for line in done.stdout.splitlines() if line.startswith("cost\t")]
        costs += [Cost(int(us) / 1000, int(gets), int(cards), int(made) + int(taken))
                  for _, _, us, gets, cards, made, taken in fields]
    cpu_ms, *counts = zip(*costs)
    return Cost(statistics.median(cpu_ms), *map(statistics.mean, counts))


def run_startup(args, ours):
    """{(hosts, slots): Cost}; the budget is on the way from 2 hosts to 8."""
    costs = {}
    for slots in STARTUP_SLOTS:
        for hosts in STARTUP_HOSTS:
            table.progress(f"start of {hosts} hosts with {slots} PEs each")
            try:
                costs[hosts, slots] = start(args, hosts, slots)
            except (OSError, subprocess.SubprocessError, ValueError) as error:
                ours.problems.append(f"start of {hosts} hosts with {slots} PEs each: {error}")
        if (2, slots) in costs and (8, slots) in costs:
            few, many = costs[2, slots], costs[8, slots]
            ours.add(f"start of a PE, 8 hosts of {slots} (bare: 2 hosts of {slots})", many.cpu_ms * 1e6,
                     few.cpu_ms * 1e6, STARTUP_BUDGET, "x")
    return costs


def startup_lines(costs):
    """Lines of cells: for each number of PEs on a host and each cost, the figures of 1, 2, 4 and 8 hosts."""
    lines = [["PEs on a host", "a PE's"] + [f"{hosts} host{'s' * (hosts > 1)}" for hosts in STARTUP_HOSTS]]
    for slots in STARTUP_SLOTS:
        for index, name in enumerate(COSTS):
            found = [costs.get((hosts, slots)) for hosts in STARTUP_HOSTS]
            lines.append([str(slots), name] + ["-" if cost is None else f"{cost[index]:.1f}" for cost in found])
    return lines


# ---- what comes out ----


def split_points(rows):
    """[(delay in ms, round with quiet in ns, round with local_complete in ns)]"""
    points = []
    for row in rows:
        if row.call.startswith("8 buffers a round"):
            points.append((float(row.call.split(", ")[-1].split()[0]), row.bare, row.isthmus))
    return points


PAGE = """# Between hosts

Made by `./dev bench --hosts --out docs/bench`, {date}:
{heading}

The hosts are network namespaces of this one machine, joined by a bridge, and share its processors; other work may have
used these too, and such a machine changes its speed, by a factor of two and more, within minutes. So the ratios show
more than the times: call and bare UCP take turns in the same processes, batch by batch, those of Open MPI as well,
which has its turn in each round.

Ratio and budget: time of the call, times that of the bare operation; 1.053 is 0.95 of its speed. A call whose ratio
is greater than Open MPI's, by more than the 2 % that medians of one program differ by, is over its budget too. Under a
barrier, "a put each way" is the least that two UCP programs can meet with.

{table}

![What each call takes of its budget](hosts.png)

## Through ofi

The same calls through transport `ofi`, beside bare libfabric with the same provider, `tcp;ofi_rxm`, in the same
processes. Waits are compared with those through `ib`, in turn with them.

{ofi_table}

## The split of quiet

A sender that fills the same eight buffers of 4 KiB round after round needs them back, not the knowledge that all has
arrived: with `shmem_local_complete` after each round and one `shmem_remote_commit` at the end, a round no longer costs
the delay.

![A round of eight puts, with quiet and with local_complete](split.png)

## What a PE's start and end cost

CPU time is the median, counts are means over the PEs. Values are what a PE asks of the launcher (`PMIx_Get`): one for
each PE of the job, the name of its node, is there in memory that the launcher shares on each host, and is not asked of
another host. Cards are those of other PEs and of itself. Connections are those that it makes and that it takes: to its
neighbours in the ring of signs of life and in the tree of meetings, of which there are few however many hosts there
are, but which are the same PE when there are two.

{startup}
"""


def write_page(folder, rows, costs, heading):
    lines = [table.HEAD] + [table.cells(row) for row in rows if not row.call.startswith(OFI_ROW)]
    ofi_lines = [line[:-table.REFERENCE_COLUMNS] for line in
                 [table.HEAD] + [table.cells(row) for row in rows if row.call.startswith(OFI_ROW)]]
    text = PAGE.format(date=time.strftime("%Y-%m-%d"), heading=table.paragraph(f"{heading}."),
                       table=table.markdown(lines), ofi_table=table.markdown(ofi_lines),
                       startup=table.markdown(startup_lines(costs)))
    pathlib.Path(folder, "hosts.md").write_text(text, encoding="utf-8")


def run(args):
    """All of it; returns the exit status."""
    reason = why_not()
    if reason:
        print(f"bench: {reason}", file=sys.stderr)
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="bench-") as reference_folder:
        folder = os.path.join(args.build, "bench")
        ours = runs_on(folder, 2, 1)
        theirs = runs_on(reference_folder, 2, 1) if args.reference else None
        if theirs:
            reference.build(reference_folder, ["bench_hosts"], ["bare_ucp.c", "-lucp", "-lucs"])
            reference.build(reference_folder, ["bench_idle"])
        many = runs_on(folder, MANY_PES // MANY_SLOTS, MANY_SLOTS, ISTHMUS_TRANSPORTS="ib")
        has_ofi = os.path.exists(os.path.join(folder, "bench_hosts_ofi"))
        ofi = runs_on(folder, 2, 1, **OFI) if has_ofi else None
        run_calls(args, ours, theirs, many, ofi)
        for more in filter(None, (many, ofi)):
            ours.seen.update(more.seen)
            ours.problems += more.problems[:1]
        if ofi:
            run_ofi_beside_ib(args, ours, folder)
        run_split(args, ours, folder)
        costs = run_startup(args, ours)
    table.progress("")
    rows = table.make_rows(ours, theirs, beat_reference=True)
    heading = f"{table.machine()}; medians of {args.rounds} runs of {args.batches} batches"
    table.print_all(rows, heading, args.reference)
    print()
    table.print_aligned(startup_lines(costs))
    if args.out:
        os.makedirs(args.out, exist_ok=True)
        table.write_results(os.path.join(args.out, "hosts.tsv"), rows, heading)
        plot.draw(os.path.join(args.out, "hosts.png"), rows, table.quantity)
        plot.draw_split(os.path.join(args.out, "split.png"), split_points(rows))
        write_page(args.out, rows, costs, heading)
    return table.conclude(rows, ours, theirs, args.check)
