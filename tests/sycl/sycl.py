#!/usr/bin/env python3
"""sycl.py: kernels in SYCL for real. A program built by the system's C++ compiler compiles kernels.cpp while it runs,
with the compiler of SYCL's runtime library, and runs them on the processor: on 2 and 3 PEs, directly and through the
ring, on one host by load and store and through ib. The runtime library comes out of wheels (tests/wheels.py); exit
status 77, and a line with the reason, where they are not to be had. --quick: fewer jobs, and nothing is fetched but
where CI=true is set: without the wheels it is skipped."""

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
ROWS = ROOT / "tests" / "rows"
sys.path.insert(0, str(HERE.parent))
sys.dont_write_bytecode = True  # the source tree stays as it is

import wheels

SKIPPED = 77
TIMEOUT_S = 300
WAYS = {  # how the operations go: what the job has in its environment
    "direct": {"SYCL_TESTS_DIRECT": "1"},
    "ring": {"ISTHMUS_DEVICE_DIRECT": "0"},
    "no_alias": {"ISTHMUS_ALIAS": "0"},
    "ib": {"ISTHMUS_TRANSPORTS": "ib"},
    "check": {"ISTHMUS_CHECK": "1"},
    "ze_direct": {"SYCL_TESTS_DIRECT": "1"},
    "ze_ring": {"ISTHMUS_DEVICE_DIRECT": "0"},
}
ZE = {"SYCL_TESTS_ZE": "1", "ISTHMUS_HEAP_KIND": "ze", "ISTHMUS_HEAP_SIZE": "32m", "GPU_DOUBLE_HOST_ACCESS": "1",
      "ISTHMUS_TRANSPORTS": "xelink,loopback", "ISTHMUS_XELINK_LIBRARY": "libze_loader.so.1"}
JOBS = [(way, n) for way in ("direct", "ring", "no_alias", "ib") for n in (2, 3)]
# With the heap in memory of an Intel GPU: a double, under Level Zero's own loader.
ZE_JOBS = [("ze_direct", 2), ("ze_direct", 3), ("ze_ring", 2), ("ze_ring", 3)]
QUICK_JOBS = [("direct", 2), ("ib", 2)]
# Of the forms in queues: their names (none: each type's own), the kind of queue, and how many PEs by which way.
QUEUE_JOBS = [(names, order, way, n) for names in ("", "_generic") for order in ("in_order", "out_of_order")
              for way in ("direct", "ib") for n in (2, 3)]
# Of kernels that call wrongly: the mistake, by which way, on how many PEs (none: one for each call of wrong.h).
WRONG_JOBS = [("before_init", "direct", 1), ("after_finalize", "direct", 1), ("pe", "direct", None),
              ("pe", "check", None), ("pe", "ring", None), ("negative_pe", "direct", None), ("address", "direct", None),
              ("address", "check", None), ("fault", "direct", 2), ("fault", "check", 2), ("fault", "ring", 2)]
QUICK_WRONG_JOBS = [("before_init", "direct", 1), ("address", "check", None), ("fault", "direct", 2),
                    ("fault", "ring", 2)]
QUICK_QUEUE_JOBS = [("", "in_order", "direct", 2), ("", "out_of_order", "ib", 3)]
# Kernels in one image: the runtime library finds the state of several only in the first one.
KERNEL_OPTIONS = ["-O2", "-fsycl-device-code-split=off"]
# Without the optimiser of the device, whose vectorizer makes wrong code of kernels with waits; and with it for one
# work-item at a time, which sub-groups do not allow.
PLAIN = {"SYCL_PROGRAM_COMPILE_OPTIONS": "-cl-opt-disable"}
OPTIMISED = {"CL_CONFIG_CPU_VECTORIZER_MODE": "1"}
# By default SYCL runs the tasks of all queues one after the other.
QUEUES = {"SYCL_QUEUE_THREAD_POOL_SIZE": "4"}


def newest(paths):
    return max(path.stat().st_mtime for path in paths if path.exists())


