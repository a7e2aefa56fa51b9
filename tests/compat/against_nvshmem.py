#!/usr/bin/env python3
"""against_nvshmem.py: our libnvshmem_host.so.3 and headers against those of NVSHMEM's wheel (tests/wheels.py): the
names that its library exports and the sizes of its variables, the values of constants, the sizes of types and the
places of their members; and a program that is linked with its library runs with ours. Exit status 77, and a line with
the reason, where the wheel or CUDA's headers are not to be had. --quick: nothing is fetched."""

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent))
sys.dont_write_bytecode = True  # the source tree stays as it is

import wheels

SKIPPED = 77
WHEEL = "nvshmem"
LIBRARY = "libnvshmem_host.so.3"
# State of that library for its own plugins, which no header declares.
INTERNAL = r"nvshmem_(debug_\w+|options|nvtx_options)"
# The version whose kernels' interface this library has.
OUR_VERSION = r"NVSHMEM_VENDOR_\w+"
MEMBERS = {
    "nvshmem_team_config_t": ("version", "num_contexts", "uniqueid"),
    "nvshmemx_uniqueid_t": ("version", "internal"),
    "nvshmemx_uniqueid_args_t": ("version", "id", "myrank", "nranks"),
    "nvshmemx_init_args_t": ("version", "uid_args", "cuda_device_id", "content"),
    "nvshmemx_init_attr_t": ("version", "mpi_comm", "args"),
    "nvshmemx_region_attrs_t": ("hints", "reserved"),
    "nvshmemi_version_t": ("major", "minor", "patch"),
}
faults = []


def output_of(command, **options):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, **options)
    if done.returncode != 0:
        faults.append(f"{' '.join(map(str, command))}\n"
                      f"status {done.returncode}: {done.stdout[-1000:]}{done.stderr[-2000:]}")
    return done.stdout


def exported(library):
    """{name: size of a variable, None for a routine}"""
    names = {}
    for line in output_of(["nm", "-DS", "--defined-only", "-f", "posix", library]).splitlines():
        name, kind, _, *size = line.split()
        names[name.replace("@@", "@")] = int(size[0], 16) if kind in "BDR" and size else None
    return names


def check_names(theirs, ours):
    for name, size in theirs.items():
        plain = name.partition("@")[0]
        if re.fullmatch(INTERNAL, plain) or plain == "NVSHMEM":
            continue
        if name not in ours:
            faults.append(f"{LIBRARY} does not export '{name}'")
        elif ours[name] != size:
            faults.append(f"'{name}' has {ours[name]} bytes; in NVSHMEM {size}")
    for name in ours:
        if not name.endswith("@NVSHMEM") and name != "NVSHMEM":
            faults.append(f"{LIBRARY} exports '{name}' without NVSHMEM's version")


def questions():
    """{what is compared: expression in C++}"""
    rows = [line.split() for line in (HERE.parent / "pe" / "nvshmem_3_5_names.txt").read_text().splitlines()]
    asked = {}
    for kind, name, *_ in (row for row in rows if len(row) > 1):
        if kind == "constant" and not name.endswith("_INITIALIZER") and not re.fullmatch(OUR_VERSION, name):
            asked[name] = f"(long long)({name})"
        elif kind == "type":
            asked[f"sizeof({name})"] = f"(long long)sizeof({name})"
    for name, members in MEMBERS.items():
        asked |= {f"{name}.{member}": f"(long long)offsetof({name}, {member})" for member in members}
    return asked


def answers(args, folder, name, includes):
    asked = questions()
    prints = "".join(f'    std::printf("%s %lld\\n", "{what}", {expression});\n' for what, expression in asked.items())
    source, program = folder / f"{name}.cpp", folder / name
    source.write_text("#include <cstddef>\n#include <cstdio>\n#include <nvshmem.h>\n#include <nvshmemx.h>\n"
                      f"int main()\n{{\n{prints}}}\n")
    output_of([args.cxx, "-std=c++17", "-O0", "-w", "-DNVSHMEM_HOSTLIB_ONLY", *[f"-I{i}" for i in includes], source,
               "-o", program, "-Wl,--unresolved-symbols=ignore-all"])
    return dict(line.rsplit(" ", 1) for line in output_of([program]).splitlines()) if program.exists() else {}


def check_headers(args, folder, wheel, cuda):
    theirs = answers(args, folder, "theirs", [wheel / "include", cuda, cuda / "cccl"])
    ours = answers(args, folder, "ours", [args.build / "gen" / "include", ROOT / "include", cuda])
    for what, value in theirs.items():
        if ours.get(what) != value:
            faults.append(f"{what} is {ours.get(what)}; in NVSHMEM {value}")
    return len(theirs)


def check_client(args, folder, wheel):
    program, lib = folder / "linked_with_nvshmem", args.build / "lib"
    output_of([args.cc, "-std=gnu11", "-D_GNU_SOURCE", "-w", HERE / "client.c", "-o", program, wheel / "lib" / LIBRARY,
               f"-L{lib}", f"-Wl,-rpath,{lib}", "-listhmus", "-rdynamic", "-Wl,--allow-shlib-undefined"])
    if program.exists():
        output_of([args.build / "bin" / "isthmus-run", "-n", "2", "--timeout", "60", program],
                  env=os.environ | {"LD_LIBRARY_PATH": str(lib / "isthmus" / "compat")})


def cuda_headers(build):
    """The folder that the build has found."""
    cache = (build / "CMakeCache.txt").read_text()
    found = re.search(r"^CUDA_RUNTIME_INCLUDE_DIR:\w+=(.*)$", cache, re.M)
    if not found or not Path(found[1], "cuda_runtime.h").exists():
        raise wheels.NotHere("NVSHMEM's headers need those of CUDA, which are not here")
    return Path(found[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--cxx", default="c++")
    parser.add_argument("--quick", action="store_true", help="fetched in continuous integration only")
    args = parser.parse_args()
    args.build = args.build.resolve()
    folder = args.build / "tests" / "compat"
    try:
        if args.quick and wheels.is_left_to_place(args.build, WHEEL):
            raise wheels.NotHere("its wheel is not here; ./dev places nvshmem fetches it")
        wheel = wheels.fetch(args.build, WHEEL) / "nvidia" / "nvshmem"
        cuda = cuda_headers(args.build)
    except wheels.NotHere as reason:
        print(f"nvshmem: skipped: {reason}")
        return SKIPPED
    theirs = exported(wheel / "lib" / LIBRARY)
    check_names(theirs, exported(args.build / "lib" / "isthmus" / "compat" / LIBRARY))
    n_answers = check_headers(args, folder, wheel, cuda)
    check_client(args, folder, wheel)
    print("\n".join(faults)
          or f"nvshmem: {len(theirs)} names, {n_answers} constants and layouts, and a program: the same")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
