"""The workbench for programs, in fifty lines of Python's own library: copy it, and change what you like."""

import json
import time
import urllib.error
import urllib.request
from pathlib import Path


class Workbench:
    """A session of programs at a workbench: `Workbench("http://127.0.0.1:8080", token)`."""

    def __init__(self, address, token):
        self.address, self.token = address.rstrip("/"), token

    def fetch(self, method, path, body=None, **headers):
        """Send a request; return the bytes of the answer, or raise the sentence of the refusal."""
        sent = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        given = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json", **headers}
        request = urllib.request.Request(f"{self.address}/api/v1{path}", sent, given, method=method)
        try:
            with urllib.request.urlopen(request) as answer:
                return answer.read()
        except urllib.error.HTTPError as error:
            raise RuntimeError(json.loads(error.read())["detail"]) from None

    def ask(self, method, path, body=None, **headers):
        """Send a request; return what is told. A task is waited for, and its result returned."""
        told = json.loads(self.fetch(method, path, body, **headers))
        while isinstance(told, dict) and told.get("state") == "running":
            time.sleep(0.1)
            told = json.loads(self.fetch("GET", f"/tasks/{told['id']}"))
        if isinstance(told, dict) and "result" in told and "state" in told:
            if told["state"] != "done":
                raise RuntimeError(told["problem"]["detail"] if told["problem"] else "stopped")
            return told["result"]
        return told

    def send(self, path):
        """Send a table; return its number."""
        path = Path(path)
        return self.ask("POST", "/tables", path.read_bytes(), **{"Veil-File-Name": path.name})["table"]

    def anonymize(self, table, recipe):
        """Make a release by a recipe; return what is told of it, its number as `id`."""
        made = self.ask("POST", "/releases", {"table": table, "recipe": recipe})
        return self.ask("GET", f"/releases/{made['release']}")

    def save(self, release, name, path):
        """Write a file of a release: table.csv, table.parquet, certificate, report.html, recipe."""
        Path(path).write_bytes(self.fetch("GET", f"/releases/{release}/{name}"))
