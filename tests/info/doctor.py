#!/usr/bin/env python3
"""doctor.py BIN DOUBLES CUDA: isthmus-info --doctor finds each fault, names it with its evidence, and exits with 1 if
one is fatal.

Each fault is made: by a limit of the process, a filter of system calls, a binding, or files of /sys, /proc and /dev
that a mount namespace of the test replaces. DOUBLES is the folder of a libibverbs whose adapters are lines of a file,
CUDA the double of its driver. Skipped where namespaces are not permitted."""
import ctypes
import json
import os
import resource
import struct
import subprocess
import sys
import tempfile

SKIPPED = 77
BIN, DOUBLES, CUDA = sys.argv[1:4]
INFO, RUN = os.path.join(BIN, "isthmus-info"), os.path.join(BIN, "isthmus-run")
LIBRARY = os.path.join(os.path.dirname(BIN), "lib")
CLEAN = {name: value for name, value in os.environ.items()
         if not name.startswith(("ISTHMUS_", "UCX_", "NVSHMEM_", "PMI", "OMPI_", "SLURM_", "MASTER_"))
         and name not in ("RANK", "WORLD_SIZE", "LOCAL_RANK")}  # what a launcher sets
FOLDER = tempfile.TemporaryDirectory()
CALLS = {"x86_64": {"memfd_create": 319, "socket": 41, "pidfd_getfd": 438},
         "aarch64": {"memfd_create": 279, "socket": 198, "pidfd_getfd": 438}}.get(os.uname().machine)


def doctor(prepare=None, mounts="", command=(), status=0, **env):
    """{(area, name): result}; `mounts`: shell commands in a mount namespace, before the tool. What these and `env` do
    not make there is not: GPUs and adapters of this machine decide nothing. `status` None: either, where a limit of
    this machine decides."""
    args = [*command, INFO, "--doctor", "--json"] if not command or command[-1] != "--" else [*command[:-1]]
    if "/sys/bus/pci" not in mounts:
        mounts = f"{files('/sys/bus/pci')}\n{mounts}"
    if "IBVERBS_DOUBLE" not in env:
        env = {**adapters(""), **env}
    args = ["unshare", "-m", "sh", "-ec", f'{mounts}\nexec "$@"', "sh", *args]
    done = subprocess.run(args, capture_output=True, text=True, timeout=60, env={**CLEAN, **env}, preexec_fn=prepare)
    assert status in (None, done.returncode), (done.returncode, done.stdout, done.stderr)
    return {(r["area"], r["name"]): r for r in json.loads(done.stdout)["requirements"]}


def limit(what, n):
    return lambda: resource.setrlimit(what, (n, n))


def refuse(*calls):
    """A filter of system calls under which these fail with EPERM."""
    def install():
        code = [(0x20, 0, 0, 0)]  # the number of the call
        for call in calls:
            code += [(0x15, 0, 1, CALLS[call]), (0x06, 0, 0, 0x00050001)]
        code.append((0x06, 0, 0, 0x7FFF0000))
        body = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *row) for row in code))
        program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(code), ctypes.addressof(body)))
        libc = ctypes.CDLL(None)
        assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, ctypes.byref(program), 0, 0) == 0
    return install


def files(root, **contents):
    """Shell commands that hide a folder behind one that has these files only."""
    lines = [f"mount -t tmpfs none {root}"]
    for path, text in contents.items():
        name = os.path.join(root, path.replace("__", "/").replace("_dot_", ".").replace("_colon_", ":"))
        lines += [f"mkdir -p {os.path.dirname(name)}", f"printf '%s\\n' '{text}' > {name}"]
    return "\n".join(lines)


def adapters(text):
    path = os.path.join(FOLDER.name, "adapters")
    with open(path, "w") as file:
        file.write(text)
    return {"LD_LIBRARY_PATH": DOUBLES, "IBVERBS_DOUBLE": path}


def expect(results, area, name, verdict, evidence):
    result = results[area, name]
    assert result["verdict"] == verdict and evidence in result["evidence"], result
    assert (result["remedy"] is None) == (verdict == "pass"), result


