#!/usr/bin/env python3
"""R153: shmem.h declares the names of the specification, with its prototypes, and no others; the library exports them.

r153_names.py --cc CC --cxx CXX --library FILE --include DIR...
The list is shmem_1_6_names.txt beside this file. Names of our own begin with isthmus_ or ISTHMUS_."""
import argparse
import re
import subprocess
import sys
from pathlib import Path

LIST = Path(__file__).with_name("shmem_1_6_names.txt")
WARNINGS = ["-Wall", "-Wextra", "-Werror", "-pedantic"]
faults = []


def read_list():
    rows = {"function": [], "proposal": [], "generic": [], "constant": [], "type": []}
    for line in LIST.read_text().splitlines():
        if line and not line.startswith("#"):
            kind, text = line.split(" ", 1)
            rows[kind].append(text)
    return rows


def name_of(prototype):
    return re.search(r"(\w+)\(", prototype)[1]


def run(command, text):
    return subprocess.run(command, input=text, text=True, capture_output=True)


def check_compiles(what, command, text):
    done = run(command, text)
    if done.returncode:
        faults.append(f"{what}: {' '.join(command)}\n{done.stderr[:2000]}")


def check_prototypes(args, rows):
    """A prototype that differs from the header's is a conflict; a name that is missing cannot be used."""
    functions = rows["function"] + rows["proposal"]
    body = "#include <shmem.h>\n#include <shmemx.h>\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n"
    body += "".join(f"{prototype};\n" for prototype in functions if "shmem_global_exit" not in prototype)
    body += "#ifdef __cplusplus\n}\n#endif\n"
    uses = "".join(f"    sum += &{name_of(prototype)} != 0;\n" for prototype in functions)
    uses += "".join(f"    sum += sizeof {name} != 0;\n" for name in rows["constant"])
    body += f"int use(void);\nint use(void)\n{{\n    int sum = 0;\n{uses}    return sum;\n}}\n"
    generics = "".join(f"#ifndef {name}\n#error {name} is no macro\n#endif\n" for name in rows["generic"])
    quiet = ["-Wno-address"]
    for level in ("-O0", "-O2"):
        for standard in ("c99", "c11", "c17"):
            command = [args.cc, f"-std={standard}", level, *WARNINGS, *quiet, *args.flags, "-c", "-xc", "-o", "/dev/null", "-"]
            check_compiles(f"prototypes, {standard}", command, body + (generics if standard != "c99" else ""))
        for standard in ("c++11", "c++17"):
            command = [args.cxx, f"-std={standard}", level, *WARNINGS, *quiet, *args.flags, "-c", "-xc++", "-o", "/dev/null", "-"]
            check_compiles(f"prototypes, {standard}", command, body)


def of_our_headers(preprocessed):
    """The lines that come from a header of ours: everything outside of the system's folders."""
    ours = True
    for line in preprocessed.splitlines():
        marker = re.match(r'# \d+ "([^"]*)"', line)
        if marker:
            ours = not marker[1].startswith(("/usr/", "<"))
        elif ours:
            yield line


def file_scope(text):
    """Declarations without bodies, parameter lists, attributes and names for the linker."""
    text = re.sub(r'"(?:\\.|[^"\\])*"', '""', text)
    text = re.sub(r'extern ""\s*\{', "", text)
    while re.search(r"\{[^{}]*\}", text):
        text = re.sub(r"\{[^{}]*\}", " @;", text)
    while re.search(r"\([^()]*\)", text):
        text = re.sub(r"\([^()]*\)", "#", text)
    return re.sub(r"__(attribute|asm)__\s*#", "", text)


def declared_names(text):
    for declaration in file_scope(text).split(";"):
        names = re.findall(r"\w+(?=\s*#)", declaration) or re.findall(r"\w+", declaration)[-1:]
        yield from names[-1:]
        yield from re.findall(r"\b(?:struct|union|enum)\s+(\w+)\s*@", declaration)


def check_declared(args, rows, defines, allowed):
    for source in ("#include <shmem.h>\n", "#include <mpp/shmem.h>\n"):
        command = [args.cc, "-std=c11", "-O2", "-E", "-dD", *defines, *args.flags, "-xc", "-"]
        done = run(command, source)
        if done.returncode:
            faults.append(f"{' '.join(command)}\n{done.stderr[:2000]}")
            return
        lines = list(of_our_headers(done.stdout))
        macros = {m[1] for line in lines if (m := re.match(r"#define (\w+)", line))}
        macros -= {m[1] for line in lines if (m := re.match(r"#undef (\w+)", line))}
        names = set(declared_names("\n".join(line for line in lines if not line.startswith("#"))))
        known = allowed | set(rows["generic"]) | set(rows["constant"]) | set(rows["type"])
        extra = {name for name in macros | names if name not in known}
        extra = {n for n in extra if not re.match(r"(isthmus|ISTHMUS)_|(SHMEMX?|MPP_SHMEMX?)_H$|_|\d", n)}
        for name in sorted(extra):
            faults.append(f"{source.strip()} {' '.join(defines)}: '{name}' is no name of the specification")
        missing = (set(rows["constant"]) | set(rows["generic"])) - macros | (allowed | set(rows["type"])) - names
        for name in sorted(missing):
            faults.append(f"{source.strip()} {' '.join(defines)}: '{name}' is not there")


def check_exported(args, functions):
    done = run(["nm", "-D", "--defined-only", "-f", "posix", args.library], "")
    exported = {line.split()[0].split("@")[0] for line in done.stdout.splitlines()}
    extension = re.compile(r"(isthmus_|shmemx_)\w+|ISTHMUS_\d")
    for name in sorted(functions - exported):
        faults.append(f"{args.library} does not export '{name}'")
    for name in sorted(exported - functions):
        if not extension.fullmatch(name):
            faults.append(f"{args.library} exports '{name}', which is no name of the specification")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for option in ("--cc", "--cxx", "--library"):
        parser.add_argument(option, required=True)
    parser.add_argument("--include", action="append", default=[])
    args = parser.parse_args()
    args.flags = [f"-I{folder}" for folder in args.include]
    rows = read_list()
    standard = {name_of(prototype) for prototype in rows["function"]}
    proposal = {name_of(prototype) for prototype in rows["proposal"]}
    check_prototypes(args, rows)
    check_declared(args, rows, [], standard | proposal)
    check_declared(args, rows, ["-DISTHMUS_STRICT_OPENSHMEM"], standard)
    check_exported(args, standard | proposal)
    print("\n".join(faults), end="\n" if faults else "")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
