#!/usr/bin/env python3
"""ring_triton.py BITCODE FOLDER: kernels of Triton that call the library, compiled without a GPU for three of them:
each block of a tensor goes to the next PE with a signal, which a second kernel waits for. BITCODE is
PREFIX/lib/libnvshmem_device.bc; PTX and cubins are written into FOLDER. docs/device.md: "With Triton".

A program with a GPU launches them by put_block[grid](..., extern_libs=...), when it has passed their module to
nvshmemx_cumodule_init. It launches kernels that wait for other PEs one after the other, in one stream."""

import sys
from pathlib import Path

import triton
from triton import language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.language import core

I32, I64, U64 = (core.dtype(name) for name in ("int32", "int64", "uint64"))
SIGNAL_SET, CMP_EQ = tl.constexpr(9), tl.constexpr(0)  # NVSHMEM_SIGNAL_SET, NVSHMEM_CMP_EQ


def call(name, arguments, types, returns, _semantic):
    """Triton knows no function without a result: those are declared with one that nothing reads."""
    return core.extern_elementwise("", "", arguments, {tuple(types): (name, returns)}, is_pure=False,
                                   _semantic=_semantic)


@core.extern
def my_pe(_semantic=None):
    return call("nvshmem_my_pe", [], [], I32, _semantic)


@core.extern
def n_pes(_semantic=None):
    return call("nvshmem_n_pes", [], [], I32, _semantic)


@core.extern
def putmem_signal_block(dest, source, size, signal, value, sig_op, pe, _semantic=None):
    return call("nvshmemx_putmem_signal_block", [dest, source, size, signal, value, sig_op, pe],
                [I64, I64, I64, I64, I64, I32, I32], I32, _semantic)


@core.extern
def signal_wait_until(signal, cmp, value, _semantic=None):
    return call("nvshmem_signal_wait_until", [signal, cmp, value], [I64, I32, I64], I64, _semantic)


@triton.jit
def put_block(dest, source, signal, size, SIGNAL: tl.constexpr):
    """By all threads of the program, as one call: each program puts its part, and sets its own signal."""
    part = tl.program_id(0).to(tl.int64)
    putmem_signal_block(dest.to(tl.int64) + part * size, source.to(tl.int64) + part * size, size,
                        signal.to(tl.int64) + part * 8, tl.full([], 1, tl.int64), tl.full([], SIGNAL, tl.int32),
                        (my_pe() + 1) % n_pes())


@triton.jit
def wait_block(signal, CMP: tl.constexpr):
    """Each thread of the program waits."""
    part = tl.program_id(0).to(tl.int64)
    signal_wait_until(signal.to(tl.int64) + part * 8, tl.full([], CMP, tl.int32), tl.full([], 1, tl.int64))


SOURCES = (
    ASTSource(fn=put_block, signature={"dest": "*i8", "source": "*i8", "signal": "*i64", "size": "i64"},
              constexprs={"SIGNAL": SIGNAL_SET.value}),
    ASTSource(fn=wait_block, signature={"signal": "*i64"}, constexprs={"CMP": CMP_EQ.value}),
)


def main():
    bitcode, folder = sys.argv[1], Path(sys.argv[2])
    for architecture in (80, 90, 100):
        for source in SOURCES:
            kernel = triton.compile(source, target=GPUTarget("cuda", architecture, 32),
                                    options={"extern_libs": {"libnvshmem_device": bitcode}})
            name = f"{source.fn.__name__}_sm_{architecture}"
            Path(folder, f"{name}.ptx").write_text(kernel.asm["ptx"])
            Path(folder, f"{name}.cubin").write_bytes(kernel.asm["cubin"])
            print(f"{name}: compiled")


if __name__ == "__main__":
    main()
