from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import veil
from support.refusals import refused
from veil.errors import InputError, OutputError
from veil.tables import Csv, Excel, Feather, Format, Parquet, atomic, output_format, read, write
from veil.tables.text import canonical_text

TABLE = pa.table({"age": [34, None, 27], "zip": ["02139", "", None]})
NAMES = ["t.csv", "t.csv.gz", "t.tsv", "t.parquet", "t.feather", "t.xlsx"]


def files(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 256 kB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)]
    if (
        sys.platform != "linux"
        or os.geteuid() != 0
        or subprocess.run(command, capture_output=True).returncode
    ):
        pytest.skip("a really full disk needs root on Linux, with the right to mount a tmpfs")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


class TestAtomic:
    def test_the_target_appears_whole_and_alone(self, tmp_path: Path) -> None:
        with atomic(tmp_path / "report.html") as temporary:
            temporary.write_text("done")
            assert temporary.is_relative_to(tmp_path)  # on the same file system
            assert not (tmp_path / "report.html").exists()
        assert (tmp_path / "report.html").read_text() == "done"
        assert files(tmp_path) == ["report.html"]

    @pytest.mark.parametrize("failure", [KeyboardInterrupt, RuntimeError, InputError, SystemExit])
    def test_any_failure_leaves_the_target_as_it_was(
        self, tmp_path: Path, failure: type[BaseException]
    ) -> None:
        target = tmp_path / "report.html"
        target.write_text("old")

        def interrupted() -> None:
            with atomic(target) as temporary:
                temporary.write_text("half of the n")
                raise failure

        with pytest.raises(failure):
            interrupted()
        assert target.read_text() == "old"
        assert files(tmp_path) == ["report.html"]

    def test_the_data_is_on_the_disk_before_the_name_is(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        steps: list[str] = []
        sync, replace = os.fsync, os.replace

        def record_sync(descriptor: int) -> None:
            kind = "directory" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file"
            steps.append(f"sync {kind}")
            sync(descriptor)

        def record_replace(old: Any, new: Any) -> None:
            steps.append("rename")
            replace(old, new)

        monkeypatch.setattr(os, "fsync", record_sync)
        monkeypatch.setattr(os, "replace", record_replace)
        write(TABLE, tmp_path / "t.csv")
        assert steps == ["sync file", "rename", "sync directory"]

    def test_permissions(self, tmp_path: Path) -> None:
        old_mask = os.umask(0o027)
        try:
            write(TABLE, tmp_path / "new.csv")
        finally:
            os.umask(old_mask)
        assert stat.S_IMODE((tmp_path / "new.csv").stat().st_mode) == 0o640
        (tmp_path / "new.csv").chmod(0o600)
        write(TABLE, tmp_path / "new.csv")
        assert stat.S_IMODE((tmp_path / "new.csv").stat().st_mode) == 0o600

    def test_a_link_stays_a_link(self, tmp_path: Path) -> None:
        (tmp_path / "real").mkdir()
        (tmp_path / "real" / "t.csv").write_text("old")
        (tmp_path / "link.csv").symlink_to(tmp_path / "real" / "t.csv")
        write(TABLE, tmp_path / "link.csv")
        assert (tmp_path / "link.csv").is_symlink()
        assert (tmp_path / "real" / "t.csv").read_text().startswith("age")

    def test_a_name_as_long_as_names_may_be(self, tmp_path: Path) -> None:
        name = "n" * 251 + ".csv"
        write(TABLE, tmp_path / name)
        assert files(tmp_path) == [name]


class TestRefusals:
    def refusal(self, path: Path | str, format: Format | None = None) -> str:
        with pytest.raises(OutputError) as caught:
            write(TABLE, path, format=format)
        return str(caught.value)

    def test_missing_directory(self, tmp_path: Path) -> None:
        path = tmp_path / "nowhere" / "t.csv"
        assert self.refusal(path) == (
            f"{path}: the directory does not exist. Create it, or choose another path. Nothing was written"
        )

    def test_a_directory_as_target(self, tmp_path: Path) -> None:
        assert "is a directory" in self.refusal(tmp_path, Csv())

    def test_a_file_as_directory(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        assert "is a file" in self.refusal(tmp_path / "file" / "t.csv")

    def test_devices_are_not_replaced(self) -> None:
        assert "ordinary file" in self.refusal("/dev/null", Csv())
        assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)

    def test_unknown_ending(self, tmp_path: Path) -> None:
        assert all(fact in self.refusal(tmp_path / "t.doc") for fact in ("'.doc'", "unknown"))
        assert files(tmp_path) == []

    def test_a_name_too_long(self, tmp_path: Path) -> None:
        assert "too long" in self.refusal(tmp_path / ("n" * 300 + ".csv"))

    def test_no_permission(self, ordinary_user: Path) -> None:
        target = ordinary_user / "t.csv"
        target.write_text("old")
        target.chmod(0o444)
        assert "no permission" in self.refusal(target)
        (ordinary_user / "closed").mkdir(mode=0o555)
        assert "no permission" in self.refusal(ordinary_user / "closed" / "t.csv")
        assert target.read_text() == "old"
        assert files(ordinary_user) == ["closed", "t.csv"]

    @pytest.mark.parametrize("name", NAMES)
    def test_full_disk(self, small_disk: Path, name: str) -> None:
        target = small_disk / name
        target.write_text("old")
        text = [os.urandom(30).hex() for _ in range(10_000)]
        with pytest.raises(OutputError) as caught:
            write(pa.table({"noise": text}), target)
        assert str(caught.value) == (
            f"{target}: the disk is full. Free some space or choose another disk. Nothing was written"
        )
        assert target.read_text() == "old"
        assert files(small_disk) == [name]

    @pytest.mark.parametrize(
        ("number", "reason"),
        [
            (errno.ENOSPC, "the disk is full"),
            (errno.EROFS, "read-only"),
            (errno.EIO, "cannot be written: Input"),
        ],
    )
    def test_a_disk_that_fails_at_the_last_moment(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, reason: str
    ) -> None:
        def fail(descriptor: int) -> None:
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr(os, "fsync", fail)
        (tmp_path / "t.csv").write_text("old")
        assert reason in self.refusal(tmp_path / "t.csv")
        assert (tmp_path / "t.csv").read_text() == "old"
        assert files(tmp_path) == ["t.csv"]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_in_the_middle_leaves_nothing_behind(tmp_path: Path) -> None:
    target = tmp_path / "t.csv"
    target.write_text("old")
    code = """
import signal, sys, pyarrow as pa
from veil.tables import write
signal.signal(signal.SIGINT, signal.default_int_handler)
table = pa.table({"x": list(range(300_000))})
write(table, sys.argv[1] + ".other.csv")
while True:
    print("again", flush=True)
    write(table, sys.argv[1] + ".other.csv")
    write(table.slice(0, 1), sys.argv[1] + ".other.csv")
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, "-c", code, str(target)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    ) as process:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(3)] == [b"again\n"] * 3
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=300)
    assert b"KeyboardInterrupt" in errors
    assert target.read_text() == "old"
    assert files(tmp_path) == ["t.csv", "t.csv.other.csv"]
    assert read(tmp_path / "t.csv.other.csv").table.num_rows in (1, 300_000)


class TestFormats:
    @pytest.mark.parametrize("name", NAMES)
    def test_every_ending_reads_back(self, tmp_path: Path, name: str) -> None:
        table = (
            TABLE.slice(0, 1) if name == "t.xlsx" else TABLE
        )  # which has no empty text beside a missing one
        write(table, tmp_path / name)
        found = read(tmp_path / name).table.to_pydict()
        if name == "t.xlsx":
            assert found == {"age": [34], "zip": ["02139"]}
        else:
            assert found == {"age": [34, None, 27], "zip": ["02139", "", None]}

    @pytest.mark.parametrize("name", NAMES)
    def test_a_table_without_rows_can_be_written(self, tmp_path: Path, name: str) -> None:
        write(TABLE.slice(0, 0), tmp_path / name)
        with pytest.raises(InputError, match=r"no rows"):
            read(tmp_path / name)

    @pytest.mark.parametrize("name", ["t.csv.gz", "t.parquet", "t.feather", "t.xlsx"])
    def test_the_same_table_gives_the_same_bytes_at_any_time(
        self, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write(TABLE.slice(0, 1), tmp_path / name)
        first = (tmp_path / name).read_bytes()
        later = time.time() + 100_000
        monkeypatch.setattr(time, "time", lambda: later)
        write(TABLE.slice(0, 1), tmp_path / name)
        assert (tmp_path / name).read_bytes() == first

    @pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.feather"])
    def test_nothing_but_the_rows_is_written(self, tmp_path: Path, name: str) -> None:
        ill = pa.array(["flu", "plague"]).dictionary_encode().slice(0, 1)
        table = pa.table({"ill": ill}).replace_schema_metadata({"from": "ward seven"})
        write(table, tmp_path / name)
        content = (tmp_path / name).read_bytes()
        assert b"plague" not in content
        assert b"ward seven" not in content
        assert read(tmp_path / name).table["ill"].to_pylist() == ["flu"]

    def test_the_name_decides_and_the_dialect_is_kept(self) -> None:
        dialect = Csv(separator=";", encoding="latin-1")
        assert output_format(Path("x.csv"), dialect) == dialect
        assert output_format(Path("x.tsv"), dialect) == Csv(separator="\t", encoding="latin-1")
        assert output_format(Path("x.parquet"), dialect) == Parquet()
        assert output_format(Path("x.csv"), Parquet()) == Csv()
        assert output_format(Path("x.arrow")) == Feather()
        assert output_format(Path("x.xlsx"), Excel("HIV ward", header=False)) == Excel(header=False)
        with refused(OutputError, "no ending"):
            output_format(Path("x"))


@pytest.mark.parametrize("days", [3_000_000, -800_000])
@pytest.mark.parametrize("kind", [pa.date32(), pa.timestamp("s"), pa.timestamp("us")])
def test_dates_beyond_four_digits_are_released_or_refused_with_a_way_out(
    days: int, kind: pa.DataType, tmp_path: Path
) -> None:
    plain = pa.array([days, 10] * 4, pa.int32()).cast(pa.date32())
    far, spelled = plain.cast(kind), plain.cast(pa.string()).to_pylist()
    table = pa.table({"age": [30] * 8, "day": far})
    release = veil.anonymize(
        table, quasi_identifiers={"age": "suppression"}, others="keep", models=veil.KAnonymity(2), person=None
    )
    for ending in ("parquet", "feather", "xlsx"):
        release.save(tmp_path / f"a.{ending}")
        texts = canonical_text(read(tmp_path / f"a.{ending}").table["day"])
        assert [
            each[: len(first)] for each, first in zip(sorted(map(str, texts)), sorted(spelled), strict=True)
        ] == sorted(spelled)
    with refused(OutputError, "'day'", "Parquet or Feather"):
        release.save(tmp_path / "a.csv")
    assert not (tmp_path / "a.csv").exists()
