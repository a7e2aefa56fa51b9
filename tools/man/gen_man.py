#!/usr/bin/env python3
"""Makes the manual pages, compressed, into DIR: section 3 from the comments of the public headers' templates and
core/api/api.table, section 1 from what the tools print with --help and the heads of the wrappers, section 5 from
docs/environment.md, section 7 from the headers' first comments. Nothing made is committed."""
import argparse
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import headers
import roff
import texts
from api_table import read_table


class Manual:
    def __init__(self, folder, version):
        self.folder, self.version = folder, version
        self.written = set()  # paths in the folder

    def page(self, name, section, title):
        return roff.Page(name, section, title, self.version)

    def write(self, page, aliases=()):
        roff.write(self.folder, page)
        self.written.add(roff.path_of(page.name, page.section))
        for name in aliases:
            path = roff.path_of(name, page.section)
            if path not in self.written:
                roff.write_alias(self.folder, name, page)
                self.written.add(path)

    def remove_others(self):
        for path in self.folder.glob("man*/*.gz"):
            if str(path.relative_to(self.folder)) not in self.written:
                path.unlink()


def routine_page(manual, group, face, others):
    name = group.base_names[0]
    page = manual.page(name, 3, headers.API[face])
    page.names(group.base_names, group.title or "routines of " + headers.API[face])
    headers.write_synopsis(page, group)
    page.heading("description")
    headers.write_lines(page, group.lines)
    page.see_also([(face, 7), *((other, 3) for other in others if other != name)])
    manual.write(page, [*group.base_names[1:], *group.names])


def pages_of_face(manual, face, root, families, types):
    """Returns (name of the page, title) of each routine's page."""
    index, head_of_face = [], None
    for header in headers.HEADERS[face]:
        text = (root / "include" / f"{header}.in").read_text()
        head, groups = headers.groups_of(text, header, face, families, types)
        head_of_face = head_of_face or head
        for group in groups:
            others = dict.fromkeys(g.base_names[0] for g in groups if g.title == group.title)
            routine_page(manual, group, face, others)
            index.append((group.base_names[0], group.title or header))
    overview(manual, face, head_of_face, index)


def overview(manual, face, head, index):
    page = manual.page(face, 7, headers.API[face])
    page.names([face], f"the {headers.API[face]} interface of Isthmus")
    page.heading("description")
    headers.write_lines(page, head)
    page.heading("pages")
    by_title = {}
    for name, title in index:
        by_title.setdefault(title, []).append(name)
    for title, names in by_title.items():
        page.term(title, ", ".join(f"{name}(3)" for name in dict.fromkeys(names)))
    page.see_also([("isthmus", 7), ("isthmus-run", 1), ("oshcc", 1), ("isthmus.conf", 5)])
    manual.write(page)


def isthmus_page(manual, tools):
    page = manual.page("isthmus", 7, "Isthmus")
    page.names(["isthmus"], "a portable SHMEM runtime")
    page.heading("description")
    page.paragraph("Programs for OpenSHMEM, NVSHMEM and Intel SHMEM call one library, libisthmus. oshcc compiles them, "
                   "isthmus-run starts them on one machine; mpirun, srun and other launchers start them on several.")
    page.code(["oshcc hello.c -o hello", "isthmus-run -n 4 ./hello"])
    page.see_also([*((face, 7) for face in headers.HEADERS), *((tool, 1) for tool in tools), ("oshcc", 1),
                   ("isthmus.conf", 5)])
    manual.write(page)


def tool_pages(manual, tools, wrapper):
    for tool in tools:
        name = pathlib.Path(tool).name
        text = subprocess.run([tool, "--help"], check=True, capture_output=True, text=True).stdout
        page = manual.page(name, 1, "Isthmus")
        texts.write_help(page, name, text)
        page.see_also([("isthmus", 7), ("isthmus.conf", 5)])
        manual.write(page, ["oshrun"] if name == "isthmus-run" else [])
    page = manual.page("oshcc", 1, "Isthmus")
    texts.write_script_head(page, "oshcc", pathlib.Path(wrapper).read_text())
    page.see_also([("isthmus", 7), ("isthmus-run", 1)])
    manual.write(page, ["oshc++"])


def settings_page(manual, root):
    page = manual.page("isthmus.conf", 5, "Isthmus")
    page.names(["isthmus.conf"], "settings of Isthmus, in files and in the environment")
    page.heading("description")
    lines = (root / "docs/environment.md").read_text().split("\n")
    texts.write_markdown(page, "\n".join(line for line in lines if not line.startswith("This page is made from")))
    page.see_also([("isthmus", 7), ("isthmus-info", 1)])
    manual.write(page)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", required=True, type=pathlib.Path)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("--version", required=True)
    parser.add_argument("--wrapper", required=True, help="the installed oshcc")
    parser.add_argument("tools", nargs="*", help="programs that print a page's text with --help")
    args = parser.parse_args()
    types, families = read_table(args.root / "core/api/api.table")
    manual = Manual(args.out, args.version)
    for face in headers.HEADERS:
        pages_of_face(manual, face, args.root, families, types)
    tool_pages(manual, args.tools, args.wrapper)
    settings_page(manual, args.root)
    isthmus_page(manual, [pathlib.Path(tool).name for tool in args.tools])
    manual.remove_others()


if __name__ == "__main__":
    main()
