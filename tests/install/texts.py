#!/usr/bin/env python3
"""Usage: texts.py INCLUDE DOCUMENTS. Nothing that an installed header or document names lies in the source tree alone:
paths begin with include/ or docs/, which stand for the two folders, or with plugins/ofi, which is installed as an
example, and exist there; linked pages exist, too."""
import pathlib
import re
import sys

FOLDERS = "bench|compat|core|docs|include|plugins|tests|tools"
PATH = re.compile(rf"(?<![\w./$@%}}-])({FOLDERS})/([\w./-]*\w)")
LINK = re.compile(r"\]\((?!\w+:)([^)#\s]+)")
TEXTS = (".md", ".h", ".hpp", ".cuh", ".c", ".txt", ".tsv")


def faults(path, places):
    text = path.read_text()
    for match in PATH.finditer(text):
        folder, rest = match.groups()
        if match.group().startswith("plugins/ofi"):
            folder, rest = "docs", match.group().replace("plugins/ofi", "examples/transport-ofi", 1)
        if folder not in places or not (places[folder] / rest).exists():
            yield text.count("\n", 0, match.start()) + 1, match.group()
    for match in LINK.finditer(text) if path.suffix == ".md" else ():
        if not (path.parent / match.group(1)).exists():
            yield text.count("\n", 0, match.start()) + 1, match.group(1)


def main():
    places = dict(zip(("include", "docs"), map(pathlib.Path, sys.argv[1:])))
    found, n_texts = 0, 0
    for place in places.values():
        for path in sorted(p for p in place.rglob("*") if p.suffix in TEXTS):
            n_texts += 1
            for line, name in faults(path, places):
                found += 1
                print(f"{path}:{line}: names {name}, which is not installed")
    if n_texts < 20:
        found += 1
        print(f"only {n_texts} texts in {' '.join(sys.argv[1:])}")
    sys.exit(found > 0)


if __name__ == "__main__":
    main()
