"""What is asked of the servers, and the check that each gives the same bytes as rhaid."""

import urllib.request
from dataclasses import dataclass

from process import Failure

IMAGE = "13e2d8ca-cd9e-4ca9-8366-0f953fd0f43f"
# What the migrations put there, and the check finds changed by what it asked.
COUNT, ACCESSED = 1000, "2012-01-07 13:14:15"


@dataclass
class Workload:
    """The first of the paths is measured; all are checked, in order. `bodies` is what rhaid answers to them."""

    name: str
    paths: tuple
    bodies: tuple = ()
    has_database: bool = False

    @property
    def path(self):
        return self.paths[0]

    def check(self, server):
        """A server that answers something else would be measured for nothing."""
        if self.name == "images" and server.database:
            server.database.run(
                f"UPDATE images SET access_count = {COUNT}, accessed_at = '{ACCESSED}' WHERE _id = '{IMAGE}'")
        for path, body in zip(self.paths[:1] if server.is_floor else self.paths, self.bodies):
            with urllib.request.urlopen(f"http://127.0.0.1:{server.process.port}{path}", timeout=10) as reply:
                got, kind = reply.read(), reply.headers.get("content-type", "")
            if body is not None and (got != body or not kind.startswith("application/json")):
                raise Failure(f"{server.name} answers {got!r} as {kind!r}, expected {body!r} as JSON")
        if self.name == "images" and server.database:
            row = server.database.run(f"SELECT access_count, accessed_at FROM images WHERE _id = '{IMAGE}'")
            count, accessed = row.split("\t")
            if int(count) != COUNT + 1 or accessed.startswith(ACCESSED):
                raise Failure(f"{server.name} left `{row}` in the database, expected the access to be counted")


def workloads(names):
    """The workloads by their names; another path of the sample is rhaid's alone."""
    # The second company's key shows that the key is looked at.
    keys = "61c2339c1bc92bc48120b55513cd568b", "bb27bc6b7330aaac63ac809df83311b8"
    known = {
        "json_api": Workload("json_api", ("/json_api",), (b'{"foo":"bar"}',)),
        "projects": Workload("projects", tuple(f"/projects?key={key}" for key in keys), has_database=True),
        "images": Workload("images", (f"/images/{IMAGE}",), has_database=True),
    }
    for name in names:
        if name not in known and not name.startswith("/"):
            raise Failure(f"the path `{name}` is none of {', '.join(known)} and does not begin with `/`")
        yield known.get(name) or Workload(name, (name,), (None,))
