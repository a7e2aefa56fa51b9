"""Fast paths that are compiled into programs, made from the families with the flag "inline KIND".
They may use only include/isthmus/inline.h: see the rules at the head of that file."""

# Bodies of inlined routines, by kind. {real} is the call of the library's routine.
INLINE_BODIES = {
    "p": """    {T} *at = ({T} *)isthmus_element_(dest, {size}, pe);
    if (__builtin_expect(at == NULL, 0)) {{
        {real};
        return;
    }}
    __atomic_store(at, &value, __ATOMIC_RELAXED);""",
    "g": """    {T} value;
    const {T} *at = (const {T} *)isthmus_element_(source, {size}, pe);
    if (__builtin_expect(at == NULL, 0)) return {real};
    __atomic_load(at, &value, __ATOMIC_ACQUIRE);
    return value;""",
    "put": """    void *at = NULL;
    if (__builtin_constant_p(nelems) && nelems > 0 && nelems <= ISTHMUS_SMALL_BYTES / {size}) at = isthmus_small_(dest, pe);
    if (__builtin_expect(at == NULL || source == NULL, 0))
        {real};
    else
        __builtin_memcpy(at, source, nelems * {size});""",
    "get": """    const void *at = NULL;
    if (__builtin_constant_p(nelems) && nelems > 0 && nelems <= ISTHMUS_SMALL_BYTES / {size}) at = isthmus_small_(source, pe);
    if (__builtin_expect(at == NULL || dest == NULL, 0)) {{
        {real};
        return;
    }}
    __builtin_memcpy(dest, at, nelems * {size});
    isthmus_order_loads_();""",
    "load": """    {T} value;
    const {T} *at = (const {T} *)isthmus_element_(source, {size}, pe);
    if (__builtin_expect(at == NULL, 0)) return {real};
    __atomic_load(at, &value, __ATOMIC_SEQ_CST);
    return value;""",
    "exchange": """    {T} old;
    {T} *at = ({T} *)isthmus_element_(dest, {size}, pe);
    if (__builtin_expect(at == NULL, 0)) return {real};
    __atomic_exchange(at, &value, &old, __ATOMIC_SEQ_CST);
    return old;""",
    "set": """    {T} old;
    {T} *at = ({T} *)isthmus_element_(dest, {size}, pe);
    if (__builtin_expect(at == NULL, 0)) {{
        {real};
        return;
    }}
    __atomic_exchange(at, &value, &old, __ATOMIC_SEQ_CST);""",
    "compare_swap": """    {T} *at = ({T} *)isthmus_element_(dest, {size}, pe);
    if (__builtin_expect(at == NULL, 0)) return {real};
    (void)__atomic_compare_exchange_n(at, &cond, value, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return cond;""",
    "fetch": """    {T} *at = ({T} *)isthmus_element_(dest, {size}, pe);
    if (__builtin_expect(at == NULL, 0)) return {real};
    return __atomic_fetch_{amo}(at, value, __ATOMIC_SEQ_CST);""",
    "update": """    {T} *at = ({T} *)isthmus_element_(dest, {size}, pe);
    if (__builtin_expect(at == NULL, 0)) {{
        {real};
        return;
    }}
    (void)__atomic_fetch_{amo}(at, value, __ATOMIC_SEQ_CST);""",
    "fetch_inc": """    {T} *at = ({T} *)isthmus_element_(dest, {size}, pe);
    if (__builtin_expect(at == NULL, 0)) return {real};
    return __atomic_fetch_add(at, 1, __ATOMIC_SEQ_CST);""",
    "inc": """    {T} *at = ({T} *)isthmus_element_(dest, {size}, pe);
    if (__builtin_expect(at == NULL, 0)) {{
        {real};
        return;
    }}
    (void)__atomic_fetch_add(at, 1, __ATOMIC_SEQ_CST);""",
}
NOT_INLINED = ["long double"]  # wider than one store


def inlined_routines(families, types):
    """Of shmem.h, and without a context: those are what programs call in loops."""
    return [r for f in families if f.inline for r in f.routines("shmem", types)
            if not r.with_ctx and (r.type is None or r.type.c not in NOT_INLINED)]


def inline_definition(routine):
    """The fast path; the library's routine, under a name of its own, does the rest."""
    kind, _, amo = routine.family.inline.partition(" ")
    real = f"isthmus_real_{routine.name}_"
    call = f"{real}({', '.join(routine.argument_names())})"
    body = INLINE_BODIES[kind].format(T=routine.type.c if routine.type else None, size=routine.size, real=call, amo=amo)
    return (f'extern {routine.returns} {real}({routine.parameter_list()}) __asm__("{routine.name}");\n'
            f"ISTHMUS_INLINED_ {routine.prototype()}\n{{\n{body}\n}}\n")
