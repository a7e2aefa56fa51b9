"""tests/info/report.py BIN_FOLDER ENVIRONMENT_PAGE: isthmus-info as a user sees it.

Each check is a function; all run, and each failure is printed with what was expected and seen."""
import json
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the source tree stays as it is
from checks import run_all

BIN, PAGE = sys.argv[1:3]
INFO = os.path.join(BIN, "isthmus-info")
OURS = ("ISTHMUS_", "SHMEM_", "SMA_", "NVSHMEM_", "ISHMEM_", "PMIX_", "OMPI_", "SLURM_", "PMI_")
CLEAN = {k: v for k, v in os.environ.items() if not k.startswith(OURS)}


def run(*options, launcher=(), env=None, status=0):
    """Standard output and error of isthmus-info with these options."""
    done = subprocess.run([*launcher, INFO, *options], env={**CLEAN, **(env or {})}, capture_output=True, text=True)
    assert done.returncode == status, f"status {done.returncode} instead of {status}: {done.stderr}"
    return done.stdout, done.stderr


def one_screen():
    out, _ = run()
    for word in ("Isthmus ", "PMIx", "hwloc", "Host ", "Transports", "loopback", "usable", "Settings"):
        assert word in out, f"no '{word}' in:\n{out}"


def lines_fit_80_columns():
    for options in ([], ["--env"], ["--routes"], ["--help"]):
        for line in run(*options)[0].splitlines():
            is_free = "build " in line or "file " in line or "/" in line  # flags and paths may have any length
            assert len(line) <= 80 or is_free, f"{options}: {line}"


def json_in_every_combination():
    assert {"version", "build", "host", "transports", "environment"} <= set(json.loads(run("--json")[0]))
    assert "topology" in json.loads(run("--json", "--topology")[0])
    both = json.loads(run("--env", "--json", "--routes")[0])
    assert both["routes"]["n_pes"] == 1 and both["environment"]


def env_says_where_a_value_comes_from():
    out, _ = run("--json", "--env", env={"SMA_SYMMETRIC_SIZE": "1.5k"})
    row = next(r for r in json.loads(out)["environment"] if r["name"] == "ISTHMUS_HEAP_SIZE")
    assert (row["value"], row["set_by"]) == (1536, "SMA_SYMMETRIC_SIZE"), row


def a_bad_value_is_reported():
    out, err = run(env={"ISTHMUS_HEAP_SIZE": "abc"}, status=1)
    assert "ISTHMUS_HEAP_SIZE is 'abc'; accepted: " in err and "Transports" in out, err


def an_unknown_name_gets_a_suggestion():
    _, err = run(env={"ISTHMUS_HEAPSIZE": "1g"})
    assert "did you mean ISTHMUS_HEAP_SIZE?" in err, err


def an_unknown_transport_is_explained():
    out, _ = run(env={"ISTHMUS_TRANSPORTS": "lopback"}, status=1)
    assert "did you mean 'loopback'?" in " ".join(out.split()), out


def a_refused_plugin_is_explained():
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "odd.so"), "w") as odd:
            odd.write("no shared object")
        out, _ = run(env={"ISTHMUS_PLUGIN_PATH": folder})
        assert "odd: refused" in out and folder in out, out


def options_are_checked():
    assert "did you mean --routes?" in run("--rotes", status=2)[1]
    assert "isthmus-info --help" in run("surprise", status=2)[1]
    run("--env-markdown", "--json", status=2)
    assert run("--version")[0].startswith("isthmus-info ")


def a_full_disk_is_an_error():
    with open("/dev/full", "w") as full:
        assert subprocess.run([INFO, "--version"], env=CLEAN, stdout=full, stderr=subprocess.DEVNULL).returncode == 1


def routes_of_a_job():
    launcher = [os.path.join(BIN, "isthmus-run"), "-n", "3"]
    out, _ = run("--routes", "--json", launcher=launcher)
    routes = json.loads(out)["routes"]
    assert routes["n_pes"] == 3 and [len(pe["routes"]) for pe in routes["pes"]] == [3, 3, 3], routes
    kinds = [routes["kinds"][kind] for pe in routes["pes"] for kind in pe["routes"]]
    assert all(kind["transport"] == "loopback" and kind["load_and_store"] for kind in kinds), kinds
    out, _ = run("--routes", launcher=launcher, env={"ISTHMUS_ALIAS": "0"})
    assert out.startswith("Routes between 3 PEs on 1 host\n") and "ISTHMUS_ALIAS is off" in " ".join(out.split()), out


def the_reference_page_is_current():
    if os.path.exists(PAGE):
        with open(PAGE) as page:
            assert page.read() == run("--env-markdown")[0], f"run isthmus-info --env-markdown > {PAGE}"


CHECKS = [one_screen, lines_fit_80_columns, json_in_every_combination, env_says_where_a_value_comes_from,
          a_bad_value_is_reported, an_unknown_name_gets_a_suggestion, an_unknown_transport_is_explained,
          a_refused_plugin_is_explained, options_are_checked, a_full_disk_is_an_error, routes_of_a_job,
          the_reference_page_is_current]

sys.exit(run_all(CHECKS))
