#!/usr/bin/env python3
"""pmi.py BUILD CASE: jobs under launchers that have no PMIx: those with PMI-1 or PMI-2, and torchrun's variables.
"own": a server made for tests (pmi_server.py); "hydra", "intel": the launchers of MPICH and of Intel MPI out of wheels,
skipped (77) where these cannot be fetched; "torchrun": processes with its four variables; "missing": environments that
lack one. Prints failures and nothing else."""

import os
import random
import socket
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import pmi_server  # noqa: E402
import processes  # noqa: E402
import wheels  # noqa: E402

PES = 4
TIMEOUT_S = 100
# Of core/boot/boot_torch.c: how far above MASTER_PORT the ports are that PE 0 serves at.
PORT_DISTANCES = [1733 + 97 * job for job in range(8)]
OWN_PORTS = range(10000, 32768 - PORT_DISTANCES[-1])  # below those that Linux gives to connections
# Each once: the PEs of a job are silent while one of another job with the same port reports.
UNTRIED_PORTS = iter(random.sample(OWN_PORTS, len(OWN_PORTS)))
OF_LAUNCHERS = ("PMIX_", "PMI_", "OMPI_", "SLURM_", "MASTER_", "TORCHELASTIC_", "RANK", "WORLD_SIZE", "LOCAL_RANK")
failures = []


def fail(case, text, output=""):
    failures.append(case)
    print(f"pmi {case}: {text}")
    for line in output.splitlines()[:12]:
        print(f"    {line}")


def clean_environment():
    for name in list(os.environ):
        if name.startswith(OF_LAUNCHERS):
            if not name.startswith("OMPI_MCA_plm_rsh"):  # of hosts.sh: its stand-in for ssh
                del os.environ[name]


def master_port():
    """(a listening socket, its port), where the ports that follow from it are free too."""
    for port in UNTRIED_PORTS:
        listening = []
        try:
            for distance in (0, *PORT_DISTANCES):
                listening.append(socket.create_server(("127.0.0.1", port + distance)))
            return listening.pop(0), port
        except OSError:
            continue
        finally:
            for one in listening:
                one.close()
    raise RuntimeError(f"no free group of ports from {OWN_PORTS.start} to {OWN_PORTS.stop}")


