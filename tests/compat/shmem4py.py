#!/usr/bin/env python3
"""shmem4py.py: shmem4py, the Python binding of OpenSHMEM, from its sources as they are: built with our oshcc and no
further flags, its own tests pass under our oshrun on 1 to 4 PEs. Exit status 77, and a line with the reason, where the
sources or Python's headers are not to be had. --quick: only 2 PEs, built without optimisation; fetched in continuous
integration only."""

import argparse
import os
import re
import shutil
import sys
import sysconfig
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent))
sys.dont_write_bytecode = True  # the source tree stays as it is

import processes
import wheels

SKIPPED = 77
NAME = "shmem4py"
N_TESTS = 110  # of the version that wheels.py fetches
BUILD_TIMEOUT_S = 400
TIMEOUT_S = 100


def environment(site, **more):
    return os.environ | {"PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1"} | more


def compile_binding(build, site, room, quick):
    """(folder of its tests, folder of the built package), both in `room`; the fetched sources stay as they are."""
    sources = room / "sources"
    shutil.copytree(next(site.glob(f"{NAME}-*/setup.py")).parent, sources)
    settings = {"OSHCC": str(build / "bin" / "oshcc")} | ({"CFLAGS": "-O0 -g0"} if quick else {})
    command = [sys.executable, "-W", "ignore", "setup.py", "--quiet", "build", "--build-lib", str(room / "built")]
    started = processes.start(command, environment(site, **settings), cwd=sources)
    printed = processes.finish([started], BUILD_TIMEOUT_S)
    if started.returncode != 0:
        raise RuntimeError(f"it cannot be built: status {started.returncode}\n{printed}")
    return sources / "test", room / "built"


def run(build, site, built, tests, n_pes):
    """Nothing if all of its tests passed on each PE and none was skipped, else the status and the output."""
    command = [str(build / "bin" / "oshrun"), "-n", str(n_pes), "--timeout", str(TIMEOUT_S), "--tag-output",
               sys.executable, "-m", "unittest", "discover", "--quiet", "-s", str(tests)]
    job = processes.start(command, environment(f"{built}:{site}"), cwd=tests)
    printed = processes.finish([job], TIMEOUT_S + 20)
    n_passed = len(re.findall(r"^\[PE \d+\] OK$", printed, re.M))
    n_complete = len(re.findall(rf"^\[PE \d+\] Ran {N_TESTS} tests in ", printed, re.M))
    return "" if job.returncode == 0 and n_passed == n_complete == n_pes else f"status {job.returncode}\n{printed}"


def fetched(build, quick):
    """The folder with its sources and what these need."""
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        raise wheels.NotHere("Python's headers are not here; Debian's package is python3-dev")
    if quick and wheels.is_left_to_place(build, NAME):
        raise wheels.NotHere("its sources are not here; ./dev places python fetches them")
    return wheels.fetch(build, NAME)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--quick", action="store_true", help="only 2 PEs; fetched in continuous integration only")
    args = parser.parse_args()
    build = args.build.resolve()
    try:
        site = fetched(build, args.quick)
    except wheels.NotHere as reason:
        print(f"{NAME}: skipped: {reason}")
        return SKIPPED
    passed = failed = 0
    with tempfile.TemporaryDirectory() as room:
        try:
            tests, built = compile_binding(build, site, Path(room), args.quick)
        except RuntimeError as why:
            print(f"{NAME} FAILED: {str(why)[-3000:]}\n{NAME}: 0 passed, 1 failed, 0 skipped")
            return 1
        for n_pes in (2,) if args.quick else (1, 2, 3, 4):
            printed = run(build, site, built, tests, n_pes)
            passed, failed = passed + (not printed), failed + bool(printed)
            if printed:
                print(f"{NAME}: {n_pes} PEs FAILED\n{printed[-3000:]}", flush=True)
    print(f"{NAME}: {passed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
