#!/usr/bin/env python3
"""The device side of nvshmem.h or rocshmem.hpp compiles with hipcc, whole program and relocatable; and for several GPUs
the assembly of the kernels of tests/cuda_gates, or of rocshmem.hip, has the scopes, the fences and the registers that
it should have. No kernel is run."""
import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

# Registers of a thread, at most: those of a kernel include the functions that it calls for requests. MI200, MI300's
# forerunner (the compiler of Debian 12 has no gfx942), and RDNA 2.
MOST_REGISTERS = {
    "gfx90a": {"count_p": 32, "count_put_signal": 56},
    "gfx940": {"count_p": 32, "count_put_signal": 60},
    "gfx1030": {"count_p": 32, "count_put_signal": 56},
}
# What a release and an acquire of the system's scope are beside the wait for the thread's own accesses. RDNA's stores
# go to memory without being written back.
RELEASE = {"gfx90a": "buffer_wbl2", "gfx940": "buffer_wbl2 sc0 sc1", "gfx1030": None}
ACQUIRE = {"gfx90a": "buffer_invl2", "gfx940": "buffer_inv sc0 sc1", "gfx1030": "buffer_gl1_inv"}
WAIT = {"gfx90a": "vmcnt(0)", "gfx940": "vmcnt(0)", "gfx1030": "s_waitcnt_vscnt null, 0x0"}  # until stores have arrived
# A scope that shows in the access itself.
SYSTEM_BITS = {"gfx90a": None, "gfx940": "sc1", "gfx1030": None}
KERNELS = ("count_p", "count_put_signal", "rma", "atomics", "waits", "collectives", "tiles")
NOT_IN = {"rocshmem": ("tiles",)}
SKIPPED = 77


def hipcc(*options):
    """Returns nothing. The compiler's wrapper warns of options for the linker, and looks for a GPU."""
    command = ["hipcc", "-x", "hip", "-std=c++17", "-Wall", "-Wextra", "-Wno-unused-function",
               "-Wno-unused-command-line-argument", *map(str, options)]
    done = subprocess.run(command, text=True, capture_output=True)
    if done.returncode != 0 or re.search(r"^\S+/include/\S+: warning:", done.stderr, re.M):
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")


def body_of(assembly, function):
    """The instructions, one a line, without comments and directives."""
    text = re.search(rf"^{function}:.*?\n(.*?)^\.Lfunc_end", assembly, re.M | re.S).group(1)
    lines = (line.split(";")[0].strip() for line in text.splitlines())
    return [" ".join(line.split()) for line in lines if line and not line.startswith(".")]


def require(holds, gpu, what):
    if not holds:
        sys.exit(f"{gpu}: {what}")


def check_registers(assembly, gpu):
    for kernel, most in MOST_REGISTERS[gpu].items():
        about = re.search(rf"\.name: +{kernel}\n(.*?)\.vgpr_spill_count: +(\d+)", assembly, re.S)
        registers, spilled = int(re.search(r"\.vgpr_count: +(\d+)", about.group(1)).group(1)), int(about.group(2))
        print(f"{gpu}: {kernel}: {registers} registers")
        require(registers <= most and spilled == 0, gpu,
                f"{kernel} uses {registers} registers, at most {most}; {spilled} are spilled")


def check_space(bodies, gpu):
    """Other PEs' memory is global, and needs no flat access; local operands may be anywhere."""
    for kernel, body in bodies.items():
        wrong = [line for line in body if re.match(r"flat_(store|atomic)", line)]
        require(not wrong, gpu, f"{kernel} has a flat access to memory of other PEs: {wrong[:1]}")


def check_put_signal(body, gpu):
    """A barrier before and after the copy, each once all stores of the wavefront have arrived; then one release of the
    system's scope, by the store of the signal, and no fence that is more than that."""
    barriers = [i for i, line in enumerate(body) if line.startswith("s_barrier")]
    require(len(barriers) == 2, gpu, f"a put with signal by a block has {len(barriers)} barriers; 2 are enough")
    for at in barriers:
        require(any(WAIT[gpu] in line for line in body[at - 3:at]), gpu,
                "a barrier of a block does not wait for the stores before it")
    signal = max(i for i, line in enumerate(body) if line.startswith("global_store_dwordx2"))
    before = body[signal - 3:signal]
    require(signal > barriers[1] and any(WAIT[gpu] in line for line in before), gpu,
            "the signal does not wait for the stores before it")
    if RELEASE[gpu]:
        releases = body[barriers[1]:].count(RELEASE[gpu])
        require(releases == 1 and RELEASE[gpu] in before, gpu,
                f"a put with signal has {releases} releases of the system's scope; 1 is right, before the signal")
    require(ACQUIRE[gpu] not in body, gpu, "a put with signal invalidates caches")


