#!/usr/bin/env python3
"""R153: the generator of the public headers stops at a table that does not fit: rows that are none, sets and forms that
do not exist, routines that no header declares, headers that need more. A header whose template is gone goes too.

r153_generator.py SOURCE_TREE"""
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROW = "family extra | void | {f}_extra_{T} | T *dest | rma | shmem | ist_entry_extra | - | -\n"
faults = []


def run(root, work):
    command = [sys.executable, str(root / "tools/gen_api.py"), "--table", str(work / "api.table"),
               "--templates", str(work / "include"), "--out", str(work / "gen")]
    done = subprocess.run(command, text=True, capture_output=True)
    return done.returncode, done.stdout + done.stderr


def expect_refused(root, work, what, row, says):
    table = (root / "core/api/api.table").read_text()
    (work / "api.table").write_text(table + row)
    code, output = run(root, work)
    if code == 0 or says not in output:
        faults.append(f"{what}: ended with {code} and said '{output.strip()[-300:]}', expected '{says}'")
    (work / "api.table").write_text(table)


def main():
    root = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        shutil.copytree(root / "include", work / "include")
        for table in ("api.table", "device.table"):
            shutil.copy(root / "core/api" / table, work / table)
        code, output = run(root, work)
        if code != 0:
            faults.append(f"the tree's own table: {output}")
        expect_refused(root, work, "a row of another kind", "routine x\n", "not a row of the table")
        expect_refused(root, work, "an unknown set", ROW.replace("| rma |", "| rna |"), "names the set 'rna'")
        expect_refused(root, work, "an unknown form", ROW.replace("| shmem |", "| smem |"), "names the form 'smem'")
        expect_refused(root, work, "a routine without a header", ROW, "no header declares it")

        template = work / "include/shmemx.h.in"
        text = template.read_text()
        template.write_text(text.replace("@PROTOTYPES ", "@PROTOTYPES nothing ", 1))
        code, output = run(root, work)
        if code == 0 or "family 'nothing'" not in output:
            faults.append(f"a header that asks for an unknown family: ended with {code}: {output.strip()[-300:]}")
        template.write_text(text)
        stale = work / "gen/include/isthmus/stale.h"
        stale.write_text("")
        run(root, work)
        if stale.exists():
            faults.append("a header without a template is still there")
    print("\n".join(faults), end="\n" if faults else "")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
