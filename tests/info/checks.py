"""checks.py: the checks of a program of this folder, which are functions; each failure is one line with its name."""


def run_all(checks):
    """Returns the exit status: 1 if a check failed."""
    failed = 0
    for check in checks:
        try:
            check()
        except (AssertionError, KeyError, ValueError, OSError) as error:
            failed += 1
            print(f"{check.__name__}: {error!r}")
    return 1 if failed else 0
