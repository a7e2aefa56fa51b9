"""Starts isthmus-perf in jobs, for the tests of this folder. Their first argument is the folder of the tools."""
import json
import os
import subprocess
import sys
import tempfile

BIN = sys.argv[1]
PERF, RUN = os.path.join(BIN, "isthmus-perf"), os.path.join(BIN, "isthmus-run")
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith(("ISTHMUS_", "UCX_", "PMI"))}
QUICK = ("--repeat", "2", "--seconds", "0.001")
FOLDER = tempfile.TemporaryDirectory()


def start(command, **env):
    return subprocess.run(command, capture_output=True, text=True, timeout=120, env={**CLEAN, **env})


def perf(*options, n=2, status=0, **env):
    done = start([RUN, "-n", str(n), PERF, *QUICK, *options], **env)
    assert done.returncode == status, (options, done.returncode, done.stdout, done.stderr)
    return done


def path(name, content=None):
    full = os.path.join(FOLDER.name, name)
    if content is not None:
        with open(full, "w") as file:
            file.write(content if isinstance(content, str) else json.dumps(content))
    return full
