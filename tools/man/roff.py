"""A manual page in roff's man macros: escapes, paragraphs, lists of terms."""
import gzip
import re

ROUTINE = re.compile(r"\b(?:p|nv|i)?shmemx?_\w+\b|\bISTHMUS_[A-Z_]+\b")


def escape(text):
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("\u2026", "...")
    for plain, made in (("\u2013", "\\(en"), ("\u00d7", "\\(mu"), ("\u00b5", "\\(mc")):
        text = text.replace(plain, made)
    return text


def line(text):
    """One line of text: at its start, roff would take a dot or an apostrophe for a request."""
    text = escape(text)
    return "\\&" + text if text[:1] in (".", "'") else text


def prose(text):
    """As line(), with the names of routines and variables in bold."""
    return ROUTINE.sub(lambda m: f"\\fB{m[0]}\\fP", line(text))


def quoted(text):
    return '"' + escape(text).replace('"', '\\(dq') + '"'


class Page:
    def __init__(self, name, section, title, version):
        self.name, self.section = name, section
        self.out = [f".TH {quoted(name)} {section} \"\" {quoted('Isthmus ' + version)} {quoted(title)}", ".nh", ".ad l"]

    def heading(self, text):
        self.out.append(f".SH {quoted(text.upper())}")

    def subheading(self, text):
        self.out.append(f".SS {quoted(text)}")

    def names(self, names, what):
        self.heading("name")
        self.out.append(f"{', '.join(escape(n) for n in names)} \\- {escape(what)}")

    def code(self, lines):
        self.out += [".PP", ".nf"] + [f"\\fB{line(text)}\\fP" if text else "" for text in lines] + [".fi"]

    def preformatted(self, lines):
        self.out += [".PP", ".nf", ".RS 4"] + [line(text) for text in lines] + [".RE", ".fi"]

    def paragraph(self, text):
        self.out += [".PP", prose(text)]

    def term(self, term, text):
        self.out += [".TP", f"\\fB{line(term)}\\fP", prose(text)]

    def item(self, text):
        self.out += [".IP \\(bu 2", prose(text)]

    def see_also(self, pages):
        self.heading("see also")
        self.out.append(",\n".join(f"\\fB{escape(name)}\\fP({section})" for name, section in pages))

    def text(self):
        return "\n".join(self.out) + "\n"


def path_of(name, section):
    return f"man{section}/{name}.{section}.gz"


def write(folder, page):
    """Compressed, and with the same bytes in each build."""
    path = folder / path_of(page.name, page.section)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.write_bytes(gzip.compress(page.text().encode(), compresslevel=9, mtime=0))


def write_alias(folder, name, page):
    """A link: thousands of names take no room."""
    path = folder / path_of(name, page.section)
    path.unlink(missing_ok=True)
    path.symlink_to(f"{page.name}.{page.section}.gz")
