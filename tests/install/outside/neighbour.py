"""As neighbour.c, by ctypes: each PE sends its number to its right neighbour."""
import ctypes
import sys

import isthmus

library = ctypes.CDLL(isthmus.get_library())
library.shmem_calloc.restype = ctypes.c_void_p
library.shmem_calloc.argtypes = [ctypes.c_size_t, ctypes.c_size_t]
library.shmem_putmem.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
library.shmem_free.argtypes = [ctypes.c_void_p]

library.shmem_init()
me, n = library.shmem_my_pe(), library.shmem_n_pes()
cell = library.shmem_calloc(1, ctypes.sizeof(ctypes.c_long))
number = ctypes.c_long(me)
library.shmem_putmem(cell, ctypes.byref(number), ctypes.sizeof(number), (me + 1) % n)
library.shmem_barrier_all()
sys.stdout.write(f"PE {me} of {n}: neighbour {ctypes.c_long.from_address(cell).value}\n") # a whole line at once
sys.stdout.flush()
library.shmem_free(cell)
library.shmem_finalize()
