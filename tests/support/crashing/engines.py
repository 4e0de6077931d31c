"""Files and folders that an engine writes."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from support.cli import PLAN
from support.crashing.case import OLD, Case, command, is_json, is_page, overwriting, rows_of
from support.crashing.cases import Anonymize
from support.recipes import generalize


class OfEngine(Case):
    """Something that an engine writes, which has threads: this process, which forks, only imports it."""

    def import_all(self) -> None:
        Anonymize().import_all()
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder).resolve()
            self.set_up(place, False)
            for each in self._imported(place):
                with contextlib.suppress(Exception):  # some can only be imported by others
                    importlib.import_module(each)

    def _imported(self, place: Path) -> list[str]:
        """What a run imports that this process has not, found out by one that is forked."""
        found, told = os.pipe()
        process = os.fork()
        if not process:
            before = set(sys.modules)
            with contextlib.suppress(BaseException):
                self.warm_up(place)
            os.write(told, "\n".join(each for each in sys.modules if each not in before).encode())
            os._exit(0)
        os.close(told)
        with open(found) as names:
            modules = names.read().splitlines()
        os.waitpid(process, 0)
        return modules


class File(OfEngine):
    """A file that DuckDB writes, with its report and certificate."""

    name = "file of DuckDB"
    targets: ClassVar = {
        "out/release.parquet": lambda found: rows_of(found) == 6,
        "out/report.html": is_page,
        "out/certificate.json": is_json,
    }

    def job(self, place: Path, *, overwrite: bool) -> Callable[[], object]:
        return command(
            "anonymize", "patients.csv", *PLAN, "-o", "out/release.parquet", "--report", "out/report.html",
            "--certificate", "out/certificate.json", "--engine", "duckdb", "-q", *overwriting(overwrite),
        )  # fmt: skip


class Folder(OfEngine):
    """A folder of Parquet files, and a report."""

    name = "folder"
    targets: ClassVar = {"out/report.html": is_page}

    def set_up(self, place: Path, old: bool) -> None:
        super().set_up(place, old)
        if old:
            (place / "release").mkdir()
            (place / "release" / "old.parquet").write_bytes(OLD)

    def job(self, place: Path, *, overwrite: bool) -> Callable[[], object]:
        return command(
            "anonymize", "patients.csv", *PLAN, "-o", "release/", "--report", "out/report.html", "--engine", "duckdb",
            "-q", *overwriting(overwrite),
        )  # fmt: skip

    def states(self, place: Path) -> dict[str, str]:
        return {**super().states(place), "release": self._release(place / "release")}

    def _release(self, folder: Path) -> str:
        if not folder.exists():
            return "none"
        names = sorted(each.name for each in folder.iterdir())
        if names == ["old.parquet"]:
            return "old"
        whole = names == ["part-00000.parquet"] and rows_of((folder / names[0]).read_bytes()) == 6
        return "new" if whole else "broken"

    def left(self, place: Path) -> list[str]:
        return [each for each in super().left(place) if each not in ("release", "release/part-00000.parquet")]


class Tables(Folder):
    """A folder of several tables, and a report."""

    name = "several tables"

    def set_up(self, place: Path, old: bool) -> None:
        super().set_up(place, old)
        write_recipe(place, "release/")

    def job(self, place: Path, *, overwrite: bool) -> Callable[[], object]:
        return command("anonymize", "recipe.yaml", "-q", *overwriting(overwrite))

    def _release(self, folder: Path) -> str:
        if not folder.exists():
            return "none"
        found = {each.name: each.read_bytes().count(b"\n") for each in folder.iterdir()}
        return "old" if [*found] == ["old.parquet"] else "new" if found == {"patients.csv": 7, "visits.csv": 5} else "broken"  # fmt: skip

    def left(self, place: Path) -> list[str]:
        known = ("visits.csv", "recipe.yaml", "release/patients.csv", "release/visits.csv")
        return [each for each in super().left(place) if each not in known]


def write_recipe(place: Path, output: str) -> None:
    """Say how two tables are anonymized together."""
    visits = "".join(f"{name},{len(name) % 2}\n" for name in ("Ada", "Bob", "Cem", "Dia"))
    (place / "visits.csv").write_text(f"name,stay\n{visits}")
    (place / "recipe.yaml").write_text(
        generalize(
            f"tables: {{patients: patients.csv, visits: visits.csv}}\noutput: {output}\nperson: name\n"
            "report: out/report.html\nquasi_identifiers: {sex: suppression}\n"
            "others: keep\nmodels:\n  - {kind: KAnonymity, k: 2}\n"
        )
    )
