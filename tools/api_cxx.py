"""What C++ adds to ishmem.h: overloads with a team, templates, and the forms that are put into a SYCL queue."""

from api_generic import by_c_type
from api_table import name_of

DEPS = "const std::vector<sycl::event> &deps = {}"


def call(name, params):
    return f"{name}({', '.join(name_of(p) for p in params)})"


def function(head, statement):
    return f"{head}\n{{\n    {statement}\n}}\n"


def returning(routine, text):
    return f"{'return ' if routine.returns != 'void' else ''}{text};"


def overloads(families, types):
    """The same name with a team in front, as in the documentation."""
    return [function(f"inline {r.returns} {r.plain_name()}({r.parameter_list()})",
                     returning(r, call(r.name, r.params())))
            for f in families for r in f.routines("ishmem", types) if r.is_overload()]


def template_name(family, suffix=""):
    name = family.routine.replace("{ctx}", "").replace("{T}_", "").format(f="ishmem")
    return name if not suffix else name.replace("ishmem_", "ishmemx_", 1) + suffix


def templates(families, types, prefix):
    """A declaration for any T, and a specialisation for each C type that there is a routine for: others do not link."""
    out = []
    for family in (f for f in families if "{T}" in f.routine and "ishmem" in f.forms):
        name = template_name(family)
        if not name.startswith(prefix + "_"):
            continue
        for with_team in (False, True):
            routines = [r for r in family.routines("ishmem", types) if r.with_team == with_team]
            if not routines:
                continue
            general = [p.replace("TEAM", "ishmem_team_t") for p in routines[0].own_params()]
            out.append(f"template <typename T> {family.ret} {name}({', '.join(general)});\n")
            out += [function(f"template <> inline {r.returns} {name}({r.parameter_list()})",
                             returning(r, call(r.name, r.params()))) for r in by_c_type(routines).values()]
    return out


def queue_function(routine, template, name, called, spell):
    """`called` runs in its turn; its result goes to *ret, if there is one. All are templates: a program compiles only
    those that it uses."""
    params = [spell(p) for p in routine.own_params()]
    result = [] if routine.family.ret == "void" else [f"{routine.spell(routine.family.ret)} *ret"]
    work = call(called, params)
    queue = "Queue &q" if "Queue" in template else "sycl::queue &q"
    work = f"isthmus_set_result_(ret, {work})" if result else work
    return function(f"{template} sycl::event {name}({', '.join(params + result + [queue, DEPS])})",
                    f"return isthmus_on_queue_(q, deps, [=] {{ {work}; }});")


def queue_forms(families, types):
    out = []
    for family in (f for f in families if "queue" in f.forms):
        general = set()
        for r in family.routines("queue", types):
            if r.type and r.with_team not in general:
                general.add(r.with_team)
                out.append(queue_function(r, "template <typename T>", template_name(family, "_on_queue"),
                                          template_name(family), lambda p: p.replace("TEAM", "ishmem_team_t")))
            out.append(queue_function(r, "template <typename Queue>", r.name, r.plain_name(), r.spell))
    return out
