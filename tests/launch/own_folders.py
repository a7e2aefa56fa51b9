#!/usr/bin/env python3
"""own_folders.py BUILD: every mpirun that ctest starts has a session folder of its own, by one of the scripts that make
one."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS))
sys.dont_write_bytecode = True  # the source tree stays as it is

import jobs

MAKERS = {"own_folder.sh", "expect.sh", "hang.sh", "kill_random.sh", "suspended.sh", "hosts.sh"}


def shared_ones(build):
    """Names of the tests with an mpirun that has none."""
    names = []
    for entry, _ in jobs.tests_of(jobs.listed(build)):
        words = [Path(word).name for word in entry.get("command", [])]
        if "mpirun" in words and not MAKERS & set(words[: words.index("mpirun")]):
            names.append(entry["name"])
    return names


def session_folder():
    """The session folder of an mpirun below own_folder.sh, and whether it is removed at the end; None: no mpirun."""
    mpirun = shutil.which("mpirun")
    if mpirun is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        command = [TESTS / "own_folder.sh", mpirun, "--allow-run-as-root", "--oversubscribe", "-np", "1", "printenv",
                   "OMPI_MCA_orte_top_session_dir"]
        done = subprocess.run(["env", f"TMPDIR={folder}", *command], check=True, capture_output=True, text=True)
        session = Path(done.stdout.strip())
        return session.parent.parent == Path(folder) and not any(Path(folder).iterdir())


def main():
    shared = shared_ones(sys.argv[1])
    for name in shared:
        print(f"{name}: its mpirun shares the session folder of the user; start it with tests/own_folder.sh")
    is_own = session_folder()
    if is_own is False:
        print("own_folder.sh: the session folder of mpirun is elsewhere, or it is left")
    sys.exit(1 if shared or is_own is False else 0)


main()
