#!/usr/bin/env python3
"""nvshmem4py.py: NVIDIA's Python for NVSHMEM, unchanged from its wheel, on our libnvshmem_host.so.3: nvshmem4py_job.py
with 2 PEs, started by unique id, by MPI's communicator and by its broadcast, with the heap of the host and in memory of
the double of CUDA's driver; and nvshmem4py_tensors.py, with tensors of PyTorch there. Exit status 77, and a line with
the reason, where the wheels are not to be had. --quick: fewer jobs, and nothing is fetched."""

import argparse
import ast
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent))
sys.dont_write_bytecode = True  # the source tree stays as it is

import processes
import torch_neighbours
import wheels

SKIPPED = 77
WHEEL = "nvshmem4py"
TORCH = "torch"
TIMEOUT_S = 100  # for all processes of a job together
N_PES = 2
JOBS = [("uid", "host"), ("uid", "cuda"), ("mpi", "host"), ("mpi", "cuda"), ("emulated_mpi", "cuda"),
        ("tensors", "cuda")]
QUICK_JOBS = [("uid", "host"), ("uid", "cuda"), ("tensors", "cuda")]


def names_without_row(variables):
    """Names of nvshmem.core.__all__ that no row of the jobs has, and names of rows that are not in it."""
    listed = subprocess.run([sys.executable, "-c", "import nvshmem.core as core; print(*core.__all__)"], env=variables,
                            capture_output=True, text=True, check=True, timeout=TIMEOUT_S)
    in_rows = set()
    for source in HERE.glob("nvshmem4py_*.py"):
        for node in ast.walk(ast.parse(source.read_text())):
            if isinstance(node, ast.FunctionDef):
                for call in filter(lambda each: isinstance(each, ast.Call), node.decorator_list):
                    in_rows |= {name.value for name in call.args}
    return sorted(set(listed.stdout.split()) ^ in_rows)


def as_an_install(build, folder):
    """What nvshmem.core finds of an install: headers, and libraries for GPUs beside their folder."""
    for path in (*build.glob("gen/include/nvshmem.h"), *build.glob("lib/libnvshmem_device.*")):
        link = folder / path.parent.name / path.name
        link.parent.mkdir(exist_ok=True)
        link.symlink_to(path)


def environment(build, site, kind):
    double = build / "tests" / "doubles" / "cuda_python"
    return os.environ | {
        "PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1", "CUDA_PYTHON_DISABLE_MAJOR_VERSION_WARNING": "1",
        "LD_LIBRARY_PATH": f"{build / 'lib' / 'isthmus' / 'compat'}:{double}", "GPU_DOUBLE_HOST_ACCESS": "1",
        "ISTHMUS_NVLINK_LIBRARY": str(double / "libcuda.so.1"), "ISTHMUS_HEAP_KIND": kind,
        "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    }


def commands(way, folder):
    """What is started at once: for each PE a process, or the launcher."""
    program = [sys.executable, str(HERE / "nvshmem4py_job.py"), way]
    if way == "tensors":
        program = [sys.executable, str(HERE / "nvshmem4py_tensors.py")]
    if way in ("uid", "tensors"):
        return [[*program, str(rank), str(N_PES), str(folder / "uid")] for rank in range(N_PES)]
    return [["mpirun", "--oversubscribe", "--bind-to", "none", "-np", str(N_PES), *program]]


def with_torch(build, variables, cc, folder):
    """The environment with PyTorch beside nvshmem.core, on the double of CUDA's runtime."""
    site = wheels.fetch(build, TORCH)
    torch_neighbours.make(cc, site / TORCH / "lib", folder)
    return variables | {
        "PYTHONPATH": f"{variables['PYTHONPATH']}:{site}",
        "LD_LIBRARY_PATH": f"{build / 'tests' / 'doubles' / 'cudart'}:{folder}:{variables['LD_LIBRARY_PATH']}",
    }


def run(build, variables, way, cc):
    """Nothing if each PE printed what it prints at its end and all statuses are 0, else statuses and output."""
    with tempfile.TemporaryDirectory() as folder:
        as_an_install(build, Path(folder))
        variables = variables | {"CONDA_PREFIX": folder}
        if way == "tensors":
            variables = with_torch(build, variables, cc, Path(folder))
        started = [processes.start(command, variables) for command in commands(way, Path(folder))]
        printed = processes.finish(started, TIMEOUT_S)
    statuses = [process.returncode for process in started]
    n_done = sum(f"PE {pe} of {N_PES}: done" in printed for pe in range(N_PES))
    return "" if n_done == N_PES and not any(statuses) else f"status {statuses}\n{printed}"


def lacks(build, way, cc, is_quick):
    """What a job needs and is not here, or nothing."""
    if way in ("mpi", "emulated_mpi") and not shutil.which("mpirun"):
        return "there is no mpirun here"
    if way == "tensors" and is_quick and not wheels.is_fetched(build, TORCH):
        return "PyTorch's wheel is not here; ./dev places nvshmem fetches it"
    if way == "tensors":
        return torch_neighbours.lacks(cc)
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--quick", action="store_true", help="fewer jobs; fetched in continuous integration only")
    args = parser.parse_args()
    build = args.build.resolve()
    try:
        if args.quick and wheels.is_left_to_place(build, WHEEL):
            raise wheels.NotHere("its wheels are not here; ./dev places nvshmem fetches them")
        site = wheels.fetch(build, WHEEL)
    except wheels.NotHere as reason:
        print(f"nvshmem4py: skipped: {reason}")
        return SKIPPED
    passed = failed = skipped = 0
    unmatched = names_without_row(environment(build, site, "host"))
    if unmatched:
        failed = 1
        print(f"nvshmem4py: FAILED: names of nvshmem.core.__all__ and of rows differ: {', '.join(unmatched)}")
    for way, kind in QUICK_JOBS if args.quick else JOBS:
        why = lacks(build, way, args.cc, args.quick)
        try:
            printed = "" if why else run(build, environment(build, site, kind), way, args.cc)
        except wheels.NotHere as reason:
            why = str(reason)
        if why:
            skipped += 1
            print(f"nvshmem4py: {way}, {kind} skipped: {why}", flush=True)
            continue
        passed, failed = passed + (not printed), failed + bool(printed)
        if printed:
            print(f"nvshmem4py: {way}, {kind} FAILED\n{printed[-3000:]}", flush=True)
    print(f"nvshmem4py: {passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
