"""What the checks of this folder share: finding the sources, reading them as a C compiler would, telling what is wrong.

Each check is a program, NAME.py [--root DIR]: silent and 0 when all is well, else one line per fault
(path:line: what, and what to do instead) and 1; 77 when it cannot run here.
"""
import argparse
import re
import sys
from pathlib import Path

SKIPPED = 77
FOLDERS = ("core", "plugins", "tools", "compat", "include", "tests", "bench", "docs")
C_SUFFIXES = (".c", ".h", ".def", ".in", ".cpp", ".hpp")

COMMENT_OR_LITERAL = re.compile(r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.DOTALL)


def arguments(doc, *more):
    parser = argparse.ArgumentParser(description=doc)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[2], help="the source tree")
    for name, options in more:
        parser.add_argument(name, **options)
    return parser.parse_args()


def sources(root, *folders, suffixes=C_SUFFIXES):
    """All files of these kinds below root/FOLDER, sorted, as paths relative to root."""
    found = []
    for folder in folders:
        for path in (root / folder).rglob("*"):
            if path.is_file() and (path.suffix in suffixes or path.name in suffixes):
                found.append(path.relative_to(root))
    return sorted(found)


def read(path):
    return path.read_text(encoding="utf-8", errors="replace")


def _blank(match):
    return re.sub(r"[^\n]", " ", match.group())


def without_comments(text):
    """The same lines and columns, comments as spaces."""
    return COMMENT_OR_LITERAL.sub(lambda m: _blank(m) if m.group()[0] == "/" else m.group(), text)


def code_only(text):
    """The same lines and columns, comments and literals as spaces."""
    return COMMENT_OR_LITERAL.sub(_blank, text)


def strings(text):
    """(line, content) of every string literal outside of comments."""
    for match in COMMENT_OR_LITERAL.finditer(text):
        if match.group()[0] == '"':
            yield text.count("\n", 0, match.start()) + 1, match.group()[1:-1]


class Report:
    """Collects faults; knows the exceptions that allowed.txt grants to this check."""

    def __init__(self, check, root):
        self.faults = []
        self.allowed = {}  # (path, word): line in allowed.txt
        self.used = set()
        listed = root / "tests/lint/allowed.txt"
        for number, row in enumerate(read(listed).splitlines() if listed.exists() else [], 1):
            fields = row.split(None, 3)
            if not fields or fields[0].startswith("#"):
                continue
            if len(fields) < 4:
                self.fault("tests/lint/allowed.txt", number, "a row is: check path word reason")
            elif fields[0] == check:
                self.allowed[(fields[1], fields[2])] = number

    def fault(self, path, line, text):
        self.faults.append(f"{path}:{line}: {text}")

    def fault_unless_allowed(self, path, line, word, text):
        if (str(path), word) in self.allowed:
            self.used.add((str(path), word))
        else:
            self.fault(path, line, text)

    def finish(self):
        for (path, word), number in self.allowed.items():
            if (path, word) not in self.used:
                self.fault("tests/lint/allowed.txt", number, f"{path} does not use '{word}' any more: remove this row")
        print("\n".join(self.faults), end="\n" if self.faults else "")
        sys.exit(1 if self.faults else 0)
