"""nvshmem4py_job.py uid RANK SIZE FILE | mpi | emulated_mpi: one PE of a job of NVIDIA's nvshmem.core, unchanged, on
the library that the loader finds as libnvshmem_host.so.3: transfers and signals in streams, atomics, collectives,
teams, and what nvshmem4py_more.py has."""

import ctypes
import sys
from types import SimpleNamespace
from typing import get_args

import numpy

import nvshmem4py_pe as pe
from nvshmem4py_pe import STREAM, WORDS, check, core, meet, refuses, row, shown

Teams = core.Teams


@row("buffer", "free", "barrier_all", "put", "put_nbi", "get", "get_nbi", "flush", "quiet", "put_signal",
     "put_signal_nbi", "signal_op", "signal_wait", "signal_fetch", "SignalOp", "ComparisonType", "get_peer_buffer",
     "get_multicast_buffer", "NvshmemStream", "NvshmemStreamsType", "NvshmemError")
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
    stream = core.NvshmemStream(SimpleNamespace(cuda_stream=0))  # as it takes one of PyTorch
    check(isinstance(stream, get_args(core.NvshmemStreamsType)), "NvshmemStreamsType has NvshmemStream")
    for value, put_signal in enumerate((core.put_signal, core.put_signal_nbi), 1):
        shown(dest, numpy.int64)[:] = 0
        core.barrier_all(stream=stream)
        put_signal(dest, source, signal, value, core.SignalOp.SIGNAL_SET, remote_pe=right, stream=stream)
        core.signal_wait(signal, value, core.ComparisonType.CMP_EQ, stream=stream)
        check((shown(dest, numpy.int64) == numpy.arange(WORDS) + 100 * left).all(), f"{put_signal.__name__}")
        meet()
    core.signal_op(signal, 2, core.SignalOp.SIGNAL_ADD, remote_pe=right, stream=STREAM)
    meet()
    check(core.signal_fetch(signal) == 4, "signal_op")
    peer = core.get_peer_buffer(source, right)  # is not freed
    check(shown(peer, numpy.int64)[1] == 100 * right + 1, "get_peer_buffer")
    check(refuses(core.NvshmemError, core.get_multicast_buffer, Teams.TEAM_WORLD, source), "no multicast memory")
    meet()
    for buffer in (source, dest, signal):
        core.free(buffer)


@row("atomic_fetch", "atomic_set", "atomic_inc", "atomic_fetch_inc", "atomic_add", "atomic_fetch_add", "atomic_and",
     "atomic_fetch_and", "atomic_or", "atomic_fetch_or", "atomic_xor", "atomic_fetch_xor", "atomic_swap",
     "atomic_compare_swap")
def atomics(me, n):
    sums(me, n)
    right, word = (me + 1) % n, core.buffer(8)
    shown(word, numpy.int64)[:] = 7
    meet()
    for call, operands, old in ((core.atomic_swap, [9], 7), (core.atomic_compare_swap, [9, 12], 9),
                                (core.atomic_fetch_or, [3], 12), (core.atomic_fetch_add, [1], 15),
                                (core.atomic_fetch_inc, [], 16), (core.atomic_fetch_and, [0x31], 17),
                                (core.atomic_fetch_xor, [0x22], 0x11), (core.atomic_fetch, [], 0x33)):
        check(call(word, *operands, remote_pe=right, dtype="int64") == old, call.__name__)
    for call, operand, new in ((core.atomic_set, 0x70, 0x70), (core.atomic_and, 0x5F, 0x50),
                               (core.atomic_or, 0x03, 0x53), (core.atomic_xor, 0x41, 0x12)):
        call(word, operand, remote_pe=right, dtype="int64")
        check(core.atomic_fetch(word, remote_pe=right, dtype="int64") == new, call.__name__)
    meet()
    check(shown(word, numpy.int64)[0] == 0x12, "the word that the left PE has changed")
    core.free(word)