class Place:
    def __init__(self, build, cxx):
        self.build, self.cxx = build, cxx
        self.headers, self.libraries, self.environment = wheels.sycl_environment(build)
        self.out = build / "tests" / "sycl"
        self.out.mkdir(parents=True, exist_ok=True)
        self.includes = [f"-I{folder}" for folder in (ROOT / "include", build / "gen" / "include", HERE)]
        # Kernels that were compiled from other headers would be found again: only the jobs of one run share them.
        self.cache = self.out / "cache"
        shutil.rmtree(self.cache, ignore_errors=True)

    def compile(self, source, *more):
        """The program; more: of the compiler's arguments, files among them. It is made anew if it is older than a
        source or the library."""
        program = self.out / source.stem
        before = [source, HERE / "memory.h", ROWS / "turn.hpp", *(ROOT / "include").rglob("*"),
                  *(self.build / "gen" / "include").rglob("*"), self.build / "lib" / "libisthmus.so",
                  *(Path(argument) for argument in more)]
        if program.exists() and program.stat().st_mtime > newest(before):
            return program
        libraries = ([f"-L{folder}" for folder in self.libraries]
                     + [f"-Wl,-rpath-link,{folder}" for folder in self.libraries])
        command = [*self.cxx, "-std=c++17", "-O1", "-Wall", "-Wextra", "-DSYCL_DISABLE_FSYCL_SYCLHPP_WARNING",
                   "-isystem", str(self.headers), *self.includes, str(source), *map(str, more), "-o", str(program),
                   f"-L{self.build}/lib", f"-Wl,-rpath,{self.build}/lib", "-listhmus", *libraries, "-lsycl"]
        subprocess.run(command, check=True)
        return program

    def run(self, n, command, settings):
        return self.start(n, command, settings).returncode

    def start(self, n, command, settings, **options):
        environment = {**os.environ, **self.environment, "SYCL_CACHE_PERSISTENT": "1",
                       "SYCL_CACHE_DIR": str(self.cache), **settings}
        return subprocess.run([self.build / "bin" / "isthmus-run", "-n", str(n), *map(str, command)], env=environment,
                              timeout=TIMEOUT_S, stdin=subprocess.DEVNULL, check=False, **options)


def check_headers(place):
    """What kernels call, compiled for the host as a SYCL compiler does it too: every routine and every form for groups,
    by its exact type, with SYCL's own groups."""
    print("headers:", flush=True)
    source = place.out / "ishmem_device.cpp"
    subprocess.run([sys.executable, ROWS / "check_device_rows.py", ROWS / "ishmem_device.rows", ROWS / "ishmem.rows",
                    "--out", source], check=True)
    return compile_host_side(place, source)


def compile_host_side(place, source):
    """SYCL's headers choose attributes by the macro, which only that compiler takes: it is defined behind them."""
    changed = place.out / f"{source.stem}_host.cpp"
    changed.write_text("#include <sycl/sycl.hpp>\n#define SYCL_LANGUAGE_VERSION 202012L\n" + source.read_text())
    return subprocess.run([*place.cxx, "-std=c++17", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", *place.includes,
                           "-DSYCL_DISABLE_FSYCL_SYCLHPP_WARNING", "-isystem", str(place.headers), str(changed)],
                          check=False).returncode


def check_beforehand(place):
    """A program that a SYCL compiler would compile beforehand, as far as there is one: the device's side, to SPIR-V
    with its kernel and the state, by the compiler of the runtime library; the host's side by the system's."""
    print("beforehand:", flush=True)
    source, images = HERE / "beforehand.cpp", place.out / "beforehand_"
    for old in place.out.glob(f"{images.name}*.spv"):
        old.unlink()
    status = compile_host_side(place, source)
    status = status or place.run(1, [place.compile(HERE / "host.cpp"), source, *place.includes, *KERNEL_OPTIONS],
                                 {**PLAIN, "SYCL_DUMP_IMAGES": "1", "SYCL_DUMP_IMAGES_PREFIX": str(images)})
    code = b"".join(image.read_bytes() for image in place.out.glob(f"{images.name}*.spv"))
    if status == 0 and not (b"_ZTSZ4main" in code and b"isthmus_sycl_state_v1" in code):
        print("the device's code lacks the kernel of main(), or the state")
        return 1
    return status


def run_example(place):
    """docs/examples/neighbours_sycl.cpp checks its own result."""
    print("the example, 2 PEs:", flush=True)
    program = place.compile(ROOT / "docs" / "examples" / "neighbours_sycl.cpp")
    return place.run(2, [program, *place.includes, *KERNEL_OPTIONS], PLAIN)


def make_queue_rows(place, names):
    """A program that calls every form in a queue, from the list of them."""
    source = place.out / f"ishmem_queue{names}.cpp"
    made = source.with_suffix(".new")
    subprocess.run([sys.executable, ROWS / "gen_rows.py", ROWS / "ishmem_queue.rows", "all", made, "--include",
                    "ishmemx.h", *(["--generic"] if names else [])], check=True)
    if not source.exists() or source.read_text() != made.read_text():
        made.replace(source)
    return place.compile(source, ROWS / "face_ishmem.cpp", place.build / "lib" / "librows_engine.a", "-O0", f"-I{ROWS}")


def run_queues(place, jobs):
    """The forms in a queue, on SYCL's own queues and events: their order, and each of them by its result."""
    print("in queues, 2 PEs:", flush=True)
    status = place.run(2, [place.compile(HERE / "queues.cpp", f"-I{ROOT}")], QUEUES)
    programs = {names: make_queue_rows(place, names) for names in sorted({names for names, *_ in jobs})}
    for names, order, way, n in jobs:
        print(f"every form in a queue{names}, {order}, {way}, {n} PEs:", flush=True)
        status = status or place.run(n, [programs[names]], {**QUEUES, **WAYS[way], "ROWS_QUEUE": order})
    return status


