#!/usr/bin/env python3
"""Makes the typed part of the APIs from core/api/api.table: public headers from their templates, the definitions, the
version script. Run by CMake at configure time; nothing made is committed. The table's own header says what a row means,
docs/api-table.md how to add one."""

import argparse
import pathlib
import re
import sys

SIZES = [8, 16, 32, 64, 128]
CTX = "shmem_ctx_t ctx"


# Bodies of inlined routines, by kind. {real} is the call of the library's routine.
INLINE_BODIES = {
    "p": """    {T} *at = ({T} *)isthmus_element_(dest, {size}, pe);
    if (__builtin_expect(at == NULL, 0)) {{
        {real};
        return;
    }}
    __atomic_store(at, &value, __ATOMIC_RELAXED);""",
    "g": """    {T} value;
    const {T} *at = (const {T} *)isthmus_element_(source, {size}, pe);
    if (__builtin_expect(at == NULL, 0)) return {real};
    __atomic_load(at, &value, __ATOMIC_RELAXED);
    return value;""",
    "put": """    void *at = NULL;
    if (__builtin_constant_p(nelems) && nelems > 0 && nelems <= ISTHMUS_SMALL_BYTES / {size}) at = isthmus_small_(dest, pe);
    if (__builtin_expect(at == NULL || source == NULL, 0))
        {real};
    else
        __builtin_memcpy(at, source, nelems * {size});""",
    "get": """    const void *at = NULL;
    if (__builtin_constant_p(nelems) && nelems > 0 && nelems <= ISTHMUS_SMALL_BYTES / {size}) at = isthmus_small_(source, pe);
    if (__builtin_expect(at == NULL || dest == NULL, 0))
        {real};
    else
        __builtin_memcpy(dest, at, nelems * {size});""",
    "load": """    {T} value;
    const {T} *at = (const {T} *)isthmus_element_(source, {size}, pe);
    if (__builtin_expect(at == NULL, 0)) return {real};
    __atomic_load(at, &value, __ATOMIC_SEQ_CST);
    return value;""",
    "exchange": """    {T} old;
    {T} *at = ({T} *)isthmus_element_(dest, {size}, pe);
    if (__builtin_expect(at == NULL, 0)) return {real};
    __atomic_exchange(at, &value, &old, __ATOMIC_SEQ_CST);
    return old;""",
    "set": """    {T} old;
    {T} *at = ({T} *)isthmus_element_(dest, {size}, pe);
    if (__builtin_expect(at == NULL, 0)) {{
        {real};
        return;
    }}
    __atomic_exchange(at, &value, &old, __ATOMIC_SEQ_CST);""",
    "compare_swap": """    {T} *at = ({T} *)isthmus_element_(dest, {size}, pe);
    if (__builtin_expect(at == NULL, 0)) return {real};
    (void)__atomic_compare_exchange_n(at, &cond, value, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return cond;""",
    "fetch": """    {T} *at = ({T} *)isthmus_element_(dest, {size}, pe);
    if (__builtin_expect(at == NULL, 0)) return {real};
    return __atomic_fetch_{amo}(at, value, __ATOMIC_SEQ_CST);""",
    "update": """    {T} *at = ({T} *)isthmus_element_(dest, {size}, pe);
    if (__builtin_expect(at == NULL, 0)) {{
        {real};
        return;
    }}
    (void)__atomic_fetch_{amo}(at, value, __ATOMIC_SEQ_CST);""",
    "fetch_inc": """    {T} *at = ({T} *)isthmus_element_(dest, {size}, pe);
    if (__builtin_expect(at == NULL, 0)) return {real};
    return __atomic_fetch_add(at, 1, __ATOMIC_SEQ_CST);""",
    "inc": """    {T} *at = ({T} *)isthmus_element_(dest, {size}, pe);
    if (__builtin_expect(at == NULL, 0)) {{
        {real};
        return;
    }}
    (void)__atomic_fetch_add(at, 1, __ATOMIC_SEQ_CST);""",
}
NOT_INLINED = ["long double"]  # wider than one store


class Type:
    def __init__(self, name, c_type, sets):
        self.name, self.c, self.sets = name, c_type, sets


class Family:
    def __init__(self, fields):
        self.name, self.ret, self.routine, params, sets, self.entry, self.constant, flags = fields
        self.params = [p.strip() for p in params.split(",")]
        self.sets = sets.split()
        self.flags = [f.strip() for f in flags.split(",")]
        self.generic = next((f.split()[1] for f in self.flags if f.startswith("generic ")), None)
        self.signed = "signed" in self.flags
        self.inline = next((f[len("inline "):] for f in self.flags if f.startswith("inline ")), None)


