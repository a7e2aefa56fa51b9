#!/usr/bin/env python3
"""rows.py HEADER ROWS.def: every struct and constant of the plugin ABI has its rows, so that none can move unnoticed.

layout.c compares the rows with the committed table; this script finds what has no row. Counts of
constants (ISTHMUS_..._COUNT) grow with them and have none."""
import re
import sys
from pathlib import Path


def main():
    header, rows = (Path(argument).read_text() for argument in sys.argv[1:])
    code = re.sub(r"/\*.*?\*/", " ", header, flags=re.DOTALL)
    structs = re.findall(r"^struct (isthmus_\w+) \{", code, re.MULTILINE)
    constants = [name for body in re.findall(r"enum \{(.*?)\}", code, re.DOTALL)
                 for name in re.findall(r"(ISTHMUS_\w+) =", body) if not name.endswith("_COUNT")]
    missing = [f"LAST({name})" for name in structs if f"LAST({name})" not in rows]
    missing += [f"VALUE({name})" for name in constants if f"VALUE({name})" not in rows]
    if len(structs) < 10 or len(constants) < 50:
        missing.append(f"{len(structs)} structs and {len(constants)} constants found: the header is not read rightly")
    print("\n".join(f"missing in rows.def: {row}" for row in missing), end="\n" if missing else "")
    sys.exit(1 if missing else 0)


if __name__ == "__main__":
    main()
