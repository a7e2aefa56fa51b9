"""The public headers' templates as manual pages: a comment and the declarations below it are a page, and each routine
has the name of its page, or one that leads there."""
import re
from collections import namedtuple

HEADERS = {"shmem": ("shmem.h", "shmemx.h"), "nvshmem": ("nvshmem.h", "nvshmemx.h"),
           "ishmem": ("ishmem.h", "ishmemx.h", "isthmus/ishmem_queue.hpp")}
API = {"shmem": "OpenSHMEM", "nvshmem": "NVSHMEM", "ishmem": "Intel SHMEM"}
TITLE = re.compile(r"---- (.*?) ----(?:\s*\n \*)?\s*")
MARKER = re.compile(r"@(?P<kind>(?:STREAM_)?PROTOTYPES|QUEUE)(?P<names>[^@]*)@$")
BEFORE = re.compile(r"^(?:ISTHMUS_HOST_DEVICE|ISTHMUS_NORETURN_) ")
DECLARATION = re.compile(r"^(?!typedef|extern|return|static|inline|enum|struct|template)"
                         r"[A-Za-z_][\w\s\*]*?\b(\w+)\([^{}]*\);$")
COLUMNS = 120

Synopsis = namedtuple("Synopsis", "lines types")  # types: the names that TYPENAME stands for, or ()


class Group:
    """A comment, and what is declared below it."""

    def __init__(self, header, title, lines):
        self.header, self.title, self.lines = header, title, lines
        self.base_names, self.names, self.synopses, self.note = [], [], [], None

    def add(self, base_names, names, synopsis):
        self.base_names += [name for name in base_names if name not in self.base_names]
        self.names += [name for name in names if name not in self.names]
        self.synopses.append(synopsis)


def comment_lines(text):
    """Of a comment, without its stars: the title of its section, or None, and the lines."""
    text = text.strip()[2:-2].strip()
    title = TITLE.match(text)
    lines = [re.sub(r"^ \* ?", "", one.rstrip()) for one in text[title.end() if title else 0:].split("\n")]
    return re.sub(r" \[[^\]]*\]", "", title[1]) if title else None, lines


# ---- what a family of the table looks like in a synopsis ----

def spelled(family, face, form, with_ctx, types):
    """The prototype with TYPENAME, TYPE and SIZE in place of the types and widths."""
    routine = family.routines(form, types)[0]
    name = family.routine.format(f=face, ctx="ctx_" if with_ctx else "", T="TYPENAME", S="SIZE")
    if routine.plain_name() != routine.name:  # a name with a beginning or an end of its form
        extended = name.replace(face + "_", face + "x_", 1)
        name = {"stream": extended + "_on_stream", "queue": extended + "_on_queue"}.get(form, name)
    params = [f"{face}_ctx_t ctx"] if with_ctx else []
    params += [re.sub(r"\bTEAM\b", f"{face}_team_t", re.sub(r"\bCTX\b", f"{face}_ctx_t", re.sub(r"\bT\b", "TYPE", p)))
               for p in family.params if not (family.world and form in ("ishmem", "queue") and p.startswith("TEAM "))]
    params += ["cudaStream_t stream"] if form == "stream" else []
    if form == "queue":
        result = "int *ret, " if family.ret == "int" else "TYPE *ret, " if family.ret == "T" else ""
        returns = "sycl::event"
        params = params + [f"{result}sycl::queue &q, const std::vector<sycl::event> &deps = {{}}"]
    else:
        returns = re.sub(r"\bT\b", "TYPE", family.ret)
    return f"{returns}{'' if returns.endswith('*') else ' '}{name}({', '.join(params) or 'void'});"


def base_name(family, face, form):
    """The name without types, widths and contexts: what a reader looks for."""
    name = family.routine.format(f=face, ctx="", T="@", S="").replace("@_", "").replace("_@", "")
    if form in ("stream", "queue"):
        return f"{name.replace(face + '_', face + 'x_', 1)}_on_{form}"
    return name


def add_family(group, family, face, form, types):
    routines = family.routines(form, types)
    names = tuple(dict.fromkeys(r.type.name for r in routines if r.type))
    lines = []
    if family.generic and form == "shmem":
        generic = re.sub(r"\b\w+\(", family.generic + "(", spelled(family, face, form, False, types), count=1)
        lines += ["/* C11, any TYPE: */", generic]
    lines.append(spelled(family, face, form, False, types))
    if form == "shmem" and "{ctx}" in family.routine:
        lines.append(spelled(family, face, form, True, types))
    if family.world and form == "ishmem":
        group.note = "ishmem_team_t team may come first; in C the name then begins with ishmemx_ and ends in _team."
    group.add([base_name(family, face, form)], [r.name for r in routines], Synopsis(lines, names))


