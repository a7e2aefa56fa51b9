#!/usr/bin/env python3
"""Words that do not belong where they stand. Exceptions, with a reason each, are rows of allowed.txt."""
import re

import lint

EVERYWHERE = ("core", "plugins", "tools", "compat", "include", "tests", "bench", "docs/examples")
LIBRARY = ("core", "plugins", "compat", "include")

# (name for allowed.txt, what, where, but not in, why and what instead)
RULES = (
    ("volatile", r"\bvolatile\b", LIBRARY, ("core/base/atomic.h", "include/isthmus/"),
     "volatile orders nothing: use the named operations of core/base/atomic.h"),
    ("asm", r"\b(asm|__asm__|__asm)\b", LIBRARY, ("core/base/atomic.h", "include/isthmus/"),
     "instructions live in core/base/atomic.h, behind a name that says what for"),
    ("atomic_load", r"\batomic_(load|store|exchange|fetch_\w+)\s*\(", LIBRARY, (),
     "say the memory order: the _explicit form, or core/base/atomic.h"),
    ("unsafe_string", r"\b(strcpy|strcat|sprintf|vsprintf|gets|strtok|alloca)\s*\(", EVERYWHERE, (),
     "writes without a bound or keeps hidden state: snprintf, memcpy with a checked length, strtok_r"),
    ("sleep", r"\b(usleep|nanosleep|clock_nanosleep|sleep)\s*\(", LIBRARY, (),
     "a sleep hides a race or wastes time: wait for the event itself"),
    ("time_of_day", r"\b(pthread_\w+_timed\w+|sem_timedwait)\s*\(", LIBRARY, (),
     "a wait for a time of day lasts longer if the clock is set back: ist_clock_wait, pthread_cond_clockwait"),
    ("getenv", r"\b(secure_)?getenv\s*\(", ("core",),
     ("core/base/config.c", "core/base/config_file.c", "core/base/config_unknown.c", "core/boot/"),
     "a variable is a row in core/base/config.def"),
    ("exit", r"\b(abort|exit|_exit|_Exit|quick_exit)\s*\(", ("plugins",), (),
     "a plugin never ends the process: return services->fail(...)"),
    ("print", r"\b(printf|fprintf|vfprintf|puts|fputs|perror|dprintf)\s*\(", ("plugins",), (),
     "a plugin never prints: services->log or services->fail"),
    ("environment", r"\b(getenv|setenv|putenv|unsetenv|sigaction|signal)\s*\(", ("plugins",), (),
     "a plugin leaves environment and signals alone: services->config"),
)
# Looked for in comments too.
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b(?! ?\(#\d+\))")


def main():
    root = lint.arguments(__doc__).root.resolve()
    report = lint.Report("tokens", root)
    for name, pattern, folders, exempt, why in RULES:
        token = re.compile(pattern)
        for path in lint.sources(root, *folders):
            if str(path).startswith(exempt):
                continue
            for number, line in enumerate(lint.code_only(lint.read(root / path)).splitlines(), 1):
                found = token.search(line)
                if found:
                    report.fault_unless_allowed(path, number, name, f"{found.group().rstrip('( ')}: {why}")
    for path in lint.sources(root, *EVERYWHERE, suffixes=lint.C_SUFFIXES + (".py", ".sh", ".cmake", "CMakeLists.txt")):
        if path.parent.name == "lint":
            continue
        for number, line in enumerate(lint.read(root / path).splitlines(), 1):
            found = UNFINISHED.search(line)
            if found:
                report.fault(path, number, f"{found.group()} without an issue: write {found.group()}(#N) or do it")
    report.finish()


if __name__ == "__main__":
    main()
