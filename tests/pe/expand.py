#!/usr/bin/env python3
"""expand.py TEMPLATE TYPES OUT: writes OUT from a C file in which parts are repeated for each type of a set.

A part lies between the lines /*@for SET@*/ and /*@end@*/; in it NAME stands for the TYPENAME and TYPE for the C type of
each row of TYPES (types.table) that belongs to the set. Messages and debuggers point into the template."""
import re
import sys
from pathlib import Path


def read_types(path):
    rows = [line.split("|") for line in path.read_text().splitlines() if line and not line.startswith("#")]
    return [(name.strip(), c_type.strip(), sets.split()) for name, c_type, sets in rows]


def expand(template, types):
    lines = template.read_text().splitlines()
    yield f'/* Made by expand.py from {template.name}. */'
    yield f'#line 1 "{template}"'
    start = None
    for number, line in enumerate(lines, 1):
        begins = re.fullmatch(r"\s*/\*@for (\w+)@\*/", line)
        if begins:
            start, wanted = number, begins[1]
        elif re.fullmatch(r"\s*/\*@end@\*/", line):
            part = lines[start:number - 1]
            for name, c_type, sets in types:
                if wanted in sets:
                    yield f'#line {start + 1} "{template}"'
                    yield from (piece.replace("NAME", name).replace("TYPE", c_type) for piece in part)
            yield f'#line {number + 1} "{template}"'
            start = None
        elif start is None:
            yield line


def main():
    template, types, out = map(Path, sys.argv[1:])
    text = "\n".join(expand(template, read_types(types))) + "\n"
    out.write_text(text)


if __name__ == "__main__":
    main()
