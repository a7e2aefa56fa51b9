"""core/api/api.table as objects: types, families and the routines that they make. The head of the table explains its
rows."""

import re
import sys

FACES = ("shmem", "nvshmem", "ishmem", "rocshmem")
FACE_OF_FORM = {"shmem": "shmem", "nvshmem": "nvshmem", "stream": "nvshmem", "ishmem": "ishmem", "queue": "ishmem",
                "rocshmem": "rocshmem", "rocstream": "rocshmem"}
STREAM_TYPE = {"stream": "cudaStream_t", "rocstream": "hipStream_t"}
WIDTHS = {"sizes": (8, 16, 32, 64, 128), "set_sizes": (32, 64)}
UNTYPED = (*WIDTHS, "mem", "plain")


def name_of(parameter):
    return re.search(r"(\w+)$", parameter).group(1)


class Type:
    def __init__(self, fields):
        self.name, self.c, self.machine = fields[:3]
        self.sets = {face: column.split() for face, column in zip(FACES, fields[3:])}


class Family:
    def __init__(self, fields):
        self.name, self.ret, self.routine, params, sets, forms, self.entry, self.constant, flags = fields
        self.params = [p.strip() for p in params.split(",")] if params != "-" else []
        self.sets, self.forms = sets.split(), forms.split() if forms != "-" else []
        flags = dict(flag.strip().partition(" ")[::2] for flag in flags.split(","))
        self.generic, self.inline = flags.get("generic"), flags.get("inline")
        self.signed, self.machine, self.world = "signed" in flags, "machine" in flags, "world" in flags
        self.takes_ctx = "{ctx}" in self.routine or "default_ctx" in flags

    def routines(self, form, types):
        """In the order in which a header lists them: without context first, then with; each in the order of the types.
        Collectives of ishmem.h: without team first, then with."""
        if form not in self.forms:
            return []
        ctx = [False, True] if form in ("shmem", "rocshmem") and "{ctx}" in self.routine else [False]
        team = [False, True] if self.world and form in ("ishmem", "queue") else [True]
        return [Routine(self, form, *element, with_ctx, with_team)
                for with_ctx in ctx for with_team in team for element in self.elements(form, types)]

    def elements(self, form, types):
        for name in self.sets:
            if name in WIDTHS:
                yield from ((None, bits) for bits in WIDTHS[name])
            elif name in UNTYPED:
                yield None, None
            else:
                yield from ((t, None) for t in types if name in t.sets[FACE_OF_FORM[form]])


