"""The load generators, and one measurement with one of them."""

import re

from process import Failure, output


def field(pattern, text, default=None):
    found = re.search(pattern, text, re.MULTILINE)
    if found is None and default is None:
        raise Failure(f"the load generator printed nothing like `{pattern}`:\n{text}")
    return found.group(1) if found else default


def wrk(url, seconds):
    """Requests done, requests per second, and the 99th percentile in milliseconds."""
    text = output(["wrk", "-t1", "-c10", f"-d{seconds}s", "--latency", url])
    if "Socket errors" in text or "Non-2xx" in text:
        raise Failure(f"wrk met errors:\n{text}")
    number, unit = re.search(r"99%\s+([\d.]+)(us|ms|s)", text).groups()
    p99 = float(number) * {"us": 0.001, "ms": 1, "s": 1000}[unit]
    return int(field(r"(\d+) requests in", text)), float(field(r"Requests/sec:\s+([\d.]+)", text)), p99


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
    return int(done), float(rate), float(field(r"^\s+99%\s+(\d+)", text))


def measure(server, tool, path, seconds):
    before = server.cpu()
    done, rate, p99 = tool(f"http://127.0.0.1:{server.port}{path}", seconds)
    used = server.cpu() - before
    if server.process.poll() is not None:
        raise Failure(f"{server.name} ended while it was measured")
    return {"rate": rate, "cpu": used / max(done, 1) * 1e6, "p99": p99}
