"""nvshmem4py_tensors.py RANK SIZE FILE: one PE of a job of NVIDIA's nvshmem.core with tensors of PyTorch in symmetric
memory, both unchanged from their wheels, started by unique id as nvshmem4py_job.py is.

On the double of CUDA no kernel runs: values come and go by copies from and to tensors of the host."""

import os
import sys

sys.setdlopenflags(os.RTLD_LAZY)  # what PyTorch does not call of CUDA's libraries need not be there
import torch  # noqa: E402

import nvshmem4py_pe as pe  # noqa: E402
from nvshmem4py_pe import STREAM, WORDS, check, core, meet, refuses, row  # noqa: E402

Teams = core.Teams
NUMBERS = torch.arange(2 * WORDS).view(2, WORDS)
BYTES = 2 * WORDS * 8


def made(values):
    tensor = core.tensor(tuple(values.shape), dtype=values.dtype)
    tensor.copy_(values)
    return tensor


def holds(tensor, values):
    """Whether its values are these, once the stream has done all that it was given."""
    torch.cuda.synchronize()
    return torch.equal(tensor.cpu(), values)


@row("tensor", "free_tensor", "get_peer_tensor", "put", "put_nbi", "get", "get_nbi", "put_signal", "put_signal_nbi")
def transfers(me, n):
    right, left = (me + 1) % n, (me - 1) % n
    source, dest, signal = made(NUMBERS + 100 * me), made(NUMBERS - NUMBERS), core.buffer(8)
    pe.shown(signal, "uint64")[:] = 0
    check(source.is_cuda and source.shape == (2, WORDS), "a tensor's device and shape")
    meet()
    for put in (core.put, core.put_nbi):
        put(dest, source, remote_pe=right, stream=STREAM)
        core.quiet(stream=STREAM)
        meet()
        check(holds(dest, NUMBERS + 100 * left), f"{put.__name__} of a tensor")
        dest.copy_(NUMBERS - NUMBERS)
        meet()
    for get in (core.get, core.get_nbi):
        get(dest, source, remote_pe=right, stream=STREAM)
        core.quiet(stream=STREAM)
        check(holds(dest, NUMBERS + 100 * right), f"{get.__name__} of a tensor")
        dest.copy_(NUMBERS - NUMBERS)
    meet()
    for value, put_signal in enumerate((core.put_signal, core.put_signal_nbi), 1):
        put_signal(dest, source, signal, value, core.SignalOp.SIGNAL_SET, remote_pe=right, stream=STREAM)
        core.signal_wait(signal, value, core.ComparisonType.CMP_EQ, stream=STREAM)
        check(holds(dest, NUMBERS + 100 * left), f"{put_signal.__name__} of a tensor")
        dest.copy_(NUMBERS - NUMBERS)
        meet()
    check(holds(core.get_peer_tensor(source, right), NUMBERS + 100 * right), "get_peer_tensor")
    meet()
    core.free(signal)
    for tensor in (source, dest):
        core.free_tensor(tensor)


@row("bytetensor", "tensor_get_buffer", "get_multicast_tensor")
def shapes(me, n):
    """Of bytes, by columns, and what tensor_get_buffer and get_multicast_tensor make of them."""
    raw, columns = core.bytetensor((2, WORDS)), core.tensor((2, WORDS), dtype=torch.int64, morder="F")
    check(raw.dtype == torch.uint8 and raw.numel() == 2 * WORDS, "bytetensor")
    check(columns.stride() == (1, 2), "a tensor by columns")
    buffer, length_bytes, kind = core.tensor_get_buffer(columns)
    check((int(buffer.handle), length_bytes, kind) == (columns.data_ptr(), BYTES, "torch.int64"), "tensor_get_buffer")
    check(refuses(core.NvshmemError, core.get_multicast_tensor, Teams.TEAM_WORLD, raw), "no multicast memory")
    for tensor in (raw, columns):
        core.free_tensor(tensor)


@row("reduce", "reducescatter", "fcollect", "alltoall", "broadcast")
def collectives(me, n):
    def on(call, source, n_results, *more, **named):
        dest = made(torch.zeros(n_results, dtype=torch.int32))
        meet()
        call(Teams.TEAM_WORLD, dest, source, *more, stream=STREAM, **named)
        torch.cuda.synchronize()
        result = dest.cpu().tolist()
        core.free_tensor(dest)
        return result

    row = made(torch.arange(n, dtype=torch.int32) + 10 * me)
    one = made(torch.tensor([me + 1], dtype=torch.int32))
    sums = [n * i + 5 * n * (n - 1) for i in range(n)]
    check(on(core.reduce, row, n, "sum") == sums, "reduce of tensors")
    check(on(core.reducescatter, row, 1, "sum") == sums[me:me + 1], "reducescatter of tensors")
    check(on(core.fcollect, one, n) == [pe + 1 for pe in range(n)], "fcollect of tensors")
    check(on(core.alltoall, row, n) == [10 * pe + me for pe in range(n)], "alltoall of tensors")
    check(on(core.broadcast, row, n, root=n - 1) == [10 * (n - 1) + i for i in range(n)], "broadcast of tensors")
    for tensor in (row, one):
        core.free_tensor(tensor)


@row("atomic_add")
def atomics(me, n):
    word = made(torch.tensor([5], dtype=torch.int64))
    meet()
    core.atomic_add(word, me + 1, remote_pe=0)
    meet()
    check(me != 0 or holds(word, torch.tensor([5 + n * (n + 1) // 2])), "atomic_add on a tensor")
    core.free_tensor(word)


@row("register_external_tensor", "unregister_external_tensor")
def external(me, n):
    """Memory that the driver maps in pieces becomes symmetric; that of PyTorch's allocator is refused."""
    mine = torch.utils.dlpack.from_dlpack(pe.piece()).view(torch.int64)
    mine[:2 * WORDS].copy_(NUMBERS.flatten() + 100 * me)
    anchor = core.buffer(8)  # nvshmem.core knows the device by its first buffer
    symmetric = core.register_external_tensor(mine)
    check(symmetric.data_ptr() == mine.data_ptr(), "register_external_tensor")
    meet()
    dest = made(torch.zeros(mine.numel(), dtype=torch.int64))
    core.get(dest, symmetric, remote_pe=(me + 1) % n, stream=STREAM)
    check(holds(dest[:2 * WORDS], NUMBERS.flatten() + 100 * ((me + 1) % n)), "get of a registered tensor")
    meet()
    core.unregister_external_tensor(symmetric)
    check(not pe.is_symmetric(mine.data_ptr()), "unregister_external_tensor")
    other = torch.empty(mine.numel(), dtype=torch.int64, device="cuda")
    check(refuses(core.NvshmemError, core.register_external_tensor, other), "memory of cudaMalloc")
    core.free_tensor(dest)
    core.free(anchor)


if __name__ == "__main__":
    pe.run("uid", *sys.argv[1:])
