#!/usr/bin/env python3
"""planted.py: bench/kernels.py with programs that print planted figures in the place of the benchmark: each verdict,
the reasons of rows without a figure, the rows after one that ends its job, and a machine without a GPU."""
import argparse
import contextlib
import io
import os
import re
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
sys.dont_write_bytecode = True  # the source tree stays as it is

import kernels

ALONE = ["fast", "as fast", "slower", "slower than bare", "no goal", "wrong", "hangs", "after", "crashes"]
OURS = """#!/bin/sh
# Options: -s SET -t S -f FIRST ...
case "$2 $6" in
'alone 0')
  printf 'plan\\t%s\\n' {names}
  printf 'device\\tPlanted GPU\\nlibrary\\tIsthmus 1\\n'
  printf 'row\\tfast\\t100\\t99\\t1.05\\t-\\t1\\n'
  printf 'row\\tas fast\\t101\\t100\\t1.05\\t-\\t1\\n'
  printf 'row\\tslower\\t103\\t100\\t1.05\\t-\\t1\\n'
  printf 'row\\tslower than bare\\t1060\\t1000\\t1.05\\t-\\t1\\n'
  printf 'row\\tno goal\\t2500\\t-\\t-\\t-\\t0\\n'
  printf 'not\\twrong\\twrong value: PE 1\\n'
  printf 'not\\thangs\\tno end within 60 s\\nnext\\t7\\n'
  echo 'planted: it spins' >&2
  exit 3 ;;
'alone 7')
  printf 'plan\\tafter\\nplan\\tcrashes\\ndevice\\tPlanted GPU\\n'
  printf 'row\\tafter\\t50\\t50\\t1.05\\t-\\t1\\n'
  echo 'planted: the end' >&2
  exit 9 ;;
'together 0') printf 'plan\\tturns\\nnot\\tturns\\tthe PEs share one GPU without MPS\\n' ;;
'ring 0') printf 'plan\\tg through the ring\\nrow\\tg through the ring\\t7000\\t-\\t-\\t6000\\t0\\n' ;;
'nothing 0') printf 'plan\\tp through the ring\\nrow\\tp through the ring\\t5000\\t-\\t-\\t6000\\t0\\n' ;;
esac
"""
THEIRS = """#!/bin/sh
[ "$2" = alone ] || exit 0
[ "$NVSHMEM_DISABLE_CUDA_VMM" = 1 ] || { printf 'not\\tthe start\\tPE 1 ended with status 1\\n'; exit 3; }
printf 'plan\\t%s\\n' {names}
printf 'device\\tPlanted GPU\\nlibrary\\tNVSHMEM 3\\n'
printf 'row\\tfast\\t200\\t99\\t1.05\\t-\\t1\\n'
printf 'row\\tas fast\\t100\\t100\\t1.05\\t-\\t1\\n'
printf 'row\\tslower\\t100\\t100\\t1.05\\t-\\t1\\n'
printf 'row\\tslower than bare\\t2000\\t1000\\t1.05\\t-\\t1\\n'
printf 'not\\tafter\\tno end within 60 s\\n'
"""
NO_GPU = "#!/bin/sh\nprintf 'plan\\tfast\\nskipped\\tno GPU: planted\\n'\nexit 77\n"
# name: Isthmus, NVSHMEM, ratio, bare, ratio to bare, goal, verdict
EXPECTED = {
    "fast": ["100.0 ns", "200.0 ns", "0.50 x", "99.0 ns", "1.01 x", "1 x NVSHMEM, 1.05 x bare", "met"],
    "as fast": ["101.0 ns", "100.0 ns", "1.01 x", "100.0 ns", "1.01 x", "1 x NVSHMEM, 1.05 x bare", "met"],
    "slower": ["103.0 ns", "100.0 ns", "1.03 x", "100.0 ns", "1.03 x", "1 x NVSHMEM, 1.05 x bare", "missed"],
    "slower than bare": ["1.06 us", "2.00 us", "0.53 x", "1.00 us", "1.06 x", "1 x NVSHMEM, 1.05 x bare", "missed"],
    "no goal": ["2.50 us", "-", "-", "-", "-", "-", "-"],
    "wrong": ["not run", "-", "-", "-", "-", "-", "not run"],
    "hangs": ["not run", "-", "-", "-", "-", "-", "not run"],
    "after": ["50.0 ns", "-", "-", "50.0 ns", "1.00 x", "1 x NVSHMEM, 1.05 x bare", "open"],
    "crashes": ["not run", "-", "-", "-", "-", "-", "not run"],
    "turns": ["not run", "-", "-", "-", "-", "-", "not run"],
    "g through the ring": ["7.00 us", "-", "-", "-", "-", "6.00 us", "missed"],
    "p through the ring": ["5.00 us", "-", "-", "-", "-", "6.00 us", "met"],
}
REASONS = ["Isthmus: wrong value: PE 1: wrong", "Isthmus: no end within 60 s (planted: it spins): hangs",
           "Isthmus: planted: the end: crashes",
           "Isthmus: the PEs share one GPU without MPS (no-such-mps-control: No such file or directory): turns",
           "NVSHMEM: no end within 60 s: after",
           f"NVSHMEM: {kernels.NO_RING}: g through the ring; p through the ring"]


