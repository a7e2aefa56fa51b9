#!/usr/bin/env python3
"""Runs the bench programs several times and prints one table: call, Isthmus, bare operation, ratio, budget, verdict.

With --reference the same sources, built with Debian's oshcc, run in turn with ours, and the table has a column for
Open MPI. Not a judge of correctness; exits with 1 when a program failed, and with --check when one is over its budget.
With --hosts the programs of hosts.py run instead, on several hosts made of namespaces; with --roce on two with RDMA
devices (roce.py); with --gpu those of gpu.py and kernels.py.
Read on: bench.h (what a program measures and prints), table.py, startup.py (start-up), hosts.py, plot.py (the picture).
"""
import argparse
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the source tree stays as it is

import gpu
import hosts
import kernels
import plot
import reference
import roce
import startup
from table import Runs, conclude, machine, make_rows, print_all, progress, quantity, read_results, write_results

# Program, PEs, arguments ("B": the number of batches). In the order of the table.
PROGRAMS = [("bench_p_g", 2, "B"), ("bench_putmem_small", 2, "B"), ("bench_amo", 2, "B"), ("bench_p_quiet", 2, "B"),
            ("bench_bulk", 2, "B"), ("bench_pingpong", 2, "B"), ("bench_barrier", 2, "B"), ("bench_malloc", 2, "B"),
            ("bench_collectives", 2, "B"), ("bench_collectives", 4, "B"), ("bench_barrier", 4, "B"),
            ("bench_barrier", 16, "B"), ("bench_empty", 2, "memory"), ("bench_empty", 64, "memory")]
STARTUP_PES = [2, 64]


def run_programs(args, runtimes):
    """The runtimes take turns with every program, round after round."""
    for round_number in range(1, args.rounds + 1):
        for program, n_pes, argument in PROGRAMS:
            for name, runs in runtimes.items():
                progress(f"round {round_number} of {args.rounds}: {program}, {n_pes} PEs, {name}")
                runs.run(program, n_pes, str(args.batches) if argument == "B" else argument)
    progress("")


def run_startup(args, ours, theirs, reference_folder):
    """The empty program under both launchers; the reference knows only mpirun."""
    for n_pes in STARTUP_PES:
        repeats = args.rounds if n_pes > 16 else 3 * args.rounds
        for name, launch, reference in (("mpirun", startup.mpirun, reference_folder),
                                        ("isthmus-run", startup.isthmus_run(args.build), None)):
            call = f"empty program, {n_pes} PEs, {name}"
            progress(call)
            try:
                ns, bare_ns, reference_ns = startup.measure(args.build, launch, n_pes, repeats, reference)
            except (OSError, subprocess.SubprocessError) as error:
                ours.problems.append(f"{call}: {error}")
                continue
            ours.add(call, ns, bare_ns, startup.BUDGET, "x")
            if reference_ns:
                theirs.add(call, reference_ns, bare_ns, startup.BUDGET, "x")
    progress("")


def run_gpu(args):
    """Memory of a GPU, then kernels: the status of what was measured, or that of no GPU."""
    statuses = {gpu.run(args), kernels.run(args)}
    return 1 if statuses - {0, gpu.SKIPPED} else min(statuses)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build", help="build folder (default: %(default)s)")
    parser.add_argument("--out", help="folder for the results and pictures (default: write no files)")
    parser.add_argument("--rounds", type=int, help="runs of each program (default: 5)")
    parser.add_argument("--batches", type=int, help="batches that each program times (default: 101)")
    parser.add_argument("--quick", action="store_true", help="1 round, 21 batches: a look, not a measurement")
    parser.add_argument("--reference", action="store_true", help="in turn with the same sources on Open MPI")
    parser.add_argument("--hosts", action="store_true", help="between hosts, which are namespaces here; needs root")
    parser.add_argument("--roce", action="store_true", help="between two hosts with RDMA devices, in an emulator")
    parser.add_argument("--gpu", action="store_true",
                        help="memory of an NVIDIA GPU, beside the CUDA driver's calls, and kernels, beside NVSHMEM's")
    parser.add_argument("--draw", metavar="FILE.tsv", help="measure nothing: the picture of these results, beside them")
    parser.add_argument("--check", action="store_true", help="exit with 1 when a call is over its budget")
    args = parser.parse_args()
    if args.hosts or args.reference:
        args.reference = reference.is_here()
    args.rounds = args.rounds or (1 if args.quick else 5)
    args.batches = args.batches or (21 if args.quick else 101)
    return args


def main():
    args = parse_arguments()
    if args.draw:
        plot.draw(os.path.splitext(args.draw)[0] + ".png", read_results(args.draw), quantity)
        return 0
    if args.gpu:
        return run_gpu(args)
    if args.roce:
        return roce.run(args)
    if args.hosts:
        return hosts.run(args)
    with tempfile.TemporaryDirectory(prefix="bench-") as reference_folder:
        environment = startup.environment()
        ours = Runs(startup.isthmus_run(args.build), os.path.join(args.build, "bench"), environment)
        theirs = Runs(startup.mpirun, reference_folder, environment) if args.reference else None
        if theirs:
            reference.build(reference_folder, sorted({program for program, _, _ in PROGRAMS}))
        run_programs(args, {"Isthmus": ours, "Open MPI": theirs} if theirs else {"Isthmus": ours})
        run_startup(args, ours, theirs, reference_folder if theirs else None)

    rows = make_rows(ours, theirs)
    heading = f"{machine()}; medians of {args.rounds} runs of {args.batches} batches"
    print_all(rows, heading, args.reference)
    if args.out:
        os.makedirs(args.out, exist_ok=True)
        write_results(os.path.join(args.out, "results.tsv"), rows, heading)
        plot.draw(os.path.join(args.out, "latency.png"), rows, quantity)
        print(f"\nwritten to {args.out}: {', '.join(sorted(os.listdir(args.out)))}")
    return conclude(rows, ours, theirs, args.check)


if __name__ == "__main__":
    sys.exit(main())
