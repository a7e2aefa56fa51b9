"""nvshmem_device.h and rocshmem/rocshmem_device.hpp: the routines of NVSHMEM and rocSHMEM that kernels call, from
core/api/device.table and the families of core/api/api.table. The head of device.table explains its rows."""

import re
import sys

from api_table import Routine, name_of

SCOPES = {"thread": "ISTHMUS_THREAD", "warp": "ISTHMUS_WARP", "warpgroup": "ISTHMUS_WARPGROUP",
          "block": "ISTHMUS_BLOCK", "wave": "ISTHMUS_WARP", "wg": "ISTHMUS_BLOCK"}
QP_SCOPES = {"qp": "thread", "qp_warp": "warp", "qp_block": "block"}
SCOPES_OF = {"nvshmem": ("thread", "warp", "warpgroup", "block", *QP_SCOPES), "rocshmem": ("thread", "wave", "wg")}
FACE_OF_KIND = {"device": "nvshmem", "rocshmem": "rocshmem"}
KINDS = (*FACE_OF_KIND, "ishmem")
HANDLE = "nvshmemx_qp_handle_t qp_index"
NUMBERS = {"S": "ISTHMUS_DEV_SIGNED", "U": "ISTHMUS_DEV_UNSIGNED", "F": "ISTHMUS_DEV_FLOAT"}
# nvshmem.h's constants are those of the entry functions.
CONVERTED = {"nvshmem": {}, "rocshmem": {"cmp": "isthmus_rocshmem_cmp(cmp)",
                                         "sig_op": "isthmus_rocshmem_sig_op(sig_op)"}}


def number_of(machine):
    """The kind of number that a machine type of api.table is."""
    other = {"IST_F16": "ISTHMUS_DEV_HALF", "IST_BF16": "ISTHMUS_DEV_BFLOAT",
             "IST_CHAR": "((char)-1 < 0 ? ISTHMUS_DEV_SIGNED : ISTHMUS_DEV_UNSIGNED)"}
    return other.get(machine) or NUMBERS[machine.removeprefix("IST_")[0]]


class DeviceRoutine:
    """One routine for one scope. `routine`: as the host has it, or would have it."""

    def __init__(self, routine, scope, is_qp):
        self.routine, self.scope, self.is_qp = routine, scope, is_qp
        self.is_on_host = scope == "thread" and not is_qp and routine.face in routine.family.forms
        self.params = [p.replace("const ", "", 1) if self.may_change(p) else p for p in routine.params()]
        self.name = routine.plain_name()
        if is_qp:
            self.name = re.sub("^nvshmemx?_", "nvshmemx_qp_", self.name)
            self.params.append(HANDLE)
        if scope != "thread":
            self.name = re.sub("^nvshmemx?_", "nvshmemx_", self.name) + "_" + scope

    def may_change(self, parameter):
        """NVSHMEM does not promise to leave them alone."""
        return self.routine.face == "nvshmem" and parameter.endswith("*cmp_values")

    def prototype(self):
        returns = self.routine.returns
        return f"{returns}{'' if returns.endswith('*') else ' '}{self.name}({', '.join(self.params) or 'void'})"

    def call(self):
        """Of the entry function, with its arguments in the order of the host's."""
        routine, family = self.routine, self.routine.family
        args = [re.sub("^IST(HMUS)?_", "ISTHMUS_DEV_", family.constant)] if family.constant != "-" else []
        args += ["&result"] if family.ret == "T" else []
        for parameter in (p for p in family.params if not p.startswith("CTX ")):
            name = name_of(parameter)
            if name == "pe" and routine.with_ctx:
                args.append("isthmus_rocshmem_pe(ctx, pe)")
            elif re.fullmatch(r"T \w+", parameter):
                args.append("&" + name)
            else:
                args.append(CONVERTED[routine.face].get(name, name))
        if family.machine:
            args.append(number_of(routine.type.machine))
        if "plain" not in family.sets:
            args.append(routine.size)
        if family.signed:
            args.append(f"ISTHMUS_KERNEL_IS_SIGNED({routine.type.c})")
        entry = re.sub("^ist_(entry_)?", "isthmus_kernel_", family.entry)
        return f"{entry}({', '.join([*args, SCOPES[self.scope]])})"

    def body(self):
        """A handle of a queue pair selects nothing, a context at most the numbers of PEs."""
        family = self.routine.family
        unused = [name_of(p) for p in self.params
                  if p == HANDLE or (p.startswith("rocshmem_ctx_t ") and "(ctx, " not in self.call())]
        lines = [f"(void){name};" for name in unused]
        if family.ret == "T":
            return [*lines, f"{self.routine.type.c} result;", f"{self.call()};", "return result;"]
        return [*lines, f"{'return ' if family.ret != 'void' else ''}{self.call()};"]

    def names_of_arguments(self):
        return ", ".join(name_of(p) for p in self.params)

    def definition(self):
        lines = self.body()
        if not self.is_on_host:
            return f"ISTHMUS_KERNEL_NAME {self.prototype()}\n{{\n" + "".join(f"    {line}\n" for line in lines) + "}\n"
        returns, params = self.routine.returns, ", ".join(self.params) or "void"
        on_host = "ISTHMUS_KERNEL_ON_HOST_VOID" if returns == "void" else "ISTHMUS_KERNEL_ON_HOST"
        lines.insert(0, f"{on_host}({self.name}, ({self.names_of_arguments()}));")
        return (f"ISTHMUS_KERNEL_HOST({returns}, {self.name}, ({params}));\n"
                f"ISTHMUS_KERNEL_BOTH {self.prototype()}\n{{\n" + "".join(f"    {line}\n" for line in lines) + "}\n")


def rows_of(path, families, kind, scopes_known):
    """(family, form) for each form of each row that begins with `kind`."""
    by_name = {family.name: family for family in families}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        line = line.split("#")[0].strip()
        if not line:
            continue
        first, _, rest = line.partition(" ")
        names, bar, scopes = rest.partition("|")
        if not bar or first not in KINDS:
            sys.exit(f"{path}:{number}: not a row of the table: {line}")
        for name in names.split() if first == kind else []:
            for form in scopes.split():
                if name not in by_name or form not in scopes_known:
                    sys.exit(f"{path}:{number}: no family '{name}', or no scope '{form}'")
                yield by_name[name], form


def device_routines(path, families, types, kind):
    """Of nvshmem.h for the kind "device"; of rocshmem.hpp, each with and without a context, for "rocshmem"."""
    face, routines = FACE_OF_KIND[kind], []
    for family, form in rows_of(path, families, kind, SCOPES_OF[face]):
        contexts = (False, True) if face == "rocshmem" and "{ctx}" in family.routine else (False,)
        routines += [DeviceRoutine(Routine(family, face, element, bits, with_ctx, True), QP_SCOPES.get(form, form),
                                   form in QP_SCOPES)
                     for with_ctx in contexts for element, bits in family.elements(face, types)]
    return routines
