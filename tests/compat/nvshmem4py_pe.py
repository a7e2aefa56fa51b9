"""nvshmem4py_pe.py: what the jobs of NVIDIA's nvshmem.core share: the start of a PE, checks, memory as arrays, and the
rows, of which each has the names of nvshmem.core that it calls and whose results it checks.

There may be no GPU: `device` and `stream` are then plain objects with what nvshmem.core reads of those of cuda.core,
and numpy shows the memory."""

import ctypes
import os
import sys
import time

import numpy
import nvshmem.bindings as bindings
import nvshmem.core
from cuda.bindings import driver
from cuda.core import Buffer, Device

WAIT_S = 60
WORDS = 8


class Core:
    """nvshmem.core, which notes the names that are used of it."""

    def __init__(self):
        self.used = set()

    def __getattr__(self, name):
        self.used.add(name)
        return getattr(nvshmem.core, name)


class Stream:
    def __cuda_stream__(self):
        return 0, 0  # the protocol's version, the default stream


core = Core()
ROWS = []  # (function of a PE's number and of the number of PEs, its names), in the order of their definition
STREAM = Stream()


def row(*names):
    """Makes a function a row. It fails if it does not use one of its names; nvshmem4py.py compares them with all."""

    def add(function):
        ROWS.append((function, names))
        return function

    return add


def checks(*_names):
    """Marks a function that is no row and checks these names."""
    return lambda function: function


def the_device():
    device = Device(0)
    device.set_current()
    return device


def check(condition, what):
    if not condition:
        sys.exit(f"PE {nvshmem.core.my_pe()}: not so: {what}")


def refuses(error, call, *arguments):
    """Whether the call ends with that error."""
    try:
        call(*arguments)
    except error:
        return True
    return False


def wait_for_stream():
    driver.cuCtxSynchronize()


def meet():
    """A barrier in the stream, which this thread waits for too."""
    nvshmem.core.barrier_all(stream=STREAM)
    wait_for_stream()


def is_symmetric(address):
    return bindings.ptr(address, bindings.my_pe()) != 0


def memory_at(address, length_bytes, dtype):
    return numpy.frombuffer((ctypes.c_char * length_bytes).from_address(address), dtype=dtype)


def shown(buffer, dtype):
    """The memory of a buffer as an array, once the stream has done all that it was given."""
    wait_for_stream()
    return memory_at(int(buffer.handle), buffer.size, dtype)


def done(result):
    """What a call of the driver returns beside its status, which is success."""
    check(result[0] == driver.CUresult.CUDA_SUCCESS, f"the driver returns {result[0]!r}")
    return result[1] if len(result) > 1 else None


def piece():
    """A buffer of memory that the driver maps in pieces, which are the program's own; it stays until the end."""
    properties, access = driver.CUmemAllocationProp(), driver.CUmemAccessDesc()
    properties.type = driver.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
    properties.requestedHandleTypes = driver.CUmemAllocationHandleType.CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
    properties.location.type = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    access.location = properties.location
    access.flags = driver.CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
    granularity = driver.CUmemAllocationGranularity_flags.CU_MEM_ALLOC_GRANULARITY_RECOMMENDED
    length_bytes = done(driver.cuMemGetAllocationGranularity(properties, granularity))
    at = done(driver.cuMemAddressReserve(length_bytes, 0, 0, 0))
    done(driver.cuMemMap(at, length_bytes, 0, done(driver.cuMemCreate(length_bytes, properties, 0)), 0))
    done(driver.cuMemSetAccess(at, length_bytes, [access], 1))
    return Buffer.from_handle(int(at), length_bytes)


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


def start_by_mpi(way):
    from mpi4py import MPI
    core.init(device=the_device(), mpi_comm=MPI.COMM_WORLD, initializer_method=way)
    check((core.my_pe(), core.n_pes()) == (MPI.COMM_WORLD.Get_rank(), MPI.COMM_WORLD.Get_size()), "PEs are ranks")


@checks("init", "finalize")
def run(way, *arguments):
    """The whole PE: `uid` RANK SIZE FILE, `mpi` or `emulated_mpi`."""
    if core.query_thread() != core.ThreadSupport.THREAD_SERIALIZED:
        sys.exit("not so: query_thread before init")
    if way == "uid":
        start_by_uid(int(arguments[0]), int(arguments[1]), arguments[2])
    else:
        start_by_mpi(way)
    me, n = core.my_pe(), core.n_pes()
    for function, names in ROWS:
        core.used.clear()
        function(me, n)
        check(core.used >= set(names), f"{function.__name__} uses {', '.join(set(names) - core.used)}")
        meet()
    core.finalize()
    check(core.init_status() != core.InitStatus.STATUS_IS_INITIALIZED, "finalize")
    print(f"PE {me} of {n}: done", flush=True)
