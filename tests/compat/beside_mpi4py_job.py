"""beside_mpi4py_job.py LIBRARY mpi_first | shmem_first | communicator: one PE of a job in which mpi4py, unchanged from
its wheel, and libisthmus are in one process: initialised and finalised in either order, and as a job of the members of
a communicator."""

import ctypes
import sys

import mpi4py

mpi4py.rc.initialize = mpi4py.rc.finalize = False
from mpi4py import MPI  # noqa: E402

ATTRIBUTES_BYTES = 1024  # more than an nvshmemx_init_attr_t has
INIT_WITH_MPI_COMM = 2
TURNS = 20
shmem = ctypes.CDLL(sys.argv[1])
shmem.shmem_malloc.restype = ctypes.c_void_p


def check(condition, what):
    if not condition:
        sys.exit(f"PE {shmem.shmem_my_pe()}: not so: {what}")


def exchange(comm):
    """Both move data in turns. PEs are the ranks of comm."""
    me, n = comm.Get_rank(), comm.Get_size()
    right, left = (me + 1) % n, (me - 1) % n
    check((shmem.shmem_my_pe(), shmem.shmem_n_pes()) == (me, n), "PEs are ranks")
    cell = shmem.shmem_malloc(ctypes.sizeof(ctypes.c_long))
    for turn in range(TURNS):
        shmem.shmem_long_p(ctypes.c_void_p(cell), ctypes.c_long(100 * turn + me), right)
        check(comm.sendrecv(me, dest=right, source=left) == left, "sendrecv")
        shmem.shmem_barrier_all()
        check(ctypes.c_long.from_address(cell).value == 100 * turn + left, "put")
        check(comm.allreduce(1) == n, "allreduce")
    shmem.shmem_free(ctypes.c_void_p(cell))


def communicator():
    """PE numbers are the ranks of a communicator in which they run backwards."""
    MPI.Init()
    comm = MPI.COMM_WORLD.Split(0, -MPI.COMM_WORLD.Get_rank())
    attributes = (ctypes.c_char * ATTRIBUTES_BYTES)()
    handle = ctypes.c_void_p(MPI._addressof(comm))
    check(shmem.nvshmemx_set_attr_mpi_comm_args(handle, attributes) == 0, "set_attr_mpi_comm_args")
    check(shmem.nvshmemx_init_attr(INIT_WITH_MPI_COMM, attributes) == 0, "init_attr")
    exchange(comm)
    shmem.nvshmem_finalize()
    comm.Free()
    MPI.Finalize()


def both(first):
    """first: what is initialised first, and finalised last."""
    starts, ends = [MPI.Init, shmem.shmem_init], [shmem.shmem_finalize, MPI.Finalize]
    if first == "shmem":
        starts.reverse()
        ends.reverse()
    for start in starts:
        start()
    exchange(MPI.COMM_WORLD)
    for end in ends:
        end()


def main():
    {"mpi_first": lambda: both("mpi"), "shmem_first": lambda: both("shmem"),
     "communicator": communicator}[sys.argv[2]]()
    print("done", flush=True)


if __name__ == "__main__":
    main()