class Routine:
    """One C function: a family in one form, with a type, a width or neither, with or without a context or team."""

    def __init__(self, family, form, element_type, bits, with_ctx, with_team):
        self.family, self.form, self.type, self.bits = family, form, element_type, bits
        self.with_ctx, self.with_team, self.face = with_ctx, with_team, FACE_OF_FORM[form]
        self.returns = self.spell(family.ret)
        self.name = self.c_name()
        self.size = f"sizeof({element_type.c})" if element_type else str(bits // 8) if bits else "1"

    def plain_name(self):
        return self.family.routine.format(f=self.face, ctx="ctx_" if self.with_ctx else "",
                                          T=self.type.name if self.type else None, S=self.bits)

    def c_name(self):
        extension = self.plain_name().replace(self.face + "_", self.face + "x_", 1)
        if self.form in ("stream", "queue"):
            return f"{extension}_on_{self.form}"
        if self.form == "rocstream":
            return self.plain_name() + "_on_stream"
        # C has no overloads.
        return extension + "_team" if self.is_overload() else self.plain_name()

    def is_overload(self):
        return self.form == "ishmem" and self.family.world and self.with_team

    def spell(self, text):
        if self.type:
            text = re.sub(r"\bT\b", self.type.c, text)
        text = re.sub(r"\bCTX\b", f"{self.face}_ctx_t", text)
        return re.sub(r"\bTEAM\b", f"{self.face}_team_t", text)

    def own_params(self):
        """Of the table, as this routine has them."""
        return [p for p in self.family.params if self.with_team or not p.startswith("TEAM ")]

    def params(self):
        ctx = [f"{self.face}_ctx_t ctx"] if self.with_ctx else []
        stream = [f"{STREAM_TYPE[self.form]} stream"] if self.form in STREAM_TYPE else []
        return ctx + [self.spell(p) for p in self.own_params()] + stream

    def parameter_list(self):
        return ", ".join(self.params()) or "void"

    def argument_names(self):
        return [name_of(p) for p in self.params()]

    def prototype(self):
        return f"{self.returns}{'' if self.returns.endswith('*') else ' '}{self.name}({self.parameter_list()})"

    def entry_argument(self, parameter):
        """What the entry function gets for a parameter: each face has handles and constants of its own."""
        name = name_of(parameter)
        if parameter.startswith("TEAM "):
            return (f'ist_team_of_{self.face}({name}, "{self.name}")' if self.with_team
                    else f'ist_team_of_all("{self.name}")')
        if re.fullmatch(r"T \w+", parameter):
            return f"&{name}"
        if self.face != "shmem" and name in ("cmp", "sig_op"):
            return f'ist_{name}_of_{self.face}({name}, "{self.name}")'
        return name

    def context_argument(self):
        if not self.family.takes_ctx:
            return []
        of_handle = "ist_ctx_of_rocshmem" if self.face == "rocshmem" else "ist_ctx_of_handle"
        return [f"{of_handle}(ctx)" if self.with_ctx else "&ist_ctx_default"]

    def inline_definition(self):
        """One statement: the fast path of isthmus/inline.h, and where that returns 0 the library's routine, under a
        name of its own."""
        family, real = self.family, f"isthmus_real_{self.name}_"
        args = ["isthmus_row_(pe)"] + ([family.constant] if family.constant != "-" else [])
        args += ["&result"] if family.ret == "T" else []
        args += [self.entry_argument(p) for p in family.params if name_of(p) != "pe"] + [self.size]
        fast, slow = f"{family.inline}({', '.join(args)})", f"{real}({', '.join(self.argument_names())})"
        if family.ret == "T":
            lines = [f"{self.type.c} result;", f"return {fast} ? result : {slow};"]
        else:
            lines = [f"if (!{fast}) {slow};"]
        return (f'extern {self.returns} {real}({self.parameter_list()}) __asm__("{self.name}");\n'
                f"ISTHMUS_INLINED_ {self.prototype()}\n{{\n" + "".join(f"    {line}\n" for line in lines) + "}\n")

    def definition(self):
        """One statement: the call of the entry function."""
        family = self.family
        if self.form in STREAM_TYPE:
            entry, args = f"{family.entry}_on_stream", ["stream"]
        else:
            entry, args = family.entry, self.context_argument()
        args += [family.constant] if family.constant != "-" else []
        args += ["&result"] if family.ret == "T" else []
        args += [self.entry_argument(p) for p in family.params if not p.startswith("CTX ")]
        if "plain" not in family.sets:
            args += [self.type.machine if family.machine else self.size]
        args += [f"IST_IS_SIGNED({self.type.c})"] if family.signed else []
        call = f"{entry}({', '.join([*args, chr(34) + self.name + chr(34)])})"
        if family.ret == "T":
            lines = [f"{self.type.c} result;", f"{call};", "return result;"]
        else:
            lines = [f"{'return ' if family.ret != 'void' else ''}{call};"]
        lines = [f"(void){name_of(p)};" for p in family.params if p.startswith("CTX ")] + lines
        return f"{self.prototype()}\n{{\n" + "".join(f"    {line}\n" for line in lines) + "}\n"


def read_table(path):
    types, families = [], []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        line = line.split("#")[0].strip()
        if not line:
            continue
        kind, _, rest = line.partition(" ")
        fields = [f.strip() for f in rest.split("|")]
        if kind == "type" and len(fields) == 7:
            types.append(Type(fields))
        elif kind == "family" and len(fields) == 9:
            families.append(Family(fields))
        else:
            sys.exit(f"{path}:{number}: not a row of the table: {line}")
    known = {s for t in types for sets in t.sets.values() for s in sets} | set(UNTYPED)
    for family in families:
        for unknown in set(family.sets) - known:
            sys.exit(f"{path}: family {family.name} names the set '{unknown}', which no type belongs to")
        for unknown in set(family.forms) - set(FACE_OF_FORM):
            sys.exit(f"{path}: family {family.name} names the form '{unknown}'; there are {', '.join(FACE_OF_FORM)}")
    return types, families
