"""on_double.py: code for GPUs from real compilers, loaded by a program on the double of CUDA's driver."""
import os
import subprocess
import sys

SETTINGS = {"ISTHMUS_TRANSPORTS": "nvlink,loopback", "ISTHMUS_HEAP_KIND": "cuda", "GPU_DOUBLE_HOST_ACCESS": "1",
            "NVSHMEM_DISABLE_CUDA_VMM": "1", "NVSHMEM_SYMMETRIC_SIZE": "32m"}


def add_arguments(parser):
    parser.add_argument("--run", help="isthmus-run")
    parser.add_argument("--loader", help="tests/device/loaded")
    parser.add_argument("--double", help="the double of CUDA's driver")


def load(args, images):
    """Each PE initialises the images as modules, if there is a loader: tests/device/loaded.c."""
    if not args.loader:
        return
    done = subprocess.run([args.run, "-n", "2", args.loader, *map(str, images)], text=True, capture_output=True,
                          env={**os.environ, **SETTINGS, "ISTHMUS_NVLINK_LIBRARY": args.double})
    print(done.stdout, end="")
    if done.returncode != 0:
        sys.exit(f"the library does not initialise it:\n{done.stderr}")
