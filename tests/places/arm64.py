#!/usr/bin/env python3
"""The library on ARM64: cross-compiled, and run by qemu-user on this machine.

In a folder of its own in the build folder it unpacks Debian's arm64 packages, which are downloaded by apt with lists
and a state of its own: nothing is installed, no architecture is added to the system, and root is not needed. It then
builds with the preset's toolchain and runs the unit tests, the contract suite of loopback, and the suite's jobs of 2
PEs: isthmus-run is this machine's own, each PE is an emulator that runs the program for ARM64. Without the packages or
the tools the place is skipped.

An emulator gives no weaker order than its machine: codegen.order.* tests the instructions that order memory."""

import argparse
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOP = HERE.parents[1]
sys.path.insert(0, str(HERE.parent))
sys.dont_write_bytecode = True  # the source tree stays as it is

import again
import jobs as shared

SKIPPED = 77
TOOLS = {"aarch64-linux-gnu-gcc": "gcc-aarch64-linux-gnu", "aarch64-linux-gnu-g++": "g++-aarch64-linux-gnu",
         "qemu-aarch64": "qemu-user", "apt-get": "apt", "dpkg": "dpkg"}
PACKAGES = ["libpmix-dev", "libhwloc-dev", "libucx-dev", "libibverbs-dev", "libcmocka-dev", "libstdc++6"]
# The part for a run of the whole suite: the processor's part of the library, one of each kind, and nothing that needs
# UCX.
QUICK_UNITS = "alloc|card|ctx|hosts|object_sizes|registered|route|segment|static_data|team|wait_compare"
QUICK_CASES = ("open_close|alias|put_get|nbi|fence|amo_values|amo_mixed|litmus_ordered|litmus_causality|"
               "shared_channel|wakes")
NEEDS_UCX = r"\.(ib|ib_sm|hosts|network)(\.|$)"
QUICK_JOBS = (r"^litmus\.(MP-(g|get-nbi|fence|quiet|signal)|BARRIER-local)$|"
              r"^pe\.(r143_put_signal|r86_amo_types|r7_threads_mix)$")
# What an emulator cannot show, and why.
LEFT_OUT = [
    (r"^unit_uid(_leader)?$", "qemu-user 7.2 aborts where a process with threads forks"),
    (r"^pe\.r13_|stopped|r20_failed_start", "the job's end is told of the emulator, and not of the program"),
]


class NotHere(Exception):
    pass


def apt(root, *arguments):
    """apt with everything in a folder of its own, for packages of arm64."""
    for folder in ("lists/partial", "archives/partial", "state"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    (root / "state" / "status").touch()
    options = {"APT::Architecture": "arm64", "APT::Architectures": "arm64", "APT::Install-Recommends": "0",
               "APT::Sandbox::User": "", "Dir::State": root / "state", "Dir::State::status": root / "state" / "status",
               "Dir::State::lists": root / "lists", "Dir::Cache": root, "Dir::Cache::archives": root / "archives",
               "Debug::NoLocking": "1", "Acquire::Retries": "2"}
    command = ["apt-get", "-q", "-y"] + [f"-o{name}={value}" for name, value in options.items()] + list(arguments)
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          env=dict(os.environ, LC_ALL="C"))
    if done.returncode != 0:
        raise NotHere(f"apt-get {arguments[0]} cannot get {' '.join(PACKAGES)} for arm64: "
                      f"{done.stderr.strip().splitlines()[-1:]}")


def fill(folder):
    """The sysroot, complete or absent."""
    sysroot = folder / "sysroot"
    if sysroot.exists():
        return sysroot
    apt(folder, "update")
    apt(folder, "--download-only", "install", *PACKAGES)
    partial = folder / "sysroot.partial"
    shutil.rmtree(partial, ignore_errors=True)
    for package in sorted((folder / "archives").glob("*.deb")):
        subprocess.run(["dpkg", "-x", package, partial], check=True)
    partial.rename(sysroot)
    shutil.rmtree(folder / "archives")
    shutil.rmtree(folder / "lists")
    return sysroot


def configure(build, sysroot, is_quick):
    """A part of everything is not worth optimising, which takes ten times as long; the fast paths of programs are
    inlined all the same."""
    settings = (["-DCMAKE_BUILD_TYPE=None", "-DCMAKE_C_FLAGS=-O0", "-DISTHMUS_WERROR=OFF"] if is_quick
                else ["-DCMAKE_BUILD_TYPE=Release"])
    subprocess.run(["cmake", "-G", "Ninja", "-S", TOP, "-B", build, "-DBUILD_TESTING=ON",
                    f"-DCMAKE_TOOLCHAIN_FILE={TOP}/tools/cmake/arm64.cmake", *settings], check=True,
                   stdout=subprocess.DEVNULL, env=dict(os.environ, ISTHMUS_ARM64_SYSROOT=str(sysroot)))


def left_out(name):
    return next((reason for names, reason in LEFT_OUT if re.search(names, name)), None)


