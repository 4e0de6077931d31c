"""Licences of what Veil is delivered with, and its bill of materials."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

SCRIPT = Path(__file__).parents[2] / "supply" / "packages.py"


def script() -> dict[str, Any]:
    return runpy.run_path(str(SCRIPT))


def test_every_licence_was_looked_at() -> None:
    names = script()
    found = names["locked"](names["ALL"])
    assert len(found) > 100
    assert [each for each in found if each.needs_a_look and each.licence != "not installed"] == []


def test_other_licences_need_a_look() -> None:
    package = script()["Package"]
    for licence in ("GPL-3.0-only", "", "MIT AND AGPL-3.0-only", "Proprietary", "not installed"):
        assert package("x", "1", (), licence).needs_a_look
    for licence in ("MIT", "Apache-2.0 OR BSD-3-Clause", "Mozilla Public License 2.0 (MPL 2.0)"):
        assert not package("x", "1", (), licence).needs_a_look


def test_the_bill_lists_every_package_of_the_lock_with_its_hashes() -> None:
    names = script()
    bill = json.loads(json.dumps(names["sbom"](names["locked"](names["RUNTIME"]))))
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    lock = (SCRIPT.parents[1] / "requirements.lock").read_text()
    assert len(bill["components"]) == sum(
        "==" in line and not line.startswith((" ", "#")) for line in lock.splitlines()
    )
    assert all(each["hashes"] and each["licenses"] for each in bill["components"])
