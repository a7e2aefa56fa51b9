"""The C11 generics of shmem.h."""

from api_table import name_of

# Exact-width and size types are these on the machines we run on: a generic selection may name each C type once.
SAME_TYPE = {"int8_t": "signed char", "int16_t": "short", "int32_t": "int", "int64_t": "long",
             "uint8_t": "unsigned char", "uint16_t": "unsigned short", "uint32_t": "unsigned int",
             "uint64_t": "unsigned long", "size_t": "unsigned long", "ptrdiff_t": "long"}


def by_c_type(routines):
    """The routines without those whose C type an earlier one has."""
    seen = {}
    for routine in routines:
        seen.setdefault(SAME_TYPE.get(routine.type.c, routine.type.c), routine)
    return seen


def selection(family, routines, with_ctx):
    """Selects by the value behind the first pointer, so that qualifiers do not matter."""
    rows = [f"{c_type}: {r.name}" for c_type, r in by_c_type(r for r in routines if r.with_ctx == with_ctx).items()]
    names = [name_of(p) for p in family.params]
    at = 1 if family.params[0].startswith("TEAM ") else 0
    head = ", ".join((["ctx"] if with_ctx else []) + names[:at + 1])
    macro = f"ISTHMUS_{family.generic.upper()}_{'CTX_' if with_ctx else ''}"
    body = ", \\\n             ".join(rows)
    return (f"#define {macro}({head}, ...) \\\n"
            f"    _Generic(*({names[at]}), \\\n             {body})({head}, __VA_ARGS__)\n")


def generic(family, types):
    """The number of arguments distinguishes the forms with and without context."""
    routines = family.routines("shmem", types)
    plain = f"ISTHMUS_{family.generic.upper()}_"
    text = selection(family, routines, False)
    if "{ctx}" not in family.routine:
        return text + f"#define {family.generic}(...) {plain}(__VA_ARGS__)\n"
    return (text + "\n" + selection(family, routines, True) +
            f"#define {family.generic}(...) ISTHMUS_PICK_{len(family.params) + 1}_"
            f"(__VA_ARGS__, {plain}CTX_, {plain}, 0)(__VA_ARGS__)\n")


def generics(families, types):
    return "\n".join(generic(f, types) for f in families if f.generic and "shmem" in f.forms)
