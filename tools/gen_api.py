#!/usr/bin/env python3
"""Makes the APIs from core/api/api.table: public headers from their templates, the definitions, the tools' names, the
version script. Run by CMake at configure time; nothing made is committed. The table's own header explains a row,
docs/api-table.md how to add one."""

import argparse
import pathlib
import re
import sys

import api_compat
import api_cxx
import api_forward
import api_items
from api_device import FACE_OF_KIND, device_routines, rows_of
from api_generic import generics
from api_table import FACE_OF_FORM, FACES, read_table

MADE_FROM = "/* Made by tools/gen_api.py from core/api/api.table. */\n"
# Exported beside what public headers of the faces declare: what isthmus/*.h and compat/ need at run time.
EXPORTED_FOR_HEADERS = {"isthmus_fast_v1", "isthmus_device_register_v1", "isthmus_device_unregister_v1",
                        "isthmus_device_register_gpu_v1", "isthmus_device_unregister_gpu_v1",
                        "isthmus_device_register_later_v1", "isthmus_device_launch_v1", "isthmus_device_report_v1",
                        "isthmus_active_set_v1"}
REPLACED = {"_Fork", "clone"}  # of the C library: core/heap/fork.c
# A declaration starts its line; definitions that are compiled into programs end in a body.
PROTOTYPE = re.compile(r"^(?!typedef|extern|return)(?P<before>[A-Za-z_][\w\s\*]*?)\b(?P<name>\w+)"
                       r"(?P<after>\([^;{}]*\));", re.MULTILINE)
INLINED = re.compile(r"^ISTHMUS_INLINED_ .*?(\w+)\(", re.MULTILINE)


class Made:
    """What the markers of a template stand for."""

    def __init__(self, types, families, device, sycl):
        self.types, self.families, self.sycl = types, families, sycl
        self.device = device  # by face, of nvshmem.h and of rocshmem.hpp
        self.on_both = {r.name for routines in device.values() for r in routines if r.is_on_host}
        self.declared, self.declared_for_kernels = set(), set()
        self.profiled = []  # (text before the name, name, text after it) of shmem.h's routines
        self.of_nvshmem = []  # likewise of nvshmem.h and nvshmemx.h
        self.inlined = []  # the names of those that isthmus/shmem_inline.h defines

    def prototypes(self, form, names):
        out = []
        for name in names:
            routines = [r for f in self.families if f.name == name for r in f.routines(form, self.types)]
            if not routines:
                sys.exit(f"a header asks for the prototypes of family '{name}', form {form}, which is not in the table")
            self.declared.update(r.name for r in routines)
            out += [self.both(r, form) + r.prototype() + ";" for r in routines]
        return "\n".join(out)

    def device_definitions(self, face, names, are_on_host):
        """Of these families; of all of them without names."""
        routines = [r for r in self.device[face]
                    if r.is_on_host == are_on_host and (not names or r.routine.family.name in names)]
        self.declared_for_kernels.update(r.name for r in routines)
        return "\n".join(r.definition() for r in routines)

    def both(self, routine, form):
        """A routine that kernels call by the same name is declared for both."""
        return "ISTHMUS_HOST_DEVICE " if form in self.device and routine.name in self.on_both else ""

    def lines(self, marker, face):
        kind, *names = marker.split()
        if kind == "PROTOTYPES":
            return self.prototypes(face, names)
        if kind == "STREAM_PROTOTYPES":
            return self.prototypes("rocstream" if face == "rocshmem" else "stream", names)
        if kind == "GENERICS":
            return generics(self.families, self.types)
        if kind == "INLINED":  # without a context: those are what programs call in loops
            return "\n".join(r.inline_definition() for f in self.families if f.inline
                             for r in f.routines("shmem", self.types) if not r.with_ctx)
        if kind in ("DEVICE", "DEVICE_AND_HOST"):
            return self.device_definitions(face, names, kind == "DEVICE_AND_HOST")
        if kind == "SYCL_ITEM":
            return "\n".join(api_items.item_functions(self.sycl, self.types, *names))
        if kind == "SYCL_GROUP":
            return "\n".join(api_items.group_functions(self.sycl, self.types))
        if kind == "PROFILING":
            return "\n".join(f"{before}p{name}{after};" for before, name, after in self.profiled)
        made_for_cxx = {"OVERLOADS": api_cxx.overloads, "TEMPLATES": api_cxx.templates, "QUEUE": api_cxx.queue_forms}
        if kind in made_for_cxx:
            return "\n".join(made_for_cxx[kind](self.families, self.types, *names))
        sys.exit(f"unknown marker @{marker}@ in a header's template")

    def fill(self, template, face):
        return re.sub(r"^@(.*)@$", lambda m: self.lines(m.group(1), face), template.read_text(), flags=re.M)


