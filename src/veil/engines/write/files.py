"""Releases as files: a folder of Parquet parts, or one file that is joined from them.

The parts are staged in ``.<name>.veil-<mark>/parts`` beside the target, each written under another name,
synced and renamed; a manifest lists the finished ones. The staging folder is private, as its rows are not
checked yet. If rows of several parts are shuffled, new parts are made of all of them, in ``mixed``.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import pyarrow as pa

from veil.base.locks import file_lock
from veil.engines.dialects import dialect_of
from veil.engines.kinds import restored
from veil.engines.scan.files import Files
from veil.engines.shuffle import shuffled
from veil.engines.write.locks import put_back, take_place
from veil.engines.write.target import Target
from veil.errors import OutputError
from veil.tables.csv.writer import Encoded, header_line, heed_dialect, write_records
from veil.tables.disk import identity, not_written, remove, replaceable, sync, sync_folder
from veil.tables.formats import Csv, Format, Parquet, is_gzip, output_format
from veil.tables.journal import Witness, at_path, lock_of
from veil.verification.layout import layout_of_parquet

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from veil.engines.relation import Relation

_BATCH = 1 << 16
_GROUP = 1 << 17


def file_target(
    path: str | os.PathLike[str], relation: Relation, mark: str, overwrite: bool, format: Format | None
) -> Target:
    """Return the target for a path: a folder if it ends in / or no suffix, or exists as one; else a file."""
    text = os.fspath(path)
    # Behind a symbolic link, its destination is replaced, not the link.
    place = Path(os.path.realpath(text))
    if not place.parent.is_dir():
        raise OutputError(
            f"{text}: the folder {place.parent} does not exist. Create it, or choose another path"
        )
    _refuse_source(text, place, relation)
    if text.endswith(("/", os.sep)) or place.is_dir() or (not place.suffix and format is None):
        if place.exists() and not place.is_dir():
            raise OutputError(f"{text}: is a file, not a folder. Choose another path, or remove it")
        return FolderTarget(place, relation, mark, overwrite)
    try:
        replaceable(Path(text), place)
    except OSError as error:
        raise not_written(Path(text), error) from error
    output = format if format is not None else output_format(place)
    if not isinstance(output, Csv | Parquet):
        raise OutputError(
            f"{text}: an engine writes CSV and Parquet. Choose a name with one of these endings"
        )
    return FileTarget(place, relation, mark, overwrite, output)


def _refuse_source(text: str, place: Path, relation: Relation) -> None:
    files = [Path(os.path.realpath(file)) for file in relation.scan.files]
    if any(place == file or place in file.parents for file in files):
        raise OutputError(f"{text}: is or contains the input. Choose another path")
    folder = Path(os.path.realpath(relation.location.path)) if isinstance(relation.location, Files) else None
    if folder is not None and folder in place.parents:
        raise OutputError(f"{text}: is inside the input folder. Choose a path outside of it")
    database = relation.original.dialect.file()
    if database is not None and place == Path(os.path.realpath(database)):
        raise OutputError(f"{text}: is the input database. Choose another path")


class FolderTarget(Target):
    """A folder of Parquet files."""

    def __init__(self, place: Path, relation: Relation, mark: str, overwrite: bool) -> None:
        self.place, self.relation, self.overwrite = place, relation, overwrite
        self.name, self.secrets = str(place), {}
        self.folder = place.with_name(f".{place.name}.veil-{mark}")
        self.parts = self.folder / "parts"
        self.mixed = self.folder / "mixed"
        self.ready = self.new = self.parts
        self.manifest = self.folder / "manifest.json"
        self.labels: list[str] = []
        self.state: dict[str, Any] = {}

    @property
    def staging(self) -> str:
        return str(self.folder)

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        with file_lock(lock_of(self.place), self.name):
            put_back(self.place)
            yield

    def exists(self) -> bool:
        return self.place.is_file() or (self.place.is_dir() and any(self.place.iterdir()))

    def begin(self, key: str, labels: Sequence[str], example: ir.Table) -> set[str]:
        self._check_replaceable()
        self._remove_others()
        state = self._read()
        # After an exchange without cleanup, the parts are those of the replaced release.
        if state.get("key") != key or state.get("parts") != identity(self.parts):
            self.abandon()
            self.folder.mkdir(mode=0o700)
            self.parts.mkdir()
            state = {"key": key, "parts": identity(self.parts), "done": []}
        for part in self.parts.glob("*.tmp"):
            remove(part)
        remove(self.mixed)
        self.ready = self.parts
        self.labels = list(labels)
        parts = {part.name[: len("part-00000")] for part in self.files()}
        done = [label for label in state["done"] if self._part(label).stem in parts]
        self.state = {**state, "done": done, "committed": None}
        self._save()
        return set(done)

    def _part(self, label: str) -> Path:
        return self.parts / f"part-{self.labels.index(label):05}.parquet"

    def append(self, label: str, piece: ir.Table) -> None:
        part = self._part(label)
        temporary = part.with_suffix(".tmp")
        files = self.relation.dialect.write_parquet(piece, temporary, self.name)
        is_whole = files == [temporary]  # not one of several in a folder
        names = [f"{part.stem}-{number:05}.parquet" for number in range(len(files))]
        self._keep(files, [part.name] if is_whole else names, temporary)
        self.state["done"].append(label)
        self._save()

    def shuffle(self, rows: int) -> None:
        self._mix(rows)

    def _mix(self, most: int | None) -> None:
        """Make new files of all parts, with at most so many rows each."""
        remove(self.mixed)
        self.mixed.mkdir()
        temporary, rows = self.mixed / "rows.tmp", shuffled(self.staged_rows())
        files = dialect_of(rows._find_backend()).write_parquet(rows, temporary, self.name, most)
        self._keep(files, [f"part-{number:05}.parquet" for number in range(len(files))], temporary)
        self.ready = self.mixed

    def _keep(self, files: Sequence[Path], names: Sequence[str], temporary: Path) -> None:
        """Give finished files their names; `temporary` is one of them, or the folder that they are in."""
        for file, name in zip(files, names, strict=True):
            self._retype(file)
            _make_groups_equal(file)
            sync(file)
            os.replace(file, temporary.with_name(name))
        remove(temporary)
        sync(temporary.parent)

    def _retype(self, file: Path) -> None:
        """Give columns of an input file the types that they have in memory, if the engine wrote others."""
        import pyarrow.parquet as pq

        scan = self.relation.scan
        schema = pq.read_schema(file).remove_metadata()
        kinds = {each.name: restored(each.type, scan.kinds.get(each.name, each.type)) for each in schema}
        kinds |= {name: pa.dictionary(pa.int32(), kinds[name]) for name in scan.categories & kinds.keys()}
        typed = pa.schema([each.with_type(kinds[each.name]) for each in schema])
        if typed == schema:
            return
        other = file.with_name(f"{file.name}.typed")
        with pq.ParquetFile(file) as part, pq.ParquetWriter(other, typed, compression="zstd") as writer:
            for number in range(part.num_row_groups):
                writer.write_table(part.read_row_group(number).cast(typed))
        os.replace(other, file)

    def files(self) -> list[Path]:
        """Return the staged parts in order."""
        return sorted(self.ready.glob("part-*.parquet"))

    def staged_rows(self) -> ir.Table:
        return self.relation.dialect.read_parquet(self.ready, self.files())

    def prepare(self) -> None:
        self.new = self.ready

    def witness(self) -> Witness:
        return at_path(self.new, self.place)

    def commit(self) -> None:
        """Exchange the folders, so that the inode shows a later run whether it happened."""
        self._check_replaceable()
        self.state["committed"] = identity(self.new)
        self._save()
        old = take_place(self.new, self.place, overwrite=self.overwrite)
        sync_folder(self.place.parent)
        if old is not None and old != self.parts:
            remove(old)
        remove(self.folder)

    def is_finished(self, key: str) -> bool:
        state = self._read()
        committed = state.get("committed")
        if state.get("key") != key or committed is None or committed != identity(self.place):
            return False
        remove(self.folder)
        return True

    def abandon(self) -> None:
        remove(self.manifest)  # first, as it must not list parts that are gone
        remove(self.folder)

    def _check_replaceable(self) -> None:
        """Refuse a folder with anything but the files of a release."""
        if not self.place.is_dir():
            return
        for each in self.place.iterdir():
            if each.is_dir() or not each.name.endswith((".parquet", ".crc", "_SUCCESS")):
                raise OutputError(
                    f"{self.name}: holds {each.name!r}, which is not part of a release, and would be removed. "
                    "Choose another folder, or remove it yourself"
                )

    def _remove_others(self) -> None:
        pattern = re.compile(re.escape(f".{self.place.name}.veil-") + r"[0-9a-f]{12}")
        for each in self.place.parent.iterdir():
            if pattern.fullmatch(each.name) and each != self.folder:
                remove(each)

    def _read(self) -> dict[str, Any]:
        try:
            state = json.loads(self.manifest.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return state if isinstance(state, dict) else {}

    def _save(self) -> None:
        temporary = self.manifest.with_suffix(".tmp")
        temporary.write_text(json.dumps(self.state, indent=1), encoding="utf-8")
        sync(temporary)
        os.replace(temporary, self.manifest)
        sync(self.folder)


def _make_groups_equal(file: Path) -> None:
    """Rewrite a file whose row groups reveal where rows were left out: engines may cut before a filter."""
    if any(layout_of_parquet(file, foreign=False)):
        again = file.with_name(f"{file.name}.again")
        _write_in_equal_groups([file], again)
        os.replace(again, file)


def _write_in_equal_groups(files: Sequence[Path], target: Path) -> None:
    """Join Parquet files, in row groups that are equal but for the last."""
    import pyarrow.parquet as pq

    schema = pq.read_schema(files[0]).remove_metadata()
    rest = schema.empty_table()
    with pq.ParquetWriter(target, schema, compression="zstd") as writer:
        for file in files:
            with pq.ParquetFile(file) as part:
                for number in range(part.num_row_groups):
                    rest = pa.concat_tables([rest, part.read_row_group(number).cast(schema)])
                    full = rest.num_rows // _GROUP * _GROUP
                    if full:
                        writer.write_table(rest.slice(0, full), row_group_size=_GROUP)
                        rest = rest.slice(full)
        if rest.num_rows:
            writer.write_table(rest)


class FileTarget(FolderTarget):
    """One Parquet or CSV file, joined from the parts once they have been checked."""

    def __init__(
        self, place: Path, relation: Relation, mark: str, overwrite: bool, format: Csv | Parquet
    ) -> None:
        super().__init__(place, relation, mark, overwrite)
        self.format = format

    def shuffle(self, rows: int) -> None:
        self._mix(None)

    def prepare(self) -> None:
        self.new = joined = self.folder / "joined"
        remove(joined)  # of an earlier run, and maybe the same file as its only part
        with joined.open("wb") as file:  # created here for the permissions of the user's umask
            if isinstance(self.format, Csv):
                self._join_csv(file, self.format)
        if isinstance(self.format, Parquet):
            self._join_parquet(joined)
        if self.place.exists():
            joined.chmod(self.place.stat().st_mode & 0o7777)
        sync(joined)

    def _join_parquet(self, joined: Path) -> None:
        files = self.files()
        if len(files) == 1:
            with contextlib.suppress(OSError):  # a file system without hard links
                joined.unlink()
                os.link(files[0], joined)
                return
        _write_in_equal_groups(files, joined)

    def _join_csv(self, file: BinaryIO, format: Csv) -> None:
        import pyarrow.parquet as pq

        with contextlib.ExitStack() as stack:
            if is_gzip(self.place):
                # No name and no time inside, so that equal tables give equal bytes.
                file = stack.enter_context(
                    gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0, compresslevel=6)
                )  # type: ignore[assignment]
            # One writer for all pieces, as some encodings begin with a mark that must not be in a record.
            out, files = Encoded(file, format.encoding or "utf-8"), self.files()
            if format.header and files:
                out.write(header_line(pq.read_schema(files[0]).names, format))
            for name in files:
                with pq.ParquetFile(name) as part:
                    for batch in part.iter_batches(_BATCH):
                        rows = pa.Table.from_batches([batch])
                        heed_dialect(rows, format)
                        write_records(rows, out, format)
