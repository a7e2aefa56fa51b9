#!/usr/bin/env python3
"""adapters.py BIN DOUBLE CUDA: a host with network adapters, as isthmus-info shows it and as a job shares them.

DOUBLE is the folder of a libibverbs whose adapters are lines of a file (tests/doubles/ibverbs), CUDA the file of a
driver whose GPUs are at 0000:40:00.0, 0000:41:00.0 and so on. UCX finds no such adapters and reports so, which shows
its settings."""
import json
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the source tree stays as it is
from checks import run_all
from pci_tree import add_device, add_gpus

BIN, DOUBLE, CUDA = sys.argv[1:4]
FOLDER = tempfile.TemporaryDirectory()
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith(("ISTHMUS_", "UCX_", "NVSHMEM_"))}
ALIKE = "".join(f"mlx5_{i} 1 2c9 1 0\n 4 1 2 64\n" for i in range(2))
MIXED = "mlx5_0 2 2c9 1 0\n 4 1 2 64\n 1 1 2 64\n" "bnxt_0 1 14e4 0 -1\n 4 2 1 32\n"


def run(adapters, *options, n=0, status=0, before=(), **env):
    path = os.path.join(FOLDER.name, "adapters")
    with open(path, "w") as file:
        file.write(adapters)
    launcher = [os.path.join(BIN, "isthmus-run"), "-n", str(n)] if n else []
    done = subprocess.run([*launcher, *before, os.path.join(BIN, "isthmus-info"), *options], capture_output=True,
                          text=True, timeout=60,
                          env={**CLEAN, "LD_LIBRARY_PATH": DOUBLE, "IBVERBS_DOUBLE": path, **env})
    assert done.returncode == status, (done.returncode, done.stdout, done.stderr)
    return done.stdout, done.stderr


def job(adapters, n, **env):
    """The name of the adapter of each PE, and why; and what the PEs logged."""
    out, err = run(adapters, "--routes", "--json", n=n,
                   **{"ISTHMUS_TRANSPORTS": "ib,loopback", "ISTHMUS_LOG": "info", **env})
    return {use["pe"]: use for use in json.loads(out)["routes"]["devices"] if use["transport"] == "ib"}, err


def a_host_shows_its_adapters():
    text = " ".join(run(MIXED)[0].split())
    assert "mlx5_0:1: InfiniBand, up, 200 Gb/s, NUMA node 0, atomics: by the adapter; used:" in text, text
    assert "mlx5_0:2: InfiniBand, down, NUMA node 0, atomics: by the adapter; not used: its link is down" in text, text
    assert "bnxt_0:1: RoCE v2 at 10.0.0.1 (GID 3), up, 25 Gb/s, atomics: none; not used: of another link" in text, text
    names = [device["name"] for transport in json.loads(run(MIXED, "--json")[0])["transports"]
             for device in transport.get("devices", [])]
    assert names == ["bnxt_0:1", "mlx5_0:1", "mlx5_0:2"], names


def a_host_without_adapters_shows_none():
    assert "through" not in run("")[0]
    uses, err = job("", 2)
    assert uses == {} and "network device" not in err, (uses, err)


def a_job_shares_them():
    uses, err = job(ALIKE, 4)
    names = [uses[pe]["name"] for pe in range(4)]
    assert sorted(names) == ["mlx5_0:1", "mlx5_0:1", "mlx5_1:1", "mlx5_1:1"], uses
    assert "2 ports for 4 PEs" in uses[0]["why"], uses
    assert "network device 'mlx5_0:1'" in err and "network device 'mlx5_1:1'" in err, err


def one_is_no_choice():
    uses, err = job("mlx5_0 1 2c9 1 0\n 4 1 2 64\n", 2)
    assert uses[1]["name"] == "mlx5_0:1" and "network device" not in err, (uses, err)


def the_user_chooses():
    uses, err = job(ALIKE, 2, ISTHMUS_HCA="mlx5_1")
    assert uses[0]["name"] == uses[1]["name"] == "mlx5_1:1" and "mlx5_0" not in err, (uses, err)
    assert "ISTHMUS_HCA" in uses[0]["why"], uses
    uses, _ = job(ALIKE, 3, NVSHMEM_HCA_PE_MAPPING="mlx5_1:1:2,mlx5_0:1:1")
    assert [uses[pe]["name"] for pe in range(3)] == ["mlx5_1:1", "mlx5_1:1", "mlx5_0:1"], uses
    uses, _ = job(ALIKE, 2, ISTHMUS_HCA="mlx5_0", ISTHMUS_IB_HCA="mlx5_1")
    assert uses[0]["name"] == "mlx5_1:1", uses
    uses, err = job(ALIKE, 2, UCX_NET_DEVICES="lo", ISTHMUS_HCA="mlx5_1")
    assert uses == {} and "network device" not in err, (uses, err)


def a_wrong_name_is_an_error():
    _, err = run(ALIKE, "--routes", n=2, status=1, ISTHMUS_TRANSPORTS="ib,loopback", ISTHMUS_HCA="mlx5_3:1")
    assert "ISTHMUS_HCA names 'mlx5_3:1'" in err and "did you mean 'mlx5_0:1'?" in err and "mlx5_1:1" in err, err