def prototypes_in(header):
    """(text before the name, name, text after it) of each function that a header declares."""
    code = re.sub(r"/\*.*?\*/|//[^\n]*", "", header, flags=re.S)
    code = re.sub(r"^\s*#(?:\\\n|[^\n])*", "", code, flags=re.M)
    return [m.group("before", "name", "after") for m in PROTOTYPE.finditer(code)]


def write_if_changed(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def write_headers(made, templates, out):
    """Returns the names that they declare. pshmem.h comes last, because it repeats what shmem.h declares. A header
    whose template is gone goes too."""
    names, written = set(), set()
    for template in sorted(templates.rglob("*.h*.in"), key=lambda path: (path.name == "pshmem.h.in", path)):
        face = re.match(r"p?((?:nv|i|roc)?shmem)", template.name).group(1)
        text = made.fill(template, face)
        relative = template.relative_to(templates).with_suffix("")
        write_if_changed(out / "include" / relative, text)
        written.add(out / "include" / relative)
        if relative.name == "shmem_inline.h":
            made.inlined = INLINED.findall(text)
        if relative.parts[0] == "isthmus":
            continue  # compiled into programs
        declared = prototypes_in(text)
        names |= {name for _, name, _ in declared}
        if relative.name in ("nvshmem.h", "nvshmemx.h"):
            made.of_nvshmem += declared
        if relative.name == "shmem.h":
            made.profiled = [prototype for prototype in declared if prototype[1].startswith("shmem_")]
    for name, text in api_forward.headers():
        write_if_changed(out / "include" / name, text)
        written.add(out / "include" / name)
    for header in {path for path in (out / "include").rglob("*") if path.is_file()} - written:
        header.unlink()
    return names


def write_definitions(made, out):
    for face in FACES:
        routines = [r for f in made.families for form in FACE_OF_FORM if FACE_OF_FORM[form] == face and form != "queue"
                    for r in f.routines(form, made.types)]
        for routine in routines:
            if routine.name not in made.declared:
                sys.exit(f"{routine.name} is in the table, but no header declares it")
        twin = [f"IST_PROFILED({r.name})\n" if r.name.startswith("shmem_") else "" for r in routines]
        body = "\n".join(r.definition() + t for r, t in zip(routines, twin))
        write_if_changed(out / f"core/api/{face}_routines.c", f'{MADE_FROM}#include "core/api/all_entries.h"\n\n{body}')


def write_profiling(made, out):
    """The routines that a tool may replace, and those of them whose calls the compiler may never make."""
    weak = "".join(f"#pragma weak {name}\n" for _, name, _ in made.profiled)
    write_if_changed(out / "core/api/weak_names.h", f"{MADE_FROM}{weak}")
    rows = "".join(f"IST_INLINED({name})\n" for name in made.inlined)
    write_if_changed(out / "core/api/inlined_names.def", MADE_FROM + rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", type=pathlib.Path, required=True)
    parser.add_argument("--templates", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    args = parser.parse_args()
    types, families = read_table(args.table)
    device_table = args.table.with_name("device.table")
    made = Made(types, families, {face: device_routines(device_table, families, types, kind)
                                  for kind, face in FACE_OF_KIND.items()},
                list(rows_of(device_table, families, "ishmem", ("item", "group"))))
    names = write_headers(made, args.templates, args.out)
    of_kernels = {r.name for routines in made.device.values() for r in routines}
    for missing in of_kernels - made.declared_for_kernels:
        sys.exit(f"{missing} is in device.table, but no header for kernels defines it")
    write_definitions(made, args.out)
    write_profiling(made, args.out)
    for name, text in {**api_compat.nvshmem_host(made.of_nvshmem), **api_compat.oshmem(made.profiled)}.items():
        write_if_changed(args.out / "compat" / name, text)
    # Everything that a public header declares is exported, and nothing else.
    listed = "".join(f"    {name};\n" for name in sorted(names | EXPORTED_FOR_HEADERS | REPLACED))
    write_if_changed(args.out / "isthmus.map", f"ISTHMUS_0 {{\n  global:\n{listed}  local: *;\n}};\n")


if __name__ == "__main__":
    main()
