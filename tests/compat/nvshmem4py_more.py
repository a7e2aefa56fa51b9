"""nvshmem4py_more.py: rows of nvshmem4py_job.py: queries, memory of the program's own, code for a GPU, and arrays of
CuPy, for which a stand-in of 30 lines is there: CuPy itself does not start on the double of CUDA's driver."""

import ctypes
import mmap
import os

import numpy
from cuda.bindings import driver
from cuda.core import Buffer, ObjectCode
from nvshmem.core.interop import cupy as interop

import nvshmem4py_pe as pe
from nvshmem4py_pe import STREAM, WORDS, check, core, meet, refuses, row, shown

STATE_BYTES = 128  # of isthmus_device_v1, which the library fills in code for a GPU
CODE = f""".version 6.0
.target sm_70
.address_size 64
.visible .const .align 8 .b8 isthmus_device_v1[{STATE_BYTES}];
""".encode() + b"\0"


@row("get_name", "get_version", "Version", "init_status", "InitStatus", "query_thread", "ThreadSupport", "my_pe",
     "n_pes", "get_unique_id", "UniqueID", "ask_smem", "SmemAmount")
def queries(me, n):
    version = core.get_version()
    check(isinstance(version, core.Version) and version.openshmem_spec_version == "1.3", "get_version")
    check(int(version.libnvshmem_version.split(".")[0]) == 3, "get_version of the library")
    check(core.get_name().startswith("Isthmus"), "the library is Isthmus")
    check(core.init_status() == core.InitStatus.STATUS_IS_INITIALIZED, "init_status")
    check(core.query_thread() == core.ThreadSupport.THREAD_SERIALIZED, "query_thread")
    check(0 <= core.my_pe() < core.n_pes() == n, "my_pe and n_pes")
    uid = core.get_unique_id()
    check(isinstance(uid, core.UniqueID), "get_unique_id")
    check(bytes(uid._data.tobytes()) != bytes(core.get_unique_id(empty=True)._data.tobytes()), "an id has content")
    wanted = [core.ask_smem(amount) for amount in (core.SmemAmount.SMEM_BARRIERS_ONLY, core.SmemAmount.SMEM_MINIMUM,
                                                   core.SmemAmount.SMEM_RECOMMENDED)]
    check(wanted == sorted(wanted), "ask_smem, which nvshmem4py's own code answers")


@row("NvshmemResource", "BufferTypes", "NvshmemInvalid", "NvshmemError", "get_peer_buffer")
def tracking(me, n):
    """What nvshmem.core notes of a buffer, of that of a peer, and of one that is not its own."""
    buffer = core.buffer(64)
    resource = buffer.memory_resource
    check(isinstance(resource, core.NvshmemResource) and resource.is_device_accessible, "NvshmemResource")
    peer = core.get_peer_buffer(buffer, (me + 1) % n)
    types = [resource._mem_references[int(each.handle)]["type"] for each in (buffer, peer)]
    kinds = [core.BufferTypes.NORMAL, core.BufferTypes.PEER if n > 1 else core.BufferTypes.NORMAL]
    check(types == kinds, "BufferTypes")
    check(refuses(core.NvshmemInvalid, core.free, 7), "free of a number")
    check(refuses(core.NvshmemError, resource.set_freed, Buffer.from_handle(4096, 8)), "set_freed of another's memory")
    meet()
    core.free(buffer)


