"""What the programs of this folder share: reading a list of rows, and which names it stands for."""
import re
from pathlib import Path


class Row:
    """One line of a list: a prototype with {T} (or {S}) for each type of `set`, and with {ctx} for both forms."""

    def __init__(self, program, check, set_name, generic, prototype):
        self.program, self.check, self.set, self.prototype = program, check, set_name, prototype
        self.generic = None if generic == "-" else generic
        returns, self.name, parameters = re.fullmatch(r"(.+?)\s*([\w{}]+)\((.*)\)", prototype).groups()
        self.returns = returns.strip()
        self.parameters = [] if parameters == "void" else [split_parameter(p) for p in parameters.split(", ")]
        self.contexts = (False, True) if "{ctx}" in self.name else (False,)


class RowList:
    def __init__(self, path):
        self.types, self.sets, self.rows, self.hand = {}, {}, [], []
        for line in Path(path).read_text().splitlines():
            if line and not line.startswith("#"):
                self.read_line(line)

    def read_line(self, line):
        kind, text = line.split(" ", 1)
        cells = [cell.strip() for cell in text.split("|")]
        if kind == "type":
            self.types[cells[0]] = tuple(cells[1:])
        elif kind == "set":
            self.sets[cells[0]] = cells[1].split()
        elif kind == "row":
            self.rows.append(Row(*cells))
        elif kind == "hand":
            self.hand.append(text)
        else:
            raise ValueError(f"a line begins with {kind}: {line}")

    def members(self, row):
        """The TYPENAMES or widths that the row runs over; a set may be the name of one type."""
        if row.set == "-":
            return ["mem"]
        return self.sets.get(row.set, [row.set])

    def type_of(self, member):
        """(C type, kind) of a TYPENAME; a width in bits is so many bytes."""
        return (f"unsigned char[{int(member) // 8}]", "BYTES") if member.isdigit() else self.types[member]

    def generics(self):
        return {row.generic for row in self.rows if row.generic}

    def functions(self):
        """All names that the list stands for, generics not counted."""
        names = {re.search(r"(\w+)\(", prototype)[1] for prototype in self.hand}
        for row in self.rows:
            names |= {concrete(row.name, member, ctx) for member in self.members(row) for ctx in row.contexts}
        return names


def split_parameter(text):
    declared, name = re.fullmatch(r"(.*?)(\w+)", text).groups()
    return declared.strip(), name


def concrete(name, member, has_ctx):
    return name.replace("{ctx}", "ctx_" if has_ctx else "").replace("{T}", member).replace("{S}", member)
