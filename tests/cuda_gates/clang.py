#!/usr/bin/env python3
"""nvshmem.h's device side compiles with clang as a compiler of CUDA, with the headers and the assembler of a toolkit:
compiles: whole program and with -fgpu-rdc; starts: a program and a shared object link, and start where there is no GPU.
No kernel is run. Skipped where there is no toolkit, or no clang from 16 on."""
import argparse
import re
import shutil
import sys
import tempfile
from pathlib import Path

from gates import SKIPPED, check_names, check_registers, check_start, names_of_calls, run

OLDEST, NEWEST = 16, 30  # the headers of Debian's own, 14, name a template that CUDA has had until 11
GONE = "texture_fetch_functions.h"  # clang 19 includes it for older toolkits; that of CUDA 13 has none


def clang_here():
    names = [f"clang-{version}" for version in range(NEWEST, OLDEST - 1, -1)]
    path = next((shutil.which(name) for name in names if shutil.which(name)), shutil.which("clang"))
    if path and int(re.search(r"version (\d+)", run([path, "--version"], "clang"))[1]) >= OLDEST:
        return path
    return None


class Compiler:
    """clang, as it compiles one file for the device or the host."""

    def __init__(self, clang, toolkit, includes, work):
        self.toolkit = toolkit
        if not (toolkit / "include" / GONE).exists():
            (work / "gone").mkdir()
            (work / "gone" / GONE).touch()
            includes = [*includes, "-I", work / "gone"]
        self.command = [clang, "-x", "cuda", f"--cuda-path={toolkit}", "-Wno-unknown-cuda-version", "-std=c++17", "-O2",
                        "-Wall", "-Wextra", "-Werror", "-Wno-unused-function", *includes]

    def device(self, source, out, architecture, *options):
        return run([*self.command, f"--cuda-gpu-arch=sm_{architecture}", "--cuda-device-only", *options, "-c", source,
                    "-o", out], "clang, for the device")

    def host(self, source, out, *options):
        run([*self.command, "--cuda-host-only", *options, "-c", source, "-o", out], "clang, for the host")

    def both(self, source, out, work, *options):
        """As clang does it by itself; but the toolkit's fatbinary need not know the options of this clang."""
        cubin, fatbin = work / "device.cubin", work / "device.fatbin"
        self.device(source, cubin, "90", *options)
        run([self.toolkit / "bin" / "fatbinary", "-64", f"--create={fatbin}", f"--image3=kind=elf,sm=90,file={cubin}"],
            "fatbinary")
        self.host(source, out, "-Xclang", "-fcuda-include-gpubinary", "-Xclang", fatbin, *options)


def check_whole(compiler, args, work):
    cubin = work / "kernels.cubin"
    check_registers(compiler.device(args.source, cubin, "75", "-Xcuda-ptxas", "-v"), "75")
    check_names(cubin, names_of_calls(args.include))


def check_relocatable(compiler, args, work):
    """Two files of one program, whose kernels may not have the same names."""
    objects = []
    for name in ("a", "b"):
        copy = work / f"{name}.cu"
        copy.write_text(re.sub(r"__global__ void (\w+)", rf"__global__ void {name}_\1", args.source.read_text()))
        objects.append(work / f"{name}.o")
        compiler.device(copy, objects[-1], "90", "-fgpu-rdc")
        compiler.host(copy, work / "host.o", "-fgpu-rdc")
    run([compiler.toolkit / "bin" / "nvlink", "-arch=sm_90", *objects, "-o", work / "linked.cubin"], "nvlink")
    print("-fgpu-rdc: two files compile, and their kernels link")


def start(compiler, args, work):
    """A program and a shared object that it loads when the library runs."""
    source, libraries = args.source.with_name("starts.cu"), args.library.parent
    runtime = ["-L", compiler.toolkit / "lib64", "-lcudart_static", "-ldl", "-lrt", "-lpthread"]
    program, part = work / "starts", work / "part.so"
    for out, options, kind in ((program, [], []), (part, ["-DPART", "-fPIC"], ["-shared"])):
        compiler.both(source, work / "host.o", work, *options)
        run(["g++", *kind, work / "host.o", "-o", out, "-L", libraries, "-listhmus", f"-Wl,-rpath={libraries}",
             *runtime], "g++")
    check_start(args, program, part)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=Path, required=True, help="kernels.cu")
    parser.add_argument("--include", action="append", type=Path, default=[])
    parser.add_argument("--library", type=Path, help="libisthmus.so")
    parser.add_argument("--run", type=Path, help="isthmus-run")
    parser.add_argument("what", choices=("compiles", "starts"))
    args = parser.parse_args()
    nvcc, clang = shutil.which("nvcc"), clang_here()
    if nvcc is None or clang is None:
        print("skipped: " + ("no toolkit of CUDA (nvcc) is here" if nvcc is None else
                             f"no clang from {OLDEST} on is here (Debian: apt-get install clang-19)"))
        sys.exit(SKIPPED)
    if args.what == "starts" and Path("/dev/nvidiactl").exists():
        print("skipped: there is a GPU, where kernels run (./dev gpu-test)")
        sys.exit(SKIPPED)
    includes = [flag for folder in args.include for flag in ("-I", folder)]
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        compiler = Compiler(clang, Path(nvcc).parent.parent, includes, work)
        if args.what == "starts":
            start(compiler, args, work)
        else:
            check_whole(compiler, args, work)
            check_relocatable(compiler, args, work)


if __name__ == "__main__":
    main()
