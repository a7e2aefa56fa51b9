#!/usr/bin/env python3
"""rows.py PROGRAM SET: the rows of bench_kernels on the CPU device, with few repetitions: every planned row is verified
and has a figure; and where it expects a wrong value (-x), none has. No figure is judged."""
import subprocess
import sys

LIMIT_S = 50
FEW = ["-d", "1000", "-b", "1"]


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


def main():
    program, kind = sys.argv[1:]
    faults = []
    seen, planned = rows_of(program, kind)
    if not planned or list(seen) != planned:
        faults.append(f"planned are {planned}, and the output has {list(seen)}")
    faults += [f"{name}: {reason}" for name, reason in seen.items() if reason]
    seen, _ = rows_of(program, kind, "-x")
    faults += [f"{name}: has not found a wrong value: {reason or 'it has a figure'}" for name, reason in seen.items()
               if not reason.startswith("wrong value: ")]
    print("\n".join(faults) or f"{len(planned)} rows verify")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
