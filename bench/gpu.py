"""What memory of a GPU costs: ./dev bench --gpu, on a machine with an NVIDIA GPU; or gpu-bench --gpu of a build carried
there.

Two PEs whose heaps are in memory of GPUs of this host, of one GPU where there is only one. Each call is measured beside
what the CUDA driver does between the same buffers, in the same process, batch by batch. Not a program of its own:
run.py calls run(). Read on: bench_gpu.c, table.py.
"""
import os
import pathlib
import re
import sys
import time

import plot
import startup
import table

SKIPPED = 77
PAGE = """# Memory of GPUs

Made by `./dev bench --gpu --out docs/bench`, {date}:
{heading}

Two PEs of one host, whose heaps are in memory of GPUs; where the machine has one GPU, both use it, and what is between
two GPUs (NVLink) is not in these figures. Ratio and budget: time of the call, times that of the bare operation, which
is the CUDA driver's own between the same buffers; 1.053 is 0.95 of its speed. A word of 8 bytes (`p`) is measured
against each of the ways that CUDA offers to a host, the copy from pinned memory among them; the budget of 1.2 is for
the cheapest.

{table}

![What each call takes of its budget](gpu.png)
"""


def driver():
    """The version of the kernel's part of the driver, if it is reported: ", 580.65.06"; else nothing."""
    file = pathlib.Path("/proc/driver/nvidia/version")
    found = re.search(r"\s(\d{3}\.\d+(\.\d+)?)\s", file.read_text(encoding="utf-8")) if file.exists() else None
    return f", {found[1]}" if found else ""


def write_page(folder, rows, heading):
    columns = slice(0, -table.REFERENCE_COLUMNS)
    lines = [table.HEAD[columns]] + [table.cells(row)[columns] for row in rows]
    text = PAGE.format(date=time.strftime("%Y-%m-%d"), heading=table.paragraph(f"{heading}."),
                       table=table.markdown(lines))
    pathlib.Path(folder, "gpu.md").write_text(text, encoding="utf-8")


def run(args):
    """All of it; returns the exit status."""
    environment = {"ISTHMUS_HEAP_KIND": "cuda", **os.environ}
    ours = table.Runs(startup.isthmus_run(args.build), os.path.join(args.build, "bench"), environment)
    for number in range(1, args.rounds + 1):
        table.progress(f"round {number} of {args.rounds}: two PEs with memory of a GPU")
        ours.run("bench_gpu", 2, str(args.batches))
    table.progress("")
    rows = table.make_rows(ours, None)
    if not rows:
        print(f"bench: nothing was measured: {ours.problems[0]}", file=sys.stderr)
        return SKIPPED
    heading = (f"2 PEs, {ours.device}{driver()}; {table.machine()}; medians of {args.rounds} runs of "
               f"{args.batches} batches")
    table.print_all(rows, heading, False)
    if args.out:
        os.makedirs(args.out, exist_ok=True)
        table.write_results(os.path.join(args.out, "gpu.tsv"), rows, heading)
        plot.draw(os.path.join(args.out, "gpu.png"), rows, table.quantity)
        write_page(args.out, rows, heading)
    return table.conclude(rows, ours, None, args.check)