class Job:
    def __init__(self, build):
        self.build = build

    def program(self, name, *arguments):
        return [str(self.build / "tests/pe" / name), *arguments]

    def is_silent(self, case, code, output):
        if code != 0 or output:
            fail(case, f"status {code}, and no silence", output)

    # ---- the server of the tests ----

    def serve(self, case, fault="", by_port=False, rounds=1, name="r1_pe_numbers", **environment):
        server = pmi_server.Server(PES, fault)
        codes, output = server.run(self.program(name), by_port, environment)
        self.is_silent(case, max(map(abs, codes)), output)
        wanted = {"put": rounds, "fence": PES * rounds, "get": (PES - 1) * rounds}
        if server.counts != wanted:
            fail(case, f"{server.counts} requests, and not {wanted}")

    def own(self):
        self.serve("by descriptor")
        self.serve("by port", by_port=True)
        self.serve("PMI-2 on request", ISTHMUS_BOOTSTRAP="pmi2")
        self.serve("PMI-2 by negotiation", fault="only_2")
        self.serve("PMI-1 on request", fault="only_1", ISTHMUS_BOOTSTRAP="pmi1")
        self.serve("jobs in a row", rounds=20, name="r4_init_again")

    def faults(self):
        for fault, wanted, environment in (
                ("damaged", "as the unique id; use one version of Isthmus on all PEs", {}),
                ("no_value", "server refuses a request", {}),
                ("closes", "server does not answer to 'barrier_out'", {}),
                ("only_1", "refuses a request", {"ISTHMUS_BOOTSTRAP": "pmi2"})):
            codes, output = pmi_server.Server(PES, fault).run(self.program("r1_pe_numbers"), environment=environment)
            if not any(codes) or wanted not in output:
                fail(fault, f"status {codes}, and no '{wanted}'", output)

    # ---- launchers ----

    def launch(self, case, command, *wanted, **environment):
        """`wanted`: the statuses that are right; none: 0, without a word."""
        job = processes.start(command, dict(os.environ, **environment))
        output = processes.finish([job], TIMEOUT_S)
        if not wanted:
            self.is_silent(case, job.returncode, output)
        elif None not in wanted and job.returncode not in wanted:
            fail(case, f"status {job.returncode} instead of {wanted}", output)
        return output

    def of_wheel(self, wheel, options, **environment):
        folder = wheels.fetch(self.build, wheel)
        mpiexec = next(folder.rglob("mpiexec.hydra"))
        for tool in mpiexec.parent.iterdir():
            tool.chmod(0o755)  # unpacking a wheel does not set the mode
        environment["LD_LIBRARY_PATH"] = str(mpiexec.parent.parent / "lib")
        for option in options:
            start = [str(mpiexec), *option, "-n", str(PES)]
            self.launch(f"{wheel} {option}", start + self.program("r1_pe_numbers"), **environment)
        start = [str(mpiexec), "-n", str(PES)]
        self.launch(f"{wheel} init again", start + self.program("r4_init_again"), **environment)
        self.launch(f"{wheel} reach", start + self.program("r3_init_makes_reachable"), **environment)
        self.launch(f"{wheel} leave", start + self.program("r13_exit_paths", "all_leave"), **environment)
        # 9: Hydra's own status, where it has killed the other PEs before it has read that of the first.
        self.launch(f"{wheel} end", start + self.program("r13_global_exit", "in_barrier"), 7, 9, **environment)
        self.launch(f"{wheel} one PE", [str(mpiexec), "-n", "1", *self.program("r4_init_again")], **environment)
        return start, environment

    def hydra(self):
        start, environment = self.of_wheel("mpich", ([], ["-pmi-port"]))
        self.launch("mpich PMI-2", start + self.program("r1_pe_numbers"), **environment, ISTHMUS_BOOTSTRAP="pmi2")
        info = self.launch("isthmus-info", [*start, str(self.build / "bin/isthmus-info")], None, **environment)
        if info.count("launcher    PMI: PMI_FD is ") != PES:
            fail("isthmus-info", "it does not name the launcher", info)

    def intel(self):
        if os.environ.get("CI") != "true" and not wheels.is_fetched(self.build, "impi"):
            raise wheels.NotHere("Intel MPI, 130 MB under Intel's licence, is fetched only where CI=true is set")
        self.of_wheel("impi", ([],))

    # ---- torchrun ----

    def processes(self, variables, name="r1_pe_numbers"):
        jobs = [processes.start(self.program(name), dict(os.environ, **each)) for each in variables]
        output = processes.finish(jobs, TIMEOUT_S)
        return [job.returncode for job in jobs], output

    def torch(self, port, **more):
        return [{"RANK": str(i), "LOCAL_RANK": str(i), "WORLD_SIZE": str(PES), "MASTER_ADDR": "127.0.0.1",
                 "MASTER_PORT": str(port), **more} for i in range(PES)]

    def torchrun(self):
        store, port = master_port()  # as PyTorch's store listens at MASTER_PORT
        for name in ("r1_pe_numbers", "r4_init_again"):
            codes, output = self.processes(self.torch(port), name)
            self.is_silent(f"torchrun {name}", max(map(abs, codes)), output)
        codes, output = self.processes(self.torch(port, ISTHMUS_START_TIMEOUT="2")[:1])
        if codes != [1] or "1 of 4 PEs have joined the job" not in output:
            fail("torchrun, three PEs missing", f"status {codes}", output)
        codes, output = self.processes(self.torch(port, ISTHMUS_START_TIMEOUT="2")[1:])
        missing = (f"PE 0, which serves the job at 127.0.0.1 port {port + PORT_DISTANCES[0]}, cannot be reached within "
                   "2 s (ISTHMUS_START_TIMEOUT): ")
        if set(codes) != {1} or output.count("the job cannot start") != 1 or missing not in output:
            fail("torchrun, PE 0 missing", f"status {codes}", output)
        store.close()

    # ---- across the hosts of tests/hosts/hosts.sh, in which these run ----

    def hosts_hydra(self):
        if not wheels.is_fetched(self.build, "mpich"):
            raise wheels.NotHere("MPICH's wheel is not in the build folder, and these hosts reach no network; "
                                 "launch.pmi.hydra fetches it")
        mpiexec = next(wheels.fetch(self.build, "mpich").rglob("mpiexec.hydra"))
        for tool in mpiexec.parent.iterdir():
            tool.chmod(0o755)
        start = [str(mpiexec), "-launcher", "ssh", "-launcher-exec", os.environ["OMPI_MCA_plm_rsh_agent"], "-hosts",
                 "host1,host2", "-ppn", str(PES // 2), "-n", str(PES)]
        for name in ("r1_pe_numbers", "r3_init_makes_reachable", "r4_init_again"):
            self.launch(f"hosts, mpich {name}", start + self.program(name))

    def hosts_torchrun(self):
        for name in ("r1_pe_numbers", "r3_init_makes_reachable", "r4_init_again"):
            jobs = []
            for i, variables in enumerate(self.torch(29500, MASTER_ADDR="host1")):
                command = [os.environ["OMPI_MCA_plm_rsh_agent"], f"host{1 + i // 2}", "env",
                           *(f"{key}={value}" for key, value in variables.items()), *self.program(name)]
                jobs.append(processes.start(command, os.environ))
            output = processes.finish(jobs, TIMEOUT_S)
            self.is_silent(f"hosts, torchrun {name}", max(abs(job.returncode) for job in jobs), output)

    # ---- environments ----

    def missing(self):
        fd = {"PMI_FD": "0", "PMI_RANK": "0", "PMI_SIZE": "4"}
        torch = self.torch(29500)[0]
        for wanted, variables in (
                ("PMI_FD is 0, PMI_SIZE is 4, but PMI_RANK is not set", {**fd, "PMI_RANK": ""}),
                ("PMI_FD is 0, PMI_RANK is 0, but PMI_SIZE is not set", {**fd, "PMI_SIZE": ""}),
                ("PMI_PORT is host:1, but PMI_ID is not set", {"PMI_PORT": "host:1"}),
                ("PMI_RANK is '4'; accepted: a number from 0 to one less", {**fd, "PMI_RANK": "4"}),
                ("PMI_FD is '99', but this process has no such open descriptor", {**fd, "PMI_FD": "99"}),
                ("PMI_PORT is 'port'; accepted: host:port", {"PMI_PORT": "port", "PMI_ID": "0"}),
                ("PMIX_NAMESPACE is job, but PMIX_RANK is not set", {"PMIX_NAMESPACE": "job"}),
                ("but RANK is not set", {**torch, "RANK": ""}),
                ("but MASTER_ADDR is not set", {**torch, "MASTER_ADDR": ""}),
                ("but MASTER_PORT is not set", {**torch, "MASTER_PORT": ""}),
                ("RANK is '7'; accepted: a number from 0 to one less", {**torch, "RANK": "7"}),
                ("MASTER_PORT is '0'; accepted: a number from 1", {**torch, "MASTER_PORT": "0"}),
                ("MASTER_ADDR with the port of PE 0 is 'host.invalid:31233', whose host cannot be resolved",
                 {**torch, "MASTER_ADDR": "host.invalid", "RES_OPTIONS": "timeout:1 attempts:1"}),
                ("ISTHMUS_BOOTSTRAP is 'pmi1', but PMI_FD, PMI_RANK and PMI_SIZE are not set",
                 {"ISTHMUS_BOOTSTRAP": "pmi1"}),
                ("ISTHMUS_BOOTSTRAP is 'torchrun', but RANK, WORLD_SIZE", {"ISTHMUS_BOOTSTRAP": "torchrun"})):
            codes, output = self.processes([variables])
            if codes == [0] or wanted not in output:
                fail("missing", f"status {codes}, and no '{wanted}'", output)
        # Everyday names, which no launcher has set.
        for variables in ({"RANK": "general"}, {"WORLD_SIZE": "4"}, {"MASTER_ADDR": "a", "MASTER_PORT": "1"},
                          {**torch, "WORLD_SIZE": "1"}):
            codes, output = self.processes([variables])
            self.is_silent(f"one PE with {variables}", codes[0], output)


def main():
    job = Job(Path(sys.argv[1]).resolve())
    clean_environment()
    try:
        getattr(job, sys.argv[2])()
    except wheels.NotHere as why:
        print(f"skipped: {why}")
        return wheels.SKIPPED
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
