#!/usr/bin/env python3
"""domains.py BIN DOUBLE CUDA: which domain of libfabric each PE of a host opens, and with which rights.

DOUBLE is a libfabric that prints the domain, its authorization key and its class of traffic (tests/doubles/ofi), CUDA
the file of a driver whose GPUs are at 0000:40:00.0, 0000:41:00.0 and so on."""
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the source tree stays as it is
from checks import run_all
from pci_tree import add_device, add_gpus

BIN, DOUBLE, CUDA = sys.argv[1:4]
FOLDER = tempfile.TemporaryDirectory()
CLEAN = {name: value for name, value in os.environ.items()
         if not name.startswith(("ISTHMUS_", "SLINGSHOT_", "OFI_", "NVSHMEM_"))}
TWO = "cxi0@0000:50:00.0,cxi1@0000:51:00.0"
RIGHTS = {"SLINGSHOT_VNIS": "1310,1271", "SLINGSHOT_DEVICES": "cxi0,cxi1", "SLINGSHOT_SVC_IDS": "5,66051",
          "SLINGSHOT_TCS": "0xa"}


def job(n, adapters=TWO, status=0, **env):
    """Runs a job. Returns what it printed, and (domain, key, class of traffic) of each PE, sorted."""
    done = subprocess.run([os.path.join(BIN, "isthmus-run"), "-n", str(n), os.path.join(BIN, "isthmus-info"),
                           "--routes"], capture_output=True, text=True, timeout=60,
                          env={**CLEAN, "ISTHMUS_TRANSPORTS": "ofi,loopback", "ISTHMUS_OFI_LIBRARY": DOUBLE,
                               "ISTHMUS_OFI_PROVIDER": "cxi", "OFI_DOUBLE": "cxi", "OFI_DOUBLE_ADAPTERS": adapters,
                               "OFI_DOUBLE_REPORT": "1", **env})
    assert done.returncode == status, (done.returncode, done.stdout, done.stderr)
    opened = re.findall(r"double of libfabric: domain (\S+), key (\S+), class (\S+)", done.stderr)
    return " ".join((done.stdout + done.stderr).split()), sorted(opened)


def domains(opened):
    return [domain for domain, _, _ in opened]


def pes_share_them():
    text, opened = job(4)
    assert domains(opened) == ["cxi0", "cxi0", "cxi1", "cxi1"], opened
    assert re.search(r"by provider cxi on cxi[01] of 2", text), text


def one_is_no_choice():
    text, opened = job(2, adapters="cxi3@0000:50:00.0")
    assert domains(opened) == ["cxi3", "cxi3"] and " of 1" not in text, (text, opened)


def the_user_names_one():
    _, opened = job(2, ISTHMUS_OFI_DOMAIN="cxi1")
    assert domains(opened) == ["cxi1", "cxi1"], opened


def links_that_are_down_come_last():
    """Where the user names no provider, one of another kind is better than an adapter without a link."""
    down = "cxi0@0000:50:00.0-,cxi1@0000:51:00.0-"
    root = os.path.join(FOLDER.name, "links")
    add_device(root, "pci0000:40/0000:40:01.0/0000:50:00.0", "class", "cxi", "cxi0")
    _, opened = job(2, adapters="cxi0@0000:50:00.0-,cxi1@0000:51:00.0")
    assert domains(opened) == ["cxi1", "cxi1"], opened
    for adapters, expected in ((TWO, {"cxi0", "cxi1"}), (down, {"double0"})):
        _, opened = job(2, adapters=adapters, ISTHMUS_OFI_PROVIDER="", ISTHMUS_OFI_SYSFS=root,
                        OFI_DOUBLE_PROVIDERS="cxi,tcp")
        assert set(domains(opened)) == expected, (adapters, opened)
    text, opened = job(1, adapters=down, status=1)
    assert "the link of cxi0 is down; bring it up, or name another provider in ISTHMUS_OFI_PROVIDER" in text, text
    assert opened == [], opened


