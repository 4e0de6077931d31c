"""One worked example for each verb of the API, shown as curl and Python on its page. The tests run them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

RECIPE = {
    "person": None,
    "steps": [
        {
            "kind": "Generalize",
            "quasi_identifiers": {"age": {"kind": "intervals", "widths": [5, 10, 20]}, "sex": "suppression"},
            "sensitive": ["diagnosis"],
            "others": "drop",
            "models": [{"kind": "KAnonymity", "k": 5}],
            "suppression_limit": 0.05,
        }
    ],
}


@dataclass(frozen=True)
class Example:
    """A request. `{table}` and `{release}` are ids from earlier answers; `gives` names the id in this one."""

    verb: str
    method: str
    path: str
    body: dict[str, Any] | None = None
    file: str | None = None
    gives: str | None = None

    @property
    def curl(self) -> str:
        """The request as a shell command, with the token in $TOKEN."""
        lines = ['curl -s -H "Authorization: Bearer $TOKEN"']
        if self.method not in ("GET", "POST"):
            lines.append(f"-X {self.method}")
        if self.file is not None:
            lines.append(f'-H "Veil-File-Name: {self.file}" --data-binary @{self.file}')
        elif self.body is not None:
            lines.append('-H "Content-Type: application/json"')
            lines.append(f"-d '{self._shell(json.dumps(self.body))}'")
        path = self.path.replace("{table}", "$TABLE").replace("{release}", "$RELEASE")
        return " \\\n     ".join([*lines, f'"$PLACE/api/v1{path}"'])

    @staticmethod
    def _shell(body: str) -> str:
        return body.replace('"{table}"', "\"'$TABLE'\"").replace(
            '"{certificate}"', "'\"$(cat certificate.json)\"'"
        )

    @property
    def python(self) -> str:
        """The request with the client of the documentation."""
        left = "" if self.gives is None else f"{self.gives} = "
        if self.file is not None:
            return f"{left}workbench.send({self.file!r})"
        path = self.path if "{" not in self.path else None
        arguments = [repr(self.method), repr(path) if path else f'f"{self.path}"']
        if self.body is not None:
            body = repr(self.body).replace("'{table}'", "table")
            arguments.append(body.replace("'{certificate}'", 'json.load(open("certificate.json"))'))
        call = f"workbench.ask({', '.join(arguments)})"
        return f"{left}{call}['{self.gives}']" if self.gives == "release" else f"{left}{call}"


EXAMPLES = (
    Example("send a table", "POST", "/tables", file="patients.csv", gives="table"),
    Example("analyse it", "GET", "/tables/{table}/profile"),
    Example("propose roles", "GET", "/tables/{table}/roles"),
    Example(
        "whom columns single out",
        "POST",
        "/tables/{table}/singling-out",
        {"columns": ["age", "zip"], "person": None},
    ),
    Example(
        "build a hierarchy",
        "POST",
        "/hierarchies/preview",
        {"table": "{table}", "column": "age", "builder": {"kind": "intervals", "widths": [5, 10, 20]}},
    ),
    Example(
        "assess",
        "POST",
        "/assess",
        {"table": "{table}", "quasi_identifiers": ["age", "sex"], "sensitive": ["diagnosis"]},
    ),
    Example("anonymize", "POST", "/releases", {"table": "{table}", "recipe": RECIPE}, gives="release"),
    Example(
        "compare ways",
        "POST",
        "/ways",
        {"table": "{table}", "recipe": RECIPE, "ways": ["full-domain", "cells"], "time_limit": 2},
    ),
    Example("look at the release", "GET", "/releases/{release}"),
    Example("risk", "POST", "/releases/{release}/risk", {"threshold": 0.2}),
    Example("utility", "POST", "/releases/{release}/utility", {"targets": ["diagnosis"]}),
    Example("verify", "POST", "/verify", {"table": "{table}", "recipe": RECIPE}),
)
