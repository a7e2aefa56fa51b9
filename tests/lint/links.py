#!/usr/bin/env python3
"""What documents and comments point to exists: linked pages and headings, and paths of this tree.

A path is a word that begins with a folder of the tree, with or without a suffix: `core/ops/rma.c`, `bench/bench_bulk`,
`tests/hosts/*.table`. A single capital letter, NN and <what> stand for any name, as in `docs/transports/X.md`. Files
that the build makes are rows of allowed.txt."""
import functools
import itertools
import re

import english
import lint

LINK = re.compile(r"\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]*))?\)")
FENCED = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
FOLDERS = "bench|compat|core|docs|include|plugins|tests|tools"
PATH = re.compile(rf"(?<![\w./$@%}}-])(?:{FOLDERS})/[\w./{{}},*?<>-]*[\w*}}/]")


def blanked(pattern, text):
    return pattern.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)


def anchors(text):
    """The headings of a document, as links name them."""
    heads = re.findall(r"^#+ +(.*)$", blanked(FENCED, text), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}


def check_links(report, root, path):
    text = lint.read(root / path)
    for match in LINK.finditer(blanked(FENCED, text)):
        line = text.count("\n", 0, match.start()) + 1
        target = root / path.parent / match.group(1) if match.group(1) else root / path
        if not target.exists():
            report.fault(path, line, f"links to {match.group(1)}, which does not exist")
        elif match.group(2) and match.group(2) not in anchors(lint.read(target)):
            report.fault(path, line, f"links to the heading #{match.group(2)}, which {target.name} does not have")


def alternatives(word):
    """a{b,c}d: abd, acd."""
    parts = [part.split(",") for part in re.split(r"[{}]", word)]
    return ["".join(one) for one in itertools.product(*parts)] if "{" in word else [word]


@functools.lru_cache(maxsize=None)
def exists(root, word):
    pattern = re.sub(r"(?<![^/])[A-Z](?=[./]|$)|NN|<\w+>", "*", word.rstrip("/"))
    return any(True for suffix in ("", ".*") for _ in root.glob(pattern + suffix))


def check_paths(report, root, path):
    text = lint.read(root / path)
    is_document = path.suffix == ".md"
    for first, text in [(1, blanked(LINK, blanked(FENCED, text)))] if is_document else english.prose(path, text):
        for match in PATH.finditer(text):
            for word in alternatives(match.group()):
                if not exists(root, word):
                    report.fault_unless_allowed(path, first + text.count("\n", 0, match.start()), match.group(),
                                                f"names {word}, which does not exist")


def main():
    root = lint.arguments(__doc__).root.resolve()
    report = lint.Report("links", root)
    for path in english.files(root):
        if path.suffix == ".md":
            check_links(report, root, path)
        if path.parts[:2] != ("tests", "lint"):
            check_paths(report, root, path)
    report.finish()


if __name__ == "__main__":
    main()
