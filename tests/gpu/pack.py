#!/usr/bin/env python3
"""pack.py BUILD FILE.tar.gz: the tests and benchmarks of GPUs, and all that they need of this machine, in one file.

On a machine with a GPU, of the same processor family and with a C library at least as new:
    tar xf FILE.tar.gz && isthmus-gpu-test/gpu-test [ARGUMENTS of gpu_test.py]
    isthmus-gpu-test/gpu-bench [ARGUMENTS of bench/run.py]
Nothing is installed or built there; Python 3 and the GPU's driver are all that it must have. Carried are the programs,
the library, the transports, and the libraries and modules that these load here, without the C library's own and the
drivers'.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from gpu_test import JOBS, shared

ROOT = Path(__file__).resolve().parents[2]
NAME = "isthmus-gpu-test"
PARTS = ["bin/isthmus-run", "bin/isthmus-info", "bin/isthmus-check-transport", "lib/libisthmus.so.0", "lib/isthmus",
         "tests/device", "tests/doubles/p2p_test", "tests/pe/r102_visibility_query", "bench/bench_gpu",
         "bench/plugins"]
WHERE_NVCC_IS = ["tests/gpu", "bench/cuda", "bench/nvshmem"]  # the last one with NVSHMEM's library
SOURCES = ["tests/gpu/gpu_test.py", "tests/jobs.py", "tests/pe/expect.sh", "tests/pe/job.sh",
           *(f"bench/{name}.py" for name in ("run", "gpu", "kernels", "hosts", "roce", "table", "plot", "reference",
                                             "startup"))]
LOADED = ["libucp.so.0", "libibverbs.so.1"]  # by dlopen
C_LIBRARY = re.compile(r"^(ld-linux|lib(c|m|dl|rt|pthread|resolv|util|anl|nss_.*)\.so)")
START = """#!/bin/sh
# What comes from the machine that this was made on is found in lib/.
here=$(cd "$(dirname "$0")" && pwd)
LD_LIBRARY_PATH=$here/lib:$here/build/lib${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}
PMIX_MCA_mca_base_component_show_load_errors=0 # of another PMIx of that machine
export LD_LIBRARY_PATH PMIX_MCA_mca_base_component_show_load_errors
exec python3 "$here/{script}" --build "$here/build" "$@"
"""


def found_by_the_linker(name):
    """The path of a library, or None."""
    path = subprocess.run(["gcc", f"-print-file-name={name}"], check=True, capture_output=True,
                          text=True).stdout.strip()
    return path if "/" in path else None


def needs_of(file, root):
    """{name: path} of the libraries that a program or a library needs, but for the C library's and what is in root."""
    text = subprocess.run(["ldd", str(file)], check=False, capture_output=True, text=True).stdout
    found = dict(re.findall(r"^\s*(\S+) => (/\S+)", text, re.MULTILINE))
    return {name: path for name, path in found.items()
            if not C_LIBRARY.match(name) and not os.path.realpath(path).startswith((str(ROOT), os.path.realpath(root)))}


def copy(source, dest):
    dest.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, dest, symlinks=False, ignore=shutil.ignore_patterns("CMakeFiles", "*.cmake"))
    else:
        shutil.copy2(source, dest)


def modules():
    """(file, its place under lib/) of what a library finds beside itself: the modules of UCX. PMIx can do without its
    own."""
    ucp = found_by_the_linker("libucp.so.0")
    return [(file, f"ucx/{file.name}") for file in (Path(ucp).resolve().parent / "ucx").glob("*.so*")] if ucp else []


def fill(root, build):
    libraries = {}
    for part in PARTS + [part for part in WHERE_NVCC_IS if (build / part).exists()]:
        copy(build / part, root / "build" / part)
    for source in SOURCES:
        copy(ROOT / source, root / source)
    libraries.update({name: path for name in LOADED if (path := found_by_the_linker(name))})
    carried = modules()
    for file in [*(p for p in (root / "build").rglob("*") if p.is_file()), *libraries.values(),
                 *(m for m, _ in carried)]:
        libraries.update(needs_of(file, root))
    for name, path in libraries.items():
        copy(Path(path), root / "lib" / name)
    for file, place in carried:
        copy(file, root / "lib" / place)
    only = [test for test, _ in shared.tests_of(shared.listed(build)) if JOBS.match(test["name"])]
    text = json.dumps({"source": str(ROOT), "build": str(build), "tests": only})
    (root / "build" / "listing.json").write_text(text, encoding="utf-8")
    for name, script in (("gpu-test", "tests/gpu/gpu_test.py"), ("gpu-bench", "bench/run.py")):
        (root / name).write_text(START.format(script=script), encoding="utf-8")
        (root / name).chmod(0o755)
        subprocess.run([str(root / name), "--help"], check=True, stdout=subprocess.DEVNULL)  # it has what it imports
    for cache in root.rglob("__pycache__"):
        shutil.rmtree(cache)


def main():
    if len(sys.argv) != 3:
        sys.exit(f"usage: {__doc__.splitlines()[0]}")
    build, file = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    with tempfile.TemporaryDirectory(prefix="gpu-pack-") as folder:
        root = Path(folder) / NAME
        fill(root, build)
        with tarfile.open(file, "w:gz", compresslevel=6) as archive:
            archive.add(root, NAME)
    print(f"{file}: {file.stat().st_size >> 20} MiB; unpacked, it is run by {NAME}/gpu-test and {NAME}/gpu-bench")


if __name__ == "__main__":
    main()
