"""ishmem_device.hpp, ishmemx_device.hpp: the routines of Intel SHMEM that SYCL kernels call, from the rows `ishmem` of
core/api/device.table and the families of core/api/api.table. The head of device.table explains its rows."""

import re

from api_device import number_of
from api_table import name_of

WORLD = "ISHMEM_TEAM_WORLD"
CONVERTED = {"cmp": "isthmus_ishmem_cmp(cmp)", "sig_op": "isthmus_ishmem_sig_op(sig_op)"}


def entry_of(family):
    """A nonblocking fetch is complete before it returns."""
    entry = re.sub("^ist_(entry_)?", "isthmus_kernel_", family.entry)
    return re.sub(r"_nbi$", "", entry) if family.name.startswith("atomic_") else entry


def arguments(routine, size, number, is_signed):
    """Of the entry function, in the order of the host's; without the scope."""
    family = routine.family
    args = [re.sub("^IST(HMUS)?_", "ISTHMUS_DEV_", family.constant)] if family.constant != "-" else []
    args += ["&result"] if family.ret == "T" else []
    for parameter in family.params:
        name = name_of(parameter)
        if parameter.startswith("TEAM ") and not routine.with_team:
            args.append(WORLD)
        elif re.fullmatch(r"T \w+", parameter):
            args.append("&" + name)
        else:
            args.append(CONVERTED.get(name, name))
    args += [number] if family.machine else []
    args += [size] if "plain" not in family.sets else []
    return args + ([is_signed] if family.signed else [])


def arguments_of_type(routine):
    number = number_of(routine.type.machine) if routine.family.machine else ""
    is_signed = f"ISTHMUS_ISHMEM_IS_SIGNED({routine.type.c})" if routine.type else ""
    return arguments(routine, routine.size, number, is_signed)


def arguments_of_any(routine):
    return arguments(routine, "sizeof(T)", "isthmus_ishmem_number<T>()", "ISTHMUS_ISHMEM_IS_SIGNED(T)")


def body(routine, returns, args):
    call = f"{entry_of(routine.family)}({', '.join(args)});"
    if routine.family.ret == "T":
        return [f"{returns} result;", call, "return result;"]
    return [f"{'return ' if returns != 'void' else ''}{call}"]


def function(head, lines):
    return f"{head}\n{{\n" + "".join(f"    {line}\n" for line in lines) + "}\n"


def item_function(routine):
    """By the name that the host has; in C++ the overloads and templates of ishmem.h call it."""
    lines = body(routine, routine.returns, arguments_of_type(routine) + ["ISTHMUS_THREAD"])
    return function(f"ISTHMUS_ISHMEM_ITEM {routine.prototype()}", lines)


def group_name(routine, name):
    return re.sub("^ishmemx?_", "ishmemx_", name) + "_work_group"


def group_lines(routine, returns, args):
    """Of a wait or a test, the whole group gets what the leader has seen."""
    if re.match("wait|test|signal_wait", routine.family.name):
        call = body(routine, returns, args + ["ISTHMUS_THREAD"])
        return [f"return isthmus_ishmem_by_leader(group, [&] {{ {' '.join(call)} }});"]
    return body(routine, returns, args + ["isthmus_sycl_scope(group)"])


def group_function(routine):
    # Only this one's group form returns nothing.
    returns = "void" if routine.family.name == "team_sync" else routine.returns
    params = ", ".join([*routine.params(), "const Group &group"])
    lines = group_lines(routine, returns, arguments_of_type(routine))
    name = group_name(routine, routine.plain_name())
    return function(f"template <typename Group> ISTHMUS_ISHMEM_GROUP {returns} {name}({params})", lines)


def group_template(routines):
    """For any T that the family has."""
    routine = routines[0]
    family = routine.family
    general = [p.replace("TEAM", "ishmem_team_t") for p in routine.own_params()]
    types = ", ".join(dict.fromkeys(r.type.c for r in routines))
    lines = [f"isthmus_ishmem_require<T, {types}>();", *group_lines(routine, family.ret, arguments_of_any(routine))]
    name = group_name(routine, family.routine.replace("{ctx}", "").replace("{T}_", "").format(f="ishmem"))
    params = ", ".join([*general, "const Group &group"])
    return function(f"template <typename T, typename Group> ISTHMUS_ISHMEM_GROUP {family.ret} {name}({params})", lines)


def item_functions(table, types, prefix):
    """Those of ishmem.h or of ishmemx.h, which has the families with a name x_."""
    return [item_function(r) for family, scope in table if scope == "item"
            if family.name.startswith("x_") == (prefix == "ishmemx") for r in family.routines("ishmem", types)]


def group_functions(table, types):
    out = []
    for family in (family for family, scope in table if scope == "group"):
        routines = family.routines("ishmem", types)
        out += [group_function(r) for r in routines]
        for with_team in (False, True):
            typed = [r for r in routines if r.type and r.with_team == with_team]
            if typed:
                out.append(group_template(typed))
    return out
