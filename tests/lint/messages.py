#!/usr/bin/env python3
"""docs/messages.md and docs/findings.md have every message that a user can see, with what to do, and no other.

A message is the format string of a call that reports a failure or a warning. Those of isthmus-check-transport about a
plugin, and the rules of the contract that it names there, are in docs/findings.md. A message stands in the first cell
of a row, in backquotes, several of them if one remedy serves all. There a word of capitals stands for a value that the
message prints, or for itself; CALL also for the name of a function, and `…` for any text. `--missing` prints rows to be
filled in, `--list` all messages."""
import re
from collections import namedtuple

import lint

DOCUMENT, FINDINGS = "docs/messages.md", "docs/findings.md"
CHECKER, COMMAND_LINE = "tools/isthmus-check-transport/", "options.c"
FOLDERS = ("core", "plugins", "tools", "compat", "include")

# Function, and which of its arguments is the format string, or are.
FORMAT_OF = {"ist_fail": 1, "ist_fail_errno": 1, "ist_fail_memory": 0, "ist_misuse": 1, "ist_warn": 0,
             "ist_error": 0, "ist_end_job_saying": 0, "ist_finding": 3, "report": 0, "report_and_exit": 0,
             "options_refuse": 1, "fprintf": 1, "->fail": 2, "->log": 2, "CT_CHECK": 1, "CT_NEED": 1, "CT_RULE": (1, 3),
             "CT_THIS_CHECK": 1, "ct_fault": 1, "ct_skip": 0, "ist_uid_leader_fail": 1}
# The same in single files, where the text is made before it is known which call reports it.
FORMAT_IN = {"uid_job.c": {"fail": 1}, "boot_uid.c": {"snprintf": 2}, "fd_pass_take.c": {"refuse": 2},
             "config.c": {"snprintf": 2}, "rc_amo.c": {"snprintf": 2}, "config_file.c": {"snprintf": 2},
             "liveness.c": {"snprintf": 2}, "processes.c": {"snprintf": 2, "find": (3, 4)}, "cases.def": {"CASE": 4},
             "remote.c": {"snprintf": 2},
             "kernel_report.c": {"snprintf": 2}}
# What these functions add to their format string.
ADDED = {"ist_fail_errno": "%s: %s", "ist_fail_memory": "no memory for %s"}
CALL = re.compile(r"((?:->)?(?<!\w)(?:[a-z]\w*|CT_[A-Z_]+|CASE))\(")
# One that several calls report.
TEXT = re.compile(r"\bstatic const char (?:text|rule)\[\]\s*=([^;]*);|#define \w+_LINE\b((?:.*\\\n)*.*)")
PART = re.compile(r"[;,]|.*,$|\S*( \S+){,3}$")  # what snprintf makes is then no message, but a part of one
# Of calls that also do other things, those that count.
IS_REPORT = {"->log": lambda found: re.search(r"ISTHMUS_LOG_(WARN|ERROR)", found[1]),
             "fprintf": lambda found: found[0].strip() == "stderr"}
DIRECTIVE = re.compile(r"%(%|[-+ #0]*(?:\d+|\*)?(?:\.(?:\d+|\*)?)?(?:hh|h|ll|l|j|z|t|L)?[a-zA-Z])")
LITERAL_OR_NAME = re.compile(r'"((?:\\.|[^"\\])*)"|\bPRI(\w+)|([A-Z_][A-Z0-9_]+)')
ESCAPES = {"n": "\n", "t": "\t"}
VALUE = "\0"
DEPTH = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}

Message = namedtuple("Message", "path line text")  # values as VALUE


def arguments_of(code, text, start):
    """The arguments, as written, of the call whose bracket is before `start`."""
    depth, at, begin, found = 1, start, start, []
    while at < len(code) and depth:
        depth += DEPTH.get(code[at], 0)
        if (code[at] == "," and depth == 1) or depth == 0:
            found.append(text[begin:at])
            begin = at + 1
        at += 1
    return found


def alternatives(argument):
    """A ? B : C gives B and C; anything else itself."""
    code, parts, begin = lint.code_only(argument), [], 0
    for at, char in enumerate(code):
        if char in "?:":
            parts.append(argument[begin:at])
            begin = at + 1
    return parts[1:] + [argument[begin:]] if parts else [argument]


def format_in(argument):
    """The text of adjacent literals; None if there are none."""
    pieces, has_text = [], False
    for match in LITERAL_OR_NAME.finditer(argument):
        literal, kind, name = match.groups()
        has_text |= literal is not None
        pieces.append(literal if literal is not None else kind[:1] if kind else "%s")
    text = re.sub(r"\\(.)", lambda m: ESCAPES.get(m.group(1), m.group(1)), "".join(pieces))
    return text if has_text else None


