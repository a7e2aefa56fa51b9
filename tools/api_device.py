"""nvshmem_device.h: the routines of NVSHMEM that kernels call, from core/api/device.table and the families of
core/api/api.table. The head of device.table explains its rows."""

import re
import sys

from api_table import Routine

SCOPES = {"thread": "ISTHMUS_THREAD", "warp": "ISTHMUS_WARP", "warpgroup": "ISTHMUS_WARPGROUP",
          "block": "ISTHMUS_BLOCK"}
QP_SCOPES = {"qp": "thread", "qp_warp": "warp", "qp_block": "block"}
KINDS = ("device", "ishmem")
HANDLE = "nvshmemx_qp_handle_t qp_index"
NUMBERS = {"S": "ISTHMUS_DEV_SIGNED", "U": "ISTHMUS_DEV_UNSIGNED", "F": "ISTHMUS_DEV_FLOAT"}


def number_of(machine):
    """The kind of number that a machine type of api.table is."""
    other = {"IST_F16": "ISTHMUS_DEV_HALF", "IST_BF16": "ISTHMUS_DEV_BFLOAT",
             "IST_CHAR": "((char)-1 < 0 ? ISTHMUS_DEV_SIGNED : ISTHMUS_DEV_UNSIGNED)"}
    return other.get(machine) or NUMBERS[machine.removeprefix("IST_")[0]]


class DeviceRoutine:
    """One routine for one scope. `routine`: as the host has it, or would have it."""

    def __init__(self, routine, scope, is_qp):
        self.routine, self.scope, self.is_qp = routine, scope, is_qp
        family = routine.family
        self.is_on_host = scope == "thread" and not is_qp and "nvshmem" in family.forms
        # NVSHMEM does not promise to leave them alone.
        self.params = [p.replace("const ", "", 1) if p.endswith("*cmp_values") else p for p in routine.params()]
        self.name = routine.plain_name()
        if is_qp:
            self.name = re.sub("^nvshmemx?_", "nvshmemx_qp_", self.name)
            self.params.append(HANDLE)
        if scope != "thread":
            self.name = re.sub("^nvshmemx?_", "nvshmemx_", self.name) + "_" + scope

    def prototype(self):
        returns = self.routine.returns
        return f"{returns}{'' if returns.endswith('*') else ' '}{self.name}({', '.join(self.params) or 'void'})"

    def call(self):
        """Of the entry function, with its arguments in the order of the host's."""
        routine, family = self.routine, self.routine.family
        args = [re.sub("^IST(HMUS)?_", "ISTHMUS_DEV_", family.constant)] if family.constant != "-" else []
        args += ["&result"] if family.ret == "T" else []
        for parameter in family.params:
            name = re.search(r"(\w+)$", parameter).group(1)
            args.append("&" + name if re.fullmatch(r"T \w+", parameter) else name)
        if family.machine:
            args.append(number_of(routine.type.machine))
        if "plain" not in family.sets:
            args.append(routine.size)
        if family.signed:
            args.append(f"ISTHMUS_NV_IS_SIGNED({routine.type.c})")
        entry = re.sub("^ist_(entry_)?", "isthmus_kernel_", family.entry)
        return f"{entry}({', '.join([*args, SCOPES[self.scope]])})"

    def body(self):
        family = self.routine.family
        if family.ret == "T":
            return [f"{self.routine.type.c} result;", f"{self.call()};", "return result;"]
        return [f"{'return ' if family.ret != 'void' else ''}{self.call()};"]

    def names_of_arguments(self):
        return ", ".join(re.search(r"(\w+)$", p).group(1) for p in self.params)

    def definition(self):
        lines = self.body()
        if self.is_qp:
            lines.insert(0, "(void)qp_index;")
        if not self.is_on_host:
            return f"ISTHMUS_NV_NAME {self.prototype()}\n{{\n" + "".join(f"    {line}\n" for line in lines) + "}\n"
        returns, params = self.routine.returns, ", ".join(self.params) or "void"
        on_host = "ISTHMUS_NV_ON_HOST_VOID" if returns == "void" else "ISTHMUS_NV_ON_HOST"
        lines.insert(0, f"{on_host}({self.name}, ({self.names_of_arguments()}));")
        return (f"ISTHMUS_NV_HOST({returns}, {self.name}, ({params}));\n"
                f"ISTHMUS_NV_BOTH {self.prototype()}\n{{\n" + "".join(f"    {line}\n" for line in lines) + "}\n")


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


def device_routines(path, families, types):
    routines = []
    for family, form in rows_of(path, families, "device", {*SCOPES, *QP_SCOPES}):
        scope = QP_SCOPES.get(form, form)
        routines += [DeviceRoutine(Routine(family, "nvshmem", element, bits, False, True), scope, form in QP_SCOPES)
                     for element, bits in family.elements("nvshmem", types)]
    return routines
