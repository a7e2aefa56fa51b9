#!/usr/bin/env python3
"""Makes a C file, or with --tiles a C++ file, that takes the address of every routine of nvshmem_device.rows as a function of
its exact type: what is not declared, or otherwise, does not compile. Without --out it prints how many there are."""
import argparse
import re
import sys
from pathlib import Path

from row_list import RowList

WIDTHS = ("8", "16", "32", "64", "128")
SCOPES = ("", "_warp", "_warpgroup", "_block")
TEMPLATE_ARGUMENTS = {"tensors": "src_tensor_t, dst_tensor_t, tuple_t", "coll_algo": "nvshmemx::ISTHMUS_PUSH_NBI",
                      "algo": "nvshmemx::PEER_PUSH_NBI"}
HEAD = "/* Made by tests/rows/check_device_rows.py. */\n#define ISTHMUS_DEVICE_CPU\n#include <nvshmem.h>\n\n"
TENSORS = """using layout = nvshmemx::Layout<nvshmemx::shape<int, int>, nvshmemx::stride<int, int>>;
using src_tensor_t = nvshmemx::Tensor<const float, layout>;
using dst_tensor_t = nvshmemx::Tensor<float, layout>;
using tuple_t = nvshmemx::shape<int, int>;

"""


class DeviceRows:
    def __init__(self, path, host_list):
        self.types = host_list.types
        self.sets = {**host_list.sets, "sizes": WIDTHS, "scope": SCOPES, "-": ("-",)}
        self.rows = {"device": [], "tile": []}
        for line in path.read_text().splitlines():
            if line and not line.startswith("#"):
                kind, text = line.split(" ", 1)
                self.rows[kind].append([cell.strip() for cell in text.split("|")])

    def functions(self, kind):
        """(return type, name, parameter types) of each."""
        for set_name, count, prototype in self.rows[kind]:
            members = self.sets[set_name]
            if len(members) != int(count):
                sys.exit(f"{prototype}: the set {set_name} has {len(members)} members, the specification counts {count}")
            for member in members:
                yield self.concrete(prototype, member)

    def concrete(self, prototype, member):
        text = prototype.replace("{T}", member).replace("{S}", member).replace("{SCOPE}", member)
        if member in self.types:
            text = re.sub(r"\bT\b", self.types[member][0], text)
        returns, name, parameters = re.fullmatch(r"(.+?[\s*])([\w:]+(?:<[\w, ]+>)?)\((.*)\)", text).groups()
        name = re.sub(r"\b(tensors|coll_algo|algo)\b", lambda m: TEMPLATE_ARGUMENTS[m[0]], name)
        types = [p if p == "void" else re.sub(r"\w+$", "", p).strip() for p in parameters.split(", ")]
        return returns.strip(), name, types


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", type=Path)
    parser.add_argument("host_rows", type=Path)
    parser.add_argument("--tiles", action="store_true")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    rows = DeviceRows(args.rows, RowList(args.host_rows))
    if args.out is None:
        functions = [*rows.functions("device"), *rows.functions("tile")]
        if len({(name, *types) for _, name, types in functions}) != len(functions):
            sys.exit("a function is listed twice")
        print(f"{len(functions)} device functions")
        return
    lines = []
    for i, (returns, name, types) in enumerate(rows.functions("tile" if args.tiles else "device")):
        pointer = f"{returns} (*const f{i})({', '.join(types)})"
        lines.append(f"extern {pointer};\n{pointer} = {name};")
    args.out.write_text(HEAD + (TENSORS if args.tiles else "") + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