def limits_of_the_process():
    expect(doctor(limit(resource.RLIMIT_NOFILE, 100)), "host", "open files", "degraded", "100")
    small = doctor(limit(resource.RLIMIT_FSIZE, 1 << 20), status=1, ISTHMUS_HEAP_SIZE="64m")
    expect(small, "host", "file size", "fail", "1 MiB")
    expect(doctor(status=1, ISTHMUS_HEAP_SIZE="900t"), "host", "memory", "fail", "900 TiB")
    expect(doctor(lambda: os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})), "host", "processors", "degraded",
           "1 of")
    few = doctor(limit(resource.RLIMIT_NPROC, 40), command=("setpriv", "--reuid=65534"))
    expect(few, "host", "threads", "degraded", "40 processes and threads")


def a_library_without_transports():
    hidden = f"mount -t tmpfs none {LIBRARY}/isthmus"
    expect(doctor(mounts=hidden, status=1), "host", "plugins", "fail", f"no plugin in {LIBRARY}/isthmus")
    gpu = gpu_on_bus("0x10de")
    dev = files("/dev", nvidiactl="")
    expect(doctor(mounts=f"{gpu}\n{dev}\n{hidden}", status=1), "nvlink", "transport", "fail",
           "no plugin nvlink among")


def calls_that_a_sandbox_refuses():
    expect(doctor(refuse("memfd_create"), status=1), "host", "sharing", "fail", "memfd_create: Operation not permitted")
    expect(doctor(refuse("socket", "pidfd_getfd"), status=1), "host", "sharing", "fail", "Unix sockets are refused")
    expect(doctor(refuse("socket")), "host", "sharing", "degraded", "pidfd_getfd works")


def a_container_with_little():
    # Of both versions: which one has a controller is what this machine's own list of groups says.
    group = files("/sys/fs/cgroup", cpu_dot_max="150000 100000", memory_dot_max=str(1 << 28),
                  memory_dot_current=str((1 << 28) - 1), pids_dot_max="20", pids_dot_current="5",
                  cpu__cpu_dot_cfs_quota_us="150000", cpu__cpu_dot_cfs_period_us="100000",
                  memory__memory_dot_limit_in_bytes=str(1 << 28))
    results = doctor(mounts=group)
    if len(os.sched_getaffinity(0)) > 1:
        expect(results, "host", "processors", "degraded", "1.50 of")
    expect(results, "host", "memory", "degraded", "the cgroup is 256 MiB")
    expect(results, "host", "threads", "degraded", "5 of at most 20")
    clock = files("/sys/devices/system/clocksource", clocksource0__current_clocksource="hpet")
    expect(doctor(mounts=clock), "host", "clock", "degraded", "hpet")
    pages = files("/sys/kernel/mm", **{"hugepages__hugepages-2048kB__free_hugepages": "0"})
    expect(doctor(mounts=pages, status=1, ISTHMUS_HEAP_PAGES="2M"), "host", "huge pages", "fail",
           "no huge page of 2 MiB")
    large = files("/sys/kernel/mm", **{"hugepages__hugepages-2048kB__free_hugepages": "7",
                                       "hugepages__hugepages-1048576kB__free_hugepages": "0"})
    expect(doctor(mounts=large, status=1, ISTHMUS_HEAP_PAGES="1G"), "host", "huge pages", "fail",
           "no huge page of 1 GiB")
    large = files("/sys/kernel/mm", **{"hugepages__hugepages-2048kB__free_hugepages": "0",
                                       "hugepages__hugepages-1048576kB__free_hugepages": "3"})
    expect(doctor(mounts=large, ISTHMUS_HEAP_PAGES="1G"), "host", "huge pages", "pass", "3 of 1 GiB are free")


def launchers_without_a_way():
    expect(doctor(status=1, PMIX_NAMESPACE="job"), "host", "launcher", "fail", "PMIX_NAMESPACE is job, but PMIX_RANK")
    expect(doctor(status=1, PMI_FD="7", PMI_RANK="x", PMI_SIZE="2"), "host", "launcher", "fail", "PMI_RANK is 'x'")
    several = {"OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_RANK": "1"}
    expect(doctor(status=1, **several), "host", "launcher", "fail", "mpirun of Open MPI has started several processes")
    expect(doctor(ISTHMUS_BOOTSTRAP="alone", **several), "host", "launcher", "pass", "a job of one PE")
    expect(doctor(), "host", "launcher", "pass", "without a launcher")


