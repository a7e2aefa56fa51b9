"""nvshmem4py_job.py uid RANK SIZE FILE | mpi | emulated_mpi: one PE of a job of NVIDIA's nvshmem.core, unchanged, on
the library that the loader finds as libnvshmem_host.so.3: start, memory, transfers and signals in streams, atomics,
collectives, teams, end.

There may be no GPU: `device` and `stream` are then plain objects with what nvshmem.core reads of those of cuda.core,
and numpy shows the memory."""

import ctypes
import os
import sys
import time

import numpy
import nvshmem.bindings as bindings
import nvshmem.core as core
from cuda.bindings import driver
from cuda.core import Device
from nvshmem.core import Teams

WAIT_S = 60
WORDS = 8


class Stream:
    def __cuda_stream__(self):
        return 0, 0  # the protocol's version, the default stream


STREAM = Stream()


def the_device():
    device = Device(0)
    device.set_current()
    return device


def check(condition, what):
    if not condition:
        sys.exit(f"PE {core.my_pe()}: not so: {what}")


def meet():
    """A barrier in the stream, which this thread waits for too."""
    core.barrier_all(stream=STREAM)
    driver.cuCtxSynchronize()


def shown(buffer, dtype):
    """The memory of a buffer as an array, once the stream has done all that it was given."""
    driver.cuCtxSynchronize()
    memory = (ctypes.c_char * buffer.size).from_address(int(buffer.handle))
    return numpy.frombuffer(memory, dtype=dtype)


def wait_for(path):
    """The bytes that PE 0 has written, which it renames when they are complete."""
    end = time.monotonic() + WAIT_S
    while not os.path.exists(path):
        if time.monotonic() > end:
            sys.exit(f"{path} has not appeared within {WAIT_S} s")
        time.sleep(0.01)
    with open(path, "rb") as file:
        return file.read()


def start_by_uid(rank, size, path):
    uid = core.get_unique_id(empty=rank != 0)
    if rank == 0:
        with open(path + ".part", "wb") as file:
            file.write(uid._data.tobytes())
        os.rename(path + ".part", path)
    else:
        uid._data.view(numpy.int8)[:] = numpy.frombuffer(wait_for(path), dtype=numpy.int8)
    core.init(device=the_device(), uid=uid, rank=rank, nranks=size, initializer_method="uid")


def start(way, *arguments):
    if way == "uid":
        start_by_uid(int(arguments[0]), int(arguments[1]), arguments[2])
    else:
        from mpi4py import MPI
        core.init(device=the_device(), mpi_comm=MPI.COMM_WORLD, initializer_method=way)
        check((core.my_pe(), core.n_pes()) == (MPI.COMM_WORLD.Get_rank(), MPI.COMM_WORLD.Get_size()), "PEs are ranks")


def transfers(me, n):
    right, left = (me + 1) % n, (me - 1) % n
    source, dest, signal = core.buffer(8 * WORDS), core.buffer(8 * WORDS), core.buffer(8)
    shown(source, numpy.int64)[:] = numpy.arange(WORDS) + 100 * me
    shown(dest, numpy.int64)[:] = 0
    shown(signal, numpy.uint64)[:] = 0
    meet()
    for round_number, put in enumerate((core.put, core.put_nbi), 1):
        put(dest, source, remote_pe=right, stream=STREAM)
        core.flush(stream=STREAM)
        core.quiet(stream=STREAM)
        meet()
        check((shown(dest, numpy.int64) == numpy.arange(WORDS) + 100 * left).all(), f"put {round_number}")
        shown(dest, numpy.int64)[:] = 0
        meet()
    for get in (core.get, core.get_nbi):
        get(dest, source, remote_pe=right, stream=STREAM)
        core.quiet(stream=STREAM)
        check((shown(dest, numpy.int64) == numpy.arange(WORDS) + 100 * right).all(), "get")
    meet()
    core.put_signal(dest, source, signal, 1, core.SignalOp.SIGNAL_SET, remote_pe=right, stream=STREAM)
    core.signal_wait(signal, 1, core.ComparisonType.CMP_EQ, stream=STREAM)
    check((shown(dest, numpy.int64) == numpy.arange(WORDS) + 100 * left).all(), "put_signal")
    meet()
    core.signal_op(signal, 2, core.SignalOp.SIGNAL_ADD, remote_pe=right, stream=STREAM)
    meet()
    check(core.signal_fetch(signal) == 3, "signal_op")
    peer = core.get_peer_buffer(source, right)  # is not freed
    check(shown(peer, numpy.int64)[1] == 100 * right + 1, "get_peer_buffer")
    for buffer in (source, dest, signal):
        core.free(buffer)


