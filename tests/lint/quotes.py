#!/usr/bin/env python3
"""What documents quote is what the sources say, and the guide to transports has every slot of the ABI.

A quotation is a fenced block behind a line `<!-- quoted from PATH -->`: whole lines of that file, without a gap."""
import re

import lint

QUOTATION = re.compile(r"^<!-- quoted from (\S+) -->\n```\w*\n(.*?)^```$", re.DOTALL | re.MULTILINE)
GUIDE, ABI = "docs/writing-a-transport.md", "include/isthmus/transport.h"
TABLES = ("isthmus_transport", "isthmus_data_ops")


def check_quotations(report, root, path):
    text = lint.read(root / path)
    for match in QUOTATION.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        source = root / match.group(1)
        if not source.exists():
            report.fault(path, line, f"quotes {match.group(1)}, which does not exist")
        elif "\n" + match.group(2) not in "\n" + lint.read(source):
            report.fault(path, line, f"what it quotes is not in {match.group(1)}: quote it anew")


def slots(header):
    code = lint.code_only(header)
    for table in TABLES:
        body = re.search(rf"struct {table} \{{(.*?)^\}};", code, re.DOTALL | re.MULTILINE)
        yield from re.findall(r"\(\*(\w+)\)\s*\(", body.group(1) if body else "")


def main():
    root = lint.arguments(__doc__).root.resolve()
    report = lint.Report("quotes", root)
    for path in lint.sources(root, "docs", suffixes=(".md",)):
        check_quotations(report, root, path)
    guide = lint.read(root / GUIDE) if (root / GUIDE).exists() else ""
    for slot in slots(lint.read(root / ABI)):
        if f"\n| `{slot}` |" not in guide:
            report.fault(GUIDE, 0, f"has no row for the slot {slot} of {ABI}: what goes wrong if it is done badly?")
    report.finish()


if __name__ == "__main__":
    main()
