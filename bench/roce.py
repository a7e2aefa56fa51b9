"""What the way between two hosts costs over RDMA devices: ./dev bench --roce.

The hosts are two namespaces of a small virtual machine (tests/hosts/roce.sh), one PE on each, the devices Soft-RoCE: all of it is
emulated, so that only ratios mean something. The library and bare UCP take turns in the same processes, with the same UCX and the
same device. Not a program of its own: run.py calls run(). Read on: bench_hosts.c, bench_signal.c; hosts.py is the same over TCP.
"""
import os
import pathlib
import sys

import table

TESTS = pathlib.Path(__file__).resolve().parent.parent / "tests" / "hosts"
# Each PE takes the device of its host; UCX 1.13 drops datagrams of Soft-RoCE unless it is set not to compare their
# addresses.
ON_HOST = "export UCX_NET_DEVICES=rxe$(($(hostname | tr -dc 0-9) - 1)):1; exec \"$@\""
# By itself the emulated kernel reads its clock from a device, which takes longer than an operation.
SETTINGS = {"UCX_TLS": "rc_verbs,ud_verbs,self", "UCX_UD_VERBS_ETH_DGID_CHECK": "n", "UCX_WARN_UNUSED_ENV_VARS": "n",
            "ROCE_KERNEL": "tsc=reliable clocksource=tsc"}
# Of bench_hosts: an emulated read of 4 MiB takes a second, and shows nothing of this library.
ROWS = ("of 8 B", "atomic_fetch_add", "barrier_all")


def launch(cache):
    """A function from (PEs, program, arguments) to the command that runs it there."""
    return lambda n_pes, *program: [str(TESTS / "roce.sh"), cache, str(TESTS / "hosts.sh"), "2", "1", "mpirun", "--bind-to",
                                    "none", "--map-by", "node", "-np", str(n_pes), "bash", "-c", ON_HOST, "bash", *program]


def run(args):
    """All of it; returns the exit status."""
    build = os.path.abspath(args.build)
    ours = table.Runs(launch(os.path.join(build, "roce")), os.path.join(build, "bench"), {**os.environ, **SETTINGS})
    for number in range(1, args.rounds + 1):
        table.progress(f"round {number} of {args.rounds}: calls between two hosts over RDMA")
        for rows in ROWS:
            ours.run("bench_hosts", 2, str(args.batches), rows)
        ours.run("bench_signal", 2, str(args.batches))
    table.progress("")
    if not ours.seen:
        print(f"bench: {' '.join(ours.problems)}", file=sys.stderr)
        return 1
    rows = table.make_rows(ours, None)
    heading = f"{table.machine()}; Soft-RoCE, emulated; medians of {args.rounds} runs of {args.batches} batches"
    table.print_all(rows, heading, False)
    if args.out:
        os.makedirs(args.out, exist_ok=True)
        table.write_results(os.path.join(args.out, "roce.tsv"), rows, heading)
    return table.conclude(rows, ours, None, args.check)
