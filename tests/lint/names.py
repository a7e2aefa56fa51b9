#!/usr/bin/env python3
"""Nothing in core/ names a plugin, a fabric or its adapters: which transport carries what is data, not code.

Identifiers and string literals are cut into words (ib_open: ib, open; PeerUcx: peer, ucx); comments may name what they
like. Free to use are the memory kinds and atomics domains of the ABI, the names of the three APIs and their variables.
No two files of core/ have one name, so that a name leads to one file."""
import re

import lint

FABRICS = {
    "ib", "ibv", "ibverbs", "verbs", "infiniband", "mlx", "mlx4", "mlx5", "rdma", "rdmacm", "roce", "ucx", "ucp", "uct",
    "libfabric", "ofi", "cxi", "slingshot", "efa", "gdr", "gdrcopy", "nvlink", "nvswitch", "nvl", "cuda", "cudart",
    "nvml", "xelink", "ze", "levelzero", "sycl", "xgmi", "hip", "hsa", "rocm", "cma", "xpmem", "knem", "hca", "hcas",
    "nic", "nics", "adapter", "adapters",
}
FREE_IDENTIFIERS = re.compile(r"ISTHMUS_MEM_(CUDA|ZE|HIP)|ISTHMUS_DOMAIN_NIC|IST_ATOMICS_NIC|"
                              r"(IN6?ADDR|IFF)_LOOPBACK(_INIT)?|in6addr_loopback")
FREE_STRINGS = re.compile(r"(N?V?I?SHMEMX?|SMA)_[A-Z0-9_]+")  # variables of the three APIs


def words(text):
    for part in re.split(r"[^A-Za-z0-9]+", text):
        for word in re.findall(r"[A-Z]+(?![a-z])[0-9]*|[A-Z]?[a-z]+[0-9]*", part):
            yield word.lower()


def main():
    root = lint.arguments(__doc__).root.resolve()
    report = lint.Report("names", root)
    plugins = {path.name for path in (root / "plugins").glob("*") if path.is_dir() and path.name != "common"}
    forbidden = FABRICS | plugins

    def check(path, line, text):
        for word in words(text):
            if word in forbidden:
                report.fault_unless_allowed(path, line, word, f"'{text}' names {word}: the core knows no plugin and no "
                                            "fabric; ask the transport (struct isthmus_traits, isthmus_reach)")

    for path in lint.sources(root, "core", suffixes=(".c", ".h", ".def", ".table")):
        text = lint.read(root / path)
        for number, line in enumerate(lint.code_only(text).splitlines(), 1):
            for identifier in re.findall(r"[A-Za-z_]\w*", line):
                if not FREE_IDENTIFIERS.fullmatch(identifier):
                    check(path, number, identifier)
        for number, literal in lint.strings(text):
            check(path, number, FREE_STRINGS.sub("", literal))
    folders = {}
    for path in lint.sources(root, "core", suffixes=(".c", ".h", ".def", ".table")):
        first = folders.setdefault(path.name, path)
        if first != path:
            report.fault(path, 1, f"{first} has the same name: one word for one thing, one file of that name in core/")
    report.finish()


if __name__ == "__main__":
    main()
