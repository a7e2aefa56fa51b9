#!/usr/bin/env python3
"""machines.py FOLDER: makes the machines of machines.table, each as FOLDER/NAME: the files that it shows under /proc
and /sys, and `knobs`, which the library (host.c) reads.

Keys of a row; sizes as 4096, 512K, 3G; lists of processors as 0-3,8:
  memory=SIZE              of the machine
  processors=N             that are there; offline=LIST: of these; affinity=LIST: those that the PE may use
  nodes=LIST,...           the processors of each NUMA node; a list has one range
  cgroup=v2|v1|hybrid|none the layout of /sys/fs/cgroup; group=PATH: the PE's own; group_is_hidden=yes: /proc names it,
                           but only the root is mounted, as in a container
  memory@PATH=SIZE cpu@PATH=PROCESSORS cpuset@PATH=LIST   a limit of that group
  page=SIZE                of the system's usual pages
  huge_2m=N huge_1g=N      huge pages that are free; without: the kernel has none of that size
  nofile= memlock= as= fsize= stack=SOFT[/HARD]   limits of the process
  interfaces=NAME:ADDRESS,...   in front of the real ones; -NAME: it is down; real_interfaces=no: there are no others
  pid_namespace=own        as in a container that has the network of its host
  clock_ahead_s=N          how far the clock of the day is set back after each reading
  variables=NAME:VALUE,... that this machine sets for all its processes
  job=NAME:VALUE,...       that tests set for all PEs of a job with such a machine
  fails=CALL:ERROR,... slow=CALL:SECONDS,...   CALL may end in (TEXT), with a part of the file's name or the like in it,
                           or in >SIZE; files.c, calls.c, pages.c and network.c have the calls
"""

import errno
import re
import shutil
import sys
import uuid
from pathlib import Path

TABLE = Path(__file__).resolve().parent / "machines.table"
USUAL = {"memory": "16G", "processors": "8", "cgroup": "v2", "group": "/"}
LIMITS = ["nofile", "memlock", "as", "fsize", "stack"]
AS_THEY_ARE = ["huge_2m", "huge_1g", "pid_namespace", "clock_ahead_s"]  # knobs of the same name
KEYS = {"memory", "processors", "offline", "affinity", "nodes", "cgroup", "group", "group_is_hidden", "interfaces",
        "real_interfaces", "page", "variables", "job", "fails", "slow", *LIMITS, *AS_THEY_ARE}
CALL = re.compile(r"(\w+)(?:\(([^)]*)\))?(?:>(\w+))?:([\w.]+)")
LIMIT = re.compile(r"(memory|cpu|cpuset)@(/.*)")
NO_LIMIT_V1 = 9223372036854771712
PERIOD_US = 100000
V1 = {"memory": "memory", "cpu": "cpu,cpuacct", "cpuset": "cpuset", "pids": "pids"}  # controller: its folder
PAGE_BYTES = 4096


def bytes_of(text):
    return int(text.rstrip("KMGT")) << {"K": 10, "M": 20, "G": 30, "T": 40}.get(text[-1], 0)


def numbers_of(text):
    """[0, 1, 2, 3, 8] of "0-3,8"."""
    ranges = [part.split("-") for part in text.split(",") if part]
    return [n for r in ranges for n in range(int(r[0]), int(r[-1]) + 1)]


def list_of(numbers):
    """"0-3,8" of [0, 1, 2, 3, 8]."""
    ranges = []
    for n in numbers:
        if ranges and ranges[-1][1] == n - 1:
            ranges[-1][1] = n
        else:
            ranges.append([n, n])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in ranges)


