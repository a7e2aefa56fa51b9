#!/usr/bin/env python3
"""beside_mpi4py.py BUILD openmpi | mpich: mpi4py, unchanged from its wheel, and our library in one process, under the
launcher of that MPI: beside_mpi4py_job.py with 2 PEs. MPICH comes out of a wheel too. Exit status 77, and a line with
the reason, where one of them is not to be had."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
sys.dont_write_bytecode = True  # the source tree stays as it is

import wheels

N_PES = 2
TIMEOUT_S = 100
WAYS = ("mpi_first", "shmem_first", "communicator")


def openmpi(_):
    """(command of the launcher, folder of its library or None): of the system."""
    mpirun = shutil.which("mpirun")
    if mpirun is None or "Open MPI" not in subprocess.run([mpirun, "--version"], capture_output=True, text=True,
                                                          check=False).stdout:
        raise wheels.NotHere("mpirun of Open MPI is not installed")
    return [mpirun, "--oversubscribe", "--bind-to", "none"], None


def mpich(build):
    mpiexec = next(wheels.fetch(build, "mpich").rglob("mpiexec.hydra"))
    for tool in mpiexec.parent.iterdir():
        tool.chmod(0o755)  # unpacking a wheel does not set the mode
    return [str(mpiexec)], mpiexec.parent.parent / "lib"


def run(launcher, way, build, environment):
    """What was printed, if it is not that each PE is done."""
    command = [*launcher, "-n", str(N_PES), sys.executable, str(HERE / "beside_mpi4py_job.py"),
               str(build / "lib/libisthmus.so.0"), way]
    try:
        done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", timeout=TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired as slow:
        return f"{(slow.stdout or b'').decode(errors='replace')}\nended after {TIMEOUT_S} s"
    if done.returncode == 0 and "".join(done.stdout.split()) == "done" * N_PES:  # lines may mix
        return ""
    return f"status {done.returncode}\n{done.stdout}"


def main():
    build, which = Path(sys.argv[1]).resolve(), sys.argv[2]
    try:
        launcher, library = {"openmpi": openmpi, "mpich": mpich}[which](build)
        site = wheels.fetch(build, "mpi4py")
    except wheels.NotHere as reason:
        print(f"skipped: {reason}")
        return wheels.SKIPPED
    environment = os.environ | {
        "PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1", "MPI4PY_MPIABI": which,
        "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    } | ({"LD_LIBRARY_PATH": str(library)} if library else {})
    failed = 0
    for way in WAYS:
        printed = run(launcher, way, build, environment)
        if printed:
            failed += 1
            print(f"mpi4py with {which}: {way} FAILED\n{printed[-3000:]}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
