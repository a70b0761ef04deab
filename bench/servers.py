"""The servers that are measured: how each is started, and what it needs to be here."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from process import free_port, output

ROOT = Path(__file__).resolve().parent.parent
BASE = "bare hyper"


def build(profile):
    output(["cargo", "build", "--quiet", "--manifest-path", str(ROOT / "Cargo.toml"), "--profile", profile,
            "--bin", "rhaid", "--example", "bare_hyper"])
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return target / ("debug" if profile == "dev" else profile)


def filled(name, port, folder):
    """The peer's configuration from bench/conf with its port and folder, as a file in the folder."""
    text = (ROOT / "bench/conf" / name).read_text().replace("PORT", str(port)).replace("FOLDER", folder)
    file = Path(folder) / name
    file.write_text(text)
    return str(file)


def has_mruby(h2o):
    return "mruby: YES" in subprocess.run([h2o, "--version"], capture_output=True, text=True).stdout


def has_lua():
    return any(Path("/etc/nginx/modules-enabled").glob("*lua.conf"))


def commands(binaries, folder, alone):
    """Name, command and port of each server that can be had here."""
    port = free_port()
    rhaid = [str(binaries / "rhaid"), "--listen", f"127.0.0.1:{port}", "--num-threads", "1"]
    if alone:
        # The sample itself, in a copy: what it writes must not stay.
        for name in ("conf", "handlers"):
            shutil.copytree(ROOT / name, Path(folder) / name)
        yield "rhaid", rhaid + ["--conf", "conf/host.yaml"], port
        return
    yield "rhaid", rhaid + ["--chdir", str(ROOT), "--conf", "bench/conf/rhaid.yaml"], port
    port = free_port()
    yield BASE, [str(binaries / "examples/bare_hyper"), "--port", str(port)], port
    h2o, nginx = shutil.which("h2o"), shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin")
    if h2o and has_mruby(h2o):
        port = free_port()
        yield "h2o + mruby", [h2o, "-c", filled("h2o.yaml", port, folder)], port
    else:
        print("h2o with mruby is not installed and left out", file=sys.stderr)
    if nginx and has_lua():
        port = free_port()
        yield "nginx + Lua", [nginx, "-e", f"{folder}/nginx.log", "-c", filled("nginx.conf", port, folder)], port
    else:
        print("nginx with Lua is not installed and left out", file=sys.stderr)
