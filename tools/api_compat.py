"""The library under another name, for programs that were linked with NVSHMEM's own: definitions of the same names, each
of which calls the one in libisthmus, and the version script that gives them NVSHMEM's symbol version."""

from api_table import name_of

MADE = "/* Made by tools/gen_api.py from nvshmem.h and nvshmemx.h. */\n"
REAL_VERSION = "ISTHMUS_0"
# Variables, and routines that are templates in the headers: compat/*.c defines them.
BY_HAND = ("nvshmem_error", "nvshmem_selected_device_transport", "nvshmemx_collective_launch",
           "nvshmemx_collective_launch_attr", "nvshmemx_collective_launch_query_gridsize")


def forward(before, name, after):
    """A routine that calls the one of that name and of the other version: one jump, compiled."""
    returns = before.replace("ISTHMUS_HOST_DEVICE", "").strip()
    parameters = after.strip()[1:-1].strip()
    arguments = "" if parameters == "void" else ", ".join(name_of(p.strip()) for p in parameters.split(","))
    gap = "" if returns.endswith("*") else " "
    call = f"isthmus_{name}({arguments});"
    return (f"{returns}{gap}isthmus_{name}({parameters});\n"
            f'__asm__(".symver isthmus_{name}, {name}@{REAL_VERSION}");\n'
            f"{returns}{gap}{name}({parameters}) {{ {'' if returns == 'void' else 'return '}{call} }}\n")


def nvshmem_host(prototypes):
    """{file: text}, from the (text before the name, name, text after it) of what the headers declare."""
    routines = "".join(forward(*prototype) for prototype in prototypes)
    names = "".join(f"    {name};\n" for name in sorted([name for _, name, _ in prototypes] + [*BY_HAND]))
    return {"nvshmem_host_routines.c": f"{MADE}#pragma GCC visibility push(default)\n#include <nvshmem.h>\n\n{routines}",
            "nvshmem_host.map": f"NVSHMEM {{\n  global:\n{names}  local: *;\n}};\n"}
