#!/usr/bin/env python3
"""pmi_server.py: a launcher with PMI-1 or PMI-2, for tests: starts N processes, and serves both protocols over a socket
pair for each (PMI_FD) or over TCP (PMI_PORT, PMI_ID). It replies to what a bootstrap requests and to nothing else, and
strictly: a request that is out of order, or a value longer than a launcher's, ends the job with a line. `fault`: what
it does wrong, once it is to do it."""

import os
import selectors
import socket
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import processes  # noqa: E402

VALUE_MAX = 256  # the least that launchers accept, with the end of the text
KEY_MAX = 64
TIMEOUT_S = 100  # for a job


class Refused(Exception):
    """A request that a launcher does not accept."""


class Client:
    def __init__(self, rank, connection):
        self.rank, self.connection = rank, connection
        self.bytes = b""
        self.version = 0
        self.is_finished = False

    def send(self, text):
        if self.version == 2:
            text = f"{len(text):6d}{text}"
        self.connection.sendall(text.encode())

    def take(self):
        """The next whole request, as a dictionary; None: there is none yet."""
        if self.version == 2:
            length = int(self.bytes[:6]) if len(self.bytes) >= 6 else -1
            if length < 0 or len(self.bytes) < 6 + length:
                return None
            text, self.bytes = self.bytes[6:6 + length], self.bytes[6 + length:]
            return dict(pair.split("=", 1) for pair in text.decode().split(";") if pair)
        end = self.bytes.find(b"\n")
        if end < 0:
            return None
        text, self.bytes = self.bytes[:end], self.bytes[end + 1:]
        return dict(pair.split("=", 1) for pair in text.decode().split(" ") if pair)


class Server:
    def __init__(self, n, fault=""):
        self.n, self.fault = n, fault
        self.values, self.waiting = {}, []
        self.counts = {"put": 0, "fence": 0, "get": 0}
        self.events = selectors.DefaultSelector()

    # ---- requests ----

    def put(self, key, value):
        if len(key) >= KEY_MAX or len(value) >= VALUE_MAX:
            raise Refused(f"a key of {len(key)} or a value of {len(value)} characters")
        if key in self.values:
            raise Refused(f"a second put of {key}")
        self.counts["put"] += 1
        self.values[key] = "zz" + value[2:] if self.fault == "damaged" else value

    def arrive(self, client, reply):
        self.counts["fence"] += 1
        self.waiting.append((client, reply))
        if len(self.waiting) == self.n:
            for one, text in self.waiting:
                one.send(text)
            self.waiting = []

    def init(self, client, request):
        version = int(request["pmi_version"])
        is_refused = self.fault == "only_2" and version == 1 or self.fault == "only_1" and version == 2
        reply = (f"cmd=response_to_init pmi_version={3 - version if is_refused else version} pmi_subversion=0 "
                 f"rc={'-1' if is_refused else 0}\n")
        client.version = 0
        client.send(reply)
        client.version = 0 if is_refused else version

    def serve_1(self, client, request):
        command = request["cmd"]
        if command == "initack":
            client.rank = int(request["pmiid"])
            client.send(f"cmd=initack rc=0\ncmd=set size={self.n}\ncmd=set rank={client.rank}\ncmd=set debug=0\n")
        elif command == "get_my_kvsname":
            client.send("cmd=my_kvsname rc=0 kvsname=space_of_the_job\n")
        elif command == "put":
            self.put(request["key"], request["value"])
            client.send("cmd=put_result rc=0 msg=success\n")
        elif command == "barrier_in":
            self.arrive(client, "cmd=barrier_out rc=0\n")
        elif command == "get":
            self.counts["get"] += 1
            value = self.values.get(request["key"])
            client.send("cmd=get_result rc=-1 msg=key_not_found\n" if value is None or self.fault == "no_value"
                        else f"cmd=get_result rc=0 msg=success value={value}\n")
        elif command == "finalize":
            client.send("cmd=finalize_ack rc=0\n")
            client.is_finished = True
        else:
            raise Refused(f"PMI-1 has no {command}")

    def serve_2(self, client, request):
        command = request["cmd"]
        reply = f"cmd={command}-response;"
        if command == "fullinit":
            client.send(f"{reply}pmi-version=2;rank={request['pmirank']};size={self.n};appnum=0;rc=0;")
        elif command == "job-getid":
            client.send(f"{reply}jobid=the_job;rc=0;")
        elif command == "kvs-put":
            self.put(request["key"], request["value"])
            client.send(f"{reply}rc=0;")
        elif command == "kvs-fence":
            self.arrive(client, f"{reply}rc=0;")
        elif command == "kvs-get":
            self.counts["get"] += 1
            client.send(f"{reply}found=TRUE;value={self.values[request['key']]};rc=0;")
        elif command == "finalize":
            client.send(f"{reply}rc=0;")
            client.is_finished = True
        else:
            raise Refused(f"PMI-2 has no {command}")

    def serve(self, client):
        data = client.connection.recv(4096)
        if not data:
            self.events.unregister(client.connection)
            return
        client.bytes += data
        while (request := client.take()) is not None:
            if client.is_finished:
                raise Refused("a request after finalize")
            if self.fault == "closes" and request["cmd"] == "barrier_in":
                client.connection.shutdown(socket.SHUT_RDWR)
            elif request["cmd"] == "init":
                self.init(client, request)
            elif client.version == 2:
                self.serve_2(client, request)
            else:
                self.serve_1(client, request)

    # ---- the job ----

    def start(self, command, by_port, environment):
        listener = socket.create_server(("127.0.0.1", 0), backlog=self.n) if by_port else None
        jobs = []
        for rank in range(self.n):
            env = dict(os.environ, **environment)
            theirs = None
            if by_port:
                env.update(PMI_PORT=f"127.0.0.1:{listener.getsockname()[1]}", PMI_ID=str(rank))
            else:
                ours, theirs = socket.socketpair()
                self.events.register(ours, selectors.EVENT_READ, Client(rank, ours))
                env.update(PMI_FD=str(theirs.fileno()), PMI_RANK=str(rank), PMI_SIZE=str(self.n))
            jobs.append(processes.start(command, env, pass_fds=[theirs.fileno()] if theirs else []))
            if theirs:
                theirs.close()
        if by_port:
            self.events.register(listener, selectors.EVENT_READ, None)
        return jobs

    def run(self, command, by_port=False, environment=None):
        """([exit statuses], output of all). As a launcher does, it ends the others when one fails, or after
        TIMEOUT_S."""
        jobs, deadline = self.start(command, by_port, environment or {}), time.monotonic() + TIMEOUT_S
        try:
            while any(job.poll() is None for job in jobs) and time.monotonic() < deadline:
                for key, _ in self.events.select(0.05):
                    if key.data is None:
                        connection, _ = key.fileobj.accept()
                        self.events.register(connection, selectors.EVENT_READ, Client(-1, connection))
                    else:
                        self.serve(key.data)
                if any(job.poll() not in (None, 0) for job in jobs):
                    break
        finally:
            output = "".join(processes.end(job) for job in jobs)
        return [job.returncode for job in jobs], output
