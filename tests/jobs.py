"""Tests of ctest's list, run by other scripts: the code that tests/places and tests/gpu share."""

import json
import os
import signal
import subprocess
import tempfile

SESSION_FOLDERS = ("TMPDIR", "OMPI_MCA_orte_tmpdir_base", "PRTE_MCA_prte_tmpdir_base")


def listed(build):
    """ctest's own description of the tests of a build, as text."""
    return subprocess.run(["ctest", "--test-dir", str(build), "--show-only=json-v1"], check=True, capture_output=True,
                          text=True).stdout


def tests_of(text):
    """(entry, its properties by name) of each test in such a description."""
    return [(entry, {p["name"]: p["value"] for p in entry["properties"]}) for entry in json.loads(text)["tests"]]


def settings_of(properties):
    """NAME=VALUE of a test's environment."""
    return [setting for setting in properties.get("ENVIRONMENT", []) if setting]


def run(command, settings, log, timeout_s, folder=None):
    """Returns its exit status, or None if it was ended, with all its children, after the time; the log has the output.
    It has a folder of its own for temporary files, as by own_folder.sh."""
    with tempfile.TemporaryDirectory(prefix="job.", ignore_cleanup_errors=True) as own:
        environment = dict(os.environ, **dict.fromkeys(SESSION_FOLDERS, own))
        environment.update(setting.split("=", 1) for setting in settings)
        return run_there(command, environment, log, timeout_s, folder)


def run_there(command, environment, log, timeout_s, folder):
    with open(log, "wb") as output:
        job = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                               env=environment, cwd=folder, start_new_session=True)
        try:
            return job.wait(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            os.killpg(job.pid, signal.SIGKILL)
            job.wait()
            return None
