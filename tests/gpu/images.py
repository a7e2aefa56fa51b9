#!/usr/bin/env python3
"""images.py FOLDER --build BUILD --include FOLDER...: code for GPUs that tests/gpu/modules.cu loads itself, into
FOLDER: image.nvrtc.ptx and image.nvrtc.cubin by NVRTC from image.cu, and image.bitcode.ptx from tests/bitcode/kernel.c,
which links libnvshmem_device.bc. What cannot be made here is left out, with a line that says why."""
import argparse
import sys
import tempfile
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "cuda_gates"), str(TESTS / "bitcode")]
sys.dont_write_bytecode = True  # the source tree stays as it is

import bitcode
import gates


def by_nvrtc(args):
    library = gates.nvrtc_library(args.build)
    if library is None:
        return
    source = Path(__file__).with_name("image.cu")
    includes = [*args.include, *gates.nvrtc_headers(args.build)]
    # The PTX for any GPU since sm_75, the cubin for sm_90.
    (args.folder / "image.nvrtc.ptx").write_bytes(gates.nvrtc_compile(library, source, includes, "compute_75")[0])
    (args.folder / "image.nvrtc.cubin").write_bytes(gates.nvrtc_compile(library, source, includes, "sm_90")[1])
    print("image.nvrtc.ptx and image.nvrtc.cubin: made")


def by_bitcode(args):
    tools, missing = bitcode.tools_of(args.clang) if args.bitcode else ({}, ["clang"])
    if missing:
        print(f"image.bitcode.ptx: left out: {', '.join(missing)} missing")
        return
    args.source = TESTS / "bitcode" / "kernel.c"
    with tempfile.TemporaryDirectory() as work:
        ptx = bitcode.to_ptx(tools, args, Path(work))
    (args.folder / "image.bitcode.ptx").write_text(ptx, encoding="utf-8")
    print("image.bitcode.ptx: made")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--include", type=Path, action="append", default=[])
    parser.add_argument("--bitcode", type=Path)
    parser.add_argument("--clang")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    by_nvrtc(args)
    by_bitcode(args)


if __name__ == "__main__":
    main()