def atomics(me, n):
    word, real = core.buffer(8), core.buffer(8)
    shown(word, numpy.int64)[:] = 0
    shown(real, numpy.float64)[:] = 0
    meet()
    core.atomic_add(word, me + 1, remote_pe=0, dtype="int64")
    core.atomic_add(real, 0.5, remote_pe=0, dtype="float64")
    core.atomic_inc(word, remote_pe=0, dtype="int64")
    meet()
    total = n * (n + 1) // 2 + n
    check(core.atomic_fetch(word, remote_pe=0, dtype="int64") == total, "atomic_add, atomic_inc")
    check(me != 0 or shown(real, numpy.float64)[0] == 0.5 * n, "atomic_add of real numbers")
    meet()
    if me == n - 1:
        check(core.atomic_swap(word, 7, remote_pe=0, dtype="int64") == total, "atomic_swap")
        check(core.atomic_compare_swap(word, 7, 12, remote_pe=0, dtype="int64") == 7, "atomic_compare_swap")
        check(core.atomic_fetch_or(word, 3, remote_pe=0, dtype="int64") == 12, "atomic_fetch_or")
        check(core.atomic_fetch_add(word, 1, remote_pe=0, dtype="int64") == 15, "atomic_fetch_add")
    meet()
    check(me != 0 or shown(word, numpy.int64)[0] == 16, "the word of the atomics")
    core.free(word)
    core.free(real)


def collectives(me, n):
    def on(name, dest, source, **more):
        core.collective_on_buffer(name, Teams.TEAM_WORLD, dest, source, dtype="int32", stream=STREAM, **more)

    one, all_of_them, results = core.buffer(4), core.buffer(4 * n), core.buffer(4 * n)
    shown(one, numpy.int32)[:] = me + 1
    shown(all_of_them, numpy.int32)[:] = numpy.arange(n) + 10 * me
    core.barrier(Teams.TEAM_WORLD, stream=STREAM)
    on("reduce", results, all_of_them, op="sum")
    check((shown(results, numpy.int32) == n * numpy.arange(n) + 5 * n * (n - 1)).all(), "reduce")
    core.sync_all(stream=STREAM)
    on("fcollect", results, one)
    check((shown(results, numpy.int32) == numpy.arange(n) + 1).all(), "fcollect")
    core.sync(Teams.TEAM_WORLD, stream=STREAM)
    on("alltoall", results, all_of_them)
    check((shown(results, numpy.int32) == 10 * numpy.arange(n) + me).all(), "alltoall")
    meet()
    on("broadcast", results, all_of_them, root=n - 1)
    check((shown(results, numpy.int32) == numpy.arange(n) + 10 * (n - 1)).all(), "broadcast")
    meet()
    for buffer in (one, all_of_them, results):
        core.free(buffer)


def teams(me, n):
    check(core.team_my_pe(Teams.TEAM_WORLD) == me and core.team_n_pes(Teams.TEAM_WORLD) == n, "the world's team")
    copy = core.team_split_strided(Teams.TEAM_WORLD, 0, 1, n, bindings.TeamConfig(), 0, "copy")
    check((core.team_my_pe(copy), core.team_n_pes(copy)) == (me, n), "team_split_strided")
    check(core.team_translate_pe(copy, me, Teams.TEAM_WORLD) == me, "team_translate_pe")
    core.barrier(copy, stream=STREAM)
    core.team_destroy("copy")
    uid, config = core.buffer(8), bindings.TeamConfig()
    if me == 0:
        shown(uid, numpy.uint64)[0] = ctypes.c_uint64.from_address(core.get_team_unique_id().ptr).value
    core.collective_on_buffer("broadcast", Teams.TEAM_WORLD, uid, uid, dtype="uint64", root=0, stream=STREAM)
    config.uniqueid = int(shown(uid, numpy.uint64)[0])
    team = core.team_init(config, 2, n, n - 1 - me, "backwards")  # 2: the mask of uniqueid
    check((core.team_my_pe(team), core.team_n_pes(team)) == (n - 1 - me, n), "team_init")
    core.team_destroy("backwards")
    meet()
    core.free(uid)


def main():
    start(*sys.argv[1:])
    me, n = core.my_pe(), core.n_pes()
    check(core.init_status() == core.InitStatus.STATUS_IS_INITIALIZED, "init_status")
    check(core.get_name().startswith("Isthmus"), "the library is Isthmus")
    transfers(me, n)
    atomics(me, n)
    collectives(me, n)
    teams(me, n)
    core.finalize()
    print(f"PE {me} of {n}: done", flush=True)


if __name__ == "__main__":
    main()
