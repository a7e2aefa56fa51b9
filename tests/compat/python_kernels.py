#!/usr/bin/env python3
"""python_kernels.py: what Python's compilers of kernels take of the library, with their own wheels, unchanged:

- each routine that nvshmem4py declares for CuTe is in libnvshmem_device.bc;
- the CUDA source that nvshmem4py makes for each of its calls from numba is compiled by NVRTC with our nvshmem.h;
- Triton compiles kernels that call the bitcode (docs/examples/ring_triton.py), and nvshmemx_cumodule_init fills their
  state, on the double of CUDA's driver.

No kernel runs. Exit status 77, and a line with the reason, where a wheel is not to be had. --quick: nothing is
fetched."""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "cuda_gates")]
sys.dont_write_bytecode = True  # the source tree stays as it is

import gates
import on_double
import wheels

SKIPPED = 77
DIALECTS = ("numba", "numba_cuda_mlir")
EXAMPLE = ROOT / "docs" / "examples" / "ring_triton.py"
# Not names of the interface: functions inside of NVSHMEM's headers, and an addition of halves that is CUDA's.
INSIDE = re.compile(r"nvshmemi_\w+|atomicAdd_system")
SHIM = re.compile(r'"""\s*(extern "C" __device__ int\s.*?)"""', re.S)


class Missing(Exception):
    """The text gives the reason of a skip."""


def bitcode_of(args, build):
    """The path of libnvshmem_device.bc. A build that makes it and has none is at fault."""
    bitcode = build / "lib" / "libnvshmem_device.bc"
    if not bitcode.exists():
        if args.has_bitcode:
            sys.exit(f"{bitcode} is not there, and this build makes it")
        raise Missing(f"{bitcode} is not here")
    return bitcode


def fetched(build, name, is_quick):
    if is_quick and not wheels.is_fetched(build, name):
        raise Missing(f"the wheels of {name} are not here; ./dev places nvshmem fetches them")
    try:
        return wheels.fetch(build, name)
    except wheels.NotHere as reason:
        raise Missing(str(reason)) from reason


def check_cute(args, build):
    """Each function that the bindings for CuTe declare is in the bitcode."""
    site = fetched(build, "nvshmem4py", args.quick)
    reader = shutil.which("llvm-nm") or shutil.which("llvm-nm-14")
    bitcode = bitcode_of(args, build)
    if reader is None:
        raise Missing("llvm-nm is not here")
    symbols = subprocess.run([reader, "--defined-only", bitcode], capture_output=True, text=True, check=True).stdout
    defined = {line.split()[-1] for line in symbols.splitlines()}
    declared = set()
    for source in (site / "nvshmem").rglob("cute/*.py"):
        declared |= set(re.findall(r'extern\(name="(\w+)"', source.read_text()))
    names = {name for name in declared if not INSIDE.fullmatch(name)}
    if len(names) < 2000:
        sys.exit(f"nvshmem4py declares {len(names)} functions for CuTe: they are declared in another way")
    if names - defined:
        sys.exit(f"not in {bitcode}: {', '.join(sorted(names - defined)[:20])}")
    return f"{len(names)} functions that nvshmem4py declares for CuTe are in the bitcode"


def check_numba(args, build):
    """NVRTC compiles each function that the bindings for numba hand to it."""
    site = fetched(build, "nvshmem4py", args.quick)
    headers = fetched(build, "nvrtc", args.quick)
    library = str(next(headers.rglob("libnvrtc.so*")))
    includes = [build / "gen" / "include", ROOT / "include", next(headers.rglob("cuda_fp16.h")).parent]
    counts = []
    with tempfile.TemporaryDirectory() as work:
        for dialect in DIALECTS:
            folder = site / "nvshmem" / "bindings" / "device" / dialect
            shims = dict.fromkeys(SHIM.findall((folder / "_numbast.py").read_text()))
            shims = [shim for shim in shims if "atomicAdd_system" not in shim]
            if len(shims) < 2000:
                sys.exit(f"nvshmem4py has {len(shims)} functions for {dialect}: they are made in another way")
            source = Path(work, f"{dialect}.cu")
            source.write_text("\n".join(["#include <entry_point.h>", *shims]))
            gates.nvrtc_compile(library, source, [folder, *includes], "sm_90")
            counts.append(f"{len(shims)} ({dialect})")
    return f"functions that nvshmem4py has for numba compile: {', '.join(counts)}"


def check_triton(args, build):
    """The example's kernels, for GPUs of three generations; the library fills the state of each."""
    site = fetched(build, "triton", args.quick)
    bitcode = bitcode_of(args, build)
    loader = SimpleNamespace(run=str(build / "bin" / "isthmus-run"), loader=str(build / "tests" / "device" / "loaded"),
                             double=str(build / "tests" / "doubles" / "cuda" / "libcuda.so.1"))
    with tempfile.TemporaryDirectory() as work:
        environment = os.environ | {"PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1",
                                    "TRITON_CACHE_DIR": str(Path(work, "cache"))}
        made = subprocess.run([sys.executable, EXAMPLE, bitcode, work], capture_output=True, text=True, env=environment,
                              stdin=subprocess.DEVNULL, check=False)
        if made.returncode != 0:
            sys.exit(f"{EXAMPLE.name}: {made.stdout}{made.stderr}")
        images = sorted([*Path(work).glob("*.ptx"), *Path(work).glob("*.cubin")])
        if len(images) < 4:
            sys.exit(f"{EXAMPLE.name} has made {len(images)} files")
        for ptx in Path(work).glob("*.ptx"):
            left = set(re.findall(r"^\.extern \.func .*?(\w+)\s*$", ptx.read_text(), re.M)) - {"vprintf"}
            if left:
                sys.exit(f"{ptx.name}: left undefined: {', '.join(left)}")
        on_double.load(loader, images)
    return f"Triton's code has its state: {len(images)} images"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--quick", action="store_true", help="nothing is fetched")
    parser.add_argument("--has-bitcode", action="store_true", help="the build makes libnvshmem_device.bc")
    args = parser.parse_args()
    build = args.build.resolve()
    passed = skipped = 0
    for check in (check_cute, check_numba, check_triton):
        try:
            print(f"python_kernels: {check(args, build)}", flush=True)
            passed += 1
        except Missing as reason:
            print(f"python_kernels: {check.__name__} skipped: {reason}", flush=True)
            skipped += 1
    print(f"python_kernels: {passed} passed, 0 failed, {skipped} skipped")
    return 0 if passed else SKIPPED


if __name__ == "__main__":
    sys.exit(main())