def plant(build, program, text):
    file = Path(build, program)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text.replace("{names}", " ".join(f"'{name}'" for name in ALONE)), encoding="utf-8")
    file.chmod(0o755)


def run(build, check=False):
    """(exit status, output, errors)"""
    out, errors = io.StringIO(), io.StringIO()
    args = argparse.Namespace(build=build, rounds=2, batches=1, out=os.path.join(build, "out"), check=check)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        status = kernels.run(args)
    return status, out.getvalue(), errors.getvalue()


def check_table(build, faults):
    status, out, _ = run(build)
    if status != 1:
        faults.append(f"rows without a figure: status {status}, expected 1")
    seen = {cells[0]: cells[1:] for line in out.splitlines() if len(cells := re.split(r"\s{2,}", line.strip())) == 8}
    for name, expected in EXPECTED.items():
        if seen.get(name) != expected:
            faults.append(f"{name}: {seen.get(name)}, expected {expected}")
    faults += [f"no line '{reason}' in\n{out}" for reason in REASONS if reason not in out.splitlines()]
    heading = "Kernels of 2 PEs, Planted GPU; Isthmus 1, NVSHMEM 3 with NVSHMEM_DISABLE_CUDA_VMM=1; "
    if heading not in out or "3 missed: slower; slower than bare; g through the ring" not in out:
        faults.append(f"no heading '{heading}', or another number of missed goals:\n{out}")
    page = Path(build, "out", "kernels.md").read_text(encoding="utf-8")
    if "| fast | 100.0 ns | 200.0 ns | 0.50 x |" not in page or "- Isthmus: wrong value: PE 1: wrong" not in page:
        faults.append(f"the page lacks a row or a reason:\n{page}")


def main():
    faults = []
    with tempfile.TemporaryDirectory() as build:
        plant(build, kernels.PROGRAMS[kernels.OURS], OURS)
        plant(build, kernels.PROGRAMS[kernels.THEIRS], THEIRS)
        kernels.MPS = "no-such-mps-control"
        check_table(build, faults)
    with tempfile.TemporaryDirectory() as build:
        plant(build, kernels.PROGRAMS[kernels.OURS], NO_GPU)
        status, out, errors = run(build)
        if status != kernels.SKIPPED or out or "no kernel was measured: no GPU: planted" not in errors:
            faults.append(f"without a GPU: status {status}: {out}{errors}")
    with tempfile.TemporaryDirectory() as build:
        Path(build, "bench", "cuda").mkdir(parents=True)
        Path(build, "bench", "cuda", "bench_kernels.reason").write_text("nvcc is planted\n", encoding="utf-8")
        status, out, errors = run(build)
        if status != kernels.SKIPPED or "no kernel was measured: nvcc is planted" not in errors:
            faults.append(f"without a program: status {status}: {out}{errors}")
    print("\n".join(faults) or f"{len(EXPECTED)} rows are as planted")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
