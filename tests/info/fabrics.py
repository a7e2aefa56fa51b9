#!/usr/bin/env python3
"""fabrics.py BIN DOUBLES: which transport carries data between two hosts, by what UCX and libfabric find there.

DOUBLES is the folder of the doubles: libibverbs (verbs), which UCX's own transports run on, and libfabric (ofi). Both
libraries report what hosts of the named fabric have; the user sets nothing."""
import json
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the source tree stays as it is

BIN, DOUBLES = sys.argv[1:3]
FOLDER = tempfile.TemporaryDirectory()
CLEAN = {name: value for name, value in os.environ.items()
         if not name.startswith(("ISTHMUS_", "UCX_", "OFI_", "FI_", "NVSHMEM_"))}
TCP = None  # no adapter that UCX knows
EFA, CXI, OPA = "infiniband/efa_0", "cxi/cxi0", "infiniband/hfi1_0"
USUAL = "psm3,verbs;ofi_rxm,tcp;ofi_rxm"  # of hosts of all kinds, in no good order

# the adapters of UCX (words of VERBS_DOUBLE), the system's device, libfabric's providers -> the carrier, and how
CASES = {
    "InfiniBand": ("adapters=1", None, USUAL, "ib 2000"),
    "RoCE": ("ethernet", None, USUAL, "ib 2000"),
    "InfiniBand without a link": ("down=0", None, USUAL, "ib 20000"),
    "TCP": (TCP, None, USUAL, "ib 20000"),
    "EFA, which UCX knows": ("unspecified", EFA, "tcp;ofi_rxm,psm3,efa", "ofi 9000 efa"),
    "EFA, which UCX does not know": (TCP, EFA, "efa," + USUAL, "ofi 9000 efa"),
    "EFA, which neither knows": (TCP, EFA, "tcp;ofi_rxm,psm3", "ib 20000"),
    "Slingshot": (TCP, CXI, "verbs;ofi_rxm,cxi,psm3", "ofi 1800 cxi"),
    "Slingshot beside InfiniBand": ("adapters=1", CXI, "verbs;ofi_rxm,cxi,psm3", "ofi 1800 cxi"),
    "Slingshot without its provider": (TCP, CXI, "psm3,tcp;ofi_rxm", "ib 20000"),
    "Omni-Path, psm2": ("adapters=1", OPA, "psm3,psm2,verbs;ofi_rxm", "ofi 1500 psm2"),
    "Omni-Path, opx": ("adapters=1", OPA, "psm3,psm2,opx,verbs;ofi_rxm", "ofi 1500 opx"),
    "Omni-Path, psm3": ("adapters=1", OPA, "psm3,verbs;ofi_rxm", "ib 2000"),
    "Omni-Path, psm3, which UCX does not know": (TCP, OPA, "psm3,verbs;ofi_rxm", "ofi 3500 verbs;ofi_rxm"),
}


def add_driver(root, device):
    """The device as the system shows it, with its driver, whose name it begins with."""
    folder = os.path.join(root, "class", device, "device")
    os.makedirs(folder)
    os.symlink(f"../../../bus/pci/drivers/{re.split('_', os.path.basename(device))[0]}", os.path.join(folder, "driver"))


def chosen(words, device, providers, root):
    """What carries data from PE 0 to PE 1: "ofi 9000 efa"."""
    os.mkdir(root)
    if device is not None:
        add_driver(root, device)
    env = {**CLEAN, "TMPDIR": root, "ISTHMUS_PRETEND_HOSTS": "ab", "ISTHMUS_OFI_SYSFS": root,
           "ISTHMUS_OFI_LIBRARY": os.path.join(DOUBLES, "ofi", "libfabric_double.so.1"), "OFI_DOUBLE": "flush",
           "OFI_DOUBLE_PROVIDERS": providers}
    preload = [] if words is TCP else ["env", f"LD_PRELOAD={DOUBLES}/verbs/verbs.so", f"VERBS_DOUBLE={words}"]
    done = subprocess.run([os.path.join(BIN, "isthmus-run"), "-n", "2", *preload, os.path.join(BIN, "isthmus-info"),
                           "--routes", "--json"], capture_output=True, text=True, timeout=60, env=env)
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
    routes = json.loads(done.stdout)["routes"]
    kind = routes["kinds"][routes["pes"][0]["routes"][1]]
    by = re.search(r"by provider (\S+)", kind["how"] or "")
    return " ".join([kind["transport"], str(kind["latency_ns"]), *([by[1]] if by else [])])


failed = 0
for number, (fabric, (*found, expected)) in enumerate(CASES.items()):
    result = chosen(*found, os.path.join(FOLDER.name, str(number)))
    if result != expected:
        print(f"{fabric}: {result} instead of {expected}")
        failed = 1
sys.exit(failed)
