#!/usr/bin/env python3
"""limits.py BIN CASE...: the limits of isthmus-perf over networks and in memory of devices.

A case is `ib` or `ofi`, or a driver of devices with its double: `cuda=FILE`, `hip=FILE`, `ze=FILE`. No time is
judged."""
import json
import os
import sys

from job import path, perf

AMO = ["fetch_add", "add", "compare_swap"]
UNSIZED = AMO + ["p", "g", "barrier", "sync", "barrier_on_stream", "sync_on_stream"]
N_PAIRS, N_TOGETHER, N_ON_STREAM = 10, 11, 10  # operations of report.py
LEAKS = {"GPU_DOUBLE_LEAKS": "1"}  # a PE that holds anything of the driver at its end fails


def results_of(*options, **more):
    figures = path("figures.json")
    perf("--json", figures, *options, **more)
    with open(figures) as file:
        return json.load(file)


# ---- networks ----

NETWORKS = {
    "ib": ("bare UCP", {"ISTHMUS_TRANSPORTS": "ib,loopback"}),
    "ofi": ("bare libfabric", {"ISTHMUS_TRANSPORTS": "ofi,loopback", "ISTHMUS_OFI_PROVIDER": "tcp+ofi_rxm"}),
}


def network(transport):
    """Each operation has a limit, between all hosts and where PEs share one; one pair after another has it."""
    name, env = NETWORKS[transport]
    for n, hosts in ((2, "01"), (3, "011")):
        results = results_of("--sizes", "8,64K", "--pes", "1,0", n=n, ISTHMUS_PRETEND_HOSTS=hosts, **env)["results"]
        assert len({r["operation"] for r in results}) == N_PAIRS + N_TOGETHER, results
        for r in results:
            assert r["limit_name"] == name and r["limit"] and r["limit"]["low_ns"] > 0, r
            assert r["transport"] == transport or r["to"] < 0, r
    results = results_of("--ops", "put,get", "--sizes", "8", "--pes", "all", n=3, ISTHMUS_PRETEND_HOSTS="011",
                         **env)["results"]
    assert sum(r["limit_name"] == name for r in results) >= 2 * 4, results  # of PE 0 with the others, both ways


def no_loads(transport):
    """PEs of one host that no load or store connects: what needs both is compared with the network."""
    name, env = NETWORKS[transport]
    results = results_of("--ops", "put,barrier,sum_reduce", "--sizes", "8", **{**env, "ISTHMUS_TRANSPORTS": transport})
    for r in results["results"]:
        assert r["limit_name"] == (name if r["to"] < 0 else "memcpy") and r["limit"]["low_ns"] > 0, r


def network_of_another_library(transport):
    """A transport whose library this process has not loaded, or that none is built in for."""
    if transport == "ofi":
        return
    result = results_of("--ops", "put", "--sizes", "8", ISTHMUS_TRANSPORTS="hook", ISTHMUS_HOOK_BASE="ib",
                        ISTHMUS_PRETEND_HOSTS="01")["results"][0]
    assert result["limit"] is None and "no bare one is built in for this transport" in result["verdict"], result


# ---- devices ----


def device_settings(driver, double):
    if driver == "cuda":
        return {"ISTHMUS_NVLINK_LIBRARY": double, "ISTHMUS_TRANSPORTS": "nvlink,loopback", "ISTHMUS_HEAP_KIND": "cuda"}
    if driver == "hip":
        return {"ISTHMUS_XGMI_LIBRARY": double, "ISTHMUS_TRANSPORTS": "xgmi,loopback", "ISTHMUS_HEAP_KIND": "hip"}
    return {"ISTHMUS_XELINK_LIBRARY": "libze_loader.so.1", "ZE_ENABLE_ALT_DRIVERS": double,
            "ISTHMUS_TRANSPORTS": "xelink,loopback", "ISTHMUS_HEAP_KIND": "ze"}


COPIES = {"cuda": "cuMemcpyAsync", "hip": "hipMemcpyAsync", "ze": "Level Zero's copy"}
TRANSPORTS = {"cuda": "nvlink", "hip": "xgmi", "ze": "xelink"}


def expected_limit(driver, operation):
    if operation in ("barrier", "sync"):
        return "flags"
    return "writes and waits of streams" if operation in ("barrier_on_stream", "sync_on_stream") else COPIES[driver]


def device(driver, double):
    """Each operation has a limit, in memory of one device and of several; on streams, where the driver has them."""
    env = {**device_settings(driver, double), **LEAKS}
    n_on_stream = 0 if driver == "ze" else N_ON_STREAM
    for n, memory, devices in ((2, "device", "1"), (3, "mixed", "2")):
        report = results_of("--memory", memory, "--sizes", "8,4K", n=n, GPU_DOUBLE_DEVICES=devices, **env)
        results = report["results"]
        assert report["double"] == os.path.basename(double), report["double"]
        assert len({r["operation"] for r in results}) == N_PAIRS + N_TOGETHER + n_on_stream, results
        for r in results:
            assert r["memory"] == memory and r["limit_name"] == expected_limit(driver, r["operation"]), r
            assert r["limit"] and r["verdict"].startswith("a double, no hardware: "), r
            assert r["transport"] == TRANSPORTS[driver] and (r["size_bytes"] == 0) == (r["operation"] in UNSIZED), r


def unreached(driver, double):
    """Where the devices do not reach each other, on one host or on several, the limit is the network's between host
    memory; and where each is its PE's own, flags are the host's."""
    env = {**device_settings(driver, double), **LEAKS}
    env["ISTHMUS_TRANSPORTS"] += ",ib"
    for n, memory, more in ((2, "device", {"GPU_DOUBLE_DEVICES": "2", "GPU_DOUBLE_PEERS": "0"}),
                            (2, "mixed", {"ISTHMUS_PRETEND_HOSTS": "01"}),
                            (3, "device", {"ISTHMUS_PRETEND_HOSTS": "011"})):
        results = results_of("--sizes", "8,4K", "--pes", "1,0", "--memory", memory, n=n, **more, **env)["results"]
        for r in results:
            is_of_flags = r["operation"] in ("barrier", "sync")
            flags_name = "bare UCP" if "ISTHMUS_PRETEND_HOSTS" in more else "flags"
            name = flags_name if is_of_flags else "bare UCP in host memory"
            assert r["limit_name"] == name and r["limit"] and r["limit"]["low_ns"] > 0, r


def main():
    for case in sys.argv[2:]:
        name, _, double = case.partition("=")
        for test in (device, unreached) if double else (network, no_loads, network_of_another_library):
            test(*((name, double) if double else (name,)))
            print(f"ok {name}: {test.__name__}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