def a_host_without_a_network():
    expect(doctor(command=("unshare", "-n")), "ib", "links", "degraded", "no interface but loopback")
    library = doctor()["ib", "library"]
    assert (library["verdict"] == "degraded") == library["evidence"].startswith("UCX 1.13"), library
    assert library["verdict"] == "pass" or "list of an endpoint's lanes" in library["evidence"], library
    expect(doctor(ISTHMUS_IB_UCX="/nowhere/libucp.so"), "ib", "transport", "degraded", "/nowhere/libucp.so")
    broken = os.path.join(FOLDER.name, "broken.so")
    with open(broken, "w") as file:
        file.write("no library")
    expect(doctor(status=1, ISTHMUS_PLUGIN_PATH=FOLDER.name), "broken", "plugin", "fail", "broken.so")


def adapters_of_a_host():
    one = "mlx5_0 2 2c9 1 0\n 4 1 2 64\n 1 1 2 64\n"
    results = doctor(limit(resource.RLIMIT_MEMLOCK, 1 << 16), status=1, **adapters(one))
    expect(results, "ib", "memlock", "fail", "64 KiB")
    expect(results, "ib", "adapter", "degraded", "its link is down")  # the second port
    roce = adapters("rocep1 1 15b3 1 0\n 4 2 2 64\n")
    table = files("/sys/class", infiniband__rocep1__ports__1__gids__3="0000:0000:0000:0000:0000:ffff:0a00:0001",
                  infiniband__rocep1__ports__1__gids__4=":".join(["0000"] * 8))
    expect(doctor(mounts=table, status=None, ISTHMUS_IB_GID_INDEX="3", **roce), "ib", "GID", "pass",
           "rocep1:1 has entry 3")
    for index, what in (("4", "is empty"), ("5", "is not")):
        expect(doctor(mounts=table, status=1, ISTHMUS_IB_GID_INDEX=index, **roce), "ib", "GID", "fail", what)
    expect(doctor(mounts=table, status=1, UCX_IB_GID_INDEX="9", **roce), "ib", "GID", "fail", "entry 9")


def gpu_on_bus(vendor):
    return files("/sys/bus/pci", devices__0000_colon_41_colon_00_dot_0__vendor=vendor,
                 devices__0000_colon_41_colon_00_dot_0__class="0x030200")


def gpus_of_a_host():
    for transport, vendor, node in (("xelink", "0x8086", "/dev/dri"), ("xgmi", "0x1002", "/dev/kfd")):
        expect(doctor(mounts=f"{gpu_on_bus(vendor)}\n{files('/dev')}", status=1), transport, "driver", "fail",
               f"{node} does not exist")
    pci = gpu_on_bus("0x10de")
    expect(doctor(mounts=pci, status=1), "nvlink", "driver", "fail", "/dev/nvidiactl does not exist")
    dev = files("/dev", nvidiactl="")
    expect(doctor(mounts=f"{pci}\n{dev}\nchmod 600 /dev/nvidiactl", status=1, command=("setpriv", "--reuid=65534")),
           "nvlink", "driver", "fail", "may not be opened")
    proc = files("/proc", **{"driver__nvidia__capabilities__fabric-imex-mgmt": ""})
    adapter = files("/sys/class", infiniband__mlx5_0__node_type="1")
    results = doctor(mounts=f"{pci}\n{dev}\n{adapter}", status=1)
    expect(results, "nvlink", "driver", "pass", "1 GPU(s) of NVIDIA")
    expect(results, "nvlink", "transport", "fail", "nvlink is not usable")
    old = {"ISTHMUS_NVLINK_LIBRARY": CUDA, "GPU_DOUBLE_VERSION": "9000"}
    expect(doctor(mounts=f"{pci}\n{dev}", status=1, **old), "nvlink", "transport", "fail",
           "the driver on this host is for CUDA 9.0; this plugin needs one for CUDA ")
    results = doctor(mounts=f"{pci}\n{dev}\n{adapter}\n{proc}", status=1)
    expect(results, "nvlink", "IMEX", "degraded", "imex-channels does not exist")
    expect(results, "nvlink", "GPUDirect", "degraded", "nvidia_peermem is not loaded")
    expect(results, "host", "namespaces", "degraded", "/proc/self/ns")