def check_atomics(body, gpu):
    """One instruction each, at system scope, and none by compare-and-swap in a loop: five that are other operations,
    and one compare-and-swap."""
    found = [line for line in body if line.startswith("global_atomic")]
    for name, times in (("add_x2", 3), ("cmpswap_x2", 1), ("xor", 1), ("or", 1), ("and", 1), ("swap", 1)):
        seen = sum(re.match(rf"global_atomic_{name} ", line) is not None for line in found)
        require(seen == times, gpu, f"atomic {name} is there {seen} times; {times} is right")
    bits = SYSTEM_BITS[gpu]
    require(bits is None or all(line.split()[-1] == bits for line in found), gpu, "an atomic is not at system scope")


def check_order(bodies, gpu):
    """What was waited for is an acquire; fence and quiet are both."""
    require(ACQUIRE[gpu] in bodies["waits"], gpu, "waits do not acquire")
    require(bodies["rma"].count(ACQUIRE[gpu]) >= 2, gpu, "fence and quiet do not acquire")
    require(RELEASE[gpu] is None or bodies["rma"].count(RELEASE[gpu]) >= 2, gpu, "fence and quiet do not release")


def check_misuse(body, gpu):
    """A wrong call: the thread that writes the report publishes it by a release, and it has arrived before the trap.
    That ends the whole wavefront: it may stand only where the writer and the threads that wait for it have met."""
    traps = [i for i, line in enumerate(body) if line.startswith("s_trap")]
    require(traps == [len(body) - 1], gpu, f"a wrong call has {len(traps)} traps; 1 is right, as its last instruction")
    stores = [i for i, line in enumerate(body) if line.startswith("global_store_dwordx2")]
    require(len(stores) == 6, gpu, f"a wrong call has {len(stores)} stores of a report; 6 are right")
    before, after = body[stores[-2]:stores[-1]], body[stores[-1]:]
    require(any(WAIT[gpu] in line for line in before) and (RELEASE[gpu] is None or RELEASE[gpu] in before), gpu,
            "a report is not published by a release")
    require(any(WAIT[gpu] in line for line in after), gpu, "a report may not have arrived when the kernel ends")


def check_note(waits, note, gpu):
    """A wait that lasts: the first word of its note, which shows it, is stored when the others have arrived."""
    require(any("isthmus_dev_wait_long" in line for line in waits), gpu, "a wait that lasts is not noted")
    shown = [i for i, line in enumerate(note) if re.match(r"global_store_dwordx2 \S+ \S+ off( sc0 sc1)?$", line)]
    require(len(shown) == 1, gpu, f"a note of a wait is shown by {len(shown)} stores; 1 is right")
    before = note[shown[0] - 4:shown[0]]
    require(any(WAIT[gpu] in line for line in before) and (RELEASE[gpu] is None or RELEASE[gpu] in before), gpu,
            "the note of a wait is not published by a release")


def check_code(gpu, source, includes, work):
    out = work / f"{gpu}.s"
    hipcc(f"--offload-arch={gpu}", "--cuda-device-only", "-S", "-O3", *includes, source, "-o", out)
    assembly = out.read_text()
    bodies = {kernel: body_of(assembly, kernel) for kernel in KERNELS if kernel not in NOT_IN.get(source.stem, ())}
    check_registers(assembly, gpu)
    check_space(bodies, gpu)
    check_put_signal(bodies["count_put_signal"], gpu)
    check_atomics(bodies["atomics"], gpu)
    check_order(bodies, gpu)
    check_misuse(body_of(assembly, "_ZL18isthmus_dev_misuseiiPKvi"), gpu)
    check_note(bodies["waits"], body_of(assembly, "_ZL21isthmus_dev_note_wait18isthmus_dev_waitermPKvmmi"), gpu)
    print(f"{gpu}: scopes and fences are right")


def check_host(how, source, includes, work):
    """Both sides compile, with little optimisation too, and the host's side registers the state of the module."""
    out = work / f"{how}.o"
    options = ["-fgpu-rdc"] if how == "rdc" else []
    hipcc("--offload-arch=gfx90a", "-O1", *options, "-c", *includes, source, "-o", out)
    names = subprocess.run(["nm", out], text=True, capture_output=True, check=True).stdout
    for name in ("isthmus_device_register_gpu_v1", "hipGetSymbolAddress"):
        require(name in names, "gfx90a", f"the host's side does not call {name}")
    print(f"{how}: compiles, and registers its state")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--include", action="append", type=Path, default=[])
    parser.add_argument("--gpu", action="append", choices=[*MOST_REGISTERS], help="of these only")
    parser.add_argument("what", choices=("code", "whole", "rdc"))
    args = parser.parse_args()
    if shutil.which("hipcc") is None:
        print("skipped: hipcc is not here")
        sys.exit(SKIPPED)
    includes = [flag for folder in args.include for flag in ("-I", folder)]
    with tempfile.TemporaryDirectory() as folder:
        if args.what == "code":
            for gpu in args.gpu or MOST_REGISTERS:
                check_code(gpu, args.source, includes, Path(folder))
        else:
            check_host(args.what, args.source, includes, Path(folder))


if __name__ == "__main__":
    main()
