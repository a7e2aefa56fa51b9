#!/usr/bin/env python3
"""libnvshmem_device.bc has every routine that kernels call, and kernels link with it: llvm-link, opt, llc, and ptxas
where it is here. What is linked is as short as what nvcc makes, has the state by its name, and nothing of the library
left undefined. Nothing is run: no GPU is needed. Exit status 77 where LLVM's programs are missing."""
import argparse
import ctypes
import ctypes.util
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "rows"))
from check_device_rows import DeviceRows
from row_list import RowList

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import on_double

SKIPPED = 77
KERNELS = ("kernel_p", "kernel_put_signal", "kernel_more")
TOOLS = ("llvm-link", "opt", "llc", "llvm-nm")
FOR_NVRTC = ("nvshmem_my_pe", "nvshmem_n_pes", "nvshmem_long_p")
NVRTC_KERNEL = b"""extern "C" __device__ int nvshmem_my_pe(void);
extern "C" __device__ int nvshmem_n_pes(void);
extern "C" __device__ void nvshmem_long_p(long *dest, long value, int pe);
extern "C" __global__ void to_the_right(long *dest)
{
    nvshmem_long_p(dest, nvshmem_my_pe(), (nvshmem_my_pe() + 1) % nvshmem_n_pes());
}
"""


def run(*command):
    done = subprocess.run([str(part) for part in command], text=True, capture_output=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def tools_of(clang):
    """LLVM's programs of clang's version, by name; and those of them that are not here."""
    suffix = "-" + re.search(r"version (\d+)", run(clang, "--version"))[1]
    tools = {tool: shutil.which(tool + suffix) for tool in TOOLS}
    return tools, [tool + suffix for tool, path in tools.items() if path is None]


def check_names(tools, bitcode, rows):
    """Every routine is defined; apart from them nothing but the state, and only printf is undefined."""
    symbols = [line.split()[-2:] for line in run(tools["llvm-nm"], bitcode).splitlines()]
    defined = {name for kind, name in symbols if kind in "TWVD"}
    wanted = {name for _, name, _ in rows.functions("device")}
    if wanted - defined:
        sys.exit(f"not in {bitcode}: {', '.join(sorted(wanted - defined)[:20])}")
    if {name for kind, name in symbols if kind == "U"} - {"vprintf"}:
        sys.exit("the library needs other functions than vprintf")
    more = defined - wanted - {"isthmus_device_v1", "nvshmemx_init_status"} # the latter is the host's in the table
    if more:
        sys.exit(f"the library defines more: {', '.join(sorted(more))}")
    print(f"{len(wanted)} routines")


def to_ptx(tools, args, work):
    """The PTX of kernel.c with what it calls."""
    run(args.clang, "--target=nvptx64-nvidia-cuda", "-O1", "-c", "-emit-llvm", args.source, "-o", work / "kernel.bc")
    run(tools["llvm-link"], work / "kernel.bc", args.bitcode, "--only-needed", "-o", work / "linked.bc")
    run(tools["opt"], "--passes=internalize,default<O3>",
        f"--internalize-public-api-list={','.join(KERNELS)},isthmus_device_v1", work / "linked.bc",
        "-S", "-o", work / "linked.ll")
    text = (work / "linked.ll").read_text()
    if not re.search(r"^@isthmus_device_v1 = .*externally_initialized", text, re.M):
        sys.exit("a compiler may take the state for zeros: it does not see that the host writes it")
    marks = ", ".join(f"!{i}" for i in range(9000, 9000 + len(KERNELS)))
    kernels = [re.search(rf"^define .*?@({name})\((.*?)\)", text, re.M) for name in KERNELS]
    text += f"\n!nvvm.annotations = !{{{marks}}}\n"
    for i, kernel in enumerate(kernels):
        types = ", ".join(re.match(r"\S+", parameter)[0] for parameter in kernel[2].split(", "))
        text += f"!{9000 + i} = !{{void ({types})* @{kernel[1]}, !\"kernel\", i32 1}}\n"
    (work / "kernels.ll").write_text(text)
    run(tools["llc"], "-O3", "-mcpu=sm_80", "-mattr=+ptx71", work / "kernels.ll", "-o", work / "kernels.ptx")
    return (work / "kernels.ptx").read_text()


def text_of(numbers):
    """A string of PTX, which ends with a zero."""
    return bytes(int(number) for number in numbers.split(", ")).rstrip(b"\0").decode(errors="replace")


def check_ptx(ptx):
    if not re.search(r"\.const .*isthmus_device_v1\[128\]", ptx):
        sys.exit("the state is not in constant memory under its name")
    for name in KERNELS:
        if f".entry {name}(" not in ptx:
            sys.exit(f"{name} is no kernel in the PTX")
    texts = {text_of(numbers) for numbers in re.findall(r"\.b8 \S+\[\d+\] = \{(.*?)\}", ptx)}
    if not {"put_signal", "p", "reduce"} <= texts:
        sys.exit("a kernel without a state has no names of calls to print")
    calls = set(re.findall(r"\.extern \.func .*?(\w+)\s*\n?\(", ptx)) - {"vprintf"}
    if calls:
        sys.exit(f"left undefined: {calls}")


def check_registers(report):
    for entry, most in (("kernel_p", 32), ("kernel_put_signal", 40)):
        found = re.search(rf"Compiling entry function '{entry}'.*?Used (\d+) registers", report, re.S)
        print(f"{entry}: {found[1]} registers")
        if int(found[1]) > most:
            sys.exit(f"{entry} uses {found[1]} registers, at most {most}")


def nvrtc_ptx():
    """The PTX of NVRTC_KERNEL, to be linked; None where NVRTC is not here."""
    candidates = [ctypes.util.find_library("nvrtc"), *map(str, Path("/usr/local/cuda").glob("lib*/libnvrtc.so"))]
    library = next((name for name in candidates if name), None)
    if library is None:
        return None
    nvrtc, program, size = ctypes.CDLL(library), ctypes.c_void_p(), ctypes.c_size_t()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), NVRTC_KERNEL, b"kernel.cu", 0, None, None)
    options = (ctypes.c_char_p * 2)(b"--gpu-architecture=compute_80", b"--relocatable-device-code=true")
    if nvrtc.nvrtcCompileProgram(program, 2, options) != 0:
        sys.exit("NVRTC does not compile the kernel")
    nvrtc.nvrtcGetPTXSize(program, ctypes.byref(size))
    ptx = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetPTX(program, ptx)
    return ptx.value.decode()


