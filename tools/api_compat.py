"""The library under other names. For programs that were linked with NVSHMEM's own: definitions of the same names, each
of which calls the one in libisthmus, and the version script that gives them NVSHMEM's symbol version. For programs that
were compiled with Open MPI's shmem.h: definitions of those routines whose arguments are constants with other values
there."""

import re

from api_table import name_of

MADE = "/* Made by tools/gen_api.py from nvshmem.h and nvshmemx.h. */\n"
REAL_VERSION = "ISTHMUS_0"
# Variables, and routines that are templates in the headers: compat/*.c defines them.
BY_HAND = ("nvshmem_error", "nvshmem_selected_device_transport", "nvshmemx_collective_launch",
           "nvshmemx_collective_launch_attr", "nvshmemx_collective_launch_query_gridsize")


def forward(before, name, after, first="", passed=None):
    """A routine that calls the one of that name and of the other version: one jump, compiled. first: what it does
    before; passed: {parameter: what is passed instead of it}."""
    returns = before.replace("ISTHMUS_HOST_DEVICE", "").strip()
    parameters = after.strip()[1:-1].strip()
    names = [] if parameters == "void" else [name_of(p.strip()) for p in parameters.split(",")]
    arguments = ", ".join((passed or {}).get(one, one) for one in names)
    gap = "" if returns.endswith("*") else " "
    call = f"isthmus_{name}({arguments});"
    return (f"{returns}{gap}isthmus_{name}({parameters});\n"
            f'__asm__(".symver isthmus_{name}, {name}@{REAL_VERSION}");\n'
            f"{returns}{gap}({name})({parameters}) {{ {first}{'' if returns == 'void' else 'return '}{call} }}\n")


def nvshmem_host(prototypes):
    """{file: text}, from the (text before the name, name, text after it) of what the headers declare."""
    routines = "".join(forward(*prototype) for prototype in prototypes)
    names = "".join(f"    {name};\n" for name in sorted([name for _, name, _ in prototypes] + [*BY_HAND]))
    return {"nvshmem_host_routines.c": f"{MADE}#pragma GCC visibility push(default)\n#include <nvshmem.h>\n\n"
                                       f"{routines}",
            "nvshmem_host.map": f"NVSHMEM {{\n  global:\n{names}  local: *;\n}};\n"}


PSYNC = 'isthmus_active_set_v1((const int[]){{PE_start, logPE_stride, PE_size}}, pSync, OMPI_SYNC_VALUE, "{name}"); '
TRANSLATED = {"cmp": "cmp_of_ompi(cmp)", "options": "options_of_ompi(options)"}


def translate(before, name, after):
    """The routine for Open MPI's constants, under its profiling name too; nothing if it has no such argument."""
    parameters = set(re.findall(r"\w+", after))
    if name.startswith("shmem_ctx_session_") or not parameters & {*TRANSLATED, "pSync"}:
        return ""
    first = PSYNC.format(name=name) if "pSync" in parameters else ""
    return (forward(before, name, after, first, TRANSLATED)
            + f'extern __typeof__(({name})) p{name} __attribute__((alias("{name}")));\n')


def oshmem(prototypes):
    """{file: text}, from the prototypes of shmem.h."""
    routines = "".join(translate(*prototype) for prototype in prototypes)
    return {"oshmem_routines.c": '/* Made by tools/gen_api.py from shmem.h. */\n#include "compat/oshmem.h"\n\n'
                                 f'{routines}'}
