"""What is released while runs are stopped, and how to see afterwards what has become of it."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from support.cli import PATIENTS, PLAN

OLD = b"before\n"


def command(*arguments: str) -> Callable[[], object]:
    """A run of the command line in this very process."""

    def job() -> None:
        from veil.cli import main

        sys.argv = ["veil", *arguments]
        main()

    return job


class Case:
    """Files that belong together: all of them are as they were, or all are new."""

    name = ""
    speaks = True
    """Whether it is a command, which says how it ended."""

    targets: ClassVar[dict[str, Callable[[bytes], bool]]] = {}
    """Files by their path, and what tells that one is whole."""

    kept: ClassVar[tuple[str, ...]] = ("patients.csv",)
    """What is there besides, or may be."""

    def import_all(self) -> None:
        """Import what a run needs, and have its kernels loaded, so that each run after that is quick."""
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder).resolve()
            self.set_up(place, False)
            self.warm_up(place)

    def warm_up(self, place: Path) -> None:
        import contextlib
        import io
        import os

        here = os.getcwd()
        os.chdir(place)
        try:
            with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
                self.job(place, overwrite=True)()
        finally:
            os.chdir(here)

    def end(self) -> None:
        """Tidy up."""

    def set_up(self, place: Path, old: bool) -> None:
        """Lay out what is read, and what is to be replaced."""
        (place / "patients.csv").write_text(PATIENTS)
        for target in self.targets:
            (place / target).parent.mkdir(exist_ok=True)
            if old:
                (place / target).write_bytes(OLD)

    def job(self, place: Path, *, overwrite: bool) -> Callable[[], object]:
        """What is carried out."""
        raise NotImplementedError

    def states(self, place: Path) -> dict[str, str]:
        """Look at each file."""
        return {target: _state(place / target, is_whole) for target, is_whole in self.targets.items()}

    def look(self, place: Path) -> str:
        """Look at all of them."""
        states = self.states(place)
        found = set(states.values())
        return found.pop() if len(found) == 1 else json.dumps(states)

    def whole(self, old: bool) -> set[str]:
        """How it may be found."""
        return {"old" if old else "none", "new"}

    def at_once(self, place: Path, old: bool) -> list[str]:
        """What is wrong right after a kill, whoever comes next."""
        return [f"{target} is {state}" for target, state in self.states(place).items() if state == "broken"]

    def left(self, place: Path) -> list[str]:
        """What should not be there."""
        known = {*self.targets, *self.kept}
        known |= {str(each) for path in known for each in Path(path).parents} | {"tmp"}
        found = [str(each.relative_to(place)) for each in place.rglob("*")]
        return [each for each in found if each not in known]


def _state(path: Path, is_whole: Callable[[bytes], bool]) -> str:
    if not path.exists():
        return "none"
    content = path.read_bytes()
    return "old" if content == OLD else "new" if is_whole(content) else "broken"


def _table(content: bytes) -> bool:
    return content.count(b"\n") == PATIENTS.count("\n")


def _mapping(content: bytes) -> bool:
    return content.count(b"\n") == PATIENTS.count("\n")


def _page(content: bytes) -> bool:
    return content.rstrip().endswith(b"</html>")


def _json(content: bytes) -> bool:
    try:
        json.loads(content)
    except ValueError:
        return False
    return True


def _yaml(content: bytes) -> bool:
    return b"models:" in content and content.endswith(b"\n")


class Anonymize(Case):
    """A table with its report, its certificate and its recipe, in two folders."""

    name = "anonymize"
    targets: ClassVar = {
        "out/release.csv": _table,
        "out/report.html": _page,
        "out/certificate.json": _json,
        "mine/recipe.yaml": _yaml,
    }

    def job(self, place: Path, *, overwrite: bool) -> Callable[[], object]:
        return command(
            "anonymize", "patients.csv", *PLAN, "-o", "out/release.csv", "--report", "out/report.html",
            "--certificate", "out/certificate.json", "--save-recipe", "mine/recipe.yaml", "-q", *overwriting(overwrite),
        )  # fmt: skip


class Mask(Case):
    """A mask, and what turns its pseudonyms back."""

    name = "mask"
    targets: ClassVar = {"out/masked.csv": _table, "kept/pseudonyms.csv": _mapping}

    def job(self, place: Path, *, overwrite: bool) -> Callable[[], object]:
        return command(
            "mask", "patients.csv", "--step", "random-pseudonyms:name", "-o", "out/masked.csv", "--apart", "kept",
            "-q", *overwriting(overwrite),
        )  # fmt: skip

    def at_once(self, place: Path, old: bool) -> list[str]:
        states = self.states(place)
        lost = states["out/masked.csv"] == "new" and states["kept/pseudonyms.csv"] != "new"
        return super().at_once(place, old) + (["there are pseudonyms, and no way back"] if lost else [])


class PrivateTable(Case):
    """A private table and its report."""

    name = "private table"
    targets: ClassVar = {"out/private.csv": lambda found: found.count(b"\n") == 301, "out/report.html": _page}
    kept: ClassVar = ("patients.csv", "people.csv")

    def set_up(self, place: Path, old: bool) -> None:
        super().set_up(place, old)
        (place / "people.csv").write_text("age\n" + "".join(f"{20 + i % 60}\n" for i in range(300)))

    def job(self, place: Path, *, overwrite: bool) -> Callable[[], object]:
        return command(
            "private-table", "people.csv", "-o", "out/private.csv", "--report", "out/report.html", "-q",
            "--method", "individual-ranking:k=50", "--bounds", "age=0:120", "--missing", "age=40",
            "--neighbours", "one changed", "--epsilon", "1", *overwriting(overwrite),
        )  # fmt: skip


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
    targets: ClassVar = {"out/report.html": _page}

    def job(self, place: Path, *, overwrite: bool) -> Callable[[], object]:
        return told(lambda: self.release.report(place / "out/report.html", overwrite=overwrite))


class Certificate(OfRelease):
    """A certificate."""

    name = "certificate"
    targets: ClassVar = {"out/certificate.json": _json}

    def job(self, place: Path, *, overwrite: bool) -> Callable[[], object]:
        return told(lambda: self.release.certificate(place / "out/certificate.json", overwrite=overwrite))


class Budget(Case):
    """A budget of which something is spent."""

    name = "budget"
    speaks = False
    targets: ClassVar = {"patients.csv.budget.json": _json}
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


class OfEngine(Case):
    """Something that DuckDB writes, which has threads: this process, which forks, only imports it."""

    def import_all(self) -> None:
        import duckdb  # noqa: F401

        Anonymize().import_all()


class File(OfEngine):
    """A file that DuckDB writes, with its report and certificate."""

    name = "file of DuckDB"
    targets: ClassVar = {
        "out/release.parquet": lambda found: _rows_of(found) == 6,
        "out/report.html": _page,
        "out/certificate.json": _json,
    }

    def job(self, place: Path, *, overwrite: bool) -> Callable[[], object]:
        return command(
            "anonymize", "patients.csv", *PLAN, "-o", "out/release.parquet", "--report", "out/report.html",
            "--certificate", "out/certificate.json", "--engine", "duckdb", "-q", *overwriting(overwrite),
        )  # fmt: skip


class Folder(OfEngine):
    """A folder of Parquet files, and a report."""

    name = "folder"
    targets: ClassVar = {"out/report.html": _page}

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
        whole = names == ["part-00000.parquet"] and _rows_of((folder / names[0]).read_bytes()) == 6
        return "new" if whole else "broken"

    def left(self, place: Path) -> list[str]:
        return [each for each in super().left(place) if each not in ("release", "release/part-00000.parquet")]


class Tables(Folder):
    """A folder of several tables, and a report."""

    name = "several tables"

    def set_up(self, place: Path, old: bool) -> None:
        super().set_up(place, old)
        (place / "visits.csv").write_text("name,stay\n" + "".join(f"{n},{len(n) % 2}\n" for n in ("Ada", "Bob", "Cem", "Dia")))  # fmt: skip
        (place / "recipe.yaml").write_text(
            "tables: {patients: patients.csv, visits: visits.csv}\noutput: release/\nperson: name\nreport: out/report.html\n"
            "quasi_identifiers: {sex: suppression}\n"
            "others: keep\nmodels:\n  - {kind: KAnonymity, k: 2}\n"
        )

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


class Table(Folder):
    """A table in a file of DuckDB, and a report."""

    name = "table of DuckDB"
    kept: ClassVar = ("patients.csv", "clinic.db")

    def set_up(self, place: Path, old: bool) -> None:
        Case.set_up(self, place, old)
        shutil.copy(self._prepared(place.parent, old), place / "clinic.db")

    def _prepared(self, folder: Path, old: bool) -> Path:
        """Made by another process: DuckDB has threads, and this one forks."""
        import subprocess

        made = folder / f"clinic-{old}.db"
        if not made.exists():
            script = f"import duckdb; d = duckdb.connect({str(made)!r}); d.execute('CREATE TABLE other AS SELECT 1 AS n')\n"
            if old:
                script += "d.execute('CREATE TABLE release AS SELECT 1 AS old')\n"
            subprocess.run([sys.executable, "-c", script], check=True)
        return made

    def job(self, place: Path, *, overwrite: bool) -> Callable[[], object]:
        return command(
            "anonymize", "patients.csv", *PLAN, "-o", "duckdb://clinic.db#release", "--report", "out/report.html",
            "--engine", "duckdb", "-q", *overwriting(overwrite),
        )  # fmt: skip

    def _release(self, folder: Path) -> str:
        tables = self._ask(folder.parent)
        if "release" not in tables:
            return "none"
        return {"old": "old", "6": "new"}.get(tables["release"], "broken")

    def _ask(self, place: Path) -> dict[str, str]:
        import subprocess

        script = (
            "import duckdb, json; d = duckdb.connect('clinic.db')\n"
            "names = [n for n, in d.execute('SELECT table_name FROM duckdb_tables()').fetchall()]\n"
            "def told(name):\n"
            "    found = d.execute(f'FROM \"{name}\"'); one = [c[0] for c in found.description]\n"
            "    return 'old' if one == ['old'] else str(len(found.fetchall()))\n"
            "print(json.dumps({name: told(name) for name in names}))\n"
        )
        ran = subprocess.run([sys.executable, "-c", script], cwd=place, capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr
        return dict(json.loads(ran.stdout))

    def left(self, place: Path) -> list[str]:
        tables = [f"table {each}" for each in self._ask(place) if each not in ("release", "other")]
        return super().left(place) + tables


class Postgres(Folder):
    """A table of a PostgreSQL server, and a report."""

    name = "table of PostgreSQL"

    def import_all(self) -> None:
        import contextlib

        from support.engines import servers

        programs = servers.postgres_programs()
        assert programs is not None
        self.stack = contextlib.ExitStack()
        server = self.stack.enter_context(servers.postgres_server(programs))
        self.database = servers.new_database(server)
        import ibis.backends.postgres  # noqa: F401

        super().import_all()

    def end(self) -> None:
        self.stack.close()

    def set_up(self, place: Path, old: bool) -> None:
        Case.set_up(self, place, old)
        self.database.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'veil'",
            *(f'DROP TABLE "{each}"' for each in self._tables()),
        )
        if old:
            self.database.execute(
                "CREATE TABLE release AS SELECT 1 AS old", "ALTER TABLE release OWNER TO veil"
            )

    def _tables(self) -> list[str]:
        with self.database.connect() as connection:
            found = connection.execute(
                "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
            ).fetchall()
        return [name for (name,) in found]

    def job(self, place: Path, *, overwrite: bool) -> Callable[[], object]:
        return command(
            "anonymize", "patients.csv", *PLAN, "-o", self.database.url("release"), "--report", "out/report.html",
            "--engine", "duckdb", "-q", *overwriting(overwrite),
        )  # fmt: skip

    def _release(self, folder: Path) -> str:
        with self.database.connect() as connection:
            if connection.execute("SELECT to_regclass('release')").fetchone() == (None,):
                return "none"
            found = connection.execute("TABLE release")
            columns = [each.name for each in found.description]
            return "old" if columns == ["old"] else "new" if len(found.fetchall()) == 6 else "broken"

    def left(self, place: Path) -> list[str]:
        return super().left(place) + [f"table {each}" for each in self._tables() if each != "release"]


class Planted(Case):
    """A writer that is not atomic, which has to be found out."""

    name = "planted"
    speaks = False
    targets: ClassVar = {"out/first.json": _json, "out/second.json": _json}

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


def told(job: Callable[[], Any]) -> Callable[[], object]:
    """A job of Python, which ends as a command would."""

    def run() -> None:
        from veil.errors import OutputError

        try:
            job()
        except OutputError as error:
            print(error)
            raise SystemExit(2) from None
        except KeyboardInterrupt:
            raise SystemExit(130) from None

    return run


def overwriting(yes: bool) -> tuple[str, ...]:
    """How a command is allowed to replace files."""
    return ("--overwrite",) if yes else ()


def _rows_of(content: bytes) -> int:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return int(pq.read_table(pa.BufferReader(content), use_threads=False).num_rows)
    except (pa.ArrowInvalid, OSError):
        return -1


KINDS = (
    Anonymize,
    Mask,
    PrivateTable,
    Report,
    Certificate,
    Budget,
    File,
    Folder,
    Tables,
    Table,
    Postgres,
    Planted,
)
CASES: dict[str, type[Case]] = {each.name: each for each in KINDS}
