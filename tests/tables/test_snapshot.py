"""A table is its snapshot: files that a log speaks for, or that a job is still writing, are not read as they lie there."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import veil
import veil.risk
from support.refusals import refused
from veil import KAnonymity
from veil.cli.app import app
from veil.engines import relation_of
from veil.errors import InputError
from veil.tables import read

TABLE = pa.table({"age": [40, 40, 40], "ill": ["flu", "flu", "cold"]})


def _data(folder: Path, name: str = "part-0.parquet") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(TABLE, folder / name)
    return folder / name


def delta(root: Path) -> Path:
    """A Delta table with two versions, the first of which was overwritten."""
    (root / "_delta_log").mkdir(parents=True)
    _data(root, "part-1.parquet")
    for version, path in enumerate(["part-0.parquet", "part-1.parquet"]):
        actions: list[Any] = [{"add": {"path": path, "partitionValues": {}, "dataChange": True}}]
        (root / "_delta_log" / f"{version:020}.json").write_text("\n".join(map(json.dumps, actions)))
    return _data(root)


def partitioned_delta(root: Path) -> Path:
    delta(root)
    return _data(root / "year=2024" / "month=1")


def iceberg(root: Path) -> Path:
    (root / "metadata").mkdir(parents=True)
    (root / "metadata" / "00000-1.metadata.json").write_text('{"format-version": 2, "table-uuid": "u"}')
    return _data(root / "data")


def hadoop_iceberg(root: Path) -> Path:
    (root / "metadata").mkdir(parents=True)
    (root / "metadata" / "version-hint.text").write_text("3")
    return _data(root / "data" / "0101" / "1100" / "day=2024-01-01")


def hudi(root: Path) -> Path:
    (root / ".hoodie").mkdir(parents=True)
    (root / "2024").mkdir()
    (root / "2024" / ".hoodie_partition_metadata").touch()
    return _data(root / "2024")


def spark_job(root: Path) -> Path:
    (root / "_temporary" / "0").mkdir(parents=True)
    return _data(root)


def databricks_job(root: Path) -> Path:
    root.mkdir(parents=True)
    (root / "_started_17").touch()
    (root / "_committed_16").touch()
    return _data(root)


def dynamic_overwrite(root: Path) -> Path:
    (root / ".spark-staging-1a2b" / "day=1").mkdir(parents=True)
    return _data(root)


def magic_committer(root: Path) -> Path:
    (root / "__magic_job-17" / "tasks").mkdir(parents=True)
    return _data(root)


LAYOUTS: dict[str, Callable[[Path], Path]] = {
    each.__name__: each
    for each in (
        delta,
        partitioned_delta,
        iceberg,
        hadoop_iceberg,
        hudi,
        spark_job,
        databricks_job,
        dynamic_overwrite,
        magic_committer,
    )
}
REFUSED = "only its log tells which are current|a job is not done"


@pytest.mark.parametrize("layout", LAYOUTS)
def test_no_file_or_folder_of_such_a_table_is_read(
    layout: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "lake"
    file = LAYOUTS[layout](root)
    (tmp_path / "link.parquet").symlink_to(file)
    (tmp_path / "linked").symlink_to(root)
    monkeypatch.chdir(file.parent)
    places = [root, root / "", file.parent, tmp_path, tmp_path / "linked", root / "**" / "*.parquet"]
    for place in [*places, file, Path(file.name), tmp_path / "link.parquet", file.parent / "part-*.parquet"]:
        with pytest.raises(InputError, match=REFUSED):
            relation_of(place, engine="duckdb")
    for single in (file, Path(file.name), tmp_path / "link.parquet", str(file)):
        with pytest.raises(InputError, match=REFUSED):
            read(single)


@pytest.mark.parametrize("layout", ["delta", "iceberg", "spark_job"])
def test_every_verb_refuses_it(layout: str, tmp_path: Path) -> None:
    file = LAYOUTS[layout](tmp_path / "lake")
    verbs: list[Callable[[Any], Any]] = [
        lambda place: veil.anonymize(
            place, quasi_identifiers={"age": "suppression"}, models=KAnonymity(2), others="keep"
        ),
        lambda place: veil.assess(place, quasi_identifiers="age"),
        lambda place: veil.risk.analyze(place, "age"),
        lambda place: veil.verify(place, veil.Plan({"age": "suppression"}, KAnonymity(2), others="keep")),
    ]
    for verb in verbs:
        for place in (file, file.parent):
            with pytest.raises(InputError, match=REFUSED):
                verb(place)
    out = str(tmp_path / "out.csv")
    for words in (
        ["anonymize", "--qi", "age=suppression", "--model", "k-anonymity:2", "--others", "keep", "-o", out],
        ["risk", "--qi", "age"],
        ["assess", "--qi", "age"],
        ["identify"],
        ["mask", "--step", "rank-swapping:age,p=10", "-o", out],
    ):
        shown = CliRunner().invoke(app, [words[0], str(file), *words[1:]])
        assert shown.exit_code, words
        assert "log tells which" in " ".join(shown.output.split()) or "is not done" in " ".join(
            shown.output.split()
        )


@pytest.mark.parametrize("name", ["part-1.parquet._COPYING_", ".part-1.inprogress.7f", "more.parquet.part"])
def test_a_folder_with_leftovers_is_not_read(name: str, tmp_path: Path) -> None:
    _data(tmp_path)
    (tmp_path / name).write_bytes(b"PAR1")
    with refused(InputError, "still being written"):
        relation_of(tmp_path)


def test_what_only_lies_nearby_is_read(tmp_path: Path) -> None:
    delta(tmp_path / "lake")
    copy = _data(tmp_path, "copy.parquet")
    (tmp_path / "metadata").mkdir()
    (tmp_path / "metadata" / "notes.metadata.json").write_text('{"title": "no table"}')
    assert read(copy).table.equals(TABLE)
    pa.csv.write_csv(TABLE, tmp_path / "lake" / "codes.csv")
    assert read(tmp_path / "lake" / "codes.csv").table.num_rows == 3
    assert (
        read(_data(tmp_path / "lake" / "exports" / "monthly")).table.num_rows == 3
    )  # which no log speaks of
    done = tmp_path / "done"
    _data(done)
    for name in ("_started_5", "_committed_5", "_SUCCESS", "_metadata"):
        (done / name).touch()
    relation = relation_of(done)
    assert relation is not None
    assert relation.table.count().to_pyarrow().as_py() == 3
    assert relation_of(_data(tmp_path / "none").parent) is not None  # Veil's own folders have no _SUCCESS


def test_a_job_that_has_not_said_that_it_is_done_is_a_note(tmp_path: Path) -> None:
    root = tmp_path / "job"
    _data(root / "day=1", "part-00000-0a1b2c3d-1111-4222-8333-444455556666-c000.snappy.parquet")
    for place in (root, root / "day=1", f"{root}/*/*.parquet"):
        (warning,) = _warnings(place)
        assert "part-00000-0a1b2c3d" in warning
        assert "has no _SUCCESS" in warning
    result = CliRunner().invoke(app, ["assess", str(root), "--qi", "age"])
    assert result.exit_code == 0
    assert " ".join(result.stderr.split()).count("has no _SUCCESS") == 1
    (root / "_SUCCESS").touch()
    _data(tmp_path / "release", "part-00000.parquet")  # as Veil names its own
    assert [_warnings(place) for place in (root, root / "day=1", tmp_path / "release")] == [[], [], []]


def _warnings(place: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        relation_of(place, engine="duckdb")
    return [str(each.message) for each in caught if issubclass(each.category, UserWarning)]