def check_nvrtc(tools, args, work):
    """A kernel of NVRTC that declares the routines links with code of the library."""
    ptx = nvrtc_ptx()
    if ptx is None or shutil.which("nvlink") is None:
        print("NVRTC or nvlink is not here: no kernel of NVRTC is linked")
        return
    (work / "nvrtc.ptx").write_text(ptx)
    run(tools["opt"], "--passes=internalize,default<O3>",
        f"--internalize-public-api-list={','.join(FOR_NVRTC)},isthmus_device_v1", args.bitcode,
        "-o", work / "library.bc")
    run(tools["llc"], "-O3", "-mcpu=sm_80", "-mattr=+ptx71", work / "library.bc", "-o", work / "library.ptx")
    for part in ("nvrtc", "library"):
        run("ptxas", "-arch=sm_90", "-c", work / f"{part}.ptx", "-o", work / f"{part}.o")
    run("nvlink", "-arch=sm_90", work / "nvrtc.o", work / "library.o", "-o", work / "linked.cubin")
    if b"isthmus_device_v1" not in (work / "linked.cubin").read_bytes():
        sys.exit("the linked code has no isthmus_device_v1")
    print("a kernel of NVRTC links with it")
    on_double.load(args, [work / "linked.cubin"])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("bitcode", "rows", "host_rows", "source"):
        parser.add_argument("--" + name.replace("_", "-"), type=Path, required=True)
    parser.add_argument("--clang", required=True)
    on_double.add_arguments(parser)
    args = parser.parse_args()
    tools, missing = tools_of(args.clang)
    if missing:
        print(f"skipped: {', '.join(missing)} missing")
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
        check_nvrtc(tools, args, work)


if __name__ == "__main__":
    main()
