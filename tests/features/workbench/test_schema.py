"""Schemathesis over the description of the API: no answer is a mistake of the server, and none is undocumented."""

from __future__ import annotations

import json
import re
import time
import urllib.request

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from support.amount import tables
from support.recipes import generalize_data
from support.workbench import process

COLUMNS = "age,sex\n" + "".join(f"{20 + i % 7},{'fm'[i % 2]}\n" for i in range(60))
RECIPE = {"quasi_identifiers": {"age": "auto"}, "others": "drop", "models": [{"kind": "KAnonymity", "k": 2}]}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server with a table and a release, and their numbers."""
    with process(temporary=tmp_path_factory.mktemp("workbench")) as (_, address):
        place, token = re.fullmatch(r"(http://[^#]+)/#token=(.+)", address).groups()
        given = {"Authorization": f"Bearer {token}"}

        def ask(method, path, body, **headers):
            request = urllib.request.Request(
                f"{place}/api/v1{path}", body, {**given, **headers}, method=method
            )
            with urllib.request.urlopen(request) as answer:
                return json.loads(answer.read())

        def wait(task):
            while task["state"] == "running":
                time.sleep(0.05)
                task = ask("GET", f"/tasks/{task['id']}", None)
            return task["result"], task["id"]

        table, _ = wait(ask("POST", "/tables", COLUMNS.encode(), **{"Veil-File-Name": "t.csv"}))
        wish = json.dumps({**table, "recipe": generalize_data(**RECIPE)}).encode()
        release, task = wait(ask("POST", "/releases", wish, **{"Content-Type": "application/json"}))
        yield place, given, {"tables": table["table"], "releases": release["release"], "tasks": task}


@pytest.fixture(scope="module")
def api(server):
    place, given, _ = server
    return schemathesis.openapi.from_url(f"{place}/api/v1/openapi.json", headers=given)


ENDS = {("delete", "/api/v1/session"), ("delete", "/api/v1/tables/{id}")}
"""Nothing would be left to ask about: tests of answers end sessions and close tables."""


CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]


def _cases(operation):
    """What the description allows for, and what it does not."""
    allowed = operation.as_strategy(generation_mode=GenerationMode.POSITIVE)
    try:
        refused = operation.as_strategy(generation_mode=GenerationMode.NEGATIVE)
        refused.validate()
    except Exception:  # there is nothing to get wrong
        return allowed
    return allowed | refused


@pytest.mark.slow
def test_every_answer_is_documented_and_none_is_a_mistake(server, api):
    place, given_headers, numbers = server
    wrong, seen = [], 0
    for each in api.get_all_operations():
        operation = each.ok()
        if (operation.method, operation.path) in ENDS:
            continue

        @settings(
            max_examples=tables(3),
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=_cases(operation), known=st.booleans())
        def ask(case, known):
            nonlocal seen
            seen += 1
            room = case.path.split("/")[3]
            if "id" in case.path_parameters and known and room in numbers:
                case.path_parameters["id"] = numbers[room]
            case.call_and_validate(base_url=place, headers=given_headers, checks=CHECKS)

        try:
            ask()
        except (Exception, BaseExceptionGroup) as error:
            wrong.append(f"{operation.label}: {error}")
    assert not wrong, "\n\n".join(wrong)
    assert seen >= 100
