"""The servers that are measured: how each is started, and what it needs to be here."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from database import NAME
from process import Failure, Process, free_port, output

ROOT = Path(__file__).resolve().parent.parent
PEERS = ROOT / "bench/peers"
BASE = "bare hyper"


class Server:
    """A server that is measured, from `start` on."""

    def __init__(self, name, port, command, folder=ROOT, database=None, env=None):
        self.name, self.port, self.command, self.folder = name, port, command, folder
        self.database, self.env = database, env or {}
        self.is_floor = name == BASE
        self.process, self.figures = None, []

    def start(self, log):
        command = [str(it) for it in self.command]
        self.process = Process(self.name, command, self.port, self.folder, log, env=os.environ | self.env)
        self.process.wait_until_ready()

    def database_cpu(self):
        return self.database.cpu() if self.database else 0

    def stop(self):
        if self.process:
            self.process.stop()


def left_out(what):
    print(f"{what} is not installed and left out", file=sys.stderr)


def filled(file, folder, **values):
    """A peer's configuration as a file in the folder, with the values of what it names in capitals."""
    text = Path(file).read_text()
    for name, value in {"FOLDER": folder, **values}.items():
        # A whole word, which is no part of another such as `DB_PORT`.
        text = re.sub(rf"\b{name}\b", lambda _: str(value), text)
    made = Path(folder) / f"{Path(file).parent.name}-{Path(file).name}"
    made.write_text(text)
    return made


def nginx():
    """nginx if it has Lua."""
    found = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin")
    return found if any(Path("/etc/nginx/modules-enabled").glob("*lua.conf")) else None


class Binaries:
    """rhaid and bare hyper, built or given."""

    def __init__(self, rhaid, bare_hyper):
        self.rhaid, self.bare_hyper = rhaid, bare_hyper

    @staticmethod
    def build(profile):
        output(["cargo", "build", "--quiet", "--manifest-path", str(ROOT / "Cargo.toml"), "--profile", profile,
                "--bin", "rhaid", "--example", "bare_hyper"])
        target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
        return Binaries.beside(target / ("debug" if profile == "dev" else profile) / "rhaid")

    @staticmethod
    def beside(rhaid):
        rhaid = Path(rhaid).absolute()
        return Binaries(rhaid, rhaid.parent / "examples/bare_hyper")

    def serve(self, port, conf):
        return [self.rhaid, "--listen", f"127.0.0.1:{port}", "--num-threads", "1", "--conf", conf]

    def floor(self, *arguments):
        port = free_port()
        if self.bare_hyper.exists():
            yield Server(BASE, port, [self.bare_hyper, "--port", port, *arguments])
        else:
            left_out(f"`{self.bare_hyper}`")


class Sample:
    """A copy of the sample on a database, as what it writes must not stay; its migrations fill the database."""

    def __init__(self, binaries, folder, database):
        self.binaries, self.database = binaries, database
        self.folder = Path(folder) / f"sample-{database.name}"
        for name in ("conf", "handlers"):
            shutil.copytree(ROOT / name, self.folder / name)
        self.conf = self.folder / "conf" / database.conf
        conf = self.conf.read_text()
        text, count = re.subn(r"^( +url: ).*$", lambda it: it.group(1) + database.url, conf, flags=re.MULTILINE)
        if count != 1:
            raise Failure(f"`{self.conf}` has {count} lines with `url:`, expected one")
        self.conf.write_text(text)
        self.call("/json_api")

    def call(self, path):
        """What rhaid answers, in bytes."""
        command = [str(self.binaries.rhaid), "call", "--conf", str(self.conf), "GET", path]
        return output(command, cwd=self.folder).encode()

    def server(self, name):
        port = free_port()
        return Server(name, port, self.binaries.serve(port, self.conf), self.folder, self.database)


