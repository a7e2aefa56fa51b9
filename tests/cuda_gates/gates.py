#!/usr/bin/env python3
"""nvshmem.h's device side compiles with nvcc, whole program and relocatable, for several architectures, and with NVRTC;
the code of the two kernels that are counted is as short as it should be; and the examples with kernels compile, as do
those that call what known users of NVSHMEM call.
Programs link, and start where there is no GPU (starts); no kernel is run."""
import argparse
import ctypes
import ctypes.util
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import on_double
import wheels

ARCHITECTURES = {"whole": ("75", "90"), "more": ("80", "100")}
# Those of a kernel include the functions that it calls when the direct way is not there: a request, whose words take 21
# and its callers 6, or the line of a module without a state, 24; in a wait, the note of one that lasts
# (docs/decisions.md). With 32 a multiprocessor is full.
MOST_REGISTERS = {"count_p": 27, "count_put_signal": 40, "count_wait": 32}
SKIPPED = 77


def run(command, what):
    done = subprocess.run([str(part) for part in command], text=True, capture_output=True)
    if done.returncode != 0:
        sys.exit(f"{what}: {' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def check_registers(report, architecture):
    """The report of ptxas has a line for each entry function, then its stack and its registers."""
    seen = {}
    for entry, text in re.findall(r"Compiling entry function '(\w+)'(.*?)(?=Compiling entry|\Z)", report, re.S):
        seen[entry] = (int(re.search(r"Used (\d+) registers", text).group(1)),
                       int(re.search(r"(\d+) bytes spill stores", text).group(1)))
    for kernel, most in MOST_REGISTERS.items():
        registers, spilled = seen[kernel]
        print(f"sm_{architecture}: {kernel}: {registers} registers")
        if registers > most or spilled:
            sys.exit(f"{kernel} uses {registers} registers, at most {most}; {spilled} bytes are spilled")


def check_names(cubin, names):
    """A kernel without a state prints the name of the call and of its source, which it so has in its code."""
    code = cubin.read_bytes()
    missing = [name for name in ("isthmus: a kernel's %s: ", "kernels.cu\0", *names) if name.encode() not in code]
    if missing:
        sys.exit(f"{cubin.name} has no text {', '.join(missing)}")
    print(f"{len(names)} names of calls")


def names_of_calls(includes):
    text = next(path for path in (Path(folder, "isthmus/device_state.h") for folder in includes) if path.exists())
    return re.findall(r'^    X\(\w+, "([^"]+)"\)', text.read_text(), re.M)


def cuobjdump_of(build):
    """cuobjdump of the toolkit, or out of wheels; None: neither is here."""
    if shutil.which("cuobjdump"):
        return "cuobjdump"
    try:
        folders = [wheels.fetch(build, name) for name in ("cuobjdump", "nvdisasm")]
    except wheels.NotHere as why:
        print(f"skipped: fences are not counted: {why}")
        return None
    tools = Path(build, "wheels", "cuda-tools")
    tools.mkdir(exist_ok=True)
    for folder in folders: # cuobjdump looks for nvdisasm beside itself
        for tool in folder.rglob("bin/*"):
            if not (tools / tool.name).exists():
                shutil.copy(tool, tools / tool.name)
            (tools / tool.name).chmod(0o755)
    return tools / "cuobjdump"


def check_fences(cuobjdump, cubin, architecture):
    """A put with signal has one fence for the block before its last exit, where the functions for requests begin; and
    nowhere a sequentially consistent one."""
    sass = run([cuobjdump, "-sass", "-fun", "count_put_signal", cubin], "cuobjdump")
    direct = re.findall(r"MEMBAR\.\S+", sass[:sass.rindex("EXIT ;")])
    print(f"sm_{architecture}: count_put_signal: {', '.join(direct) or 'no fence'}")
    if direct.count("MEMBAR.ALL.SYS") != 1:
        sys.exit("a put with signal has not exactly one fence of the system's scope")
    if any(".SC" in fence for fence in re.findall(r"MEMBAR\.\S+", sass)):
        sys.exit("a put with signal has a sequentially consistent fence")


def nvrtc_library(build):
    """Of the toolkit, or out of wheels; None: neither is here."""
    candidates = [ctypes.util.find_library("nvrtc"), *map(str, Path("/usr/local/cuda").glob("lib*/libnvrtc.so*"))]
    library = next((name for name in candidates if name), None)
    if library:
        return library
    try:
        return str(next(wheels.fetch(build, "nvrtc").rglob("libnvrtc.so*")))
    except wheels.NotHere as why:
        print(f"libnvrtc is not in a toolkit here, and its wheel cannot be had: {why}")
        return None


def nvrtc_headers(build):
    """The folder of CUDA's own headers, in a list; an empty one where NVRTC has them itself."""
    headers = [*Path("/usr/local/cuda").glob("include"),
               *(header.parent for header in Path(build, "wheels", "nvrtc").rglob("cuda_fp16.h"))]
    return headers[:1]


def nvrtc_compile(library, source, includes, architecture):
    """Returns the PTX and the cubin."""
    nvrtc = ctypes.CDLL(library)
    program = ctypes.c_void_p()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.read_bytes(), b"kernels.cu", 0, None, None)
    options = [b"--gpu-architecture=" + architecture.encode(), *(b"-I" + str(folder).encode() for folder in includes)]
    status = nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))

    def got(what):
        size = ctypes.c_size_t()
        getattr(nvrtc, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
        text = ctypes.create_string_buffer(size.value)
        getattr(nvrtc, f"nvrtcGet{what}")(program, text)
        return text.raw[:size.value]

    if status != 0:
        sys.exit(f"NVRTC does not compile it:\n{got('ProgramLog').decode()}")
    return got("PTX"), got("CUBIN")


def check_nvrtc(args, work):
    """NVRTC compiles the kernels, and what it makes is code whose state the library finds, on the double of the
    driver."""
    library = nvrtc_library(args.build)
    if library is None:
        print("skipped: NVRTC is not here")
        sys.exit(SKIPPED)
    images = [work / "kernels.ptx", work / "kernels.cubin"]
    includes = [*args.include, *nvrtc_headers(args.build)]
    for image, code in zip(images, nvrtc_compile(library, args.source, includes, "sm_90")):
        image.write_bytes(code)
    print("NVRTC: compiles")
    on_double.load(args, images)


def link_relocatable(nvcc, source, options, work, standards):
    """Two files of one program, whose kernels may not have the same names."""
    objects = []
    for name, standard in zip("ab", standards):
        copy = work / f"{name}.cu"
        copy.write_text(re.sub(r"__global__ void (\w+)", rf"__global__ void {name}_\1", source.read_text())
                        .replace("on_the_host", f"{name}_on_the_host"))
        objects.append(work / f"{name}.o")
        run([nvcc, "-rdc=true", "-arch=sm_90", *options, f"-std=c++{standard}", "-c", copy, "-o", objects[-1]],
            "nvcc -rdc")
    run([nvcc, "-dlink", "-arch=sm_90", *objects, "-o", work / "linked.o"], "nvcc -dlink")
    print(f"relocatable: two files link, C++{' and C++'.join(standards)}")


def check_start(args, program, part):
    """Both PEs of a job register the kernels of the program and of the part."""
    report = run(["env", "ISTHMUS_LOG=info", args.run, "-n", "2", program, part], "the program")
    for pe in (0, 1):
        if f"PE {pe}: info: kernels of cuda find no PEs" not in report:
            sys.exit(f"PE {pe} has not registered its kernels:\n{report}")
    print("starts on 2 PEs")


def start(args, nvcc, includes, work):
    """A program, and a shared object of relocatable code that it loads when the library runs."""
    source, libraries = args.source.with_name("starts.cu"), args.library.parent
    common = [nvcc, "-arch=sm_90", "-std=c++17", *includes, source, "-L", libraries, "-listhmus", "-Xlinker",
              f"-rpath={libraries}"]
    program, part = work / "starts", work / "part.so"
    run([*common, "-o", program], "nvcc")
    run([*common, "-rdc=true", "-DPART", "-shared", "-Xcompiler", "-fPIC", "-o", part], "nvcc -shared")
    check_start(args, program, part)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--include", action="append", type=Path, default=[])
    parser.add_argument("--examples", type=Path, required=True, help="the folder of *_kernel.c")
    parser.add_argument("--clients", type=Path, required=True, help="tests/cpu_device/clients.cpp")
    parser.add_argument("--library", type=Path, help="libisthmus.so")
    on_double.add_arguments(parser)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("what", choices=("whole", "more", "rdc", "nvrtc", "examples", "litmus", "starts"))
    args = parser.parse_args()
    nvcc = shutil.which("nvcc")
    includes = [flag for folder in args.include for flag in ("-I", folder)]
    if args.what == "nvrtc":
        with tempfile.TemporaryDirectory() as folder:
            check_nvrtc(args, Path(folder))
        return
    if args.what == "starts" and Path("/dev/nvidiactl").exists():
        print("skipped: there is a GPU, where kernels run (./dev gpu-test)")
        sys.exit(SKIPPED)
    if nvcc is None:
        print("skipped: nvcc is not here")
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        if args.what == "starts":
            start(args, nvcc, includes, work)
            return
        strict = ["-Werror", "all-warnings", "-Xcompiler", "-Wall,-Wextra,-Wno-unused-function"]
        newest = [*strict, "-std=c++17"]
        if args.what == "examples":
            for source in [*sorted(args.examples.glob("*_kernel.c")), args.clients]:
                run([nvcc, "-x", "cu", "-arch=sm_90", *newest, *includes, "-c", source, "-o", work / "out.o"], "nvcc")
                print(f"{source.name}: compiles")
            return
        if args.what == "litmus": # of shapes the list names what they have
            run([nvcc, "-arch=sm_90", *strict, "-Xcompiler", "-Wno-missing-field-initializers", "-std=c++20", *includes,
                 "-c", args.source.parents[1] / "gpu" / "litmus.cu", "-o", work / "out.o"], "nvcc")
            return
        if args.what == "rdc":
            for standards in (("17", "17"), ("14", "17")): # the state has another linkage before C++17
                link_relocatable(nvcc, args.source, [*strict, *includes], work, standards)
            return
        if args.what == "more": # the host's side of the file; rdc compiles that too
            run([nvcc, "-arch=sm_90", *newest, *includes, "-c", args.source, "-o", work / "whole.o"], "nvcc")
        cuobjdump = cuobjdump_of(args.build)
        for architecture in ARCHITECTURES[args.what]:
            cubin = work / f"{architecture}.cubin"
            report = run([nvcc, f"-arch=sm_{architecture}", *newest, "-Xptxas", "-v", *includes, "-cubin", args.source,
                          "-o", cubin], "nvcc -cubin")
            check_registers(report, architecture)
            check_names(cubin, names_of_calls(args.include))
            if cuobjdump:
                check_fences(cuobjdump, cubin, architecture)
        if cuobjdump is None: # no pass, which unchanged.py would record
            sys.exit(SKIPPED)


if __name__ == "__main__":
    main()
