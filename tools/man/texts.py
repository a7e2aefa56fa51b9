"""Manual pages from other texts: what a tool prints with --help, the head of a script, a page of docs/."""
import re


def parse_help(text):
    """([usage], first sentence, [(option, text)], other paragraphs) of a tool's --help; a paragraph is a text, or a
    pair (term, text)."""
    lines = text.rstrip("\n").split("\n")
    usage, rest, options, paragraphs = [re.sub(r"(?i)^usage: ", "", lines[0])], lines[1:], [], []
    while rest and re.match(r"^ {7}\S", rest[0]):
        usage.append(rest.pop(0).strip())
    while rest and rest[0]:
        paragraphs.append(rest.pop(0))
    about = " ".join(paragraphs)
    paragraphs, current = [], []
    for line in rest:
        option = re.match(r"^  (-\S.*?)  +(\S.*)$", line)
        if option:
            options.append([option[1], option[2]])
        elif re.match(r"^ {8,}\S", line) and options and not current:
            options[-1][1] += " " + line.strip()
        elif term := re.match(r"^  (\S+)  +(\S.*)$", line):
            paragraphs += [" ".join(current)] if current else []
            paragraphs.append((term[1], term[2]))
            current = []
        elif line:
            current.append(line.strip())
        elif current:
            paragraphs.append(" ".join(current))
            current = []
    return usage, about, options, paragraphs + ([" ".join(current)] if current else [])


def write_help(page, name, text):
    usage, about, options, paragraphs = parse_help(text)
    page.names([name], about.split(". ")[0].rstrip(".?"))
    page.heading("synopsis")
    page.code(usage)
    page.heading("description")
    page.paragraph(about)
    for one in paragraphs:
        if isinstance(one, tuple):
            page.term(*one)
        else:
            page.paragraph(one)
    page.heading("options")
    for option, what in options:
        page.term(option, what)


def write_script_head(page, name, text):
    """`# NAME: what it is.`, then a block of usages, then paragraphs."""
    head = [re.sub(r"^# ?", "", one) for one in text.split("\n")[1:text.split("\n").index("set -eu")]]
    what = re.sub(r"^\S+: ", "", head[0]).rstrip(".")
    page.names([name], what)
    page.heading("synopsis")
    page.code([next(one.strip().partition("  ")[0] for one in head if one.startswith("  "))])
    page.heading("description")
    page.paragraph(what[0].upper() + what[1:] + ".")
    for one in (one for one in head if one.startswith("  ")):
        usage, _, text_of = one.strip().partition("  ")
        page.term(usage, text_of.strip())
    page.paragraph(" ".join(one for one in head[1:] if one and not one.startswith("  ")))


def plain(text):
    """Markdown within a line: no marks of code, and of a link its words."""
    return re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", text).replace("`", "")


def cells(line):
    return [plain(cell.strip()) for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]


def write_markdown(page, text):
    """Headings, paragraphs, items, blocks and tables; the page's own title is left out."""
    lines, at = text.split("\n"), 0
    while at < len(lines):
        line, at = lines[at], at + 1
        if line.startswith("# ") or not line.strip():
            continue
        block = [line]
        ends = {"|": lambda one: not one.startswith("|"), "    ": lambda one: not one.startswith("    "),
                "- ": lambda one: not one.startswith("  ")}
        kind = next((mark for mark in ends if line.startswith(mark)), "")
        is_end = ends.get(kind, lambda one: not one.strip())
        while not line.startswith("#") and at < len(lines) and not is_end(lines[at]):
            block.append(lines[at])
            at += 1
        if line.startswith("#"):
            (page.heading if re.match(r"## [a-zA-Z]", line) and "ISTHMUS_" not in line
             else page.subheading)(line.lstrip("# "))
        elif kind == "|":
            for row in block[2:]:
                name, *rest = cells(row)
                page.term(name, ": ".join(rest))
        elif kind == "    ":
            page.preformatted([one[4:] for one in block])
        else:
            (page.item if kind else page.paragraph)(plain(" ".join(one.strip() for one in block)[2 if kind else 0:]))
