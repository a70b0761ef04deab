"""The load generators, and one measurement with one of them."""

import re
import shutil

from process import Failure, output

MILLISECONDS = {"us": 0.001, "ms": 1, "s": 1000}


def field(pattern, text, default=None):
    found = re.search(pattern, text, re.MULTILINE)
    if found is None and default is None:
        raise Failure(f"the load generator printed nothing like `{pattern}`:\n{text}")
    return found.group(1) if found else default


def wrk(url, seconds):
    """Requests done, requests per second, and the 50th and 99th percentile in milliseconds."""
    text = output(["wrk", "-t1", "-c10", f"-d{seconds}s", "--timeout", "10s", "--latency", url])
    if "Socket errors" in text or "Non-2xx" in text:
        raise Failure(f"wrk met errors:\n{text}")

    def percentile(which):
        return float(field(rf"{which}%\s+([\d.]+)", text)) * MILLISECONDS[field(rf"{which}%\s+[\d.]+(us|ms|s)", text)]

    done, rate = field(r"(\d+) requests in", text), field(r"Requests/sec:\s+([\d.]+)", text)
    return int(done), float(rate), percentile(50), percentile(99)


def ab(url, seconds):
    """The same from ab, which opens a connection for each request."""
    # -n after -t, as -t sets it to 50,000.
    text = output(["ab", "-q", "-c", "10", "-t", str(seconds), "-n", "10000000", url])
    # A body that changes its length from one reply to the next is no failure (a counter gets a digit more).
    wrong = int(field(r"Non-2xx responses:\s+(\d+)", text, "0"))
    wrong += int(field(r"Connect: (\d+)", text, "0")) + int(field(r"Receive: (\d+)", text, "0"))
    if wrong:
        raise Failure(f"ab met errors:\n{text}")
    done, rate = field(r"Complete requests:\s+(\d+)", text), field(r"Requests per second:\s+([\d.]+)", text)
    return int(done), float(rate), float(field(r"^\s+50%\s+(\d+)", text)), float(field(r"^\s+99%\s+(\d+)", text))


def tools():
    """The load generators that are installed, the steadier one first."""
    found = {name: tool for name, tool in (("wrk", wrk), ("ab", ab)) if shutil.which(name)}
    if not found:
        raise Failure("neither wrk nor ab is installed, on Debian: apt install wrk apache2-utils")
    return found


def measure(server, tool, path, seconds):
    """What a request cost the server, `all` with its database's server, in µs; and how fast it was."""
    cpu, database = server.process.cpu(), server.database_cpu()
    done, rate, p50, p99 = tool(f"http://127.0.0.1:{server.process.port}{path}", seconds)
    cpu, database = server.process.cpu() - cpu, server.database_cpu() - database
    if not server.process.is_running():
        raise server.process.failure("ended while it was measured")
    each = 1e6 / max(done, 1)
    return {"rate": rate, "cpu": cpu * each, "all": (cpu + database) * each, "p50": p50, "p99": p99}