MISTAKES = {  # what the kernel's line has behind the name of the call
    "pe": r"pe is {pe} for address {address}; valid: 0 to {last}; in thread 0 of block 0",
    "address": r"address {address} for PE {pe} is not symmetric; valid: .*; in thread 0 of block 0",
    "ring": r"dest .*{address}.* is not symmetric",
    "state": r"called before init, after finalize, .*, with address {address} and PE {pe}; valid: ",
}


def check_wrong(output, n, mistake, way):
    """Each PE prints what it is about to call. Returns what is wrong with the kernels' lines about it."""
    calls = re.findall(r"^PE (\d+) calls (\w+) at (0x[0-9a-f]+) on PE (-?\d+)$", output, re.M)
    kind = "state" if "init" in mistake or "final" in mistake else "pe" if "pe" in mistake else "address"
    kind = "ring" if (kind, way) == ("address", "ring") else kind
    for caller, call, address, pe in calls:
        line = MISTAKES[kind].format(pe=pe, address=address, last=n - 1)
        about = "isthmus: " if kind == "state" else f"isthmus: PE {caller}: "
        if len(re.findall(rf"^{about}a kernel's {call}: {line}", output, re.M)) != 1:
            return f"PE {caller}: no line, or not one, about {call}"
    if n > 2 and len(re.findall(r"^PE \d+: stopped, and nothing is stored$", output, re.M)) != n:
        return "a kernel went on, or has stored something"
    return None if len(calls) == (1 if mistake == "fault" else n) else "not every PE has called"


def run_wrong(place, jobs):
    """Kernels that call wrongly: a line with call, PE and address, no store, and the job fails."""
    program = place.compile(HERE / "wrong.cpp")
    n_calls = len(re.findall(r"^ +X\(", (HERE / "wrong.h").read_text(), re.M))
    for mistake, way, n in jobs:
        n = n or n_calls
        print(f"wrong calls, {mistake}, {way}, {n} PEs:", flush=True)
        done = place.start(n, [program, HERE / "wrong_kernels.cpp", mistake, *place.includes, *KERNEL_OPTIONS],
                           {**PLAIN, **WAYS[way]}, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode == SKIPPED:
            return SKIPPED
        fault = check_wrong(done.stdout, n, mistake, way)
        if n <= 2 and done.returncode == 0:
            fault = fault or "the job has not failed"
        if way != "ring" and "the kernel has ended" in done.stdout:  # p does not wait for the host, which checks it
            fault = fault or "a kernel went on"
        if fault is not None:
            print(f"{done.stdout}{fault}; exit status {done.returncode}")
            return 1
    return 0


def run_kernels(place, jobs, settings, *options):
    """One PE first, which compiles for all. Returns the exit status."""
    program = place.compile(HERE / "host.cpp")
    command = [program, HERE / "kernels.cpp", *place.includes, *KERNEL_OPTIONS, *options]
    for way, n in [("direct", 1), *jobs]:
        print(f"{way}, {n} PEs:", flush=True)
        status = place.run(n, command, {**settings, **WAYS[way]})
        if status != 0:
            return status
    return 0


def run_ze(place):
    """The same kernels with the state for a GPU."""
    double = next(place.build.glob("tests/doubles/**/libze_double.so.1"), None)
    if double is None or not (place.build / "lib" / "isthmus" / "xelink.so").exists():
        print("without the double of Level Zero's driver: its headers are missing (libze-dev)", flush=True)
        return 0
    return run_kernels(place, ZE_JOBS, {**PLAIN, **ZE, "ZE_ENABLE_ALT_DRIVERS": str(double)})


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--cxx", default="g++")
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    if args.quick and wheels.is_left_to_place(args.build.resolve(), "sycl"):
        print("skipped: SYCL's wheels are not in the build folder; ./dev places sycl fetches them")
        return SKIPPED
    try:
        place = Place(args.build.resolve(), shlex.split(args.cxx))
    except wheels.NotHere as why:
        print(f"skipped: {why}")
        return SKIPPED
    status = check_headers(place) or check_beforehand(place)
    status = status or run_kernels(place, QUICK_JOBS if args.quick else JOBS, PLAIN)
    if not args.quick:
        status = status or run_kernels(place, JOBS, OPTIMISED, "-DWITHOUT_SUB_GROUPS") or run_ze(place)
    status = status or run_wrong(place, QUICK_WRONG_JOBS if args.quick else WRONG_JOBS)
    return status or run_example(place) or run_queues(place, QUICK_QUEUE_JOBS if args.quick else QUEUE_JOBS)


if __name__ == "__main__":
    sys.exit(main())
