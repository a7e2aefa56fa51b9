#!/usr/bin/env python3
"""wheel.py [--pip]: what `pip wheel .` makes is used without an install, by a Python program and by a compiler.

Without --pip the wheel's tree is installed from the build tree, component by component as pyproject.toml lists them.
With it pip makes the wheel in a build of its own, which CMake and pkg-config use too; skipped (77) where the build back
end cannot be fetched. Environment as in common.sh, and SOURCE."""

import ast
import os
import re
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import wheels  # noqa: E402

SKIPPED = 77
TOOLS = ("isthmus-check-transport", "isthmus-info", "isthmus-perf", "isthmus-run")
SOURCE, BUILD, CC = Path(os.environ["SOURCE"]), Path(os.environ["BUILD"]), os.environ["CC"]
ENVIRONMENT = {name: value for name, value in os.environ.items()
               if name not in ("LD_LIBRARY_PATH", "ISTHMUS_PLUGIN_PATH", "PYTHONPATH")}


def fail(text):
    sys.exit(f"FAILED: {text}")


def expect(what, wanted, seen):
    if wanted != seen:
        fail(f"{what}: expected {wanted!r}, seen {seen!r}")


def run(*command, **variables):
    """Its output; a command that fails ends the test."""
    done = subprocess.run([str(word) for word in command], env={**ENVIRONMENT, **variables}, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        fail(f"{' '.join(map(str, command))} ends with {done.returncode}:\n{done.stdout[-4000:]}")
    return done.stdout


def installed(folder):
    """The tree as the build back end installs it, without a wheel around it."""
    listed = re.search(r"^install\.components = (\[.*?\])", (SOURCE / "pyproject.toml").read_text(), re.MULTILINE)
    for component in ast.literal_eval(listed.group(1)):
        run(os.environ["CMAKE"], "--install", BUILD, "--strip", "--component", component,
            "--prefix", folder / "isthmus")


def made_by_pip(work):
    """The one wheel, in a build tree that is kept for the next time."""
    try:
        backend = wheels.fetch(BUILD, "scikit-build-core")
    except wheels.NotHere as why:
        print(f"skipped: {why}")
        sys.exit(SKIPPED)
    for old in work.glob("*.whl"):
        old.unlink()
    run(sys.executable, "-m", "pip", "wheel", SOURCE, "--no-deps", "--no-build-isolation", "--no-index",
        "--disable-pip-version-check", "--wheel-dir", work, "--config-settings", f"build-dir={work / 'build'}",
        PYTHONPATH=str(backend))
    made = list(work.glob("*.whl"))
    expect("number of wheels", 1, len(made))
    return made[0]


def unpack(wheel, folder):
    """As pip unpacks it: what could be executed can be."""
    with zipfile.ZipFile(wheel) as archive:
        for info in archive.infolist():
            path = Path(archive.extract(info, folder))
            if info.external_attr >> 16 & stat.S_IXUSR:
                path.chmod(0o755)


def check_metadata(wheel, folder):
    """The wheel's name has the version of CMake and no ABI of Python; the commands are there."""
    version = re.search(r"project\(Isthmus VERSION ([0-9.]+)", (SOURCE / "CMakeLists.txt").read_text()).group(1)
    if not re.fullmatch(rf"isthmus-{re.escape(version)}-py3-none-linux_\w+\.whl", wheel.name):
        fail(f"the wheel is called {wheel.name}")
    about = folder / f"isthmus-{version}.dist-info"
    metadata = (about / "METADATA").read_text()
    for line in (f"Version: {version}", "License-Expression: BSD-3-Clause"):
        if line not in metadata.splitlines():
            fail(f"METADATA lacks '{line}':\n{metadata[:1000]}")
    if not list(about.rglob("LICENSE")):
        fail("the licence is not in the wheel")
    commands = re.findall(r"^(\S+) *= *isthmus\.__main__:run_named$", (about / "entry_points.txt").read_text(),
                          re.MULTILINE)
    expect("commands", sorted(TOOLS), sorted(commands))


def check_tree(home):
    """There are no links, which a wheel would hold as copies, and no files that only other installs have use for."""
    links = [str(path) for path in home.rglob("*") if path.is_symlink()]
    expect("links", [], links)
    expect("names of the library", ["libisthmus.so", "libisthmus.so.0"],
           sorted(path.name for path in (home / "lib").glob("libisthmus*")))
    expect("folders of share", ["doc"], [path.name for path in (home / "share").iterdir()])


def neighbours(*command, **variables):
    """Two PEs, which print what outside/neighbour.c prints."""
    seen = run(sys.executable, "-m", "isthmus", "isthmus-run", "-n", "2", "--timeout", "60", *command, **variables)
    expect(f"output of {command[-1]}", ["PE 0 of 2: neighbour 1", "PE 1 of 2: neighbour 0"], sorted(seen.splitlines()))


def check_python(home, path):
    """A program loads the library by ctypes; the tools run, by their names as commands too, and find the rest."""
    neighbours(sys.executable, HERE / "outside" / "neighbour.py", PYTHONPATH=path)
    command = "import sys; sys.argv[0] = '/any/bin/isthmus-info'; from isthmus.__main__ import run_named; run_named()"
    seen = run(sys.executable, "-c", command, PYTHONPATH=path)
    for transport in sorted(BUILD.glob("lib/isthmus/*.so")):
        if str(home / "lib/isthmus" / transport.name) not in seen:
            fail(f"isthmus-info does not find {transport.name} of the wheel:\n{seen}")
    run(sys.executable, "-m", "isthmus", "isthmus-perf", "--ops", "p", "--repeat", "1", PYTHONPATH=path)
    run(sys.executable, "-m", "isthmus", "isthmus-check-transport", home / "lib/isthmus/loopback.so", "--list",
        PYTHONPATH=path)


def check_compiled(work, path):
    """C programs by the folders that the package names, and under the library's other names."""
    ask = "import isthmus; print(isthmus.get_include(), isthmus.get_library_dir(), sep='\\n')"
    include, lib = run(sys.executable, "-c", ask, PYTHONPATH=path).splitlines()
    for name, folder in (("isthmus", lib), ("sma", f"{lib}/isthmus/compat")):
        program = work / f"neighbour_{name}"
        run(CC, HERE / "outside" / "neighbour.c", "-o", program, f"-I{include}", f"-L{folder}", f"-l{name}",
            f"-Wl,-rpath,{lib}")
        loaded = run("ldd", program)
        if f"{lib}/libisthmus.so.0" not in loaded:
            fail(f"{program} does not load the library of the wheel:\n{loaded}")
        neighbours(program, PYTHONPATH=path)


def check_packages(work, home):
    """CMake's and pkg-config's, by the tests of other installs, which look for the tree under this name."""
    moved = work / "moved"
    moved.unlink(missing_ok=True)
    moved.symlink_to(home)
    for test in ("find_package", "pkg_config"):
        run(HERE / f"{test}.sh", WORK=str(work), BINDIR="bin", LIBDIR="lib", INCLUDEDIR="include")


def main():
    by_pip = "--pip" in sys.argv[1:]
    work = Path(os.environ["WORK"]) / ("wheel_pip" if by_pip else "wheel")
    work.mkdir(parents=True, exist_ok=True)
    folder = work / "unpacked"
    run(os.environ["CMAKE"], "-E", "rm", "-rf", folder)
    if by_pip:
        wheel = made_by_pip(work)
        unpack(wheel, folder)
        check_metadata(wheel, folder)
    elif os.environ["LIBDIR"] != "lib":
        print(f"skipped: this build installs its libraries into {os.environ['LIBDIR']}, a wheel into lib")
        return SKIPPED
    else:
        installed(folder)
    os.chdir(work)
    check_tree(folder / "isthmus")
    check_python(folder / "isthmus", str(folder))
    check_compiled(work, str(folder))
    if by_pip:
        check_packages(work, folder / "isthmus")
    return 0


if __name__ == "__main__":
    sys.exit(main())
