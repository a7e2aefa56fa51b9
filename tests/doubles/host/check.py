#!/usr/bin/env python3
"""check.py FOLDER: PEs see the machines of the table through libc, each its own, and other processes see the real one.

FOLDER has the library, host.so, and the program `seen`."""

import errno
import os
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True  # the source tree stays as it is
import machines

FOLDER = Path(sys.argv[1])
SKIPPED = 77
BOOT_ID = "/proc/sys/kernel/random/boot_id"
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith("HOST_DOUBLE")}


def seen(*paths, **environment):
    """{first word: rest} of what the program prints there; None: this machine does not permit what that one needs."""
    done = subprocess.run([FOLDER / "seen", *paths], capture_output=True, text=True, check=False, timeout=60,
                          env={**CLEAN, "LD_PRELOAD": str(FOLDER / "host.so"), **environment})
    if done.returncode == SKIPPED:
        return None
    assert done.returncode == 0, done
    return dict(line.split(" ", 1) for line in done.stdout.splitlines())


def check(machine, real):
    files = machine.files()
    paths = [*files, "/sys/fs/cgroup/of/no/machine"]
    facts = seen(*paths, HOST_DOUBLE=f"usual,{machine.name}", HOST_DOUBLE_PE="1", HOST_DOUBLE_APART="1")
    if facts is None:
        return False
    expected = {"name": machine.name, "memory": str(machine.memory_bytes), "online": str(len(machine.online)),
                "allowed": str(len(machine.allowed)), paths[-1]: "none", "clock_ahead_s": "0"}
    expected.update((path, str(text).replace("\n", ";")) for path, text in files.items())
    for knob in machine.knobs():
        key, *values = knob.split()
        if key in (*machines.LIMITS, "clock_ahead_s"):
            expected[key] = " ".join(values)
        elif key == "pid_namespace":
            expected["pid"] = "1"
        elif key == "fails":
            call, error, size, text = values
            key = next((k for k in (f"{call}({text})", f"{call}>1G" if size != "0" else "", call) if k in real), None)
            if key and text in ("-", "inet6"):
                expected[key] = error
    up = [name.split(":")[0] for name in machine.list("interfaces") if name[0] != "-"]
    expected["interfaces"] = "none" if "getifaddrs" in "".join(machine.list("fails")) else " ".join(
        up + real["interfaces"].split())
    expected["huge_2m"] = "0" if "huge_2m" in machine.settings else expected.get("memfd_create", str(errno.ENODEV))
    wrong = {key: (facts.get(key), value) for key, value in expected.items() if facts.get(key) != value}
    assert not wrong, f"{machine.name}: seen and expected: {wrong}"
    return True


def main():
    real = seen(BOOT_ID)
    facts = seen(BOOT_ID, HOST_DOUBLE="half")
    assert {**facts, "pid": real["pid"]} == real, "a process without a number sees another machine"
    assert seen(BOOT_ID, HOST_DOUBLE="half", HOST_DOUBLE_PE="0")[BOOT_ID] == real[BOOT_ID], "it is another host"
    checked = [check(machine, real) for machine in machines.machines()]
    print(f"{sum(checked)} machines; {checked.count(False)} need rights that this process lacks")


if __name__ == "__main__":
    main()
