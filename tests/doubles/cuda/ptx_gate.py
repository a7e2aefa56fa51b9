#!/usr/bin/env python3
"""ptx_gate.py PTXAS COLL.PTX: the kernel of collectives assembled for an old and a new GPU: a block of 512 threads has
to fit its registers, none may be spilled, and no sum may be contracted with a product (results would differ from other
places')."""
import re
import subprocess
import sys

THREADS, REGISTERS = 512, 65536

ptxas, path = sys.argv[1:]
text = open(path, encoding="ascii").read()
faults = [f"{path}: {name}" for name in re.findall(r"\bfma\S*|\b(?:add|mul)\.f\d+", text)]
if ".visible .entry isthmus_coll(" not in text:
    faults.append(f"{path}: no entry isthmus_coll")
for gpu in ("sm_75", "sm_100"):
    run = subprocess.run([ptxas, "-v", f"-arch={gpu}", path, "-o", "/dev/null"], capture_output=True, text=True)
    said = run.stdout + run.stderr
    used = re.search(r"Used (\d+) registers", said)
    if run.returncode != 0 or used is None:
        faults.append(f"{gpu}: {said}")
        continue
    if int(used[1]) * THREADS > REGISTERS:
        faults.append(f"{gpu}: {used[1]} registers a thread, {THREADS} threads; a block has {REGISTERS}")
    if re.search(r"[1-9]\d* bytes spill", said):
        faults.append(f"{gpu}: registers are spilled: {said}")
    print(f"{gpu}: {used[1]} registers")
print("\n".join(faults))
sys.exit(1 if faults else 0)
