#!/usr/bin/env python3
"""R153: the public headers declare the names of the specifications, with their prototypes, and no others; the library
exports them, and the routines of shmem.h under their pshmem_ names too.

r153_names.py --cc CC --cxx CXX --library FILE --include DIR...
The lists are the ..._names.txt beside this file. Names of Isthmus begin with isthmus_ or ISTHMUS_."""
import argparse
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
WARNINGS = ["-Wall", "-Wextra", "-Werror", "-pedantic", "-Wno-address"]
KINDS = ("function", "proposal", "extension", "overload", "queue", "generic", "constant", "type")
# Further names that the headers declare, and the library exports.
OUR_EXTENSIONS = (r"isthmus_(fast|active_set)_v1|isthmus_device_((un)?register(_gpu)?|register_later|launch|report)_v1|"
                  r"rocshmem_\w+|"
                  r"shmemx_(visibility|transport_name)|"
                  r"shmemx_(ctx_)?(local_complete|remote_commit)|shmemx_team_remote_commit|"
                  r"ishmemx_print_as|ishmem_query_initialized")
OUR_NAMES = r"(isthmus|ISTHMUS)_\w+"
faults = []


class Face:
    def __init__(self, name, names_file, headers, own_names):
        self.name, self.headers, self.own_names = name, headers, own_names
        self.rows = {kind: [] for kind in KINDS}
        for line in (HERE / names_file).read_text().splitlines():
            if line and not line.startswith("#"):
                kind, text = line.split(" ", 1)
                self.rows[kind].append(text)
        self.functions = self.rows["function"] + self.rows["proposal"] + self.rows["extension"]

    def includes(self):
        return "".join(f"#include <{header}>\n" for header in self.headers)


SHMEM = Face("shmem", "shmem_1_6_names.txt", ["shmem.h", "shmemx.h"], None)
NVSHMEM = Face("nvshmem", "nvshmem_3_5_names.txt", ["nvshmem.h", "nvshmemx.h"],
               r"_*(nvshmem|NVSHMEM)\w+|cudaStream_t|half|__half|__nv_bfloat16|CU(module|library|mod_st|lib_st)")
ISHMEM = Face("ishmem", "ishmem_1_5_names.txt", ["ishmem.h", "ishmemx.h"],
              r"(ishmem|ISHMEM)\w+|DEBUG|WARNING|ERROR|STDOUT|STDERR")


def name_of(prototype):
    return re.search(r"(\w+)\(", prototype)[1]


def run(command, text):
    return subprocess.run(command, input=text, text=True, capture_output=True)


def check_compiles(what, command, text):
    done = run(command, text)
    if done.returncode:
        faults.append(f"{what}: {' '.join(command)}\n{done.stderr[:2000]}")


def pointer_to(prototype):
    """A pointer of the prototype's type gets the function: also for names with a C11 generic or C++ overloads."""
    declared = re.sub(r"(\w+)\(", "(*pointer)(", prototype, count=1)
    return f"    {{ __extension__ {declared} = {name_of(prototype)}; sum += pointer != 0; }}\n"


def use_of(face):
    """Uses of everything that has a name."""
    uses = "".join(pointer_to(p) for p in face.functions)
    for constant in face.rows["constant"]:
        if constant.endswith("_INITIALIZER"):
            uses += f"#ifndef {constant}\n#error {constant} is no macro\n#endif\n"
        else:
            uses += f"    sum += sizeof {constant} != 0;\n"
    uses += "".join(f"    sum += sizeof({name}) != 0;\n" for name in face.rows["type"])
    overloads = "".join(pointer_to(p) for p in face.rows["overload"])
    return (f"int use(void);\nint use(void)\n{{\n    int sum = 0;\n{uses}"
            f"#ifdef __cplusplus\n{overloads}#endif\n    return sum;\n}}\n")


def check_prototypes(args, face, *defines):
    """A prototype that differs from the header's is a conflict; a name that is missing cannot be used."""
    declarations = "".join("__extension__ " + re.sub(r"(\w+)\(", r"(\1)(", p, count=1) + ";\n" for p in face.functions
                           if "shmem_global_exit" not in p)
    body = (f'{face.includes()}#ifdef __cplusplus\nextern "C" {{\n#endif\n{declarations}#ifdef __cplusplus\n}}\n'
            f"#endif\n{use_of(face)}")
    generics = "".join(f"#ifndef {name}\n#error {name} is no macro\n#endif\n" for name in face.rows["generic"])
    # -O2 has the inlined paths, too
    standards = {"-O0": ("c11", "c++17"), "-O2": ("c99", "c11", "c17", "c++11", "c++17")}
    for level, names in standards.items():
        for standard in names:
            language, compiler = ("c++", args.cxx) if "++" in standard else ("c", args.cc)
            command = [compiler, f"-std={standard}", level, *WARNINGS, *defines, *args.flags, "-c", f"-x{language}",
                       "-o", "/dev/null", "-"]
            text = body + (generics if standard in ("c11", "c17") else "")
            check_compiles(f"{face.name}, {standard}", command, text)


def check_queue_forms(args):
    """They are templates, so that each is looked up by its type, without instantiating it."""
    asked = "".join(
        re.sub(r"(.*?)(\w+)\((.*)\)", r'static_assert(sizeof(static_cast<\1(*)(\3)>(&\2)) != 0, "");', p) + "\n"
        for p in ISHMEM.rows["queue"])
    command = [args.cxx, "-std=c++17", *WARNINGS, *args.flags, f"-I{HERE.parent / 'doubles'}", "-fsyntax-only", "-xc++",
               "-"]
    check_compiles("forms in a queue", command, ISHMEM.includes() + asked)


