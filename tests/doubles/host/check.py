#!/usr/bin/env python3
"""check.py FOLDER: PEs see the machines of the table through libc, each its own, and other processes see the real one.

FOLDER has the library, host.so, and the program `seen`."""

import os
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True  # the source tree stays as it is
import machines

FOLDER = Path(sys.argv[1])
BOOT_ID = "/proc/sys/kernel/random/boot_id"
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith("HOST_DOUBLE")}


def seen(*paths, **environment):
    """{first word: rest} of what the program prints there."""
    done = subprocess.run([FOLDER / "seen", *paths], capture_output=True, text=True, check=True, timeout=60,
                          env={**CLEAN, "LD_PRELOAD": str(FOLDER / "host.so"), **environment})
    return dict(line.split(" ", 1) for line in done.stdout.splitlines())


def check(machine):
    files = machine.files()
    paths = [*files, "/sys/fs/cgroup/of/no/machine"]
    facts = seen(*paths, HOST_DOUBLE=f"usual,{machine.name}", HOST_DOUBLE_PE="1", HOST_DOUBLE_APART="1")
    expected = {"name": machine.name, "memory": str(machine.memory_bytes), "online": str(len(machine.online)),
                "allowed": str(len(machine.allowed)), paths[-1]: "none"}
    expected.update((path, str(text).replace("\n", ";")) for path, text in files.items())
    assert facts == expected, (machine.name, {k: (facts.get(k), v) for k, v in expected.items() if facts.get(k) != v})


def main():
    real = seen(BOOT_ID)
    assert seen(BOOT_ID, HOST_DOUBLE="half") == real, "a process without a number sees another machine"
    assert seen(BOOT_ID, HOST_DOUBLE="half", HOST_DOUBLE_PE="0")[BOOT_ID] == real[BOOT_ID], "it is another host"
    for machine in machines.machines():
        check(machine)
    print(f"{len(machines.machines())} machines")


if __name__ == "__main__":
    main()