# ---- a header ----

def statements(text):
    """The comments, declarations, markers and blank lines of a header, in order."""
    lines, at = text.split("\n"), 0
    while at < len(lines):
        begin, end = at, "*/" if lines[at].startswith("/*") else None
        if end is None and re.match(r"[A-Za-z_].*[(,]", lines[at]) and not lines[at].endswith("{"):
            end = ";"
        while end and at + 1 < len(lines) and end not in lines[at]:
            at += 1
        at += 1
        yield "\n".join(lines[begin:at])


def groups_of(text, header, face, families, types):
    """The head comment's lines, and the groups that declare something."""
    by_name, head, groups = {f.name: f for f in families}, None, []
    section = current = Group(header, "", [])
    for one in statements(text):
        if one.startswith("/*") and "*/" in one:
            comment, rest = one[:one.index("*/") + 2], one[one.index("*/") + 2:]
            title, lines = comment_lines(comment)
            if head is None:
                head = lines
                section = current = Group(header, "operations in SYCL queues" if "queue" in header else "", lines)
                groups.append(section)
                continue
            current = Group(header, title if title is not None else section.title, lines)
            section = current if title is not None else section
            groups.append(current)
        elif not one.strip():
            current = section
        elif marker := MARKER.match(one):
            form = {"STREAM_PROTOTYPES": "stream", "QUEUE": "queue"}.get(marker["kind"], face)
            for name in marker["names"].split() or [f.name for f in families if form in f.forms]:
                add_family(current, by_name[name], face, form, types)
        else:
            joined = BEFORE.sub("", re.sub(r"\s*\n\s*", " ", one))
            if found := DECLARATION.match(joined):
                current.add([found[1]], [found[1]], Synopsis([joined], ()))
    return head, [g for g in groups if g.names]


# ---- text ----

def is_forced_break(before, after):
    """A line of a comment ends early where a paragraph ends."""
    return before.endswith((".", ":")) and len(before) + 4 + len(after.split(" ", 1)[0]) < COLUMNS - 3


def write_lines(page, lines):
    """Paragraphs, and terms: lines with a blank before, whose words and text are two blanks apart."""
    paragraph, term = [], None

    def flush():
        nonlocal paragraph, term
        if term is not None:
            page.term(term, " ".join(paragraph))
        elif paragraph:
            page.paragraph(" ".join(paragraph))
        paragraph, term = [], None

    last = ""
    for one in lines:
        found = re.match(r"^  (\S.*?)  +(\S.*)$", one)
        if not one.strip():
            flush()
        elif found:
            flush()
            term, paragraph = found[1], [found[2]]
        elif one.startswith("  ") and term is not None:
            paragraph.append(one.strip())
        elif term is not None or (last and paragraph and is_forced_break(last, one.strip())):
            flush()
            paragraph = [one.strip()]
        else:
            paragraph.append(one.strip())
        last = one
    flush()


def wrapped(prototype, columns=78):
    """A prototype in lines of a page, broken after commas."""
    lines, indent = [prototype], prototype.find("(") + 1
    while len(lines[-1]) > columns and ", " in lines[-1][indent:columns]:
        cut = lines[-1].rindex(", ", 0, columns) + 1
        if cut <= indent:
            break
        lines[-1:] = [lines[-1][:cut], " " * min(indent, 24) + lines[-1][cut + 1:]]
    return lines


def write_synopsis(page, group):
    page.heading("synopsis")
    page.code([f"#include <{group.header}>"])
    by_types = {}
    for synopsis in group.synopses:
        page.code([part for one in synopsis.lines for part in wrapped(one)])
        if any("TYPENAME" in one for one in synopsis.lines):
            by_types.setdefault(synopsis.types, []).append(synopsis)
    for types, of in by_types.items():
        which = "TYPENAME is" if len(by_types) == 1 else f"TYPENAME of {', '.join(name_in(s) for s in of)}:"
        page.paragraph(f"{which} {', '.join(types)}.")
    if group.note:
        page.paragraph(group.note)
    if any("SIZE(" in one or "SIZE_" in one for s in group.synopses for one in s.lines):
        page.paragraph("SIZE is a width in bits: " + sizes_of(group) + ".")


def name_in(synopsis):
    return next(re.search(r"\w*TYPENAME\w*", one)[0] for one in synopsis.lines if "TYPENAME" in one)


def sizes_of(group):
    sizes = sorted({int(m[1]) for n in group.names
                    if (m := re.search(r"(?:put|get|collect|broadcast|alltoalls?)(\d+)", n))})
    return ", ".join(map(str, sizes))