@row("register_external_buffer", "unregister_external_buffer")
def external(me, n):
    """Of the host and of the device; a GPU's driver maps the latter in pieces."""
    anchor = core.buffer(8)  # nvshmem.core knows the device by its first buffer
    host = mmap.mmap(-1, mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    host_at = ctypes.addressof(ctypes.c_char.from_buffer(host))
    for mine in (Buffer.from_handle(host_at, mmap.PAGESIZE), pe.piece()):
        shown(mine, numpy.int64)[:WORDS] = numpy.arange(WORDS) + 100 * me
        symmetric = core.register_external_buffer(mine, preferred_address=mine)
        check(int(symmetric.handle) == int(mine.handle), "register_external_buffer")
        meet()
        check(core.atomic_fetch_add(symmetric, 1, remote_pe=(me + 1) % n, offset=2, dtype="int64") ==
              100 * ((me + 1) % n) + 2, "atomic_fetch_add on a registered buffer")
        meet()
        core.unregister_external_buffer(symmetric)
        check(shown(mine, numpy.int64)[2] == 100 * me + 3, "the content of a registered buffer")
        check(not pe.is_symmetric(int(mine.handle)), "unregister_external_buffer")
    core.free(anchor)


def state_of(module):
    at = pe.done(driver.cuModuleGetGlobal(module, b"isthmus_device_v1"))
    return pe.memory_at(int(at), STATE_BYTES, numpy.uint8)


@row("module_init", "module_finalize", "library_init", "library_finalize", "NvshmemKernelObject")
def code(me, n):
    """The library fills the state of code that the program loads, and empties it. Kernels run where the heap lies: with
    a heap on the host there is nothing to fill."""
    calls = core.module_init, core.module_finalize, core.library_init, core.library_finalize
    if os.environ["ISTHMUS_HEAP_KIND"] == "host":
        kernels = core.NvshmemKernelObject.from_handle(1)
        kernels.finalize_handle = 1
        check(all(refuses(core.NvshmemError, call, kernels) for call in calls), "code without a heap on the device")
    else:
        fill_code()


def fill_code():
    module = pe.done(driver.cuModuleLoadData(CODE))
    state = state_of(module)
    kernels = core.NvshmemKernelObject.from_cuda_bindings(module)
    core.module_init(kernels)
    check(state.any(), "module_init")
    kernels.finalize_handle = kernels.handle  # module_finalize of 0.4.1 reads it, and no code sets it
    core.module_finalize(kernels)
    check(not state.any(), "module_finalize")
    library = ObjectCode.from_ptx(CODE)
    kernels = core.NvshmemKernelObject.from_obj(library)
    core.library_init(kernels)
    at = pe.done(driver.cuLibraryGetGlobal(library.handle, b"isthmus_device_v1"))
    state = pe.memory_at(int(at), STATE_BYTES, numpy.uint8)
    check(state.any(), "library_init")
    core.library_finalize(kernels)
    check(not state.any(), "library_finalize")


@row("find_device_bitcode_library", "DeviceLibLanguage")
def device_library(me, n):
    """nvshmem4py.py names a folder as an install's, by CONDA_PREFIX; the bitcode needs a compiler that makes it."""
    for language, name in ((core.DeviceLibLanguage.LLVM_BITCODE, "libnvshmem_device.bc"),
                           (core.DeviceLibLanguage.STATIC, "libnvshmem_device.a")):
        wanted, found = os.path.join(os.environ["CONDA_PREFIX"], "lib", name), None
        try:
            found = core.find_device_bitcode_library(language=language)
        except core.NvshmemInvalid:
            pass
        check(found == wanted if os.path.exists(wanted) else found is None, f"find_device_bitcode_library of {name}")


class Array:
    """As much of cupy.ndarray as nvshmem.core uses."""

    def __init__(self, buffer, values):
        self.buffer, self.values = buffer, values
        self.data = self.device = self
        self.ptr, self.id = int(buffer.handle), pe.the_device().device_id
        self.dtype, self.shape = values.dtype, values.shape

    def view(self, dtype):
        return Array(self.buffer, self.values.view(dtype))

    def reshape(self, shape, order="C"):
        return Array(self.buffer, self.values.reshape(shape, order=order))


class StandIn:
    """The module cupy, as far as nvshmem.core calls it."""

    @staticmethod
    def from_dlpack(buffer, copy):
        check(not copy and buffer.__dlpack_device__()[1] == 0, "arrays are made of the memory itself")
        return Array(buffer, shown(buffer, numpy.uint8))

    @staticmethod
    def shape(array):
        return array.shape


def show_arrays():
    interop.cupy, interop.ndarray, interop._cupy_enabled = StandIn, Array, True


@row("array", "bytearray", "free_array", "array_get_buffer", "get_peer_array", "get_multicast_array",
     "register_external_array", "unregister_external_array", "put", "reduce")
def arrays(me, n):
    show_arrays()
    right, left, numbers = (me + 1) % n, (me - 1) % n, numpy.arange(2 * WORDS).reshape(2, WORDS)
    source, dest, raw = core.array((2, WORDS), "int64"), core.array((2, WORDS), "int64"), core.bytearray((3,), "int32")
    source.values[:] = numbers + 100 * me
    check(raw.values.dtype == numpy.int8 and raw.values.nbytes == 3, "bytearray")
    buffer, length_bytes, kind = core.array_get_buffer(source)
    check((int(buffer.handle), length_bytes, kind) == (source.ptr, 16 * WORDS, "int64"), "array_get_buffer")
    meet()
    core.put(dest, source, remote_pe=right, stream=STREAM)
    meet()
    check((dest.values == numbers + 100 * left).all(), "put of an array")
    check((core.get_peer_array(source, right).values == numbers + 100 * right).all(), "get_peer_array")
    check(refuses(core.NvshmemError, core.get_multicast_array, core.Teams.TEAM_WORLD, source), "no multicast memory")
    meet()
    core.reduce(core.Teams.TEAM_WORLD, dest, source, "sum", stream=STREAM)
    pe.wait_for_stream()
    check((dest.values == n * numbers + 50 * n * (n - 1)).all(), "reduce of arrays")
    mine = StandIn.from_dlpack(pe.piece(), copy=False).view("int64")
    symmetric = core.register_external_array(mine)
    check(symmetric.shape == mine.shape and pe.is_symmetric(symmetric.ptr), "register_external_array")
    core.unregister_external_array(symmetric)
    check(not pe.is_symmetric(mine.ptr), "unregister_external_array")
    for array in (source, dest, raw):
        core.free_array(array)
