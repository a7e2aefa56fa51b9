"""tests/info/settings.py BIN_FOLDER: the user's isthmus.conf at work in jobs: its settings hold on each PE, the
environment is stronger, PEs whose files differ do not start, and neither do those whose file is wrong."""
import json
import os
import subprocess
import sys
import tempfile

BIN = sys.argv[1]
INFO, RUN = (os.path.join(BIN, name) for name in ("isthmus-info", "isthmus-run"))
OURS = ("ISTHMUS_", "SHMEM_", "SMA_", "NVSHMEM_", "ISHMEM_", "PMIX_", "OMPI_", "SLURM_", "PMI_")
CLEAN = {k: v for k, v in os.environ.items() if not k.startswith(OURS)}
# Each PE has the file of its number.
OWN_FILE = ("sh", "-c", 'XDG_CONFIG_HOME=$FOLDERS/$PMIX_RANK exec "$@"', "sh")


def job(text_of_pe, *options, n=2, **env):
    """Runs isthmus-info with --routes on n PEs whose users' files have these texts."""
    with tempfile.TemporaryDirectory() as folders:
        for pe in range(n):
            os.mkdir(f"{folders}/{pe}")
            with open(f"{folders}/{pe}/isthmus.conf", "w") as file:
                file.write(text_of_pe(pe))
        command = [RUN, "-n", str(n), "--timeout", "60", *OWN_FILE, INFO, "--routes", *options]
        return subprocess.run(command, env={**CLEAN, "FOLDERS": folders, **env}, capture_output=True, text=True)


def row(done, name):
    assert done.returncode == 0, done.stderr
    return next(r for r in json.loads(done.stdout)["environment"] if r["name"] == name)


def a_file_sets_what_a_job_has():
    text = "# all jobs\nISTHMUS_ALIAS = false\nISTHMUS_LOOPBACK_SHARE = socket\n"
    done = job(lambda pe: text, "--env", "--json")
    alias = row(done, "ISTHMUS_ALIAS")
    assert (alias["value"], alias["source"]) == (False, "user"), alias
    assert alias["set_by"].endswith("/0/isthmus.conf:2"), alias
    assert not any(kind["load_and_store"] for kind in json.loads(done.stdout)["routes"]["kinds"]), done.stdout
    alias = row(job(lambda pe: text, "--env", "--json", ISTHMUS_ALIAS="true"), "ISTHMUS_ALIAS")
    assert (alias["value"], alias["source"], alias["set_by"]) == (True, "environment", "ISTHMUS_ALIAS"), alias


def plugins_get_the_values_of_a_file():
    done = job(lambda pe: "ISTHMUS_LOOPBACK_SHARE = sockets\n")
    assert "_SHARE is 'sockets'; valid: " in " ".join(done.stdout.split()), done.stdout


def pes_whose_files_differ_do_not_start():
    done = job(lambda pe: f"ISTHMUS_CHECK = {pe == 1}\n")
    assert done.returncode != 0, done.stdout
    for part in ("ISTHMUS_CHECK is 'true' (set by ", "/1/isthmus.conf:1)", "/0/isthmus.conf:1)",
                 "all PEs need the same"):
        assert part in done.stderr, f"no {part} in {done.stderr}"


def a_wrong_line_ends_the_start():
    done = job(lambda pe: "ISTHMUS_SPIN = 300nz\n")
    assert done.returncode != 0, done.stdout
    for part in ("ISTHMUS_SPIN is '300nz' in ", "/isthmus.conf:1; accepted: auto"):
        assert part in done.stderr, done.stderr


def an_unknown_name_is_reported_once():
    done = job(lambda pe: "ISTHMUS_HEAPSIZE = 1g\n")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("did you mean ISTHMUS_HEAP_SIZE?") == 1, done.stderr


failed = 0
for check in (a_file_sets_what_a_job_has, plugins_get_the_values_of_a_file, pes_whose_files_differ_do_not_start,
              a_wrong_line_ends_the_start, an_unknown_name_is_reported_once):
    try:
        check()
    except AssertionError as problem:
        failed += 1
        print(f"FAILED {check.__name__}: {problem}")
sys.exit(failed > 0)
