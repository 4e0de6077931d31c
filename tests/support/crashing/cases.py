"""What is released by commands that need no engine, and by verbs of Python."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from support.cli import PATIENTS, PLAN
from support.crashing.case import (
    Case,
    command,
    is_json,
    is_mapping,
    is_page,
    is_table,
    is_yaml,
    overwriting,
    told,
)


class Anonymize(Case):
    """A table with its report, its certificate and its recipe, in two folders."""

    name = "anonymize"
    targets: ClassVar = {
        "out/release.csv": is_table,
        "out/report.html": is_page,
        "out/certificate.json": is_json,
        "mine/recipe.yaml": is_yaml,
    }

    def job(self, place: Path, *, overwrite: bool) -> Callable[[], object]:
        return command(
            "anonymize", "patients.csv", *PLAN, "-o", "out/release.csv", "--report", "out/report.html",
            "--certificate", "out/certificate.json", "--save-recipe", "mine/recipe.yaml", "-q", *overwriting(overwrite),
        )  # fmt: skip


class Mask(Case):
    """A mask, and what turns its pseudonyms back."""

    name = "mask"
    way_back = ("out/masked.csv", "kept/pseudonyms.csv")
    targets: ClassVar = {"out/masked.csv": is_table, "kept/pseudonyms.csv": is_mapping}

    def job(self, place: Path, *, overwrite: bool) -> Callable[[], object]:
        return command(
            "mask", "patients.csv", "--step", "random-pseudonyms:name", "-o", "out/masked.csv", "--apart", "kept",
            "-q", *overwriting(overwrite),
        )  # fmt: skip


class PrivateTable(Case):
    """A private table and its report."""

    name = "private table"
    targets: ClassVar = {
        "out/private.csv": lambda found: found.count(b"\n") == 301,
        "out/report.html": is_page,
    }
    kept: ClassVar = ("patients.csv", "people.csv")

    def set_up(self, place: Path, old: bool) -> None:
        super().set_up(place, old)
        (place / "people.csv").write_text("age\n" + "".join(f"{20 + i % 60}\n" for i in range(300)))

    def job(self, place: Path, *, overwrite: bool) -> Callable[[], object]:
        return command(
            "private-table", "people.csv", "-o", "out/private.csv", "--report", "out/report.html", "-q",
            "--method", "individual-ranking:k=50", "--bounds", "age=0:120", "--missing", "age=40",
            "--person", "null", "--neighbours", "one changed", "--epsilon", "1", *overwriting(overwrite),
        )  # fmt: skip


class Policy(Case):
    """A table that is released as people's policies ask, with all that tells of it and turns its pseudonyms back."""

    name = "policy"
    way_back = ("out/release.csv", "kept/pseudonyms.csv")
    targets: ClassVar = {
        "out/release.csv": lambda found: found.count(b"\n") == 4,
        "out/report.html": is_page,
        "out/certificate.json": is_json,
        "out/record.jsonld": is_json,
        "kept/pseudonyms.csv": lambda found: found.count(b"\n") == 4,
    }
    kept: ClassVar = (
        "patients.csv",
        "linked.csv",
        "recipe.yaml",
        *(f"policies/{each}.json" for each in ("Alice", "Axel", "Bob")),
    )
    asked = ("research", "lab", "2026-06-01")

    def set_up(self, place: Path, old: bool) -> None:
        from support.policies import PEOPLE, lecture
        from veil.policy.documents.documents import to_json

        super().set_up(place, old)
        rows = "".join(f"{name},{','.join(told)},{name}\n" for name, told in PEOPLE.items())
        (place / "linked.csv").write_text(f"Name,Age,Zipcode,Disease,policy_id\n{rows}")
        (place / "policies").mkdir()
        for name, each in lecture().items():
            (place / "policies" / f"{name}.json").write_text(to_json(each))
        purpose, recipient, day = self.asked
        (place / "recipe.yaml").write_text(
            "input: linked.csv\noutput: out/release.csv\napart: kept\n"
            "report: out/report.html\ncertificate: out/certificate.json\n"
            f"steps: [{{kind: ByPolicies, policies: policies, purpose: {purpose}, recipient: {recipient}, on: {day},\n"
            "  suppression_limit: 0.5, processing_record: out/record.jsonld}]\n"
        )

    def job(self, place: Path, *, overwrite: bool) -> Callable[[], object]:
        return command("run", "recipe.yaml", "-q", *overwriting(overwrite))


class OfRelease(Case):
    """One file about a release that is there already."""

    speaks = False

    def import_all(self) -> None:
        import tempfile

        import pandas as pd

        import veil
        from veil import hierarchies as h

        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "patients.csv").write_text(PATIENTS)
            table = pd.read_csv(Path(folder) / "patients.csv")
        self.release = veil.anonymize(
            table,
            quasi_identifiers={"age": h.intervals(10, 20), "sex": h.suppression()},
            sensitive=["diagnosis"],
            others="drop",
            models=veil.KAnonymity(2),
        )
        super().import_all()


class Report(OfRelease):
    """A report."""

    name = "report"
    targets: ClassVar = {"out/report.html": is_page}

    def job(self, place: Path, *, overwrite: bool) -> Callable[[], object]:
        return told(lambda: self.release.report(place / "out/report.html", overwrite=overwrite))


class Certificate(OfRelease):
    """A certificate."""

    name = "certificate"
    targets: ClassVar = {"out/certificate.json": is_json}

    def job(self, place: Path, *, overwrite: bool) -> Callable[[], object]:
        return told(lambda: self.release.certificate(place / "out/certificate.json", overwrite=overwrite))


class Budget(Case):
    """A budget of which something is spent."""

    name = "budget"
    speaks = False
    targets: ClassVar = {"patients.csv.budget.json": is_json}
    kept: ClassVar = ("patients.csv", ".patients.csv.budget.json.lock")  # which stays

    def set_up(self, place: Path, old: bool) -> None:
        from veil.dp.accountant import Accountant

        super().set_up(place, False)
        Accountant.create(place / "patients.csv.budget.json", 100, fingerprint="0" * 64)

    def job(self, place: Path, *, overwrite: bool) -> Callable[[], object]:
        from veil.dp.accountant import Accountant

        def job() -> None:
            if not overwrite and self._spent(place):
                raise SystemExit(2)
            Accountant.open(place / "patients.csv.budget.json", fingerprint="0" * 64).spend("release", 1)

        return told(job)

    def _spent(self, place: Path) -> int:
        return len(json.loads((place / "patients.csv.budget.json").read_bytes())["spent"])

    def look(self, place: Path) -> str:
        return "new" if self._spent(place) else "old"

    def whole(self, old: bool) -> set[str]:
        return {"old", "new"}


class Planted(Case):
    """A writer that is not atomic, which has to be found out."""

    name = "planted"
    speaks = False
    targets: ClassVar = {"out/first.json": is_json, "out/second.json": is_json}

    def import_all(self) -> None:
        return

    def job(self, place: Path, *, overwrite: bool) -> Callable[[], object]:
        def job() -> None:
            for target in self.targets:
                if (place / target).exists() and not overwrite:
                    raise SystemExit(2)
            for target in self.targets:
                with (place / target).open("w", buffering=1) as file:
                    file.write("[1,\n")
                    file.write("2]\n")

        return told(job)