def of_our_headers(preprocessed):
    """The lines from a header of Isthmus: everything outside of the system's folders."""
    ours = True
    for line in preprocessed.splitlines():
        marker = re.match(r'# \d+ "([^"]*)"', line)
        if marker:
            ours = not marker[1].startswith(("/usr/", "<"))
        elif ours:
            yield line


def file_scope(text):
    """Declarations without bodies, parameter lists, attributes and names for the linker; of a type of functions its
    name."""
    text = re.sub(r'"(?:\\.|[^"\\])*"', '""', text)
    text = re.sub(r'extern ""\s*\{', "", text)
    text = re.sub(r"\(\*(\w+)\)\([^()]*\)", r"\1", text)
    while re.search(r"\{[^{}]*\}", text):
        text = re.sub(r"\{[^{}]*\}", " @;", text)
    while re.search(r"\([^()]*\)", text):
        text = re.sub(r"\([^()]*\)", "#", text)
    return re.sub(r"__(attribute|asm)__\s*#", "", text)


def declared_names(text):
    for declaration in file_scope(text).split(";"):
        declaration = declaration.split("=")[0]
        names = re.findall(r"\w+(?=\s*#)", declaration) or re.findall(r"\w+", declaration)[-1:]
        yield from (name for name in names[-1:] if name not in ("struct", "union", "enum"))
        yield from re.findall(r"\b(?:struct|union|enum)\s+(\w+)\s*@", declaration)


def declared_by(args, source, defines):
    """(macros, other names) that a program gets from a header."""
    command = [args.cc, "-std=c11", "-O2", "-E", "-dD", *defines, *args.flags, "-xc", "-"]
    done = run(command, source)
    if done.returncode:
        faults.append(f"{' '.join(command)}\n{done.stderr[:2000]}")
        return set(), set()
    lines = list(of_our_headers(done.stdout))
    macros = {m[1] for line in lines if (m := re.match(r"#define (\w+)", line))}
    macros -= {m[1] for line in lines if (m := re.match(r"#undef (\w+)", line))}
    return macros, set(declared_names("\n".join(line for line in lines if not line.startswith("#"))))


def check_shmem_names(args, defines, allowed):
    """The names are exactly those of the specification."""
    rows = SHMEM.rows
    for source in ("#include <shmem.h>\n", "#include <mpp/shmem.h>\n"):
        macros, names = declared_by(args, source, defines)
        known = allowed | set(rows["generic"]) | set(rows["constant"]) | set(rows["type"])
        # PySHMEM_HAVE_: by which shmem4py recognises what a library has (isthmus/shmem4py.h).
        ours = r"(isthmus|ISTHMUS|PySHMEM_HAVE)_|(SHMEMX?|MPP_SHMEMX?)_H$|_|\d"
        extra = {n for n in (macros | names) - known if not re.match(ours, n)}
        for name in sorted(extra):
            faults.append(f"{source.strip()} {' '.join(defines)}: '{name}' is no name of the specification")
        missing = (set(rows["constant"]) | set(rows["generic"])) - macros | (allowed | set(rows["type"])) - names
        for name in sorted(missing):
            faults.append(f"{source.strip()} {' '.join(defines)}: '{name}' is not there")


def check_name_space(args, face):
    """R158: no name that another header or the program could define."""
    macros, names = declared_by(args, face.includes(), [])
    for name in sorted(macros | names):
        if not re.fullmatch(f"{face.own_names}|{OUR_NAMES}|_|\\d\\w*", name):
            faults.append(f"{face.name}: '{name}' is outside of the header's name space")


def check_exported(args):
    done = run(["nm", "-D", "--defined-only", "-f", "posix", args.library], "")
    exported = {line.split()[0].split("@")[0] for line in done.stdout.splitlines()}
    listed = {name_of(p) for face in (SHMEM, NVSHMEM, ISHMEM) for p in face.functions}
    of_tools = {name_of(p) for p in SHMEM.rows["function"] + SHMEM.rows["proposal"]}
    listed |= {f"p{name}" for name in of_tools if name.startswith("shmem_")}
    listed |= {"ishmemx_" + name_of(p).removeprefix("ishmem_") + "_team" for p in ISHMEM.rows["overload"]
               if "team" in p}
    for name in sorted(listed - exported):
        faults.append(f"{args.library} does not export '{name}'")
    for name in sorted(exported - listed):
        if not re.fullmatch(rf"ISTHMUS_\d|{OUR_EXTENSIONS}|_Fork|clone", name):  # core/heap/fork.c
            faults.append(f"{args.library} exports '{name}', which is no name of the specifications")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for option in ("--cc", "--cxx", "--library"):
        parser.add_argument(option, required=True)
    parser.add_argument("--include", action="append", default=[])
    args = parser.parse_args()
    args.flags = [f"-I{folder}" for folder in args.include]
    standard = {name_of(prototype) for prototype in SHMEM.rows["function"]}
    proposal = {name_of(prototype) for prototype in SHMEM.rows["proposal"]}
    for face in (SHMEM, NVSHMEM, ISHMEM):
        check_prototypes(args, face)
    check_prototypes(args, NVSHMEM, "-DISTHMUS_NO_CUDA_HEADERS")
    check_queue_forms(args)
    check_shmem_names(args, [], standard | proposal)
    check_shmem_names(args, ["-DISTHMUS_STRICT_OPENSHMEM"], standard)
    check_name_space(args, NVSHMEM)
    check_name_space(args, ISHMEM)
    check_exported(args)
    print("\n".join(faults), end="\n" if faults else "")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
