#!/usr/bin/env python3
"""Wall time of an empty SHMEM program, from the launcher's start to its end, against a bare PMIx init and finalize.

Not about what happens between init and finalize: the C programs beside this file measure that.
Read on: bench_empty.c, bare_pmix.c; run.py calls measure() and makes the table.
"""
import argparse
import os
import statistics
import subprocess
import time

TIMEOUT_S = 300
BUDGET = 1.6  # times the bare program under the same launcher


def mpirun(n_pes, *program):
    """The command that starts n_pes processes under Open MPI's launcher, here, whatever the number of cores."""
    command = ["mpirun", "--allow-run-as-root", "--bind-to", "none"]
    if n_pes > os.cpu_count():  # Open MPI's processes yield then; with a core each they had better not
        command.append("--oversubscribe")
    return command + ["-np", str(n_pes), *program]


def isthmus_run(build):
    """The same under ours: a function like mpirun(). The programs pin themselves."""
    launcher = os.path.join(build, "bin", "isthmus-run")
    return lambda n_pes, *program: [launcher, "-n", str(n_pes), "--bind", "none", *program]


def environment():
    """Open MPI at its best on one host: with TCP among its transports it would poll that too, in every wait.

    osc/rdma, which no SHMEM program uses, leaves a hook behind that crashes Debian's 4.1.4 in finalize.
    """
    return {"OMPI_MCA_btl": "self,vader", "OMPI_MCA_osc": "^rdma", **os.environ}


def wall_ns(command):
    """Runs a command to its end. Raises CalledProcessError when it fails."""
    start_ns = time.monotonic_ns()
    subprocess.run(command, env=environment(), timeout=TIMEOUT_S, check=True, stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.monotonic_ns() - start_ns


def medians_ns(commands, repeats):
    """Median wall time of each command; they take turns. The first turn warms the page cache and does not count."""
    taken = [[wall_ns(command) for command in commands] for _ in range(repeats + 1)]
    return [statistics.median(column) for column in zip(*taken[1:])]


def measure(build, launch, n_pes, repeats, reference=None):
    """(ns, ns of the bare program, ns of the reference or None) under one launcher.

    reference: folder with bench_empty built for Open MPI, or None.
    """
    folder = os.path.join(build, "bench")
    commands = [launch(n_pes, os.path.join(folder, "bench_empty")), launch(n_pes, os.path.join(folder, "bare_pmix"))]
    if reference:
        commands.append(launch(n_pes, os.path.join(reference, "bench_empty")))
    ns = medians_ns(commands, repeats)
    return ns[0], ns[1], ns[2] if reference else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build", help="build folder (default: %(default)s)")
    parser.add_argument("--pes", type=int, nargs="+", default=[2, 64], help="numbers of PEs (default: 2 64)")
    parser.add_argument("--repeats", type=int, default=5, help="runs of each command (default: %(default)s)")
    args = parser.parse_args()
    for n_pes in args.pes:
        for name, launch in (("isthmus-run", isthmus_run(args.build)), ("mpirun", mpirun)):
            ns, bare_ns, _ = measure(args.build, launch, n_pes, args.repeats)
            print(f"row\tempty program, {n_pes} PEs, {name}\t{ns:.4g}\t{bare_ns:.4g}\t{ns / bare_ns:.4g}\t{BUDGET}\tx",
                  flush=True)


if __name__ == "__main__":
    main()
