#!/usr/bin/env python3
"""Makes a file that takes the address of every routine of nvshmem_device.rows, in C or with --tiles in C++, or of
ishmem_device.rows or rocshmem_device.rows, in C++, as a function of its exact type: what is not declared, or otherwise,
does not compile.
Without --out it prints how many there are."""
import argparse
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from row_list import RowList

WIDTHS = ("8", "16", "32", "64", "128")
SCOPES = ("", "_warp", "_warpgroup", "_block")
TEMPLATE_ARGUMENTS = {"tensors": "src_tensor_t, dst_tensor_t, tuple_t", "coll_algo": "nvshmemx::ISTHMUS_PUSH_NBI",
                      "algo": "nvshmemx::PEER_PUSH_NBI"}
TENSORS = """
using layout = nvshmemx::Layout<nvshmemx::shape<int, int>, nvshmemx::stride<int, int>>;
using src_tensor_t = nvshmemx::Tensor<const float, layout>;
using dst_tensor_t = nvshmemx::Tensor<float, layout>;
using tuple_t = nvshmemx::shape<int, int>;
"""
GROUPS = ("sycl::group<1>", "sycl::group<3>", "sycl::sub_group")
HEADS = {"nvshmem_device": "#define ISTHMUS_DEVICE_CPU\n#include <nvshmem.h>\n",
         "ishmem_device": "#include <sycl/sycl.hpp>\n#include <ishmem.h>\n#include <ishmemx.h>\n",
         "rocshmem_device": "#define ISTHMUS_DEVICE_CPU\n#include <rocshmem/rocshmem.hpp>\n"
                            "\nusing namespace rocshmem;\n"}
# Where kernels' own definitions are, and how they begin: without them a name would be the host's.
DEFINED = {"ishmem_device": (("ishmem_device.hpp", "ishmemx_device.hpp"), r"^ISTHMUS_ISHMEM_ITEM [^(]*?(\w+)\("),
           "rocshmem_device": (("rocshmem/rocshmem_device.hpp",), r"^ISTHMUS_KERNEL_(?:NAME|BOTH) [^(]*?(\w+)\(")}


class DeviceRows:
    def __init__(self, path, host_list):
        self.types = host_list.types
        self.sets = {**host_list.sets, "sizes": WIDTHS, "scope": SCOPES, "-": ("-",)}
        self.rows = {"device": [], "tile": [], "template": [], "absent": []}
        for line in path.read_text().splitlines():
            if line and not line.startswith("#"):
                kind, text = line.split(" ", 1)
                self.rows[kind].append([cell.strip() for cell in text.split("|")])

    def functions(self, kind):
        """(return type, name, parameter types) of each."""
        for set_name, count, prototype in self.rows[kind]:
            functions = [self.concrete(variant, member) for variant in variants(prototype)
                         for member in self.sets[set_name]]
            if len(functions) != int(count):
                sys.exit(f"{prototype}: with the set {set_name} these are {len(functions)} functions, "
                         f"the specification counts {count}")
            yield from functions

    def instances(self):
        """The same of each template, for each C type of its set."""
        for set_name, _, prototype in self.rows["template"]:
            for member in {self.types[m][0]: m for m in self.sets[set_name]}.values():
                returns, name, types = self.concrete(prototype, member)
                yield returns, f"{name}<{self.types[member][0]}>", types

    def concrete(self, prototype, member):
        text = prototype.replace("{T}", member).replace("{S}", member).replace("{SCOPE}", member)
        if member in self.types:
            text = re.sub(r"\bT\b", self.types[member][0], text)
        returns, name, parameters = re.fullmatch(r"(.+?[\s*])([\w:]+(?:<[\w, ]+>)?)\((.*)\)", text).groups()
        name = re.sub(r"\b(tensors|coll_algo|algo)\b", lambda m: TEMPLATE_ARGUMENTS[m[0]], name)
        types = [p if p == "void" else re.sub(r"\w+$", "", p).strip() for p in parameters.split(", ")]
        return returns.strip(), name, types


