"""processes.py: processes of tests, which end with all that they have started, at a deadline at the latest."""
import os
import signal
import subprocess
import time

GRACE_S = 5


def start(command, environment, **options):
    """In a session of its own; stdout and stderr are one pipe."""
    return subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True, **options)


def end(process):
    """Ends it and its descendants. Returns the rest of its output."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            return process.communicate(timeout=GRACE_S)[0]
        except ProcessLookupError:
            break
        except subprocess.TimeoutExpired:
            continue
    return process.communicate()[0]


def finish(started, timeout_s):
    """Waits for all of them, timeout_s in all; then, or if the wait is interrupted, those that still run are ended.
    Returns what all have printed."""
    deadline, printed = time.monotonic() + timeout_s, ""
    try:
        for process in started:
            try:
                printed += process.communicate(timeout=max(0, deadline - time.monotonic()))[0]
            except subprocess.TimeoutExpired:
                printed += f"{end(process)}\nended by the test after {timeout_s} s\n"
    finally:
        for process in started:
            if process.returncode is None:
                end(process)
    return printed
