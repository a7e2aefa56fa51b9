#!/usr/bin/env python3
"""kernels_build.py BUILD [isthmus|nvshmem]...: compiles bench_kernels.c with nvcc against Isthmus, as BUILD has it,
into BUILD/bench/cuda, and against NVSHMEM, out of its wheel (tests/wheels.py), into BUILD/bench/nvshmem, with the
libraries that it loads. What cannot be had is skipped, with the reason; --quick: no wheel is fetched.

Both run on a machine without nvcc: on Ampere, Hopper and Blackwell, Isthmus' also on every later and earlier GPU from
sm_75 on, for which the driver compiles it.
Read on: kernels.py, which runs them; tests/gpu/pack.py, which carries them."""
import argparse
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))
sys.dont_write_bytecode = True  # the source tree stays as it is

import wheels

SKIPPED = 77
SOURCE = ROOT / "bench" / "bench_kernels.c"
PROGRAM = "bench_kernels"
WHEEL = "nvshmem"
FOLDERS = {"isthmus": "cuda", "nvshmem": "nvshmem"}  # in BUILD/bench
LOADED = ["libnvshmem_host.so.3", "nvshmem_bootstrap_uid.so.3"]
NVCC_PLACE = "/usr/local/cuda/bin"
COMPILE = ["-x", "cu", "-std=c++20", "-O2", "-Werror", "all-warnings", "-Xcompiler", "-Wall,-Wextra"]
ARCHITECTURES = ["80", "90", "100"]


def codes(architectures):
    return [flag for number in architectures for flag in ("-gencode", f"arch=compute_{number},code=sm_{number}")]


def run(*command):
    done = subprocess.run([str(part) for part in command], text=True, capture_output=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")


def build_isthmus(nvcc, build, folder, architectures):
    """Whole program. It finds the library of the build that it lies in, also after that was carried elsewhere."""
    run(nvcc, *COMPILE, "-gencode", "arch=compute_75,code=compute_75", *codes(architectures), "-I",
        build / "gen" / "include", "-I", ROOT / "include", SOURCE, "-o", folder / PROGRAM, "-L", build / "lib",
        "-listhmus", "-Xlinker", "-rpath=$ORIGIN/../../lib", "-ldl")


def build_nvshmem(nvcc, wheel, folder, architectures):
    """Relocatable code, linked with NVSHMEM's device library, which has code for these architectures and no other."""
    target = folder / f"{PROGRAM}.o"
    run(nvcc, *COMPILE, "-rdc=true", *codes(architectures), "-isystem", wheel / "include", "-c", SOURCE, "-o", target)
    run(nvcc, *codes(architectures), target, wheel / "lib" / "libnvshmem_device.a", "-o", folder / PROGRAM, "-Xlinker",
        wheel / "lib" / LOADED[0], "-Xlinker", "-rpath=$ORIGIN", "-ldl")
    target.unlink()
    for name in LOADED:
        (folder / name).unlink(missing_ok=True)
        (folder / name).hardlink_to(wheel / "lib" / name)


def make(what, args, nvcc):
    """Returns None, or the reason why it was not compiled, which is left beside the place of the program."""
    folder = (args.folder or args.build / "bench") / FOLDERS[what]
    folder.mkdir(parents=True, exist_ok=True)
    for old in (folder / PROGRAM, folder / f"{PROGRAM}.reason"):
        old.unlink(missing_ok=True)
    try:
        if nvcc is None:
            raise wheels.NotHere("nvcc is not here")
        if what == "isthmus":
            build_isthmus(nvcc, args.build, folder, args.architecture)
        elif args.quick and not wheels.is_fetched(args.build, WHEEL):
            raise wheels.NotHere("NVSHMEM's wheel is not here; ./dev places nvshmem fetches it")
        else:
            wheel = wheels.fetch(args.build, WHEEL) / "nvidia" / "nvshmem"
            build_nvshmem(nvcc, wheel, folder, args.architecture)
    except wheels.NotHere as reason:
        (folder / f"{PROGRAM}.reason").write_text(f"{reason}\n", encoding="utf-8")
        return str(reason)
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=Path)
    parser.add_argument("what", nargs="*", default=list(FOLDERS), metavar="LIBRARY", help=" or ".join(FOLDERS))
    parser.add_argument("--quick", action="store_true", help="no wheel is fetched")
    parser.add_argument("--folder", type=Path, help="in the place of BUILD/bench")
    parser.add_argument("--architecture", nargs="+", default=ARCHITECTURES)
    args = parser.parse_args()
    unknown = [what for what in args.what if what not in FOLDERS]
    if unknown:
        parser.error(f"LIBRARY is {unknown[0]}; valid: {', '.join(FOLDERS)}")
    args.build = args.build.resolve()
    nvcc = shutil.which("nvcc") or shutil.which("nvcc", path=NVCC_PLACE)
    reasons = {what: make(what, args, nvcc) for what in args.what}
    for what, reason in reasons.items():
        print(f"{what}: {f'skipped: {reason}' if reason else 'compiled and linked'}")
    return SKIPPED if any(reasons.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
