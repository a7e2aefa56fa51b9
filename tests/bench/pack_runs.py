#!/usr/bin/env python3
"""pack_runs.py BUILD: the pack of ./dev gpu-test --pack, made of BUILD and unpacked elsewhere: it has the benchmark of
kernels, which reports there that there is no GPU. What nvcc would have made is a stand-in, unless BUILD has it; in the
place of NVSHMEM's library always. Skipped where there is a GPU."""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NAME = "isthmus-gpu-test"
SKIPPED = 77
LIMIT_S = 60
STAND_IN = "#!/bin/sh\nprintf 'skipped\\tno GPU: a stand-in\\n'\nexit 77\n"
EXPECTED = ["gpu-bench", "bench/kernels.py", "build/bench/bench_gpu", "build/bench/plugins/nothing.so",
            "build/bench/cuda/bench_kernels", "build/bench/nvshmem/bench_kernels"]


def with_stand_ins(build, folder):
    """A build folder of links, with programs in bench."""
    (folder / "bench").mkdir(parents=True)
    for there, entries in ((folder, build.iterdir()), (folder / "bench", (build / "bench").iterdir())):
        for entry in entries:
            if entry.name not in ("bench", "nvshmem"):
                (there / entry.name).symlink_to(entry)
    for library in ("cuda", "nvshmem"):
        program = folder / "bench" / library / "bench_kernels"
        if not program.exists():
            program.parent.mkdir(exist_ok=True)
            program.write_text(STAND_IN, encoding="utf-8")
            program.chmod(0o755)
    return folder


def main():
    build = Path(sys.argv[1]).resolve()
    if Path("/dev/nvidiactl").exists():
        print("skipped: there is a GPU, where the pack measures")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        pack, root = Path(folder, "pack.tar.gz"), Path(folder, NAME)
        subprocess.run([ROOT / "tests/gpu/pack.py", with_stand_ins(build, Path(folder, "build")), pack], check=True,
                       stdout=subprocess.DEVNULL)
        subprocess.run(["tar", "xf", pack, "-C", folder], check=True)
        faults = [f"the pack has no {name}" for name in EXPECTED if not (root / name).exists()]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("ISTHMUS_")}
        done = subprocess.run([root / "gpu-bench", "--gpu", "--quick"], capture_output=True, text=True, check=False,
                              env=environment, timeout=LIMIT_S, stdin=subprocess.DEVNULL)
    reasons = [line for line in done.stderr.splitlines() if line.startswith("bench: no kernel was measured: no GPU")]
    if done.returncode != SKIPPED or len(reasons) != 1 or done.stdout.strip():
        faults.append(f"gpu-bench --gpu: status {done.returncode}\n{done.stdout}{done.stderr}")
    print("\n".join(faults) or f"the pack has it; {reasons[0]}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
