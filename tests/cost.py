#!/usr/bin/env python3
"""cost.py [--preset P] [--jobs N] [CTEST OPTION...]: what tests cost, in seconds of processor time, which a busy
machine changes little; the most expensive first. The options choose the tests: -R NAME, -L LABEL, -LE 'lint|thorough'.
./dev test is to take ten minutes on two processors: 1,200 s with its builds."""

import argparse
import concurrent.futures
import ctypes
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True  # the source tree stays as it is

import jobs

ROOT = Path(__file__).resolve().parents[1]
PR_SET_CHILD_SUBREAPER = 36
SKIPPED = 77
REST_S = 5  # for processes that outlive their job


def environment_of(presets, name):
    """The variables that a test preset sets, with those of the ones that it inherits."""
    preset = next(p for p in presets if p["name"] == name)
    inherited = environment_of(presets, preset["inherits"]) if "inherits" in preset else {}
    return {**inherited, **{k: v.replace("${sourceDir}", str(ROOT)) for k, v in preset.get("environment", {}).items()}}


def reap():
    """Waits for what the job has left: a process counts when its end was waited for."""
    limit = time.monotonic() + REST_S
    while time.monotonic() < limit:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                time.sleep(0.02)
        except ChildProcessError:
            return


def measure(entry, properties):
    """In a process of its own, which orphans of the job belong to: (processor time, time, exit status, name)."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    start = time.monotonic()
    status = jobs.run(entry["command"], jobs.settings_of(properties), os.devnull, properties.get("TIMEOUT", 120),
                      properties.get("WORKING_DIRECTORY"))
    wall_s = time.monotonic() - start
    reap()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime, wall_s, status, entry["name"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--preset", default="release")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="how many tests at once")
    given, chosen = parser.parse_known_args()
    os.chdir(ROOT)
    listed = subprocess.run(["ctest", "--preset", given.preset, "--show-only=json-v1", *chosen], check=True,
                            capture_output=True, text=True).stdout
    os.environ.update(environment_of(json.loads(Path("CMakePresets.json").read_text())["testPresets"], given.preset))
    tests = [(entry, properties) for entry, properties in jobs.tests_of(listed) if not properties.get("DISABLED")]
    with concurrent.futures.ProcessPoolExecutor(given.jobs, max_tasks_per_child=1) as pool:
        rows = sorted(pool.map(measure, *zip(*tests)) if tests else [], reverse=True)
    for cpu_s, wall_s, status, name in rows:
        bad = "" if status == 0 else "  skipped" if status == SKIPPED else f"  FAILED ({status})"
        print(f"{cpu_s:8.2f} s of {wall_s:7.2f} s  {name}{bad}")
    print(f"{sum(row[0] for row in rows):8.2f} s: {len(rows)} tests")


if __name__ == "__main__":
    main()