def lacks_plugin(test, native, known):
    """Whether the job names a transport that the build for ARM64 does not have: HIP's headers are this machine's."""
    named = [name for setting in test.environment if setting.startswith("ISTHMUS_TRANSPORTS=")
             for name in setting.split("=", 1)[1].split(",")]
    return any((native / f"lib/isthmus/{name}.so").exists() and f"lib/isthmus/{name}.so" not in known
               for name in named)


def chosen_jobs(native, build, only, is_quick):
    """Jobs of two PEs by isthmus-run, whose program and transports the build for ARM64 has too."""
    known = {line.split(":")[0] for line in
             subprocess.run(["ninja", "-C", build, "-t", "targets", "all"], check=True, capture_output=True,
                            text=True).stdout.splitlines()}
    runs = []
    for test in again.all_tests(native):
        program = Path(test.program[0]) if test.program else Path()
        if is_quick and re.search(NEEDS_UCX, test.name):
            continue
        if test.n != 2 or not re.search(only, test.base) or test.name.endswith(".mpirun") or left_out(test.name):
            continue
        if lacks_plugin(test, native, known):
            continue
        if program.is_relative_to(native) and str(program.relative_to(native)) in known and not test.before:
            runs.append(test)
    return list({test.base: test for test in runs}.values())


def run_job(test, native, build, emulator):
    log = build / "tests" / f"{test.base}.log"
    program = build / Path(test.program[0]).relative_to(native)
    settings = ([s.replace(str(native), str(build)) for s in test.environment]
                + ["LITMUS_ROUNDS=100", "ISTHMUS_TEST_PART=20", "PE_TEST_EMULATED=1"])
    command = [str(native / "bin" / "isthmus-run"), "-n", "2", *emulator, str(program), *test.program[1:]]
    status = shared.run(command, settings, log, 3 * test.timeout_s, test.folder)
    if status in (0, SKIPPED):
        log.unlink()
        return "ok" if status == 0 else "skipped"
    print(f"arm64: {test.name} FAILED with status {status}: {' '.join(settings + command)}\n"
          + log.read_text(errors="replace")[-2000:], flush=True)
    return "FAILED"


def run_jobs(runs, native, build, emulator, n_jobs):
    counts = {"ok": 0, "FAILED": 0, "skipped": 0}
    with concurrent.futures.ThreadPoolExecutor(n_jobs) as pool:
        for result in pool.map(lambda test: run_job(test, native, build, emulator), runs):
            counts[result] += 1
    print(f"arm64: {counts['ok']} passed, {counts['FAILED']} failed, {counts['skipped']} skipped here by themselves",
          flush=True)
    return counts["FAILED"] == 0


def place(given):
    missing = [package for tool, package in TOOLS.items() if shutil.which(tool) is None]
    if missing:
        raise NotHere(f"{', '.join(missing)} not here")
    native, folder = Path(given.build).resolve(), Path(given.build).resolve() / "arm64"
    sysroot = fill(folder)
    build = folder / ("quick" if given.quick else "build")
    configure(build, sysroot, given.quick)
    units = sorted(set(re.findall(r"^(unit_\w+): phony", subprocess.run(
        ["ninja", "-C", build, "-t", "targets", "all"], check=True, capture_output=True, text=True).stdout, re.M)))
    if given.quick:
        units = [unit for unit in units if re.fullmatch(f"unit_({QUICK_UNITS})", unit)]
    units = [unit for unit in units if not left_out(unit)]
    runs = chosen_jobs(native, build, given.only or (QUICK_JOBS if given.quick else ""), given.quick)
    programs = sorted({str(Path(test.program[0]).relative_to(native)) for test in runs})
    subprocess.run(["ninja", "-C", build, f"-j{given.jobs}", "isthmus", "plugin_loopback", "isthmus-check-transport",
                    *([] if given.quick else ["plugin_hook", "plugin_ib"]), *units, *programs], check=True,
                   stdout=subprocess.DEVNULL)
    cases = f"({QUICK_CASES})" if given.quick else ".*"
    wanted = "^(" + "|".join([u.replace("unit_", "unit.", 1) for u in units] + [rf"contract\.loopback\.{cases}"]) + ")$"
    tested = subprocess.run(["ctest", "--test-dir", build, "-R", wanted, "-LE", "thorough", "-j", str(given.jobs),
                             "--output-on-failure", "--timeout", "300"], stdout=subprocess.PIPE, text=True)
    summary = re.search(r"\d+% tests passed.*", tested.stdout)
    print(f"arm64: units and contract: {summary.group()}" if summary and tested.returncode == 0
          else tested.stdout[-3000:], flush=True)
    good = tested.returncode == 0
    return run_jobs(runs, native, build, ["qemu-aarch64", "-L", str(sysroot)], given.jobs) and good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=str(TOP / "build"),
                        help="of this machine: its launcher, and where the rest goes")
    parser.add_argument("--quick", action="store_true", help="a part of everything")
    parser.add_argument("--only", default="", metavar="REGEX", help="jobs of that name")
    parser.add_argument("--jobs", type=int, default=2, help="how many at once")
    try:
        return 0 if place(parser.parse_args()) else 1
    except NotHere as reason:
        print(f"arm64: skipped: {reason}")
        return SKIPPED


if __name__ == "__main__":
    sys.exit(main())
