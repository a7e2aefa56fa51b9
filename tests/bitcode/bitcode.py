#!/usr/bin/env python3
"""libnvshmem_device.bc has every routine that kernels call, and kernels link with it: llvm-link, opt, llc, and ptxas where it
is here. What is linked is as short as what nvcc makes, has the state by its name, and nothing of the library left undefined.
Nothing is run: no GPU is needed. Exit status 77 where LLVM's programs are missing."""
import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "rows"))
from check_device_rows import DeviceRows
from row_list import RowList

SKIPPED = 77
KERNELS = ("kernel_p", "kernel_put_signal", "kernel_more")
TOOLS = ("llvm-link", "opt", "llc", "llvm-nm")


def run(*command):
    done = subprocess.run([str(part) for part in command], text=True, capture_output=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def check_names(tools, bitcode, rows):
    """Every routine is defined; apart from them nothing but the state, and only printf is undefined."""
    symbols = [line.split()[-2:] for line in run(tools["llvm-nm"], bitcode).splitlines()]
    defined = {name for kind, name in symbols if kind in "TWVD"}
    wanted = {name for _, name, _ in rows.functions("device")}
    if wanted - defined:
        sys.exit(f"not in {bitcode}: {', '.join(sorted(wanted - defined)[:20])}")
    if {name for kind, name in symbols if kind == "U"} - {"vprintf"}:
        sys.exit("the library needs other functions than vprintf")
    if defined - wanted - {"isthmus_device_v1"}:
        sys.exit(f"the library defines more: {', '.join(sorted(defined - wanted - {'isthmus_device_v1'}))}")
    print(f"{len(wanted)} routines")


def to_ptx(tools, args, work):
    """The PTX of kernel.c with what it calls."""
    run(args.clang, "--target=nvptx64-nvidia-cuda", "-O1", "-c", "-emit-llvm", args.source, "-o", work / "kernel.bc")
    run(tools["llvm-link"], work / "kernel.bc", args.bitcode, "--only-needed", "-o", work / "linked.bc")
    run(tools["opt"], "--passes=internalize,default<O3>", f"--internalize-public-api-list={','.join(KERNELS)},isthmus_device_v1",
        work / "linked.bc", "-S", "-o", work / "linked.ll")
    text = (work / "linked.ll").read_text()
    marks = ", ".join(f"!{i}" for i in range(9000, 9000 + len(KERNELS)))
    kernels = [re.search(rf"^define .*?@({name})\((.*?)\)", text, re.M) for name in KERNELS]
    text += f"\n!nvvm.annotations = !{{{marks}}}\n"
    for i, kernel in enumerate(kernels):
        types = ", ".join(re.match(r"\S+", parameter)[0] for parameter in kernel[2].split(", "))
        text += f"!{9000 + i} = !{{void ({types})* @{kernel[1]}, !\"kernel\", i32 1}}\n"
    (work / "kernels.ll").write_text(text)
    run(tools["llc"], "-O3", "-mcpu=sm_80", "-mattr=+ptx71", work / "kernels.ll", "-o", work / "kernels.ptx")
    return (work / "kernels.ptx").read_text()


def check_ptx(ptx):
    if not re.search(r"\.const .*isthmus_device_v1\[128\]", ptx):
        sys.exit("the state is not in constant memory under its name")
    for name in KERNELS:
        if f".entry {name}(" not in ptx:
            sys.exit(f"{name} is no kernel in the PTX")
    calls = set(re.findall(r"\.extern \.func .*?(\w+)\s*\n?\(", ptx)) - {"vprintf"}
    if calls:
        sys.exit(f"left undefined: {calls}")


def check_registers(report):
    for entry, most in (("kernel_p", 32), ("kernel_put_signal", 40)):
        found = re.search(rf"Compiling entry function '{entry}'.*?Used (\d+) registers", report, re.S)
        print(f"{entry}: {found[1]} registers")
        if int(found[1]) > most:
            sys.exit(f"{entry} uses {found[1]} registers, at most {most}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("bitcode", "rows", "host_rows", "source"):
        parser.add_argument("--" + name.replace("_", "-"), type=Path, required=True)
    parser.add_argument("--clang", required=True)
    args = parser.parse_args()
    version = run(args.clang, "--version")
    suffix = "-" + re.search(r"version (\d+)", version)[1]
    tools = {tool: shutil.which(tool + suffix) for tool in TOOLS}
    if None in tools.values():
        print(f"skipped: {', '.join(tool + suffix for tool, path in tools.items() if path is None)} missing")
        sys.exit(SKIPPED)
    check_names(tools, args.bitcode, DeviceRows(args.rows, RowList(args.host_rows)))
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        check_ptx(to_ptx(tools, args, work))
        if shutil.which("ptxas") is None:
            print("ptxas is not here: the PTX is not assembled")
            return
        for architecture in ("80", "90", "100"):
            report = run("ptxas", f"-arch=sm_{architecture}", "-v", work / "kernels.ptx", "-o", work / "kernels.cubin")
            print(f"sm_{architecture}: assembles")
            check_registers(report)


if __name__ == "__main__":
    main()
