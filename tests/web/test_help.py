"""The documentation inside the workbench: complete, safe, searchable; and examples of the API that run as they stand."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from support.workbench import process
from veil.synthetic import patients
from veil.tables import write
from veil.web import help as documentation
from veil.web.examples import EXAMPLES

DOCS = Path(__file__).parents[2] / "docs"


def test_every_link_inside_leads_to_a_page_and_a_place_that_are_there():
    found = documentation.pages()
    anchors = {name: {each.anchor for each in page.sections} for name, page in found.items()}
    links = [
        (name, page, anchor)
        for name, each in found.items()
        for page, anchor in re.findall(r'href="#help:([^":]+):([^"]*)"', each.html)
    ]
    assert len(links) > 50
    assert [each for each in links if each[1] not in found] == []
    assert [each for each in links if each[2] and each[2] not in anchors[each[1]]] == []


def test_pages_hold_no_markup_but_their_own_and_fetch_nothing_from_elsewhere(tmp_path, monkeypatch):
    (tmp_path / "index.md").write_text(
        "# Bad\n\n<script>alert(1)</script> <img src=x onerror=alert(1)>\n\n[a](javascript:alert(1)) [b](other.md) "
        "![c](https://example.org/x.png) ![d](../../secret.png)\n\n```{toctree}\nother\n```\n\n" + "x " * 200
    )
    (tmp_path / "other.md").write_text(
        "# <b>Other</b>\n\n```{literalinclude} ../../../etc/hostname\n```\n" + "y " * 200
    )
    monkeypatch.setattr(documentation, "home", lambda: tmp_path)
    documentation.pages.cache_clear()
    try:
        made = documentation.pages()
        html = made["index"].html + made["other"].html
    finally:
        documentation.pages.cache_clear()
    assert "<script" not in html
    assert "<img" not in html
    assert "javascript:" not in re.sub(
        r"\[a\]\(javascript:alert\(1\)\)", "", html
    )  # told as text, no address
    assert 'href="#help:other:"' in html
    assert "<b>Other</b>" not in html
    hostname = Path("/etc/hostname")
    assert not hostname.is_file() or hostname.read_text().strip() not in html


@pytest.mark.slow
def test_every_model_says_where_the_reference_speaks_of_it_and_every_example_runs(tmp_path):
    spec = importlib.util.spec_from_file_location("workbench_client", DOCS / "workbench_client.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    write(patients(300), tmp_path / "patients.csv")
    with process(temporary=tmp_path) as (_, address):
        place, token = re.fullmatch(r"(http://[^#]+)/#token=(.+)", address).groups()
        known = {"workbench": module.Workbench(place, token)}
        for each in EXAMPLES:
            exec(each.python.replace("'patients.csv'", repr(str(tmp_path / "patients.csv"))), known)
        page = known["workbench"].fetch("GET", "").decode()
        assert all(f"<h3>{each.verb}</h3>" in page for each in EXAMPLES)
        described = json.loads(known["workbench"].fetch("GET", "/openapi.json"))
        assert all(path in page for path in described["paths"])
        assert "<script" not in page
        if shutil.which("curl") and shutil.which("bash"):
            script = "set -e\n" + "\n".join(
                each.curl.replace("curl -s", "curl -sf -o /dev/null") for each in EXAMPLES
            )
            given = {"PLACE": place, "TOKEN": token, "TABLE": known["table"], "RELEASE": known["release"]}
            ran = subprocess.run(
                ["bash", "-c", script], cwd=tmp_path, env={**given, "PATH": "/usr/bin:/bin"}, check=False
            )
            assert ran.returncode == 0