class Machine:
    def __init__(self, name, settings):
        self.name = name
        self.limits = {LIMIT.fullmatch(key).groups(): settings[key] for key in settings if LIMIT.fullmatch(key)}
        unknown = [key for key in settings if key not in KEYS and not LIMIT.fullmatch(key)]
        if unknown:
            raise ValueError(f"machine {name}: unknown key {unknown[0]}")
        self.settings = {**USUAL, **settings}
        self.memory_bytes = bytes_of(self.settings["memory"])
        offline = numbers_of(self.settings.get("offline", ""))
        self.present = list(range(int(self.settings["processors"])))
        self.online = [n for n in self.present if n not in offline]
        allowed = numbers_of(self.settings.get("affinity", "")) or self.online
        for (what, _), value in self.limits.items():
            if what == "cpuset":
                allowed = [n for n in allowed if n in numbers_of(value)]
        self.allowed = allowed
        ranges = self.settings.get("nodes", f"0-{len(self.present) - 1}").split(",")
        self.nodes = [list_of([n for n in numbers_of(one) if n in self.online]) for one in ranges]

    def groups(self):
        """The PE's cgroup and all above it, from the root on: "/", "/a", "/a/b"; those that are mounted."""
        if self.settings.get("group_is_hidden"):
            return ["/"]
        names = [name for name in self.settings["group"].split("/") if name]
        return ["/" + "/".join(names[:n]) for n in range(len(names) + 1)]

    def files(self):
        boot_id = {"/proc/sys/kernel/random/boot_id": uuid.uuid5(uuid.NAMESPACE_OID, self.name)}
        return {**boot_id, **self.of_memory(), **self.of_processors(), **self.of_cgroups()}

    def of_memory(self):
        kib = self.memory_bytes >> 10
        return {"/proc/meminfo": f"MemTotal: {kib} kB\nMemFree: {kib // 2} kB\nMemAvailable: {kib // 2} kB"}

    def of_processors(self):
        cpu = "/sys/devices/system/cpu"
        files = {f"{cpu}/present": list_of(self.present), f"{cpu}/possible": list_of(self.present),
                 f"{cpu}/online": list_of(self.online)}
        for n in self.online:
            for name, value in {"core_id": n, "physical_package_id": 0, "thread_siblings_list": n,
                                "core_siblings_list": list_of(self.online)}.items():
                files[f"{cpu}/cpu{n}/topology/{name}"] = value
        return {**files, **{f"/sys/devices/system/node/node{n}/cpulist": cpus for n, cpus in enumerate(self.nodes)}}

    # ---- cgroups ----

    def of_cgroups(self):
        layout = self.settings["cgroup"]
        if layout == "none":
            return {}
        return self.v2() if layout == "v2" else self.v1(is_hybrid=layout == "hybrid")

    def limit(self, what, group, otherwise):
        return self.limits.get((what, group), otherwise)

    def memory(self, group, otherwise):
        limit = self.limit("memory", group, None)
        return otherwise if limit is None else bytes_of(limit)

    def quota_us(self, group, otherwise):
        limit = self.limit("cpu", group, None)
        return otherwise if limit is None else int(float(limit) * PERIOD_US)

    def v2(self):
        root = "/sys/fs/cgroup"
        files = {f"{root}/cgroup.controllers": "cpuset cpu io memory pids", "/proc/self/cgroup":
                 f"0::{self.settings['group']}", "/proc/self/mountinfo": mount(30, root, "cgroup2", "rw,nsdelegate")}
        for group in self.groups():
            at = root + group.rstrip("/")
            files[f"{at}/cpuset.cpus.effective"] = self.limit("cpuset", group, list_of(self.online))
            if group == "/" and not any(at == "/" for _, at in self.limits):
                continue  # the root of a machine has no limits, and no files for them
            files[f"{at}/memory.max"] = self.memory(group, "max")
            files[f"{at}/memory.current"] = 64 << 20
            files[f"{at}/cpu.max"] = f"{self.quota_us(group, 'max')} {PERIOD_US}"
            files[f"{at}/pids.max"] = "max"
        return files

    def v1(self, is_hybrid):
        root, group = "/sys/fs/cgroup", self.settings["group"]
        files = {"/proc/self/cgroup": "\n".join(
            [f"{n}:{folder}:{group}" for n, folder in enumerate(V1.values(), 2)] +
            [f"1:name=systemd:{group}"] + ([f"0::{group}"] if is_hybrid else []))}
        mounts = [mount(30 + n, f"{root}/{folder}", "cgroup", f"rw,{folder}") for n, folder in enumerate(V1.values())]
        if is_hybrid:
            mounts.append(mount(40, f"{root}/unified", "cgroup2", "rw,nsdelegate"))
            files[f"{root}/unified/cgroup.controllers"] = ""
        files["/proc/self/mountinfo"] = "\n".join(mounts)
        for group in self.groups():
            at = group.rstrip("/")
            files[f"{root}/memory{at}/memory.limit_in_bytes"] = self.memory(group, NO_LIMIT_V1)
            files[f"{root}/cpu,cpuacct{at}/cpu.cfs_quota_us"] = self.quota_us(group, -1)
            files[f"{root}/cpu,cpuacct{at}/cpu.cfs_period_us"] = PERIOD_US
            files[f"{root}/cpuset{at}/cpuset.cpus"] = self.limit("cpuset", group, list_of(self.online))
            files[f"{root}/cpuset{at}/cpuset.effective_cpus"] = self.limit("cpuset", group, list_of(self.online))
            files[f"{root}/pids{at}/pids.max"] = "max"
        return files

    # ---- what isthmus-info --doctor --routes says of it, where it says more than that all hosts have the same ----

    def facts(self):
        """{name of the fact: its text}, without those that the machine leaves as they are."""
        usable = min([len(self.allowed)] + [max(1, int(float(cpu))) for (what, _), cpu in self.limits.items()
                                            if what == "cpu"])
        n = len(self.online)
        page = bytes_of(self.settings["page"]) if "page" in self.settings else PAGE_BYTES
        heap = [one.partition(":")[2] for one in self.list("variables") if one.startswith("ISTHMUS_HEAP_PAGES:")]
        of_heap = f", in the heap of {bytes_of(heap[0]) >> 10} KiB" if heap else ""
        limits = {"open files": "nofile", "memlock": "memlock", "addresses": "as", "file size": "fsize"}
        return {"processors": f"{usable} of {n}" if usable != n else str(n), "memory": self.shown_memory(),
                "pages": f"of {page >> 10} KiB{of_heap}",
                "processes": f"those of {'a container' if 'pid_namespace' in self.settings else 'the host'}",
                **{name: str(bytes_of(self.settings[key].split("/")[0])) for name, key in limits.items()
                   if key in self.settings}}

    def shown_memory(self):
        least = min([self.memory_bytes] + [bytes_of(size) for (what, _), size in self.limits.items()
                                           if what == "memory"])
        unit, name = (1 << 30, "GiB") if least >> 33 else (1 << 20, "MiB")
        return f"{(least + unit // 2) // unit} {name}"

    # ---- what the library is told ----

    def knobs(self):
        return [f"memory_bytes {self.memory_bytes}", f"present {len(self.present)}", f"online {len(self.online)}",
                f"allowed {list_of(self.allowed)}", "hides /sys/fs/cgroup", "hides /proc/self/cgroup",
                "hides /proc/self/mountinfo", "hides /sys/devices/system/cpu", "hides /sys/devices/system/node",
                *[f"node {cpus}" for cpus in self.nodes], *self.of_process(), *self.of_calls()]

    def of_process(self):
        knobs = [f"{key} {self.settings[key]}" for key in AS_THEY_ARE if key in self.settings]
        for key in LIMITS:
            if key in self.settings:
                soft, _, hard = self.settings[key].partition("/")
                knobs.append(f"{key} {bytes_of(soft)} {bytes_of(hard or soft)}")
        for interface in self.list("interfaces"):
            name, address = interface.split(":")
            knobs.append(f"interface {name.lstrip('-')} {address} {'down' if name[0] == '-' else 'up'}")
        knobs += ["variable " + one.replace(":", " ", 1) for one in self.list("variables")]
        knobs += [f"page_bytes {bytes_of(one)}" for one in self.list("page")]
        return knobs + ["only_these_interfaces 1"] * (self.settings.get("real_interfaces") == "no")

    def of_calls(self):
        knobs = []
        for key in ("fails", "slow"):
            for one in self.list(key):
                call, text, size, number = CALL.fullmatch(one).groups()
                number = getattr(errno, number) if key == "fails" else number
                knobs.append(f"{key} {call} {number} {bytes_of(size or '0')} {text or '-'}")
        return knobs

    def list(self, key):
        return [one for one in self.settings.get(key, "").split(",") if one]

    def make(self, folder):
        for path, text in self.files().items():
            file = Path(f"{folder}/{self.name}{path}")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"{text}".rstrip("\n") + "\n")
        both = Path(f"{folder}/{self.name}/sys/fs/cgroup/cpu,cpuacct")
        if both.exists():
            both.with_name("cpu").symlink_to(both.name)
        knobs = Path(f"{folder}/{self.name}/knobs")
        knobs.parent.mkdir(parents=True, exist_ok=True)
        knobs.write_text("\n".join(self.knobs()) + "\n")


def mount(number, at, kind, options):
    return f"{number} 20 0:{number} / {at} rw,nosuid - {kind} {kind} {options}"


def machines():
    rows = [line.split("#")[0].split() for line in TABLE.read_text().splitlines()]
    return [Machine(row[0], dict(setting.split("=", 1) for setting in row[1:])) for row in rows if row]


def main():
    folder, new = Path(sys.argv[1]), Path(f"{sys.argv[1]}.new")
    shutil.rmtree(new, ignore_errors=True)
    for machine in machines():
        machine.make(new)
    shutil.rmtree(folder, ignore_errors=True)
    new.rename(folder)


if __name__ == "__main__":
    main()