def gpus_that_reach_each_other():
    gpus = {"ISTHMUS_NVLINK_LIBRARY": CUDA, "GPU_DOUBLE_DEVICES": "3"}
    expect(doctor(**gpus), "nvlink", "peer access", "pass", "2 other(s), with atomics")
    expect(doctor(GPU_DOUBLE_PEERS="0", **gpus), "nvlink", "peer access", "degraded", "does not access")
    expect(doctor(GPU_DOUBLE_PEERS="2", **gpus), "nvlink", "peer access", "degraded", "without atomics")
    gpus["GPU_DOUBLE_DEVICES"] = "1"
    assert ("nvlink", "peer access") not in doctor(**gpus)


def on_other_hosts(change, **env):
    """What PE 0 reports of a job whose other host has the change: commands of a shell, $0 is the tool."""
    script = f'test "$PMIX_RANK" = 0 || {change}; exec "$0" --doctor --routes --json'
    return doctor(command=(RUN, "-n", "4", "sh", "-c", script, INFO, "--"), ISTHMUS_PRETEND_HOSTS="abab", **env)


def hosts_that_differ():
    results = on_other_hosts("ulimit -n 200")
    expect(results, "hosts", "open files", "degraded", "200 on 3 PEs (the first: PE 1 on ")
    expect(results, "hosts", "own faults", "degraded", "open files degraded")
    expect(results, "hosts", "version", "pass", "all hosts")
    machines = {"LD_PRELOAD": os.path.join(DOUBLES, "host", "host.so"), "HOST_DOUBLE": "usual,usual,usual,v2_own",
                "ISTHMUS_HEAP_SIZE": "64m"}
    expect(on_other_hosts("true", **machines), "hosts", "memory", "degraded",
           "16 GiB on 3 PEs (the first: PE 0 on usual); 2048 MiB on 1 PE (PE 3 on v2_own)")
    ucx = os.path.join(DOUBLES, "ucx_other")
    expect(on_other_hosts(f"export ISTHMUS_IB_UCX={ucx}"), "hosts", "libraries", "degraded", ".99")
    other = os.path.join(os.path.dirname(BIN), "tests", "info", "isthmus-info-other")
    plugins = os.path.join(LIBRARY, "isthmus")
    expect(on_other_hosts(f'exec {other} --doctor --routes --json', status=1, ISTHMUS_PLUGIN_PATH=plugins), "hosts",
           "version", "fail", "0.0.1 on ")
    expect(on_other_hosts("ulimit -l 100"), "hosts", "memlock", "degraded", "102400 on ")
    processors = os.path.join(FOLDER.name, "online")
    with open(processors, "w") as file:
        file.write("0-99\n")
    more = f"mount --bind {processors} /sys/devices/system/cpu/online"
    expect(on_other_hosts(f"""exec unshare -m sh -c '{more} && exec "$0" --doctor --routes --json' "$0" """),
           "hosts", "processors", "degraded", "100 on ")
    expect(on_other_hosts('exec "$0" --routes > /dev/null', status=1), "hosts", "exchange", "fail",
           "PE 1 was started without --doctor")


def main():
    if subprocess.run(["unshare", "-mn", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True).returncode:
        print("skipped: this user may not make mount namespaces")
        return SKIPPED
    if CALLS is None:
        print(f"skipped: the numbers of system calls on {os.uname().machine} are not in this test")
        return SKIPPED
    healthy = doctor()
    assert len(healthy) > 10 and ("host", "sharing") in healthy, healthy
    for case in (limits_of_the_process, a_library_without_transports, calls_that_a_sandbox_refuses,
                 a_container_with_little, launchers_without_a_way, a_host_without_a_network, adapters_of_a_host,
                 gpus_of_a_host, gpus_that_reach_each_other, hosts_that_differ):
        case()
        print(f"ok {case.__name__}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