def sums(me, n):
    """All PEs add to the words of PE 0."""
    word, real = core.buffer(8), core.buffer(8)
    shown(word, numpy.int64)[:] = 0
    shown(real, numpy.float64)[:] = 0
    meet()
    core.atomic_add(word, me + 1, remote_pe=0, dtype="int64")
    core.atomic_add(real, 0.5, remote_pe=0, dtype="float64")
    core.atomic_inc(word, remote_pe=0, dtype="int64")
    meet()
    check(core.atomic_fetch(word, remote_pe=0, dtype="int64") == n * (n + 1) // 2 + n, "atomic_add, atomic_inc")
    check(me != 0 or shown(real, numpy.float64)[0] == 0.5 * n, "atomic_add of real numbers")
    meet()
    core.free(word)
    core.free(real)


@row("collective_on_buffer", "barrier", "sync", "sync_all")
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


def split_2d(me, n):
    """Into rows of one PE and a column of all. nvshmem.core 0.4.1 passes the arguments in another order than its
    bindings take them: the handle of the row's team is written to the second configuration."""
    configs = core.TeamConfig(), core.TeamConfig()
    row_team, column = core.team_split_2d(Teams.TEAM_WORLD, 1, configs[0], 0, configs[1], 0, "grid")
    if row_team == Teams.TEAM_WORLD:
        row_team = ctypes.c_int32.from_address(configs[1].ptr).value
    check((core.team_my_pe(column), core.team_n_pes(column)) == (me, n), "team_split_2d, the column")
    check((core.team_my_pe(row_team), core.team_n_pes(row_team)) == (0, 1), "team_split_2d, the row")
    core.team_destroy("grid_Y")
    core.team_destroy(row_team)


@row("Teams", "MutableEnum", "TeamConfig", "TeamUniqueId", "team_my_pe", "team_n_pes", "team_split_strided",
     "team_split_2d", "team_translate_pe", "team_get_config", "team_destroy", "get_team_unique_id", "team_init")
def teams(me, n):
    check(isinstance(core.Teams, core.MutableEnum) and "TEAM_SHARED" in core.Teams, "Teams")
    check(core.team_my_pe(Teams.TEAM_WORLD) == me and core.team_n_pes(Teams.TEAM_WORLD) == n, "the world's team")
    config = core.TeamConfig()
    config.num_contexts = 3
    copy = core.team_split_strided(Teams.TEAM_WORLD, 0, 1, n, config, 1, "copy")  # 1: the mask of num_contexts
    check(core.team_get_config(copy).num_contexts == 3, "team_get_config")
    check((core.team_my_pe(copy), core.team_n_pes(copy)) == (me, n), "team_split_strided")
    check(core.team_translate_pe(copy, me, Teams.TEAM_WORLD) == me, "team_translate_pe")
    core.barrier(copy, stream=STREAM)
    core.team_destroy("copy")
    check("copy" not in core.Teams, "team_destroy")
    split_2d(me, n)
    uid, config = core.buffer(8), core.TeamConfig()
    team_uid = core.get_team_unique_id()
    check(isinstance(team_uid, core.TeamUniqueId), "TeamUniqueId")
    if me == 0:
        shown(uid, numpy.uint64)[0] = ctypes.c_uint64.from_address(team_uid.ptr).value
    core.collective_on_buffer("broadcast", Teams.TEAM_WORLD, uid, uid, dtype="uint64", root=0, stream=STREAM)
    config.uniqueid = int(shown(uid, numpy.uint64)[0])
    team = core.team_init(config, 2, n, n - 1 - me, "backwards")  # 2: the mask of uniqueid
    check((core.team_my_pe(team), core.team_n_pes(team)) == (n - 1 - me, n), "team_init")
    core.team_destroy("backwards")
    meet()
    core.free(uid)


import nvshmem4py_more  # noqa: E402,F401 its rows come last

if __name__ == "__main__":
    pe.run(*sys.argv[1:])
