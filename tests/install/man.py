"""man.py ROOT HEADERS MAN...: the manual pages of the build tree and of an installed one: each routine that a header
declares has a page, each page is of a routine or tool, roff has no warning about any, and man finds them by the names
that a reader has in mind."""
import gzip
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT, HEADERS, *MANUALS = map(pathlib.Path, sys.argv[1:])
sys.path.insert(0, str(ROOT / "tools"))
from gen_api import prototypes_in  # noqa: E402

DOCUMENTED = ("shmem.h", "shmemx.h", "nvshmem.h", "nvshmemx.h", "ishmem.h", "ishmemx.h")
OTHER_PAGES = {"man1": {"isthmus-run", "isthmus-info", "isthmus-check-transport", "isthmus-perf", "oshrun", "oshcc",
                        "oshc++"},
               "man5": {"isthmus.conf"}, "man7": {"isthmus", "shmem", "nvshmem", "ishmem"}}


def pages(manual, section):
    return {path.name.removesuffix(f".{section[-1]}.gz"): path for path in (manual / section).iterdir()}


def each_routine_has_a_page(manual):
    declared = {name for header in DOCUMENTED for _, name, _ in prototypes_in((HEADERS / header).read_text())}
    found = set(pages(manual, "man3"))
    assert len(declared) > 3000, f"only {len(declared)} routines are declared"
    assert declared <= found, f"no page for {sorted(declared - found)}"
    families = {re.sub(r"^([a-z]+_)[a-z0-9]+_", r"\1", name) for name in declared} | {re.sub(r"\d+", "", n)
                                                                                      for n in declared}
    strange = {name for name in found - declared - families if not name.endswith("_on_queue")}
    assert not strange, f"pages for {sorted(strange)}, which no header has"
    for section, wanted in OTHER_PAGES.items():
        assert set(pages(manual, section)) == wanted, (f"{section} has {sorted(pages(manual, section))}, "
                                                       f"not {sorted(wanted)}")


def roff_has_no_warning(manual):
    if shutil.which("groff") is None:
        return
    for path in manual.glob("man*/*.gz"):
        if path.is_symlink():
            assert path.resolve().is_file(), f"{path} leads nowhere"
            continue
        text = gzip.decompress(path.read_bytes())
        done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z"], input=text, capture_output=True)
        assert done.returncode == 0 and not done.stderr, f"{path}: {done.stderr.decode()}"


def shown(manual, *arguments):
    environment = {**os.environ, "MANPAGER": "cat", "MANWIDTH": "100", "MANPATH": str(manual), "LC_ALL": "C.UTF-8"}
    done = subprocess.run(["man", *arguments], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, f"man {' '.join(arguments)}: {done.stderr}"
    return done.stdout


def man_finds_families_and_typed_names(manual):
    if shutil.which("man") is None:
        return
    put = shown(manual, "shmem_put")
    for part in ("#include <shmem.h>", "void shmem_put(TYPE *dest, const TYPE *source, size_t nelems, int pe);",
                 "void shmem_ctx_TYPENAME_put(shmem_ctx_t ctx", "TYPENAME is float, double, longdouble",
                 "SIZE is a width in bits: 8, 16, 32, 64, 128.", "Returns when source may be reused"):
        assert part in put, f"no '{part}' in\n{put}"
    for name in ("shmem_long_put", "shmem_ctx_double_put", "shmem_put32", "shmem_putmem"):
        assert shown(manual, name) == put, f"{name} has another page than shmem_put"
    for name, part in (("shmem_init", "shmem_init_thread provides at least"),
                       ("nvshmem_float_p", "p and g: one element by"),
                       ("nvshmemx_barrier_all_on_stream", "cudaStream_t stream"),
                       ("ishmem_malloc", "Collective over all PEs"), ("ishmemx_put_on_queue", "sycl::queue"),
                       ("shmem_team_destroy", "New teams: collective"), ("isthmus-run", "--tag-output"),
                       ("isthmus-perf", "--ops LIST"), ("isthmus-perf", "isthmus-perf --compare A.json B.json"),
                       ("oshrun", "--bind core|none"), ("oshc++", "--showme:compile"),
                       ("isthmus.conf", "ISTHMUS_HEAP_SIZE"), ("isthmus", "libisthmus")):
        assert part in shown(manual, name), f"no '{part}' in the page of {name}:\n{shown(manual, name)}"
    for part in ("Threads", "shmem_put(3)", "put with signal"):
        assert part in shown(manual, "7", "shmem"), f"no '{part}' in shmem(7)"


for each in MANUALS:
    each_routine_has_a_page(each)
    man_finds_families_and_typed_names(each)
roff_has_no_warning(MANUALS[0])
if shutil.which("man") is None or shutil.which("groff") is None:
    print("skipped: there is no man or no groff")
    sys.exit(77)
