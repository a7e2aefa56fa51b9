"""The SHMEM library Isthmus as a package: where its library, headers and tools are.

    library = ctypes.CDLL(isthmus.get_library())    # then library.shmem_init() and all other routines of shmem.h

`isthmus-run -n 4 python3 program.py` starts a job; `python3 -m isthmus isthmus-run ...` does where the wheel was only
unpacked. The package works in any folder, and needs PMIx and hwloc of the machine."""

from pathlib import Path

__all__ = ["get_include", "get_library", "get_library_dir", "get_tool"]

_HOME = Path(__file__).resolve().parent


def get_include():
    """The folder of shmem.h, nvshmem.h, ishmem.h and the others, for the compiler's option -I."""
    return str(_HOME / "include")


def get_library_dir():
    """The folder of libisthmus.so, for the options -L and -Wl,-rpath; `isthmus` in it has the transports, and
    `isthmus/compat` the library under others' names."""
    return str(_HOME / "lib")


def get_library():
    """The path of libisthmus.so.0, for ctypes.CDLL."""
    return str(_HOME / "lib" / "libisthmus.so.0")


def get_tool(name):
    """The path of a tool, such as "isthmus-run". ValueError: the package has no tool of that name."""
    tools = {path.name: path for path in (_HOME / "bin").iterdir()}
    if name not in tools:
        raise ValueError(f"isthmus.get_tool: there is no tool '{name}'; tools: {', '.join(sorted(tools))}")
    return str(tools[name])
