#!/usr/bin/env python3
"""Makes a C file that takes the address of every routine of nvshmem_device.rows as a function of its exact type: what is
not declared, or otherwise, does not compile. With --count it prints how many there are."""
import argparse
import re
import sys
from pathlib import Path

from row_list import RowList

WIDTHS = ("8", "16", "32", "64", "128")


class DeviceRows:
    def __init__(self, path, host_list):
        self.types = host_list.types
        self.sets = {**host_list.sets, "sizes": WIDTHS, "-": ("-",)}
        self.rows, self.absent = [], []
        for line in path.read_text().splitlines():
            if line and not line.startswith("#"):
                kind, text = line.split(" ", 1)
                cells = [cell.strip() for cell in text.split("|")]
                (self.rows if kind == "device" else self.absent).append(cells)

    def functions(self):
        """(return type, name, parameter types) of each."""
        for set_name, count, prototype in self.rows:
            members = self.sets[set_name]
            if len(members) != int(count):
                sys.exit(f"{prototype}: the set {set_name} has {len(members)} members, the specification counts {count}")
            for member in members:
                yield self.concrete(prototype, member)

    def concrete(self, prototype, member):
        text = prototype.replace("{T}", member).replace("{S}", member)
        if member in self.types:
            text = re.sub(r"\bT\b", self.types[member][0], text)
        returns, name, parameters = re.fullmatch(r"(.+?[\s*])(\w+)\((.*)\)", text).groups()
        types = [p if p == "void" else re.sub(r"\w+$", "", p).strip() for p in parameters.split(", ")]
        return returns.strip(), name, types


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", type=Path)
    parser.add_argument("host_rows", type=Path)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    rows = DeviceRows(args.rows, RowList(args.host_rows))
    functions = list(rows.functions())
    n_absent = sum(int(count) for count, _ in rows.absent)
    if args.out is None:
        print(f"{len(functions)} of {len(functions) + n_absent} device functions; not provided: "
              f"{', '.join(name for _, name in rows.absent)}")
        sys.exit(len(set(name for _, name, _ in functions)) != len(functions))
    lines = [f"extern {returns} (*const f{i})({', '.join(types)});\n{returns} (*const f{i})({', '.join(types)}) = {name};"
             for i, (returns, name, types) in enumerate(functions)]
    args.out.write_text("/* Made by tests/rows/check_device_rows.py. */\n#define ISTHMUS_DEVICE_CPU\n"
                        "#include <nvshmem.h>\n\n" + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
