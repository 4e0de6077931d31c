"""Random requests by the description of the API: none is a mistake of the server, and no answer is undocumented."""

from __future__ import annotations

import json
import random

import pytest

from support.amount import tables
from support.recipes import generalize_data
from support.workbench import Client, workbench

ODD = [
    None,
    True,
    0,
    -1,
    10**30,
    1e308,
    "",
    "x",
    "__proto__",
    "\x00",
    "*" * 2000,
    [],
    {},
    [[]],
    {"kind": "KAnonymity"},
]


def anything(chance, schema, definitions, depth=0):
    """Draw something that a schema describes, or nearly so."""
    if chance.random() < 0.15 or depth > 6:
        return chance.choice(ODD)
    if "$ref" in schema:
        return anything(chance, definitions[schema["$ref"].rsplit("/", 1)[-1]], definitions, depth + 1)
    if "anyOf" in schema:
        return anything(chance, chance.choice(schema["anyOf"]), definitions, depth + 1)
    if "enum" in schema:
        return chance.choice(schema["enum"])
    kind = schema.get("type")
    if kind == "object":
        made = {
            name: anything(chance, each, definitions, depth + 1)
            for name, each in schema.get("properties", {}).items()
            if name in schema.get("required", []) or chance.random() < 0.7
        }
        if "properties" not in schema:
            names = [
                "age",
                "sex",
                "roles",
                "models",
                "hierarchies",
                "levels",
                "quality",
                "quasi_identifiers",
                "__proto__",
            ]
            made = {
                chance.choice(names): chance.choice([*ODD, {"age": "auto"}, {"age": 1}]) for _ in range(3)
            }
        return made
    if kind == "array":
        return [
            anything(chance, schema.get("items", {}), definitions, depth + 1)
            for _ in range(chance.randrange(3))
        ]
    if kind == "integer":
        return chance.choice([0, 1, 5, 100, -1])
    if kind == "number":
        return chance.choice([0, 0.2, 1, -1, 1e-9])
    if kind == "boolean":
        return chance.random() < 0.5
    return chance.choice(["age", "sex", "auto", "TABLE", "x"])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_no_request_is_a_mistake_of_the_server(seed):
    chance = random.Random(seed)
    with workbench() as made:
        client = Client(made)
        table = client.open("age,sex\n" + "".join(f"{20 + i % 7},{'fm'[i % 2]}\n" for i in range(60)))
        recipe = {
            "quasi_identifiers": {"age": "auto"},
            "others": "drop",
            "models": [{"kind": "KAnonymity", "k": 2}],
        }
        release = client.result(
            client.post("/api/v1/releases", json={"table": table, "recipe": generalize_data(**recipe)})
        )["release"]
        described = client.get("/api/v1/openapi.json").json()
        definitions = described["components"]["schemas"]
        asked = [
            (path, method, each)
            for path, methods in described["paths"].items()
            for method, each in methods.items()
            if (path, method) not in (("/api/v1/session", "delete"), ("/api/v1/tables/{id}", "delete"))
            and "report" not in path
        ]
        for path, method, each in [*asked, *(chance.choice(asked) for _ in range(tables(60)))]:
            number = chance.choice(["x", release if "releases" in path else table, "..", "%00"])
            url = path.replace("{id}", number).replace("{ending}", chance.choice(["csv", "x", "parquet"]))
            body = each.get("requestBody")
            if body is None:
                answer = client.request(method, url)
            else:
                schema = body["content"]["application/json"]["schema"]
                sent = json.dumps(anything(chance, schema, definitions)).replace('"TABLE"', json.dumps(table))
                answer = client.request(
                    method, url, content=sent, headers={"Content-Type": "application/json"}
                )
            said = (method, url, answer.status_code, answer.text[:300])
            assert answer.status_code < 500 or answer.status_code == 501, said
            assert str(answer.status_code) in each["responses"], said
            if answer.status_code == 202:
                task = client.done(answer)
                assert task["problem"] is None or task["problem"]["status"] != 500, (said, task)
