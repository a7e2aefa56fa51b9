#!/usr/bin/env python3
"""gen_rows.py LIST PROGRAM OUT [--generic] [--include HEADER]...: writes the part of a program that calls routines.

For each routine of LIST that belongs to PROGRAM, or to any with PROGRAM `all`, and each type: a function that calls it
with the arguments of a struct row_call, typed as in the prototype, and a line in the table `rows`. With --generic the
calls use the type-generic name."""
import argparse
import re
from pathlib import Path

from row_list import RowList, concrete

# What a parameter becomes, by its name: pointers are cast to the parameter's type, others are taken as they are.
POINTERS = {"dest", "source", "fetch", "status", "indices", "sig_addr", "ivar", "ivars", "cmp_values", "pWrk", "pSync"}
VALUES = {"value": "value", "cond": "cond", "cmp_value": "cmp_value"}
HANDLES = {"team": "team", "ctx": "ctx", "stream": "stream"}
PLAIN = {
    "dst": "dst", "sst": "sst", "nelems": "nelems", "nreduce": "nelems", "bsize": "bsize", "nblocks": "nblocks",
    "pe": "pe", "signal": "signal", "sig_op": "sig_op", "cmp": "cmp", "PE_root": "root", "PE_start": "set_start",
    "logPE_stride": "set_log_stride", "PE_size": "set_size", "qp_index": "queue",
}
FIELDS = {"ivar": "dest", "ivars": "dest", "pWrk": "work", "pSync": "sync"}


def argument(declared, name, c_type):
    declared = re.sub(r"\bT\b", c_type, declared)
    field = FIELDS.get(name, name)
    if name in POINTERS:
        return f"({declared})c->{field}"
    if name in VALUES:
        return f"*(const {declared} *)c->{VALUES[name]}"
    if name == "q":
        return "turn.queue(), {turn.before()}"
    if name == "ret":
        return "&ret"
    if name in HANDLES:
        return f"*({declared} *)c->{HANDLES[name]}"
    cast = "(int)" if (declared, name) == ("int", "nreduce") else ""
    return f"{cast}c->{PLAIN[name]}"


def call(row, routine, c_type, has_ctx):
    face = "rocshmem" if routine.startswith("rocshmem") else "shmem"  # those with contexts
    parameters = ([(f"{face}_ctx_t", "ctx")] if has_ctx else []) + row.parameters
    text = f"{routine}({', '.join(argument(d, n, c_type) for d, n in parameters)})"
    if row.returns == "sycl::event":
        return in_queue(row, text)
    if row.returns == "void":
        return text
    if row.returns == "T":
        return f"*({c_type} *)c->result = {text}"
    return f"c->returned = (long long){text}"


def result_type(row):
    """Of a form in a queue: what its ret points to; None: it has no result."""
    return next((declared.rstrip(" *") for declared, name in row.parameters if name == "ret"), None)


def in_queue(row, text):
    """The call is over when its event is: then *ret has the result."""
    result = result_type(row)
    if result is None:
        return f"turn turn;\n    turn.wait({text})"
    return f"turn turn;\n    {result} ret = 0;\n    turn.wait({text});\n    c->returned = (long long)ret"


def flags(row, has_ctx):
    names = {name for _, name in row.parameters} | ({"ctx"} if has_ctx else set())
    marks = [("ctx", "ROW_CTX"), ("team", "ROW_TEAM"), ("stream", "ROW_STREAM"), ("PE_start", "ROW_SET")]
    returns = result_type(row) is not None if row.returns == "sycl::event" else row.returns not in ("void", "T")
    marks = [mark for name, mark in marks if name in names] + (["ROW_RETURNS"] if returns else [])
    return " | ".join(marks) or "0"


def routines(rows, program, wants_generic):
    """(row, member, has_ctx, expression that names the routine, text that does) of every call of the program."""
    hidden = rows.generics()  # macros: a function of that name is reached with the name in parentheses
    for row in rows.rows:
        if program not in (row.program, "all") or wants_generic and row.generic is None:
            continue
        for member in rows.members(row):
            for has_ctx in row.contexts:
                name = row.generic if wants_generic else concrete(row.name, member, has_ctx)
                shown = name + (f"({'ctx, ' if has_ctx else ''}{member})" if wants_generic else "")
                yield row, member, has_ctx, f"({name})" if name in hidden and not wants_generic else name, shown


def generate(rows, args):
    yield f"/* Made by gen_rows.py from {args.list.name}: {args.program}. */"
    yield from (f"#include <{header}>" for header in args.include)
    yield '#include "rows.h"\n'
    if "rocshmem/rocshmem.hpp" in args.include:
        yield "using namespace rocshmem;\n"
    if any(row.returns == "sycl::event" for row in rows.rows):
        yield '#include "turn.hpp"\n'
    table = []
    for number, (row, member, has_ctx, routine, shown) in enumerate(routines(rows, args.program, args.generic)):
        c_type, kind = rows.type_of(member)
        c = "c" if any(name != "q" for _, name in row.parameters) or has_ctx or row.returns in ("T", "int") else ""
        unused = "" if c else "    (void)c;\n"
        yield (f"static void call_{number}(struct row_call *c)\n{{\n"
               f"{unused}    {call(row, routine, c_type, has_ctx)};\n}}")
        table.append(f'    {{"{shown}", call_{number}, "{row.check}", {{sizeof({c_type}), ROW_{kind}}}, '
                     f'{flags(row, has_ctx)}}},')
    yield "\nstatic const struct row rows[] = {"
    yield from table
    yield "};\n"
    yield "int main(void) { return rows_main(rows, sizeof rows / sizeof rows[0]); }"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("list", type=Path)
    parser.add_argument("program")
    parser.add_argument("out", type=Path)
    parser.add_argument("--generic", action="store_true")
    parser.add_argument("--include", action="append", default=[])
    args = parser.parse_args()
    args.out.write_text("\n".join(generate(RowList(args.list), args)) + "\n")


if __name__ == "__main__":
    main()
