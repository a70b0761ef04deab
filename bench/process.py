"""A server process: its start, its end, and what it used of the machine."""

import os
import signal
import socket
import subprocess
import time
from pathlib import Path

TICK = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


class Failure(Exception):
    """Something that makes the figures worthless; shown without a trace."""


class Process:
    """A server on a port of the loopback address, with all processes below it."""

    def __init__(self, name, command, port, folder, log, **how):
        self.name, self.port = name, port
        self.log = open(Path(log) / f"{name.replace(' ', '-')}.out", "w+b")
        # A session of its own keeps Ctrl-C for this program, which then stops the servers in order.
        self.process = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.DEVNULL, stdout=self.log, stderr=subprocess.STDOUT,
            start_new_session=True, **how
        )

    def is_running(self):
        return self.process.poll() is None

    def wait_until_ready(self):
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline and self.is_running():
            try:
                socket.create_connection(("127.0.0.1", self.port), 0.2).close()
                return
            except OSError:
                time.sleep(0.02)
        raise self.failure("does not serve")

    def failure(self, what):
        """The failure to raise: with what the server printed."""
        self.log.seek(0)
        return Failure(f"{self.name} {what}:\n{self.log.read().decode(errors='replace')}")

    def processes(self):
        """The ids of the server's process and of all below it."""
        parents = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                fields = stat(entry.name)
                if fields:
                    parents.setdefault(int(fields[1]), []).append(int(entry.name))
        found, new = [], [self.process.pid]
        while new:
            found += new
            new = [child for pid in new for child in parents.get(pid, [])]
        return found

    def cpu(self):
        """Seconds of user and system time of the server so far, those of processes that ended included."""
        fields = [stat(pid) for pid in self.processes()]
        return sum(sum(map(int, it[11:15])) for it in fields if it) / TICK

    def resident(self):
        """Bytes in memory, what processes share counted once for each."""
        fields = [stat(pid) for pid in self.processes()]
        return sum(int(it[21]) for it in fields if it) * PAGE

    def stop(self, ending=signal.SIGTERM):
        if self.is_running():
            self.process.send_signal(ending)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.log.close()


def stat(pid):
    """The fields of /proc/PID/stat that follow the name, or None if the process is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None


def output(command, **how):
    done = subprocess.run(command, capture_output=True, text=True, **how)
    if done.returncode != 0:
        raise Failure(f"`{' '.join(command)}` failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def free_port():
    with socket.socket() as it:
        it.bind(("127.0.0.1", 0))
        return it.getsockname()[1]
