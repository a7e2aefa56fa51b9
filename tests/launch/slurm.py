#!/usr/bin/env python3
"""slurm.py BUILD: jobs under srun --mpi=pmi2, and --mpi=pmix where Slurm has that plugin, of a Slurm of its own:
munged, slurmctld and slurmd in a private folder, on ports that are free, for the length of this test. Exit status 77,
and a line with the reason, where one of them is not installed or this user is not root."""

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
sys.dont_write_bytecode = True  # the source tree stays as it is

import processes
import wheels
from pmi import clean_environment

TOOLS = {"munged": "munge", "slurmctld": "slurmctld", "slurmd": "slurmd", "srun": "slurm-client",
         "sinfo": "slurm-client"}
START_S = 60
TIMEOUT_S = 60
STATUS_OF_EXIT = 7  # of r13_global_exit

CONFIGURATION = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={daemon}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SwitchType=switch/none
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=2
MailProg=/bin/true
StateSaveLocation={folder}/state
TmpFS={folder}
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
NodeName={host} NodeHostname={host} NodeAddr=127.0.0.1 CPUs=4 RealMemory=500 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def free_ports(n):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(n)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def tool(name):
    path = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    if path is None:
        raise wheels.NotHere(f"{name} is not installed; Debian's package is {TOOLS[name]}")
    return path


class Slurm:
    def __init__(self, folder):
        if os.geteuid() != 0:
            raise wheels.NotHere("only root may start Slurm's daemons for a test")
        self.tools = {name: tool(name) for name in TOOLS}
        self.folder, self.daemons = folder, []
        host = socket.gethostname().partition(".")[0]
        controller, daemon = free_ports(2)
        for name in ("state", "spool"):
            (folder / name).mkdir()
        (folder / "slurm.conf").write_text(CONFIGURATION.format(host=host, controller=controller, daemon=daemon,
                                                                folder=folder))
        (folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")  # slurmd reads it even where nothing uses it
        key = folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)
        self.environment = os.environ | {"SLURM_CONF": str(folder / "slurm.conf")}

    def daemon(self, name, *arguments):
        with open(self.folder / f"{name}.out", "wb") as output:
            self.daemons.append(subprocess.Popen([self.tools[name], *arguments], env=self.environment,
                                                 stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                                                 start_new_session=True))

    def wait(self, what, condition):
        end = time.monotonic() + START_S
        while not condition():
            dead = [process.args[0] for process in self.daemons if process.poll() is not None]
            if dead or time.monotonic() > end:
                logs = "".join(path.read_text(errors="replace")[-1500:]
                               for path in (*self.folder.glob("*.out"), *self.folder.glob("*.log")))
                raise RuntimeError(f"{what}: {dead or 'nothing'} ended within {START_S} s\n{logs}")
            time.sleep(0.05)

    def start(self):
        in_folder = {"key-file": "munge.key", "socket": "munge.socket", "pid-file": "munge.pid",
                     "log-file": "munged.log", "seed-file": "munge.seed"}
        self.daemon("munged", "--foreground", "--force",
                    *(f"--{option}={self.folder / name}" for option, name in in_folder.items()))
        self.wait("no socket of munged", (self.folder / "munge.socket").exists)
        self.daemon("slurmctld", "-D")
        self.daemon("slurmd", "-D")
        self.wait("the node is not idle", lambda: self.output("sinfo", "-h", "-o", "%T").strip() == "idle")

    def output(self, name, *arguments):
        return subprocess.run([self.tools[name], *arguments], env=self.environment, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False, timeout=TIMEOUT_S).stdout

    def plugins(self):
        """--mpi's values."""
        done = subprocess.run([self.tools["srun"], "--mpi=list"], env=self.environment, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False, timeout=TIMEOUT_S)
        return re.findall(r"\b(pmi2|pmix)\b(?!_)", done.stdout + done.stderr)

    def run(self, *arguments):
        job = processes.start([self.tools["srun"], "--quiet", "--overcommit", *arguments], self.environment)
        output = processes.finish([job], TIMEOUT_S)
        return job.returncode, output

    def end(self):
        for process in reversed(self.daemons):
            process.terminate()
        for process in self.daemons:
            try:
                process.wait(timeout=processes.GRACE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def lines_of_hello(n_pes):
    """What the example prints, in order: a number of each PE's left neighbour, and a sum."""
    return sorted([f"PE {pe} of {n_pes}: my left neighbour is PE {(pe - 1) % n_pes}" for pe in range(n_pes)] +
                  [f"the sum of all PE numbers is {n_pes * (n_pes - 1) // 2}"])


def jobs():
    """(number of PEs, program and arguments, the status that is right, the lines or None for any)"""
    for n_pes in (2, 4):
        yield n_pes, ["bin/hello"], 0, lines_of_hello(n_pes)
        for name in ("r1_pe_numbers", "r3_init_makes_reachable", "r4_init_again"):
            yield n_pes, [f"tests/pe/{name}"], 0, []
    yield 4, ["tests/pe/r13_global_exit", "in_barrier"], STATUS_OF_EXIT, None


def check(build, slurm):
    passed = failed = 0
    offered = slurm.plugins()
    if "pmi2" not in offered:
        raise wheels.NotHere("this Slurm has no plugin pmi2; Debian's package is slurm-wlm-basic-plugins")
    for plugin in sorted(set(offered)):
        for n_pes, (name, *arguments), right, lines in jobs():
            status, output = slurm.run(f"--mpi={plugin}", "-n", str(n_pes), str(build / name), *arguments)
            good = status == right and (lines is None or sorted(output.splitlines()) == lines)
            passed, failed = passed + good, failed + (not good)
            if not good:
                print(f"slurm: {plugin}, {n_pes} PEs, {name} FAILED: status {status}, expected {right}; output:\n"
                      f"{output[-2000:]}", flush=True)
    print(f"slurm: {passed} passed, {failed} failed, {0 if 'pmix' in offered else 1} skipped")
    return 1 if failed else 0


def main():
    clean_environment()
    slurm = None
    with tempfile.TemporaryDirectory(prefix="slurm.", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)  # munge requires that every user may reach its socket
        try:
            slurm = Slurm(Path(folder))
            slurm.start()
            return check(Path(sys.argv[1]).resolve(), slurm)
        except wheels.NotHere as why:
            print(f"slurm: skipped: {why}")
            return wheels.SKIPPED
        except RuntimeError as why:
            print(f"slurm: FAILED: {why}")
            return 1
        finally:
            if slurm:
                slurm.end()


if __name__ == "__main__":
    sys.exit(main())