def plain(text):
    """Values as one mark each; neighbouring ones are one."""
    text = DIRECTIVE.sub(lambda m: "%" if m.group() == "%%" else VALUE, text).strip()
    return re.sub(f"{VALUE}+", VALUE, text)


def as_tuple(positions):
    return positions if isinstance(positions, tuple) else (positions,)


def document_of(path):
    """Where the messages of a source are listed."""
    return FINDINGS if str(path).startswith(CHECKER) and path.name != COMMAND_LINE else DOCUMENT


def messages(root):
    for path in lint.sources(root, *FOLDERS, suffixes=(".c", ".h", ".hpp", "cases.def")):
        text = lint.without_comments(lint.read(root / path))
        code = lint.code_only(text)
        position = {**FORMAT_OF, **FORMAT_IN.get(path.name, {})}
        for match in TEXT.finditer(code):
            yield Message(path, code.count("\n", 0, match.start()) + 1,
                          plain(format_in(text[slice(*match.span(match.lastindex))])))
        for match in CALL.finditer(code):
            name = match.group(1)
            if name not in position:
                continue
            found = arguments_of(code, text, match.end())
            places = [at for at in as_tuple(position[name]) if at < len(found)]
            if not places or not IS_REPORT.get(name, lambda _: True)(found):
                continue
            line = code.count("\n", 0, match.start()) + 1
            for part in (part for at in places for part in alternatives(found[at])):
                written = plain(format_in(part) or "")
                if name == "snprintf" and PART.match(written):
                    continue
                whole = ADDED.get(name, "%s").replace("%s", written, 1).replace("%s", VALUE)
                if re.search(r"[A-Za-z]{2}", written) and " " in whole:
                    yield Message(path, line, whole)


def pattern(row):
    """What the messages of a row look like."""
    def token(match):
        word = match.group()
        if word == "…":
            return ".+"
        return f"(?:{VALUE}|{re.escape(word)}" + (r"|[a-z]\w+)" if word == "CALL" else ")")

    pieces, at = [], 0
    for match in re.finditer(r"…|(?<![\w-])[A-Z][A-Z0-9_]*(?![\w])", row):
        pieces += [re.escape(row[at:match.start()]), token(match)]
        at = match.end()
    return re.compile("".join(pieces + [re.escape(row[at:])]), re.DOTALL)


def rows(root):
    """(document, line, pattern, message) of all rows."""
    for document in (DOCUMENT, FINDINGS):
        text = lint.read(root / document) if (root / document).exists() else ""
        for number, line in enumerate(text.splitlines(), 1):
            cell = re.match(r"\| ((?:\\\||[^|])*) \|", line)
            for quoted in re.findall(r"`([^`]+)`", cell.group(1).replace("\\|", "|")) if cell else ():
                yield document, number, pattern(quoted), quoted


def report_twice(report, known):
    """Each message is listed once."""
    first = {}
    for document, line, _, text in known:
        if first.setdefault((document, text), line) != line:
            report.fault(document, line, f"`{text}` has a row already, in line {first[document, text]}")


def readable(text):
    return re.sub(VALUE, "VALUE", text).replace("\n", " ")


def main():
    options = lint.arguments(__doc__, ("--missing", {"action": "store_true"}), ("--list", {"action": "store_true"}),
                             ("--under", {"default": "", "help": "of --missing and --list: in this folder only"}))
    report = lint.Report("messages", options.root)
    known, used = list(rows(options.root)), set()
    shown = set()
    for message in messages(options.root):
        document = document_of(message.path)
        fitting = [number for number, (where, _, form, _) in enumerate(known)
                   if where == document and form.fullmatch(message.text)]
        used.update(fitting)
        here = str(message.path).startswith(options.under)
        if here and message.text not in shown and (options.list or (options.missing and not fitting)):
            shown.add(message.text)
            print(f"| `{readable(message.text)}` | | {message.path}:{message.line}")
        if not fitting:
            report.fault_unless_allowed(message.path, message.line, "row", f"{document} has no row for this message: "
                                        f"`{readable(message.text)}`")
    for number, (document, line, _, text) in enumerate(known):
        if number not in used:
            report.fault(document, line, f"no message of the sources is `{text}`")
    report_twice(report, known)
    if options.missing or options.list:
        return
    report.finish()


if __name__ == "__main__":
    main()
