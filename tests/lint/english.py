#!/usr/bin/env python3
"""Comments and documents name their subjects and use the field's verbs, as docs/glossary.md has them.

Counted per 1,000 words of all comments and documents together; code, literals and quoted code do not count. Above a
limit the files with the most sites are listed, with their lines. `--figures` prints both rates, `--all` every site."""
import ast
import io
import re
import tokenize
from collections import namedtuple

import lint

# (what is counted, per 1,000 words at most, what to write instead)
RULES = (
    (re.compile(r"\b(who|whoever|nobody|somebody)\b", re.IGNORECASE), 0.5,
     "name the subject: PE, thread, transport, request, caller, kernel, peer"),
    (re.compile(r"\b(tell|tells|told|telling|say|says|said|saying|ask|asks|asked|asking)\b", re.IGNORECASE), 1.0,
     "use the field's verb: report, return, request, reply, poll, announce, name, state"),
)
WORST = 10  # files listed of each rule

HASH_SUFFIXES = (".sh", ".cmake", "CMakeLists.txt", "dev")
MADE = ("docs/environment.md",)  # from texts that the program prints

# An identifier, a path or a call is no word of English.
WORD = re.compile(r"(?<![\w./$@-])[A-Za-z]+(?:['-][A-Za-z]+)*(?![\w(/=]|\.\w)")
HASH_COMMENT = re.compile(r"""(?:^|(?<=\s))#(?!!)[^\n]*|"(?:\\.|[^"\\\n])*"|'[^'\n]*'""", re.MULTILINE)
CODE_OF_DOCUMENT = re.compile(r"^```.*?^```|<!--.*?-->|^    [^\n]*|`[^`\n]*`|\]\([^)\n]*\)", re.DOTALL | re.MULTILINE)

Place = namedtuple("Place", "path line word")


def matches(pattern, text, kept):
    """(line, text) of the matches that begin with one of these characters."""
    for match in pattern.finditer(text):
        if match.group()[0] in kept:
            yield text.count("\n", 0, match.start()) + 1, match.group()


def python_comments(text):
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and not token.string.startswith("#!"):
            yield token.start[0], token.string
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node):
            yield node.body[0].lineno, node.body[0].value.value


def prose(path, text):
    """(line, text) of the comments in this file, or of its text if it is a document."""
    if path.suffix == ".md":
        return [(1, CODE_OF_DOCUMENT.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text))]
    if path.suffix == ".py":
        return python_comments(text)
    if path.suffix in HASH_SUFFIXES or path.name in HASH_SUFFIXES:
        return matches(HASH_COMMENT, text, "#")
    return matches(lint.COMMENT_OR_LITERAL, text, "/")


def files(root):
    suffixes = lint.C_SUFFIXES + HASH_SUFFIXES + (".py", ".md")
    yield from (path for path in lint.sources(root, *lint.FOLDERS, suffixes=suffixes) if str(path) not in MADE)
    for path in sorted(root.iterdir()):
        if path.is_file() and (path.suffix in suffixes or path.name in suffixes):
            yield path.relative_to(root)


def survey(root):
    """The number of words, and for each rule the places that break it."""
    words, places = 0, [[] for _ in RULES]
    for path in files(root):
        for first, text in prose(path, lint.read(root / path)):
            for match in WORD.finditer(text):
                words += 1
                for (pattern, _, _), found in zip(RULES, places):
                    if pattern.search(match.group()):
                        found.append(Place(path, first + text.count("\n", 0, match.start()), match.group()))
    return words, places


def report_worst(report, places, instead):
    by_path = {}
    for place in places:
        by_path.setdefault(place.path, []).append(place)
    for path, found in sorted(by_path.items(), key=lambda item: -len(item[1]))[:WORST]:
        sites = ", ".join(f"{place.word} ({place.line})" for place in found)
        report.fault(path, found[0].line, f"{len(found)} times: {sites}: {instead}")


def main():
    options = lint.arguments(__doc__, ("--figures", {"action": "store_true"}), ("--all", {"action": "store_true"}))
    report = lint.Report("english", options.root)
    words, found = survey(options.root.resolve())
    for (pattern, limit, instead), places in zip(RULES, found):
        rate = 1000 * len(places) / max(words, 1)
        figures = f"{len(places)} of {words} words, {rate:.2f} per 1,000: {pattern.pattern}"
        if options.figures:
            print(figures)
        if options.all:
            print("\n".join(f"{place.path}:{place.line}: {place.word}" for place in places))
        if rate > limit:
            report.faults.append(f"{figures}; at most {limit}")
            report_worst(report, places, instead)
    report.finish()


if __name__ == "__main__":
    main()
