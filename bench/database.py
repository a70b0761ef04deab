"""Private servers of databases, each in a temporary folder with an empty database; the machine's own are left alone."""

import os
import pwd
import shutil
import signal
import sqlite3
import subprocess
import time
from pathlib import Path

from process import Process, free_port, output

# User, password and name of the database: it holds the sample only, and is reached from this machine only.
NAME = "bench"


class Missing(Exception):
    """What isn't installed and is left out."""


def account(folder):
    """PostgreSQL refuses root; where we are root both servers run as `nobody`, to whom the folder is given."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    os.chown(folder, nobody.pw_uid, nobody.pw_gid)
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def programs(*names):
    """Where the programs are, those beside the first one first; None if one is missing."""
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda it: it.parent.name, reverse=True)
    places = [os.environ["PATH"], "/usr/sbin", "/usr/local/sbin", "/usr/libexec", *map(str, versions)]
    first = shutil.which(names[0], path=os.pathsep.join(places))
    if first is None:
        return None
    # Debian's `psql` in PATH is a slow wrapper of the real one.
    places.insert(0, str(Path(first).resolve().parent))
    found = [shutil.which(name, path=os.pathsep.join(places)) for name in names]
    return found if all(found) else None


class Sqlite:
    """A file, whose work is done by the process that uses it."""

    name, conf = "SQLite", "host.yaml"

    def __init__(self, folder):
        self.file = Path(folder) / "demo.db"
        self.url = f"sqlite:{self.file}"

    def run(self, sql):
        with sqlite3.connect(self.file, timeout=10) as it:
            rows = it.execute(sql).fetchall()
        it.close()
        return "\n".join("\t".join(map(str, row)) for row in rows)

    def cpu(self):
        return 0

    def stop(self):
        pass


class Served:
    """What MariaDB and PostgreSQL have in common."""

    def __init__(self, folder):
        found = programs(*self.needs)
        if found is None:
            raise Missing(f"{self.name} is not installed")
        server, install, self.client = found
        self.folder = Path(folder) / self.name
        self.folder.mkdir(mode=0o700)
        how = account(self.folder)
        self.port = free_port()
        self.url = f"{self.scheme}://{NAME}:{NAME}@127.0.0.1:{self.port}/{NAME}"
        output([install, *self.install()], cwd=self.folder, **how)
        command = [server, *self.serve()]
        self.process = Process(self.name, command, self.port, self.folder, folder, **how)
        try:
            self.process.wait_until_ready()
            self.create()
        except BaseException:
            self.stop()
            raise

    def run(self, sql):
        """What the client prints of the rows: fields between tabs."""
        return output(self.command(NAME) + [sql], env={**os.environ, "LC_ALL": "C"}).strip()

    def cpu(self):
        return self.process.cpu()

    def stop(self):
        self.process.stop()


class Mariadb(Served):
    name, conf, scheme = "MariaDB", "mariadb.yaml", "mysql"
    needs = ("mariadbd", "mariadb-install-db", "mariadb")

    def install(self):
        return ["--no-defaults", "--skip-test-db", "--skip-name-resolve", f"--datadir={self.folder}/data"]

    def serve(self):
        init = self.folder / "init.sql"
        init.write_text(f"CREATE DATABASE {NAME} CHARACTER SET utf8mb4;\n"
                        f"CREATE USER {NAME} IDENTIFIED BY '{NAME}';\nGRANT ALL ON {NAME}.* TO {NAME};\n")
        return ["--no-defaults", f"--datadir={self.folder}/data", f"--socket={self.folder}/socket",
                f"--port={self.port}", f"--pid-file={self.folder}/pid", f"--tmpdir={self.folder}",
                f"--init-file={init}", "--bind-address=127.0.0.1", "--skip-name-resolve", "--skip-log-bin",
                # A commit reaches the system, not the disk: as with SQLite's write-ahead log, and PostgreSQL below.
                "--innodb-flush-log-at-trx-commit=2", "--performance-schema=OFF"]

    def create(self):
        """The init file has done it before the first client is let in."""
        self.run("SELECT 1")

    def command(self, database):
        return [self.client, "--no-defaults", "--batch", "--skip-column-names", "--protocol=TCP", "--host=127.0.0.1",
                f"--port={self.port}", f"--user={NAME}", f"--password={NAME}", database, "--execute"]


class Postgres(Served):
    name, conf, scheme = "PostgreSQL", "postgres.yaml", "postgres"
    needs = ("postgres", "initdb", "psql")

    def install(self):
        return ["--username=postgres", "--encoding=UTF8", "--no-locale", "--no-sync", "--auth-local=trust",
                "--auth-host=scram-sha-256", f"--pgdata={self.folder}/data"]

    def serve(self):
        return [f"-D{self.folder}/data", f"-k{self.folder}", f"-p{self.port}", "--listen_addresses=127.0.0.1",
                "--fsync=off", "--jit=off"]

    def create(self):
        deadline = time.monotonic() + 20
        # It takes connections before it is ready for them.
        while subprocess.run(self.command("postgres") + ["SELECT 1"], capture_output=True).returncode != 0:
            if time.monotonic() > deadline or not self.process.is_running():
                raise self.process.failure("does not come up")
            time.sleep(0.05)
        for sql in (f"CREATE ROLE {NAME} LOGIN PASSWORD '{NAME}'", f"CREATE DATABASE {NAME} OWNER {NAME}"):
            output(self.command("postgres") + [sql])

    def command(self, database):
        return [self.client, "--no-psqlrc", "--quiet", "--no-align", "--tuples-only", "--field-separator=\t",
                f"--host={self.folder}", f"--port={self.port}", "--username=postgres", f"--dbname={database}",
                "--command"]

    def stop(self):
        # At SIGTERM it would wait for its last client.
        self.process.stop(signal.SIGINT)
