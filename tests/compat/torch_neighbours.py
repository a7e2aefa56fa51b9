"""torch_neighbours.py: stand-ins for the libraries of CUDA that PyTorch is linked with: they have the names and the
versions that its libraries refer to, and a call ends the process with its name. CUDA's runtime is left to its double.
"""

import re
import shutil
import subprocess

DOUBLES = ("libcuda.so.1", "libcudart.so.13")
NAME = r"lib(?:cu|nccl|nvrtc)[\w.]+"
HEAD = """#include <stdio.h>
#include <stdlib.h>
#define CALL(name, text) void name(void) { fputs(text "\\n", stderr); abort(); }
"""


def lacks(cc):
    """The tools that `make` needs and that are not here, as a text, or nothing."""
    missing = [tool for tool in ("readelf", "nm", cc) if not shutil.which(tool)]
    return f"{' and '.join(missing)}, for stand-ins of CUDA's libraries, cannot be found" if missing else ""


def printed(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def wanted(folder):
    """{name of a library: names of what is referred to in it}, for the libraries in the folder."""
    libraries = {}
    for file in folder.glob("*.so*"):
        for name in re.findall(rf"NEEDED.*\[({NAME})\]", printed("readelf", "-dW", file)):
            libraries.setdefault(name, set())
        for call, name in re.findall(rf"\b[Uw] (\w+)@({NAME})$", printed("nm", "-D", "--undefined-only", file), re.M):
            libraries.setdefault(name, set()).add(call)
    return {name: sorted(calls) for name, calls in libraries.items() if name not in DOUBLES}


def make(cc, torch, folder):
    """Writes them into the folder; `torch`: that of PyTorch's own libraries."""
    for name, calls in wanted(torch).items():
        source, version = folder / f"{name}.c", folder / f"{name}.map"
        source.write_text(HEAD + "".join(f'CALL({call}, "{name}: {call} is called")\n' for call in calls))
        version.write_text(f"{name} {{ *; }};\n")
        subprocess.run([cc, "-w", "-O0", "-shared", "-fPIC", f"-Wl,-soname,{name}", f"-Wl,--version-script={version}",
                        source, "-o", folder / name], check=True)
