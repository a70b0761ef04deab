"""A server process: its start, its check, its end, and what it used of the machine."""

import os
import socket
import subprocess
import time
import urllib.request
from pathlib import Path

TICK = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


class Failure(Exception):
    """Something that makes the figures worthless; shown without a trace."""


class Server:
    """A server process that is measured."""

    def __init__(self, name, command, port, folder):
        self.name, self.port, self.figures = name, port, []
        self.log = open(Path(folder) / f"{name.replace(' ', '-')}.out", "w+b")
        # A session of its own keeps Ctrl-C for this program, which then stops the servers in order.
        self.process = subprocess.Popen(
            command, cwd=folder, stdout=self.log, stderr=subprocess.STDOUT, start_new_session=True
        )

    def wait_until_ready(self):
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port), 0.2).close()
                return
            except OSError:
                time.sleep(0.02)
        self.log.seek(0)
        raise Failure(f"{self.name} does not serve:\n{self.log.read().decode(errors='replace')}")

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
        """Seconds of user and system time of the server so far."""
        fields = [stat(pid) for pid in self.processes()]
        return sum(int(it[11]) + int(it[12]) for it in fields if it) / TICK

    def resident(self):
        """Bytes in memory, what processes share counted once for each."""
        fields = [stat(pid) for pid in self.processes()]
        return sum(int(it[21]) for it in fields if it) * PAGE

    def check(self, path, body):
        """A server that answers something else would be measured for nothing."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=10) as reply:
            got = reply.read()
            kind = reply.headers.get("content-type", "")
        if body is not None and (got != body or not kind.startswith("application/json")):
            raise Failure(f"{self.name} answers {got!r} as {kind!r}, expected {body!r} as JSON")

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
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


def output(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise Failure(f"`{' '.join(command)}` failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def free_port():
    with socket.socket() as it:
        it.bind(("127.0.0.1", 0))
        return it.getsockname()[1]