class Routine:
    """One C function: a family with a type, a width or neither, with or without a context."""

    def __init__(self, family, with_ctx, type_name=None, c_type=None, bits=None):
        self.family, self.with_ctx, self.type_name, self.c_type = family, with_ctx, type_name, c_type
        self.name = family.routine.format(ctx="ctx_" if with_ctx else "", T=type_name, S=bits)
        self.size = f"sizeof({c_type})" if c_type else str(bits // 8) if bits else "1"
        self.returns = c_type if family.ret == "T" else family.ret
        typed = [re.sub(r"\bT\b", c_type or "T", p) for p in family.params]
        self.params = ([CTX] if with_ctx else []) + typed

    def prototype(self):
        return f"{self.returns} {self.name}({', '.join(self.params)})"

    def inline_definition(self):
        """The fast path for the program's own code; the library's routine, under a name of its own, does the rest."""
        family = self.family
        kind, _, constant = family.inline.partition(" ")
        real = f"isthmus_real_{self.name}_"
        args = ", ".join(re.search(r"(\w+)$", p).group(1) for p in self.params)
        body = INLINE_BODIES[kind].format(T=self.c_type, size=self.size, real=f"{real}({args})", amo=constant)
        return (f'extern {self.returns} {real}({", ".join(self.params)}) __asm__("{self.name}");\n'
                f"ISTHMUS_INLINED_ {self.prototype()}\n{{\n{body}\n}}\n")

    def definition(self):
        family = self.family
        has_ctx = "{ctx}" in family.routine
        args = ["IST_CTX(ctx)" if self.with_ctx else "&ist_ctx_default"] if has_ctx else []
        args += [family.constant] if family.constant != "-" else []
        args += ["&result"] if family.ret == "T" else []
        for p in family.params:
            name = re.search(r"(\w+)$", p).group(1)
            args.append(f"&{name}" if re.fullmatch(r"T \w+", p) else name)
        args += [self.size]
        args += [f"IST_IS_SIGNED({self.c_type})"] if family.signed else []
        args += [f'"{self.name}"']
        call = f"{family.entry}({', '.join(args)})"
        if family.ret == "T":
            body = f"    {self.c_type} result;\n    {call};\n    return result;"
        elif family.ret == "void":
            body = f"    {call};"
        else:
            body = f"    return {call};"
        return f"{self.prototype()}\n{{\n{body}\n}}\n"


def read_table(path):
    types, families = [], []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        line = line.split("#")[0].strip()
        if not line:
            continue
        kind, _, rest = line.partition(" ")
        fields = [f.strip() for f in rest.split("|")]
        if kind == "type" and len(fields) == 3:
            types.append(Type(fields[0], fields[1], fields[2].split()))
        elif kind == "family" and len(fields) == 8:
            families.append(Family(fields))
        else:
            sys.exit(f"{path}:{number}: not a row of the table: {line}")
    known = {s for t in types for s in t.sets} | {"sizes", "mem"}
    for family in families:
        for unknown in set(family.sets) - known:
            sys.exit(f"{path}: family {family.name} names the set '{unknown}', which no type belongs to")
    return types, families


def routines_of(family, types):
    """Without context first, then with; each in the order of the types."""
    for with_ctx in [False, True] if "{ctx}" in family.routine else [False]:
        for s in family.sets:
            if s == "sizes":
                yield from (Routine(family, with_ctx, bits=bits) for bits in SIZES)
            elif s == "mem":
                yield Routine(family, with_ctx)
            else:
                yield from (Routine(family, with_ctx, t.name, t.c) for t in types if s in t.sets)


# Exact-width and size types are these on the machines we run on: a generic selection may name each C type once.
SAME_TYPE = {"int8_t": "signed char", "int16_t": "short", "int32_t": "int", "int64_t": "long",
             "uint8_t": "unsigned char", "uint16_t": "unsigned short", "uint32_t": "unsigned int",
             "uint64_t": "unsigned long", "size_t": "unsigned long", "ptrdiff_t": "long"}


def selection(family, routines, with_ctx):
    seen, rows = set(), []
    for r in routines:
        canonical = SAME_TYPE.get(r.c_type, r.c_type)
        if r.with_ctx != with_ctx or canonical in seen:
            continue
        seen.add(canonical)
        rows.append(f"{canonical}: {r.name}")
    first = re.search(r"(\w+)$", family.params[0]).group(1)
    head = f"ctx, {first}" if with_ctx else first
    name = family.generic.upper() + ("_CTX_" if with_ctx else "_")
    body = ", \\\n             ".join(rows)
    return (f"#define ISTHMUS_{name}({head}, ...) \\\n"
            f"    _Generic(*({first}), \\\n             {body})({head}, __VA_ARGS__)\n")


def generics(families, types):
    """A generic macro looks at the value behind the first pointer, so that qualifiers do not matter; with and without
    context are told apart by the number of arguments."""
    out, done = [], set()
    for family in families:
        if family.generic is None or family.generic in done:
            continue
        done.add(family.generic)
        routines = list(routines_of(family, types))
        out.append(selection(family, routines, False))
        plain = f"ISTHMUS_{family.generic.upper()}_"
        if "{ctx}" in family.routine:
            out.append(selection(family, routines, True))
            n = len(family.params) + 1
            out.append(f"#define {family.generic}(...) ISTHMUS_PICK_{n}_(__VA_ARGS__, "
                       f"ISTHMUS_{family.generic.upper()}_CTX_, {plain}, 0)(__VA_ARGS__)\n")
        else:
            out.append(f"#define {family.generic}(...) {plain}(__VA_ARGS__)\n")
    return "\n".join(out)


def prototypes(names, families, types):
    out = []
    for name in names:
        members = [f for f in families if f.name == name]
        if not members:
            sys.exit(f"a header asks for the prototypes of family '{name}', which is not in the table")
        for family in members:
            out += [r.prototype() + ";" for r in routines_of(family, types)]
    return "\n".join(out)


def fill_template(text, source, families, types):
    text = re.sub(r"^@INLINED@$", lambda m: "\n".join(inlined(families, types)), text, flags=re.M)
    text = re.sub(r"^@PROTOTYPES (.*)@$", lambda m: prototypes(m.group(1).split(), families, types), text, flags=re.M)
    text = re.sub(r"^@GENERICS@$", lambda m: generics(families, types), text, flags=re.M)
    left = re.search(r"^@.*@$", text, flags=re.M)
    if left:
        sys.exit(f"{source}: unknown marker {left.group(0)}")
    return text


def inlined(families, types):
    """Routines without a context: those are what programs call in loops."""
    return [r.inline_definition() for f in families if f.inline for r in routines_of(f, types)
            if not r.with_ctx and r.c_type not in NOT_INLINED]


def write_if_changed(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", type=pathlib.Path, required=True)
    parser.add_argument("--templates", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--version", required=True)
    args = parser.parse_args()
    types, families = read_table(args.table)

    headers = []
    for template in sorted(args.templates.rglob("*.h.in")):
        relative = template.relative_to(args.templates).with_suffix("")
        text = fill_template(template.read_text(), template, families, types)
        write_if_changed(args.out / "include" / relative, text)
        headers.append(text)

    routines = [r for f in families for r in routines_of(f, types)]
    made_from = "/* Made by tools/gen_api.py from core/api/api.table. */\n"
    body = "\n".join(r.definition() for r in routines)
    write_if_changed(args.out / "core/api/shmem_typed.c",
                     f'{made_from}#include "core/api/amo_entry.h"\n#include "core/api/public.h"\n'
                     f'#include "core/api/rma_entry.h"\n#include "core/api/sync_entry.h"\n\n'
                     f'{body}')

    # Everything that a public header declares is exported, and nothing else.
    code = re.sub(r"/\*.*?\*/|//[^\n]*", "", "\n".join(headers), flags=re.S)
    code = re.sub(r"^\s*#(?:\\\n|[^\n])*", "", code, flags=re.M)
    code = re.sub(r"^ISTHMUS_INLINED_[^}]*\n}\n|^extern [^;]*__asm__[^;]*;", "", code, flags=re.M)
    declared = {"isthmus_fast_v1"} | set(re.findall(r"\b((?:nv|i)?shmemx?_\w+|start_pes|_my_pe|_num_pes)\s*\(", code))
    names = sorted(declared)
    write_if_changed(args.out / "isthmus.map",
                     "ISTHMUS_0 {\n  global:\n" + "".join(f"    {n};\n" for n in names) + "  local: *;\n};\n")


if __name__ == "__main__":
    main()
