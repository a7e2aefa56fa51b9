#!/usr/bin/env python3
"""portable.py IN.ll OUT.ll: makes assembly of LLVM that one version of clang has made for one GPU fit for other
compilers and other GPUs: what ties a function to the compilation's own target and options goes, since it would forbid
inlining into kernels that were compiled otherwise. Only cold functions stay out of line. The state is written by the
host."""
import re
import sys
from pathlib import Path


def attributes(match):
    text = re.sub(r'"[\w-]+"(="[^"]*")? ?', "", match.group(0))
    if not re.search(r"\bcold\b", text):
        return re.sub(r"\bnoinline ", "", text)
    return re.sub(r"\boptsize ", "", text) # LLVM 14 has no code for clearing memory that is short, too


def portable(text):
    text = re.sub(r"^source_filename = .*\n", 'source_filename = "nvshmem_device.c"\n', text, flags=re.M)
    text = re.sub(r"^attributes #\d+ = .*$", attributes, text, flags=re.M)
    text = re.sub(r"^!llvm\.(module\.flags|ident) = .*\n", "", text, flags=re.M)
    text, n_states = re.subn(r"^(@isthmus_device_v1 = .*addrspace\(4\)) global", r"\1 externally_initialized global",
                             text, flags=re.M)
    if n_states != 1:
        sys.exit("portable.py: no definition of isthmus_device_v1")
    return text


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(portable(Path(sys.argv[1]).read_text()))
