#!/usr/bin/env python3
"""No line is wider than 120 columns, comments included.

Of tables whose rows are lines only the comments count; of documents neither tables nor code, which quotes what programs
print; of data and of what is made nothing."""
import re

import lint

COLUMNS = 120
TABLES = re.compile(r"\.(def|ptx|rows|spvasm|table)$|_names\.txt$|(^|/)allowed\.txt$")
DATA = re.compile(r"\.(svg|tsv)$|^tests/fuzz/corpus/|^docs/environment\.md$")
COMMENT = re.compile(r"\s*(#|;|//|/\*|\*)")
CODE_BLOCK = re.compile(r"^```.*?^```|^    [^\n]*", re.DOTALL | re.MULTILINE)


def texts(root):
    """(path, text) of all files but data."""
    paths = [path for folder in (*lint.FOLDERS, ".ci") for path in (root / folder).rglob("*")] + list(root.iterdir())
    for path in sorted(path for path in paths if path.is_file() and not path.is_symlink()):
        name, content = str(path.relative_to(root)), path.read_bytes()
        if not DATA.search(name) and b"\0" not in content:
            yield name, content.decode("utf-8", errors="replace")


def counted(name, text):
    """(number, line) of the lines that have to keep within the columns."""
    if name.endswith(".md"):
        text = CODE_BLOCK.sub(lambda match: "\n" * match.group().count("\n"), text)
    for number, line in enumerate(text.split("\n"), 1):
        is_row = line.startswith("|") if name.endswith(".md") else TABLES.search(name) and not COMMENT.match(line)
        if not is_row:
            yield number, line


def main():
    options = lint.arguments(__doc__)
    report = lint.Report("columns", options.root)
    for name, text in texts(options.root.resolve()):
        for number, line in counted(name, text):
            if len(line) > COLUMNS:
                report.fault(name, number, f"{len(line)} columns; at most {COLUMNS}: continue on a further line")
    report.finish()


if __name__ == "__main__":
    main()
