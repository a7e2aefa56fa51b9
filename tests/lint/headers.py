#!/usr/bin/env python3
"""Every header compiles alone, and twice in one file: ours as GNU C11, public ones as strict C11 and strict C++17,
those named .hpp as C++ alone. Those of NVSHMEM also with kernels for the CPU device."""
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import lint

OURS = ("-x", "c", "-std=gnu11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Wno-unused-function", "-Werror")
STRICT_C = ("-x", "c", "-std=c11", "-pedantic-errors", "-Wall", "-Wextra", "-Werror")
STRICT_CXX = ("-x", "c++", "-std=c++17", "-pedantic-errors", "-Wall", "-Wextra", "-Werror")
WITH_KERNELS = ("-DISTHMUS_DEVICE_CPU",)
AS_FOR_A_DEVICE = ("-DSYCL_LANGUAGE_VERSION=202012L", "-D__SYCL_DEVICE_ONLY__=1", "-include", "sycl/sycl.hpp")


def compile_alone(compiler, language, includes, header):
    flags = [flag for folder in includes for flag in ("-I", str(folder))]
    done = subprocess.run([compiler, *language, *flags, "-fsyntax-only", "-"], text=True, capture_output=True,
                          input=f'#include "{header}"\n#include "{header}"\n')
    errors = [line for line in done.stderr.splitlines() if "error:" in line]
    return None if done.returncode == 0 else (errors or done.stderr.splitlines() or ["?"])[0]


def main():
    args = lint.arguments(__doc__, ("--gen", {"type": Path, "help": "folder of the headers that the build makes"}),
                          ("--cc", {"default": "cc"}), ("--cxx", {"default": "c++"}),
                          ("--include", {"action": "append", "default": [], "help": "folder of a library that we use"}))
    root, report = args.root.resolve(), lint.Report("headers", args.root)
    public = [root / "include", *([args.gen / "include"] if args.gen else [])]
    ours = [root, *public, *([args.gen] if args.gen else []), *args.include]
    jobs, doubles = [], Path(__file__).parents[1] / "doubles"
    for path in lint.sources(root, "core", "plugins", "tools", suffixes=(".h",)):
        jobs.append((path, args.cc, OURS, [root / path.parent, *ours], root / path))
    for folder in public:
        for path in lint.sources(folder, ".", suffixes=(".h",)):
            ways = [(), WITH_KERNELS] if path.name.startswith("nvshmem") else [()]
            for more in ways:
                jobs.append((path, args.cc, [*STRICT_C, *more], public, folder / path))
                jobs.append((path, args.cxx, [*STRICT_CXX, *more], public, folder / path))
        for path in lint.sources(folder, ".", suffixes=(".hpp",)):
            # Those of SYCL kernels are compiled as for a device.
            is_for_kernels = path.name.startswith("ishmem") and path.name.endswith("_device.hpp")
            language = [*STRICT_CXX, *AS_FOR_A_DEVICE] if is_for_kernels else STRICT_CXX
            jobs.append((path, args.cxx, language, [*public, doubles], folder / path))
    with ThreadPoolExecutor(2) as pool:
        for job, error in zip(jobs, pool.map(lambda job: compile_alone(*job[1:]), jobs)):
            if error:
                report.fault(job[0], 1, f"does not compile alone ({' '.join(job[2][1:3])}): {error}")
    if not jobs:
        print("no header found", file=sys.stderr)
        sys.exit(1)
    report.finish()


if __name__ == "__main__":
    main()
