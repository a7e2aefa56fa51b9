#!/usr/bin/env python3
"""clang-tidy finds nothing in core, plugins and tools (.clang-tidy says what it looks for)."""
import json
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import lint


def main():
    args = lint.arguments(__doc__, ("--build", {"type": Path, "required": True, "help": "has compile_commands.json"}))
    program, root = shutil.which("clang-tidy"), args.root.resolve()
    if not program:
        print("skipped: clang-tidy is not here (apt-get install clang-tidy)")
        sys.exit(lint.SKIPPED)
    commands = json.loads(lint.read(args.build / "compile_commands.json"))
    folders = tuple(f"{root}/{folder}/" for folder in ("core", "plugins", "tools", "compat"))
    files = sorted({command["file"] for command in commands if command["file"].startswith(folders)})

    def tidy(file):
        return subprocess.run(
            [program, "--quiet", "-p", str(args.build), "--extra-arg=-Wno-unknown-warning-option", file],
            text=True, capture_output=True)

    failed = 0
    with ThreadPoolExecutor(2) as pool:
        for done in pool.map(tidy, files):
            if done.returncode:
                failed += 1
                print((done.stdout.strip() or done.stderr.strip()).replace(f"{root}/", ""))
    sys.exit(1 if failed or not files else 0)


if __name__ == "__main__":
    main()