def of_json_api(binaries, folder):
    port = free_port()
    yield Server("rhaid", port, binaries.serve(port, "bench/conf/rhaid.yaml"))
    yield from binaries.floor()
    h2o = shutil.which("h2o")
    if h2o and "mruby: YES" in subprocess.run([h2o, "--version"], capture_output=True, text=True).stdout:
        port = free_port()
        yield Server("h2o + mruby", port, [h2o, "-c", filled(ROOT / "bench/conf/h2o.yaml", folder, PORT=port)])
    else:
        left_out("h2o with mruby")
    if nginx():
        port = free_port()
        conf = filled(ROOT / "bench/conf/nginx.conf", folder, PORT=port)
        yield Server("nginx + Lua", port, [nginx(), "-e", f"{folder}/nginx.log", "-c", conf])
    else:
        left_out("nginx with Lua")


def of_databases(samples, folder, body, resty):
    """rhaid on each database, and the peers on MariaDB where that is here; `body` is what bare hyper gives."""
    for sample in samples:
        yield sample.server(f"rhaid on {sample.database.name}")
    file = Path(folder) / "body"
    file.write_bytes(body)
    yield from samples[0].binaries.floor("--body", file)
    mariadb = next((sample.database for sample in samples if sample.database.name == "MariaDB"), None)
    if mariadb:
        yield from on_mariadb(mariadb, folder, resty)


def on_mariadb(database, folder, resty):
    env = {"DB_HOST": "127.0.0.1", "DB_PORT": str(database.port)}
    env |= {name: NAME for name in ("DB_USER", "DB_PASSWORD", "DB_NAME")}

    def peer(name, port, *command, **more):
        return Server(f"{name} on MariaDB", port, command, folder, database, env | more)

    port = free_port()
    if nginx() and resty:
        conf = filled(PEERS / "nginx/nginx.conf", folder, PORT=port, PEER=PEERS / "nginx", RESTY=resty)
        yield peer("nginx + Lua", port, nginx(), "-e", f"{folder}/nginx.log", "-c", conf)
    else:
        left_out("nginx with Lua and lua-resty-mysql (`--lua-resty-mysql DIR`)")
    port, binary = free_port(), Path(folder) / "go"
    if build_go(binary):
        yield peer("Go", port, binary, port, GOMAXPROCS="1")
    else:
        left_out("Go with go-sql-driver")
    port = free_port()
    if has_ruby("thin", "sinatra/base", "mysql2"):
        yield peer("Sinatra + Thin", port, "thin", "start", "--quiet", "--environment", "production",
                   "--address", "127.0.0.1", "--port", port, "--rackup", PEERS / "sinatra/config.ru")
    else:
        left_out("Sinatra with Thin and mysql2")
    port = free_port()
    if has_ruby("puma", "grape", "grape-entity", "active_record", "mysql2"):
        yield peer("Grape + Puma", port, "puma", "--no-config", "--quiet", "--environment", "production",
                   "--workers", 0, "--threads", "5:5", "--bind", f"tcp://127.0.0.1:{port}", PEERS / "grape/config.ru")
    else:
        left_out("Grape with Puma, ActiveRecord and mysql2")


def has_ruby(program, *libraries):
    """Whether the program is here, and a Ruby that has the libraries."""
    if shutil.which(program) is None or shutil.which("ruby") is None:
        return False
    required = [f"-r{library}" for library in libraries]
    return subprocess.run(["ruby", *required, "-e", ""], capture_output=True).returncode == 0


def build_go(binary):
    """Builds the peer in Go by what Debian has put into its GOPATH; False if the parts aren't here."""
    path = os.environ.get("GOPATH", "/usr/share/gocode")
    if shutil.which("go") is None or not (Path(path) / "src/github.com/go-sql-driver/mysql").is_dir():
        return False
    env = {**os.environ, "GOPATH": path, "GO111MODULE": "off"}
    output(["go", "build", "-o", str(binary), str(PEERS / "go/main.go")], env=env)
    return True
