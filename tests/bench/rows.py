#!/usr/bin/env python3
"""rows.py PROGRAM SET [ends]: the rows of bench_kernels on the CPU device, with few repetitions: every planned row is
verified and has a figure; where it expects a wrong value, none has. ends: where a PE dies or hangs, the row has the
reason, the number of the next one follows, and no process is left. No figure is judged."""
import contextlib
import os
import subprocess
import sys

LIMIT_S = 50
FEW = ["-d", "1000", "-b", "1"]
ROW_LIMIT_S = "10"  # as long as the start may take
ROW_FAILED = 3


def rows_of(program, kind, *options):
    """({name: the reason or nothing}, names planned)"""
    done = subprocess.run([program, "-s", kind, *FEW, *options], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=LIMIT_S, check=False)
    lines = [line.split("\t") for line in done.stdout.splitlines()]
    if done.returncode != 0 or ["device", "CPU device"] not in lines:
        sys.exit(f"{' '.join(done.args)}: status {done.returncode}\n{done.stdout}{done.stderr}")
    seen = {line[1]: "" for line in lines if line[0] == "row" and float(line[2]) > 0}
    seen.update({line[1]: line[2] for line in lines if line[0] == "not"})
    return seen, [line[1] for line in lines if line[0] == "plan"]


def check_end(program, kind, fault, reason):
    """From the second row on. Returns what is wrong."""
    command = [program, "-s", kind, *FEW, "-f", "1", "-t", ROW_LIMIT_S, "-x", fault]
    job = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                           text=True, start_new_session=True)
    out, _ = job.communicate(timeout=LIMIT_S)
    lines = [line.split("\t") for line in out.splitlines()]
    planned = [line[1] for line in lines if line[0] == "plan"]
    faults = []
    if job.returncode != ROW_FAILED or lines[-2:] != [["not", planned[0], reason], ["next", "2"]]:
        faults.append(f"{' '.join(command)}: status {job.returncode}, expected '{reason}':\n{out}")
    with contextlib.suppress(ProcessLookupError):
        os.killpg(job.pid, 9)
        faults.append(f"{' '.join(command)}: leaves processes")
    return faults


def main():
    program, kind = sys.argv[1:3]
    if sys.argv[3:] == ["ends"]:
        faults = check_end(program, kind, "die", "PE 1 ended with signal 9")
        faults += check_end(program, kind, "hang", f"no end within {ROW_LIMIT_S} s")
        print("\n".join(faults) or "each end is reported")
        return 1 if faults else 0
    faults = []
    seen, planned = rows_of(program, kind)
    if not planned or list(seen) != planned:
        faults.append(f"planned are {planned}, and the output has {list(seen)}")
    faults += [f"{name}: {reason}" for name, reason in seen.items() if reason]
    seen, _ = rows_of(program, kind, "-x", "wrong")
    faults += [f"{name}: has not found a wrong value: {reason or 'it has a figure'}" for name, reason in seen.items()
               if not reason.startswith("wrong value: ")]
    print("\n".join(faults) or f"{len(planned)} rows verify")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