def variants(prototype):
    """Without and with a context; by one thread and by groups."""
    if "{ctx}" in prototype:
        before, parameters = prototype.split("(")
        rest = "" if parameters == "void)" else ", " + parameters[:-1]
        return [*variants(prototype.replace("{ctx}", "")),
                *variants(before.replace("{ctx}", "ctx_") + f"(rocshmem_ctx_t ctx{rest})")]
    if "{GROUP}" in prototype:
        return [prototype.replace("{GROUP}", group) for group in ("", "_wave", "_wg")]
    return [prototype]


def declaration(i, returns, name, types):
    """Of templates for groups, each kind of group in turn."""
    if types[-1] == "const Group &":
        group = GROUPS[i % len(GROUPS)]
        types = [*types[:-1], f"const {group} &"]
        name = f"{name[:-1]}, {group}>" if name.endswith(">") else f"{name}<{group}>"
    pointer = f"{returns} (*const f{i})({', '.join(types)})"
    return f"extern {pointer};\n{pointer} = {name};"


def name_in_c(name, types, names):
    """Under which a routine is defined that other names stand for in C++."""
    if name == "ishmemx_print" and len(types) > 1:
        return "ishmemx_print_as"
    is_overload = types[0] == "ishmem_team_t" and names.count(name) > 1
    return re.sub("^ishmem_", "ishmemx_", name) + "_team" if is_overload else name


def undefined(functions, args):
    """Routines of one thread or work-item that the headers for kernels do not define. They would compile without, as
    the host's."""
    headers, pattern = DEFINED[args.rows.stem]
    defined = set(re.findall(pattern, "".join((args.made / header).read_text() for header in headers), re.M))
    names = [name for _, name, _ in functions]
    return sorted({name_in_c(name, types, names) for _, name, types in functions
                   if types[-1] != "const Group &"} - defined)


def check_compiles(rows, functions, args):
    missing = undefined(functions, args)
    if missing:
        print(f"not defined for kernels: {', '.join(missing)}")
    with tempfile.TemporaryDirectory() as folder:
        args.out = Path(folder, "device.cpp")
        write(rows, functions, args)
        done = subprocess.run([*shlex.split(args.compiler), "-fsyntax-only", str(args.out)], check=False)
    return bool(missing) or done.returncode != 0


def write(rows, functions, args):
    lines = [declaration(i, *function) for i, function in enumerate([*functions, *rows.instances()])]
    head = HEADS[args.rows.stem] + (TENSORS if args.tiles else "")
    args.out.write_text("/* Made by tests/rows/check_device_rows.py. */\n" + head + "\n" + "\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", type=Path)
    parser.add_argument("host_rows", type=Path)
    parser.add_argument("--tiles", action="store_true")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--made", type=Path, help="the folder of the headers that are made")
    parser.add_argument("--expect", help="how many there are, as it is printed")
    parser.add_argument("--compiler", help="compile the file, for its errors only")
    args = parser.parse_args()
    rows = DeviceRows(args.rows, RowList(args.host_rows))
    functions = [*rows.functions("device"), *rows.functions("tile")]
    if args.out is not None:
        write(rows, rows.functions("tile" if args.tiles else "device"), args)
        return
    n_absent = sum(int(count) for count, _ in rows.rows["absent"])
    counts = (f"{len(functions)} of {len(functions) + n_absent} device functions, "
              f"and {len(rows.rows['template'])} templates")
    print(f"{counts}; not provided: {', '.join(name for _, name in rows.rows['absent']) or 'none'}")
    is_wrong = len({(name, *types) for _, name, types in functions}) != len(functions)
    if args.expect is not None and args.expect != counts:
        print(f"expected: {args.expect}")
        is_wrong = True
    sys.exit(is_wrong or (args.compiler is not None and check_compiles(rows, functions, args)))


if __name__ == "__main__":
    main()