def gpus_take_the_nearest():
    """PE 0 has the GPU at 0000:40:00.0. Alone it takes the adapter beside it, wherever that stands in the list."""
    root = os.path.join(FOLDER.name, "near")
    add_gpus(root)
    add_device(root, "pci0000:41/0000:41:01.0/0000:50:00.0", "bus/pci/devices", "0000:50:00.0")
    add_device(root, "pci0000:40/0000:40:01.0/0000:51:00.0", "bus/pci/devices", "0000:51:00.0")
    near = {"ISTHMUS_OFI_SYSFS": root, "ISTHMUS_HEAP_KIND": "cuda", "ISTHMUS_NVLINK_LIBRARY": CUDA,
            "GPU_DOUBLE_DEVICES": "2", "ISTHMUS_TRANSPORTS": "ofi,loopback,nvlink"}
    text, opened = job(1, **near)
    assert domains(opened) == ["cxi1"], (text, opened)
    text, opened = job(2, **near)
    assert domains(opened) == ["cxi0", "cxi1"] and \
        "direct, by provider cxi on cxi0 of 2, at its GPU's PCIe switch;" in text, (text, opened)
    _, opened = job(1, **{**near, "ISTHMUS_HEAP_KIND": "host"})
    assert domains(opened) == ["cxi0"], opened


def the_launcher_gives_rights():
    """The key is the driver's: the service as 4 bytes, the virtual network as 2, padding."""
    _, opened = job(2)
    assert [(key, tclass) for _, key, tclass in opened] == [("none", "0")] * 2, opened
    _, opened = job(2, **RIGHTS)
    assert opened == [("cxi0", "050000001e050000", "0"), ("cxi1", "030201001e050000", "0")], opened
    _, opened = job(2, **{**RIGHTS, "SLINGSHOT_DEVICES": "cxi1", "SLINGSHOT_SVC_IDS": "66051"})
    assert domains(opened) == ["cxi1", "cxi1"], opened


def traffic_is_of_a_permitted_class():
    for bits, tclass in (("0x8", 0), ("2", 0x201), ("0x5", 0x203), ("1", 0x202), (None, 0)):
        rights = {**RIGHTS, "SLINGSHOT_TCS": bits or ""}
        assert [int(t, 0) for _, _, t in job(1, **rights)[1]] == [tclass], bits


def wrong_rights_are_errors():
    for variable, value, expected in (
            ("SLINGSHOT_VNIS", "", "numbers from 1 to 65535"), ("SLINGSHOT_VNIS", "65536", "numbers from 1 to 65535"),
            ("SLINGSHOT_VNIS", "0", "numbers from 1 to 65535"), ("SLINGSHOT_VNIS", "x", "numbers from 1 to 65535"),
            ("SLINGSHOT_SVC_IDS", "5", "one number for each device"),
            ("SLINGSHOT_SVC_IDS", "5,6,7", "one number for each device"),
            ("SLINGSHOT_SVC_IDS", "5;6", "one number for each device"),
            ("SLINGSHOT_DEVICES", "", "names of devices"), ("SLINGSHOT_DEVICES", "cxi0,,cxi1", "names of devices"),
            ("SLINGSHOT_TCS", "0x10", "a number from 0x1 to 0xf"), ("SLINGSHOT_TCS", "0", "a number from 0x1 to 0xf")):
        text, opened = job(1, status=1, **{**RIGHTS, variable: value})
        assert f"{variable} is '{value}'; expected: " in text and expected in text, (variable, value, text)
        assert opened == [], opened
    text, _ = job(1, status=1, ISTHMUS_OFI_DOMAIN="cxi1",
                  **{**RIGHTS, "SLINGSHOT_DEVICES": "cxi0", "SLINGSHOT_SVC_IDS": "5"})
    assert "ISTHMUS_OFI_DOMAIN is 'cxi1', but SLINGSHOT_DEVICES permits this job the devices cxi0" in text, text
    text, _ = job(1, status=1, **{**RIGHTS, "SLINGSHOT_DEVICES": "cxi7", "SLINGSHOT_SVC_IDS": "5"})
    assert "permits this job the devices cxi7, of which libfabric lists none that is up" in text, text


CHECKS = [pes_share_them, one_is_no_choice, the_user_names_one, links_that_are_down_come_last,
          gpus_take_the_nearest, the_launcher_gives_rights, traffic_is_of_a_permitted_class, wrong_rights_are_errors]

sys.exit(run_all(CHECKS))
