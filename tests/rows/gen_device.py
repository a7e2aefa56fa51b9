#!/usr/bin/env python3
"""The device functions of nvshmem_device.rows as programs whose kernels call them on the CPU device.

gen_device.py LIST HOST_LIST PROGRAM OUT: writes a program, as gen_rows.py does for routines of the host. Every function
whose family has a check is in one; PROGRAMS names the families, and CHECKS and what is named like its check the checks.
gen_device.py LIST HOST_LIST --source FILE...: every function of the list is in a program, or its name (of a template
for tiles, without its scope) is in one of the files, which call the others by hand; prints how many there are."""
import argparse
import re
import sys
from pathlib import Path

from check_device_rows import DeviceRows
from check_names import COMMENT_OR_LITERAL
from gen_rows import generate
from row_list import Row, RowList

SCOPE = re.compile(r"_(warp|warpgroup|block)$")
OF_REDUCTION = re.compile(r"(and|or|xor|max|min|sum|prod)_(reduce|reducescatter)")
CHECKS = {"barrier": "meet", "barrier_all": "meet", "sync_all": "meet", "team_sync": "meet"}
# The first that matches.
PROGRAMS = (("qp", r"qp_"), ("amo", r"atomic_"), ("signal", r".*signal"), ("wait", r"wait|test"),
            ("rma", r"put|get|iput|iget|p$|g$"), ("reductions", r".*_reduce"),
            ("collectives", r"alltoall|broadcast|fcollect|barrier|sync|team_sync"))
# Parameters that the device's list calls otherwise than the host's.
PARAMETERS = {"src": "source", "bytes": "nelems", "nelem": "nelems", "cmp_val": "cmp_value"}
BY_HAND = {"double2_maxloc_reduce", "qp_fence", "qp_quiet", "signal_counted_reset"}


def family_of(name):
    """The name of a prototype without its prefix, its type and its scope."""
    stem = SCOPE.sub("", re.sub("^nvshmemx?_", "", name))
    stem = re.sub(r"\{T\}_", "", stem)
    return re.sub(r"(put|get)(\{S\}|mem)|(alltoall|broadcast|fcollect)mem", r"\1\3", stem)


def check_of(family):
    """The check of the host's rows that the family takes; None: it is called by hand."""
    plain = family.removeprefix("qp_")
    reduction = OF_REDUCTION.fullmatch(plain)
    if family in BY_HAND or not any(re.match(pattern, family) for _, pattern in PROGRAMS):
        return None
    if reduction:
        return f"{reduction[2]} {reduction[1]}"
    return "amo " + plain.removeprefix("atomic_") if plain.startswith("atomic_") else CHECKS.get(plain, plain)


def program_of(family):
    return next(program for program, pattern in PROGRAMS if re.match(pattern, family))


def renamed(prototype):
    """With the parameters' names of the host's list; `const T value` is as good as T."""
    text = re.sub(r"(?<=[ *])(\w+)(?=[,)])", lambda m: PARAMETERS.get(m[1], m[1]), prototype)
    return text.replace("const T value", "T value")


def device_rows(device, host):
    """The host's types and sets with the rows of the device."""
    host.rows = []
    host.sets["sizes"] = device.sets["sizes"]
    for set_name, _, prototype in device.rows["device"]:
        family = family_of(re.search(r"([\w{}]+)\(", prototype)[1])
        if check_of(family) is not None:
            host.rows.append(Row(program_of(family), check_of(family), set_name, "-", renamed(prototype)))
    return host


def words_of(paths):
    return {word for path in paths
            for word in re.findall(r"\w+", COMMENT_OR_LITERAL.sub(" ", Path(path).read_text()))}


def check_calls(device, rows, sources, expected):
    """Returns what is wrong."""
    made, by_hand = rows.functions(), words_of(sources)
    wanted = {name for _, name, _ in device.functions("device")}
    tiles = [re.search(r"tile_\w+", name)[0] for _, name, _ in device.functions("tile")]
    counts = (f"{len(wanted & made)} device functions called with every type and scope; by hand {len(wanted - made)} "
              f"more, and {len(tiles)} of tiles")
    print(counts)
    faults = [f"{name}: no kernel calls it" for name in sorted((wanted - made) - by_hand)]
    faults += [f"{name}: no kernel calls it" for name in sorted({SCOPE.sub("", name) for name in tiles} - by_hand)]
    return faults + ([f"expected: {expected}"] if expected not in (None, counts) else [])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("list", type=Path)
    parser.add_argument("host_list", type=Path)
    parser.add_argument("program", nargs="?")
    parser.add_argument("out", type=Path, nargs="?")
    parser.add_argument("--source", action="append", default=[])
    parser.add_argument("--expect", help="how many there are, as it is printed")
    args = parser.parse_args()
    host = RowList(args.host_list)
    host.hand = []
    device = DeviceRows(args.list, host)
    rows = device_rows(device, host)
    if args.program:
        args.generic, args.include = False, []
        args.out.write_text("#define ISTHMUS_DEVICE_CPU\n#include <nvshmem.h>\n" +
                            "\n".join(generate(rows, args)) + "\n")
        return
    faults = check_calls(device, rows, args.source, args.expect)
    print("\n".join(faults))
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