def tree(name, chain_of_adapter):
    """Two GPUs and two adapters at one socket."""
    root = os.path.join(FOLDER.name, name)
    add_gpus(root)
    for adapter, chain in chain_of_adapter.items():
        add_device(root, chain, "class/infiniband", adapter, "device")
    return {"ISTHMUS_IB_SYSFS": root, "ISTHMUS_HEAP_KIND": "cuda", "ISTHMUS_NVLINK_LIBRARY": CUDA,
            "GPU_DOUBLE_DEVICES": "2", "ISTHMUS_TRANSPORTS": "ib,loopback,nvlink"}


def gpus_take_the_nearest():
    crossed = tree("crossed", {"mlx5_0": "pci0000:41/0000:41:01.0/0000:42:00.0",
                               "mlx5_1": "pci0000:40/0000:40:01.0/0000:42:00.0"})
    uses, err = job(ALIKE, 2, **crossed)
    assert [uses[pe]["name"] for pe in range(2)] == ["mlx5_1:1", "mlx5_0:1"], uses
    assert uses[0]["why"] == "2 ports for 2 PEs, behind the same PCIe switch as GPU 0000:40:00.0", uses
    assert uses[1]["why"].endswith("as GPU 0000:41:00.0"), uses
    assert "network device 'mlx5_0:1'" in err and "network device 'mlx5_1:1'" in err, err
    text = " ".join(run(ALIKE, **crossed)[0].split())
    assert "mlx5_0:1: InfiniBand, up, 200 Gb/s, NUMA node 0, atomics: by the adapter; not used: farther than " \
        "mlx5_1:1, at an unknown distance from NUMA node 0 of GPU 0000:40:00.0" in text, text
    uses, _ = job(ALIKE, 2, **{**crossed, "ISTHMUS_HEAP_KIND": "host"})
    assert [uses[pe]["name"] for pe in range(2)] == ["mlx5_0:1", "mlx5_1:1"] and "GPU" not in uses[0]["why"], uses


def a_pe_that_cannot_start_holds_up_no_other():
    """PE 1 fails before it knows its device, while PE 0 waits for its report."""
    crossed = tree("failing", {"mlx5_0": "pci0000:41/0000:41:01.0/0000:42:00.0",
                               "mlx5_1": "pci0000:40/0000:40:01.0/0000:42:00.0"})
    only_pe_1 = ["sh", "-c", '[ "$PMIX_RANK" = 0 ] || export ISTHMUS_NVLINK_DEVICE=99; exec "$@"', "sh"]
    _, err = run(ALIKE, "--routes", n=2, status=1, before=only_pe_1, **crossed)
    assert "ISTHMUS_*_DEVICE is '99'; valid: 0 to 1" in err, err


def a_pe_alone_has_rails():
    both = tree("both", {"mlx5_0": "pci0000:40/0000:40:01.0/0000:42:00.0",
                         "mlx5_1": "pci0000:40/0000:40:01.0/0000:43:00.0"})
    out, err = run(ALIKE, "--json", ISTHMUS_LOG="info", ISTHMUS_IB_RAILS="2", **both)
    devices = {device["name"]: device for transport in json.loads(out)["transports"]
               for device in transport.get("devices", [])}
    assert devices["mlx5_0:1"]["is_used"] and devices["mlx5_1:1"]["is_used"], devices
    assert devices["mlx5_1:1"]["why"] == "a further rail: as near as mlx5_0:1, and in no other PE's share", devices
    text = " ".join(run(ALIKE, ISTHMUS_IB_RAILS="1", **both)[0].split())
    assert "not used: this PE has 1 already (ISTHMUS_IB_RAILS)" in text, text
    _, err = run(ALIKE, "--routes", n=2, status=1, ISTHMUS_IB_RAILS="lots", ISTHMUS_TRANSPORTS="ib,loopback")
    assert "ISTHMUS_IB_RAILS is 'lots'; accepted: 1 to 16" in err, err


def atomics_by_adapters_are_refused_with_the_reason():
    """The double has no queue pairs: the message gives the reason for the chosen adapter, not for another."""
    for adapters, why in (
            (MIXED, "mlx5_0:1: libibverbs.so.1 lacks functions for queue pairs"),
            ("bnxt_0 1 14e4 0 -1\n 4 2 1 32\n", "bnxt_0:1 has no atomics"),
            ("mlx5_0 1 2c9 1 0\n 1 1 2 64\n", "no adapter of this host is up"),
            ("", "the network is TCP, which has no atomics by adapters")):
        _, err = run(adapters, "--routes", n=2, status=1, ISTHMUS_TRANSPORTS="ib,loopback", ISTHMUS_ATOMICS="nic")
        assert f"ib: its atomics are executed by processors ({why})" in err, err
        assert "loopback: its atomics are executed by processors" in err, err


def routes_fit_a_screen():
    out, _ = run("".join(f"mlx5_{i} 1 2c9 1 {i // 2}\n 4 1 2 64\n" for i in range(4)), "--routes", n=8,
                 ISTHMUS_TRANSPORTS="ib,loopback")
    lines = out.splitlines()
    assert len(lines) <= 40 and max(map(len, lines)) <= 80, out


CHECKS = [a_host_shows_its_adapters, a_host_without_adapters_shows_none, a_job_shares_them, one_is_no_choice,
          the_user_chooses, a_wrong_name_is_an_error, atomics_by_adapters_are_refused_with_the_reason,
          gpus_take_the_nearest, a_pe_that_cannot_start_holds_up_no_other, a_pe_alone_has_rails, routes_fit_a_screen]

sys.exit(run_all(CHECKS))
