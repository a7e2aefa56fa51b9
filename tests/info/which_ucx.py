#!/usr/bin/env python3
"""which_ucx.py BIN: which UCX transport ib works with, as isthmus-info shows it: the one that the process has, the one
that ISTHMUS_IB_UCX names, the system's; and never one made of two installs. The second install is a copy of the
system's."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

BIN = sys.argv[1]
PARTS = ["libucm", "libucs", "libuct", "libucp"]
CLEAN = {name: value for name, value in os.environ.items()
         if not name.startswith(("ISTHMUS_", "UCX_", "NVSHMEM_")) and name != "LD_LIBRARY_PATH"}


def run(*command, **env):
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env={**CLEAN, **env}, check=True)


def ib(**env):
    """What isthmus-info reports of ib."""
    done = run(os.path.join(BIN, "isthmus-info"), "--json", **env)
    return next(t for t in json.loads(done.stdout)["transports"] if t["name"] == "ib")


def job_logs(**env):
    """The log of a job with ib."""
    return run(os.path.join(BIN, "isthmus-run"), "-n", "2", os.path.join(BIN, "isthmus-info"), "--routes",
               ISTHMUS_TRANSPORTS="ib,loopback", ISTHMUS_LOG="debug", **env).stderr


def files(folder):
    return [os.path.join(folder, f"{part}.so.0") for part in PARTS]


def file_of(**env):
    said = ib(**env)
    assert "library" in said, said
    assert said["library"]["name"] == "UCX" and said["library"]["version"].count(".") == 2, said["library"]
    return said["library"]["file"]


def reason_of(**env):
    said = ib(**env)
    assert "library" not in said, said
    return said["reason"]


def main():
    system = os.path.dirname(os.path.realpath(file_of()))
    with tempfile.TemporaryDirectory() as other:
        other = os.path.realpath(other)
        for file in files(system):
            shutil.copy(file, other)
        wish = os.path.join(other, "libucp.so.0")
        both_say = {"ISTHMUS_IB_UCX": system, "LD_PRELOAD": ":".join(files(other))}

        assert file_of(ISTHMUS_IB_UCX=other) == wish
        assert file_of(ISTHMUS_IB_UCX=wish) == wish
        assert file_of(ISTHMUS_IB_UCX=other, LD_LIBRARY_PATH=system) == wish, "the parts beside it come first"
        assert file_of(LD_PRELOAD=":".join(files(other))) == wish, "the process has one"
        assert file_of(**both_say) == wish
        log = job_logs(**both_say)
        assert f"but this process has {wish} already" in log and f", {wish}" in log, log

        text = reason_of(ISTHMUS_IB_UCX=other, LD_PRELOAD=os.path.join(system, "libucs.so.0"))
        assert wish in text and "of another UCX already" in text, text
        text = reason_of(LD_PRELOAD=wish)
        assert wish in text and "would run with" in text and "of another UCX" in text, text
        text = reason_of(ISTHMUS_IB_UCX=os.path.join(other, "nothing"))
        assert "which is neither a library nor a folder with libucp.so.0 in it" in text, text


main()
