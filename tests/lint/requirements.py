#!/usr/bin/env python3
"""Each requirement that a test names keeps one in the default set: pe.r<number>_... or the label R<number>, without the
label thorough. Only of a build that has the tests."""

import re
import sys
from pathlib import Path

import lint

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.dont_write_bytecode = True  # the source tree stays as it is

import jobs

LIST = "tests/pe/CMakeLists.txt"


def requirements_of(name, labels):
    named = re.match(r"pe\.r(\d+)_", name)
    return (([int(named.group(1))] if named else [])
            + [int(label[1:]) for label in labels if re.fullmatch(r"R\d+", label)])


def only_thorough(text):
    """The requirements without a test that is run by default, in this description by ctest."""
    named, kept = set(), set()
    for entry, properties in jobs.tests_of(text):
        labels = properties.get("LABELS", [])
        numbers = requirements_of(entry["name"], labels)
        named.update(numbers)
        if "thorough" not in labels:
            kept.update(numbers)
    return sorted(named - kept)


def main():
    given = lint.arguments(__doc__, ("--build", {"required": True, "help": "the build folder"}))
    report = lint.Report("requirements", given.root.resolve())
    for number in only_thorough(jobs.listed(given.build)):
        report.fault(LIST, 0, f"all tests of R{number} have the label thorough: let ./dev test run one of them")
    report.finish()


if __name__ == "__main__":
    main()
