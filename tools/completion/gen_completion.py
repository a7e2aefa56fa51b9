#!/usr/bin/env python3
"""Makes the completions of bash and zsh for our tools, each from what the tool prints with --help: its options, what
their values are, and what its usage line expects behind them."""
import argparse
import pathlib
import re
import subprocess
import sys
from collections import namedtuple

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "man"))
from texts import parse_help  # noqa: E402

BASH = (pathlib.Path(__file__).resolve().parent / "completion.bash.in").read_text()
OTHER_NAMES = {"isthmus-run": ["oshrun"]}
# value: what --help calls it, or None; is_optional: it follows "=" or is left out
Option = namedtuple("Option", "names value is_optional text")


class Tool:
    def __init__(self, program):
        self.name = pathlib.Path(program).name
        self.all_names = [self.name, *OTHER_NAMES.get(self.name, [])]
        done = subprocess.run([program, "--help"], check=True, capture_output=True, text=True)
        self.usage, _, rows, _ = parse_help(done.stdout)
        self.options = [self.option(*row) for row in rows]

    @staticmethod
    def option(spelled, text):
        names = spelled.split(", ")
        optional = re.fullmatch(r"(.*)\[=(.*)\]", names[-1]) if " " not in names[-1] else None
        names[-1], last = optional.groups() if optional else names[-1].partition(" ")[::2]
        return Option(names, last or None, optional is not None, text)

    def flags(self):
        return [name for option in self.options for name in option.names]

    def with_value(self):
        return [option for option in self.options if option.value]

    def starts_program(self):
        return "PROGRAM" in self.usage[0]

    def takes_files(self):
        """The end of the names of files that the usage line expects, or None."""
        found = re.search(r"[A-Z]+(\.\w+)\b", self.usage[0])
        return found[1] if found else None


def is_file(value):
    return value.startswith("FILE") or value == "A B"  # as --compare of isthmus-perf has them


# ---- bash ----

def bash_values(tool, value):
    """A command that fills COMPREPLY with what the value may be."""
    if "|" in value:
        return f'COMPREPLY=($(compgen -W "{value.replace("|", " ")}" -- "$current"))'
    if value.startswith("VAR"):
        return 'COMPREPLY=($(compgen -e -- "$current"))'
    if value == "NAME" and "--list" in tool.flags():
        return f'COMPREPLY=($(compgen -W "$({tool.name} --list 2>/dev/null | cut -d " " -f 1)" -- "$current"))'
    if is_file(value):
        return 'COMPREPLY=($(compgen -f -- "$current"))'
    return None  # a number, or a text of the user's


def bash_rest(tool):
    if tool.starts_program():
        return '_isthmus_program "$at"'
    ending = tool.takes_files()
    if ending:
        return f'COMPREPLY=($(compgen -d -- "$current") $(compgen -f -X "!*{ending}" -- "$current"))'
    return f'COMPREPLY=($(compgen -W "{" ".join(tool.flags())}" -- "$current"))'


def bash(tool):
    cases = [f"    {' | '.join(option.names)}) {bash_values(tool, option.value)}; return ;;"
             for option in tool.with_value()
             if bash_values(tool, option.value)]
    with_value = [f"        {' | '.join(option.names)}) needs_value=${{COMP_WORDS[at]}} "
                  f"n_values={len(option.value.split())} ;;"
                  for option in tool.with_value() if not option.is_optional]
    made = {"tool": tool.name, "names": " ".join(tool.all_names), "function": "_" + tool.name.replace("-", "_"),
            "flags": " ".join(tool.flags()),
            "with_value": "\n".join(with_value),
            "cases": "\n".join(cases), "rest": bash_rest(tool), "at_word": "break" if tool.starts_program() else ""}
    return re.sub(r"@(\w+)@", lambda m: made[m[1]],
                  re.sub(r"^@(cases|with_value)@\n", lambda m: m[0] if made[m[1]] else "", BASH, flags=re.M))


# ---- zsh ----

def quoted(text):
    return re.sub(r"([\[\]:\\])", r"\\\1", text).replace("'", "'\\''")


def zsh_values(tool, value):
    if "|" in value:
        return f"({value.replace('|', ' ')})"
    if value.startswith("VAR"):
        return "_parameters"
    if value == "NAME" and "--list" in tool.flags():
        return "(${(f)\"$(" + tool.name + " --list 2>/dev/null | cut -d \" \" -f 1)\"})"
    return "_files" if is_file(value) else " "


def zsh_option(tool, option, name):
    if not option.value:
        return f"{name}[{quoted(option.text)}]"
    mark = "=-" if option.is_optional else "=" if name[:2] == "--" else ""
    colon = "::" if option.is_optional else ":"
    values = "".join(f"{colon}{quoted(one)}:{zsh_values(tool, option.value)}" for one in option.value.split())
    return f"{name}{mark}[{quoted(option.text)}]{values}"


def zsh(tool):
    out = [f"#compdef {' '.join(tool.all_names)}", f"# Made from {tool.name} --help.", "_arguments \\"]
    for option in tool.options:
        out += [f"  '{zsh_option(tool, option, name)}' \\" for name in option.names]
    if tool.starts_program():
        out.append("  '(-):program:_command_names -e' '*::argument:_normal'")
    elif tool.takes_files():
        out.append(f"  '*:file:_files -g \"*{tool.takes_files()}\"'")
    return "\n".join(out).rstrip("\\ ") + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("tools", nargs="+")
    args = parser.parse_args()
    for shell in ("bash", "zsh"):
        (args.out / shell).mkdir(parents=True, exist_ok=True)
    for tool in map(Tool, args.tools):
        for name in tool.all_names:  # bash looks for a file of the command's name
            (args.out / "bash" / name).write_text(bash(tool))
        (args.out / "zsh" / f"_{tool.name}").write_text(zsh(tool))


if __name__ == "__main__":
    main()
