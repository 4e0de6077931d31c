"""A browser session: the tables, the plan, the releases and the tasks of one browser."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import pickle
import re
import secrets
import shutil
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from http import HTTPStatus
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

import veil
from veil.api.release import Release
from veil.base.references import untrusted
from veil.engines.relation import Relation
from veil.hierarchies import Holders, uncovered
from veil.plan.prepare import distinct_values
from veil.recipe.about import About
from veil.recipe.project import step_in
from veil.risk import Proposal, Repeated, SingledOut, SinglingOut, find_repeats, propose_roles, singled_out
from veil.tables import Csv, Format, Source
from veil.tables.arrow import dictionary_encoded
from veil.tables.columns import encode_values
from veil.tables.csv.bad_cells import Mistakes, find_mistakes
from veil.tables.profile import ColumnProfile
from veil.tables.spelling import Person, encode_people
from veil.tables.text import canonical_text
from veil.web.draft import KEY_FILE, DraftHistory
from veil.web.problems import Refused, not_found
from veil.web.tasks import Task

Thing = TypeVar("Thing")
Again = Callable[[], Source | Relation | None]
"""A module-level function or a partial of one, so that it can be pickled."""

MOST_TABLES = 20
MOST_RUNNING = 4
MOST_RELEASES = 50


@dataclass(frozen=True)
class Filter:
    """Rows whose value in a column lies from `first` to `last`, or is missing."""

    column: str
    first: str = ""
    last: str = ""
    missing: bool = False


def plain_name(text: str) -> str:
    """Return a text with the characters that are safe in file names on all systems.

    >>> plain_name("Aufnahmen März/2025")
    'Aufnahmen-M-rz-2025'
    """
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text)


def _records_digest(table: pa.Table) -> str:
    """Return a SHA-256 of column names and records that depends on neither order nor format nor types.

    >>> one, other = pa.table({"a": [1, 2], "b": ["x", None]}), pa.table({"b": ["NA", "X"], "a": ["2.0", "1"]})
    >>> _records_digest(one) == _records_digest(other)
    True
    """
    names = sorted(table.column_names)
    records = np.zeros((table.num_rows, 4), np.uint64)
    for name in names:
        values, codes = encode_values(table[name])
        cells = [
            hashlib.sha256(json.dumps([name, _alike(text)], default=str).encode()).digest()
            for text in (values.to_pylist() if pa.types.is_nested(values.type) else canonical_text(values))
        ]
        digests = np.frombuffer(b"".join(cells), np.uint64).reshape(-1, 4)
        records = records * np.uint64(0x9E3779B97F4A7C15) + digests[codes]
    records = records[np.lexsort(records.T)]
    return hashlib.sha256(json.dumps(names).encode() + records.tobytes()).hexdigest()


_MISSING = frozenset(["", "na", "nan", "none", "null", "n/a", "#n/a"])
_MIDNIGHT = re.compile(r"(?<=\d)[t ]0?0:00(:00(\.0+)?)?$")


def _alike(cell: Any) -> Any:
    """Normalize a cell across programs; one budget for two tables is safe, two for the same records are not.

    >>> [_alike(each) for each in ("77.0", "7.70e1", " False", "NA", None, "1992-04-30T00:00:00")]
    ['77', '77', 'false', '', '', '1992-04-30']
    """
    if cell is not None and not isinstance(cell, str):
        return cell
    text = (cell or "").strip().casefold()
    if text in _MISSING:
        return ""
    try:
        return str(Decimal(text).normalize()) if len(text) < 40 else text
    except ArithmeticError:
        return _MIDNIGHT.sub("", text)


class OpenTable:
    """A table of a session, with cached figures about it."""

    def __init__(
        self, name: str, source: Source, relation: Relation | None = None, total: int = 0, *, again: Again
    ) -> None:
        """Take a table in memory, or a sample of an engine's relation; `again` reopens it after a crash."""
        self.id = secrets.token_urlsafe(12)
        self.name, self.source, self.relation, self.again = name, source, relation, again
        self.rows = total if relation is not None else source.table.num_rows
        self.beneath: Source | None = None
        """The source whose file this one is read from, too; the reference keeps the file."""
        self._distinct: dict[str, tuple[pa.Array, NDArray[np.int64]]] = {}
        self._holders: dict[tuple[str, str], Holders] = {}
        self._singled: dict[tuple[frozenset[str], str], SingledOut] = {}
        self._orders: dict[tuple[str, bool], NDArray[np.int64]] = {}
        self._uncovered: dict[str, tuple[str, tuple[str, ...]]] = {}

    @property
    def stem(self) -> str:
        """The stem of names of files made from it: that of its own file, or the table of a database."""
        match = re.fullmatch(r"table (\S+) of .*", self.name) if self.relation is not None else None
        return plain_name(match[1] if match else Path(self.name).stem) or "table"

    @property
    def arrow(self) -> pa.Table:
        """The rows in memory: all of them, or a sample if an engine holds them."""
        return self.source.table

    @functools.cached_property
    def fingerprint(self) -> str:
        """The identity of the records, in any file and order; a budget belongs to it."""
        if self.relation is not None:
            return hashlib.sha256(self.name.encode()).hexdigest()
        return _records_digest(self.arrow)

    @property
    def whole(self) -> Any:
        """The whole table as an argument of Veil's functions."""
        return self.source if self.relation is None else self.relation.table

    @functools.cached_property
    def profile(self) -> tuple[ColumnProfile, ...]:
        """The profiles of its columns."""
        return veil.profile(self.arrow)

    @functools.cached_property
    def mistakes(self) -> tuple[Mistakes, ...]:
        """The cells that prevent columns from being numbers or dates."""
        return find_mistakes(self.arrow)

    @functools.cached_property
    def proposals(self) -> tuple[Proposal, ...]:
        """The proposed roles of its columns."""
        return propose_roles(self.arrow)

    @functools.cached_property
    def repeated(self) -> tuple[Repeated, ...]:
        """The evidence that rows are about the same people."""
        # From all rows of an engine: a small sample has hardly any person twice.
        return find_repeats(self.arrow if self.relation is None else self.relation)

    def look_at_columns(self, task: Task) -> None:
        """Compute the cached properties that the first pages need."""
        parts = ("profile", "proposals", "repeated", "mistakes")
        for at, part in enumerate(parts):
            task.report_progress("looking at the columns", at, len(parts))
            getattr(self, part)

    @functools.cached_property
    def _singling_out(self) -> SinglingOut:
        return SinglingOut(self.arrow)

    def require(self, name: str) -> pa.ChunkedArray:
        """Return a column."""
        if name not in self.arrow.column_names:
            raise not_found("column")
        return self.arrow[name]

    def distinct(self, name: str) -> tuple[pa.Array, NDArray[np.int64]]:
        """Return the distinct values of a column and their counts."""
        if name not in self._distinct:
            self._distinct[name] = distinct_values(self.require(name))
        return self._distinct[name]

    def uncovered(self, name: str, builder: Any) -> tuple[str, ...]:
        """Return the values of a column that a hierarchy does not cover; the last answer is cached."""
        spelling = repr(builder)
        if self._uncovered.get(name, ("", ()))[0] != spelling:
            self._uncovered[name] = spelling, uncovered(builder, self.distinct(name)[0])
        return self._uncovered[name][1]

    def holders(self, name: str, person: str) -> Holders:
        """Return distinct pairs of value and owner codes; by default spellings are different people."""
        person = person if isinstance(person, Person) else Person(person, "as written")
        if (name, repr(person)) not in self._holders:
            _, codes = dictionary_encoded(self.require(name))
            _, people = encode_people(self.require(person), person)
            width = int(people.max(initial=0)) + 1
            pairs = np.unique(codes.astype(np.int64) * width + people)
            self._holders[name, repr(person)] = np.divmod(pairs, width)
        return self._holders[name, repr(person)]

    def singled_out(self, columns: list[str], person: str | None) -> SingledOut:
        """Return how many people some columns single out; answers are cached."""
        for name in columns if person is None else [*columns, person]:
            self.require(name)
        question = (frozenset(columns), repr(person))
        if question not in self._singled:
            if self.relation is None:
                self._singled[question] = self._singling_out(columns, person=person)
            else:
                self._singled[question] = singled_out(self.relation.table, columns, person=person)
        return self._singled[question]

    def page(
        self, start: int, count: int, sort: str | None, descending: bool, filters: Sequence[Filter] = ()
    ) -> tuple[list[list[str | None]], int]:
        """Return a page of the filtered rows as text, in the order of a column, and their number."""
        order = None if sort is None else self._order(sort, descending)
        if filters:
            kept_mask = np.logical_and.reduce([self._mask(each) for each in filters])
            order = np.flatnonzero(kept_mask) if order is None else order[kept_mask[order]]
        if order is None:
            return as_text(self.arrow.slice(start, count)), self.arrow.num_rows
        return as_text(self.arrow.take(pa.array(order[start : start + count]))), len(order)

    def _mask(self, condition: Filter) -> NDArray[np.bool_]:
        """Return a mask of the rows with a value from first to last, or with a missing value."""
        column = self.require(condition.column)
        if condition.missing:
            return np.asarray(column.is_null().to_numpy(), np.bool_)
        try:
            if condition.first == condition.last:
                mask = pc.equal(column.cast(pa.string()), condition.first)
            else:
                first, last = (
                    pa.scalar(each, pa.string()).cast(column.type)
                    for each in (condition.first, condition.last)
                )
                mask = pc.and_(pc.greater_equal(column, first), pc.less_equal(column, last))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise Refused(
                HTTPStatus.UNPROCESSABLE_ENTITY,
                f"column {condition.column!r} cannot be filtered by these values",
            ) from None
        return np.asarray(mask.fill_null(False).to_numpy(), np.bool_)

    def _order(self, name: str, descending: bool) -> NDArray[np.int64]:
        if (name, descending) not in self._orders:
            direction = "descending" if descending else "ascending"
            try:
                order = pc.sort_indices(self.require(name), sort_keys=[("", direction)])
            except pa.ArrowNotImplementedError:
                raise Refused(
                    HTTPStatus.UNPROCESSABLE_ENTITY, f"column {name!r} has values that have no order"
                ) from None
            self._orders = {(name, descending): order.to_numpy()}  # the last one only
        return self._orders[name, descending]

    def summary(self) -> dict[str, Any]:
        """Return name, size, columns and format of the table."""
        return {
            "id": self.id,
            "name": self.name,
            "rows": self.rows,
            "shown": self.arrow.num_rows,
            "engine": None if self.relation is None else self.relation.kind,
            "columns": list(self.arrow.column_names),
            "format": _describe_format(self.source.format),
        }


def as_text(rows: pa.Table) -> list[list[str | None]]:
    """Return the cells as text, row by row; missing ones as None."""
    columns = [
        [None if each is None else str(each) for each in rows[name].to_pylist()] for name in rows.column_names
    ]
    return [list(cells) for cells in zip(*columns, strict=True)]


def _describe_format(format: Format | None) -> dict[str, Any] | None:
    if format is None:
        return None
    fields: dict[str, Any] = {"kind": format.kind}
    if isinstance(format, Csv):
        fields |= {
            name: getattr(format, name)
            for name in (
                "separator",
                "encoding",
                "decimal",
                "thousands",
                "skip",
                "header",
                "missing",
                "types",
            )
        }
    return fields


@dataclass
class SessionRelease:
    """A release of a session, with its table and recipe."""

    release: Release
    table: OpenTable
    recipe: dict[str, Any]
    facts: dict[str, Any]
    """Figures computed once."""
    reports: dict[About, bytes] = field(default_factory=dict)
    """Reports in HTML, by the texts of the first page."""
    not_anonymous: str | None = None
    """The reason for taking it although it does not keep every promise."""
    id: str = field(default_factory=lambda: secrets.token_urlsafe(12))
    lock: threading.RLock = field(default_factory=threading.RLock)
    """Guards changes of the explored search space."""

    @property
    def is_masked(self) -> bool:
        """Whether masking methods made it, which leave columns out beside their recipe."""
        return "without" in self.recipe

    @property
    def roles(self) -> dict[str, Any]:
        """The columns by their role: what the step Generalize says, or what goes with masking methods."""
        return self.recipe if self.is_masked else step_in(self.recipe)


class BrowserSession:
    """The state of one browser's session."""

    def __init__(
        self, number: str, folder: Path, *, initial_table: Path | None = None, allow_paths: bool = False
    ) -> None:
        self.number, self.folder = number, folder
        self.initial_table, self.allow_paths = initial_table, allow_paths
        """The table that the server was started with, and whether files of its machine may be opened."""
        self.used = time.monotonic()
        self.tables: dict[str, OpenTable] = {}
        self.releases: dict[str, SessionRelease] = {}
        self.tasks: dict[str, Task] = {}
        self.history = DraftHistory()
        self.budgets = folder.parent / "budgets"
        """Folder of the budget of each table, by fingerprint; shared by all sessions."""
        self._busy: Path | None = None
        self._saved: Any = None
        self.key_file: Path | None = None
        """The file of the key of pseudonyms, which is stored nowhere else and removed with the session."""
        self.keys = (KEY_FILE, str(folder / KEY_FILE))
        """Names of the key file: the only file of this machine that a session may name."""
        self.lock = threading.RLock()

    # --- lookup: ids of other sessions are not found

    def table(self, id: str) -> OpenTable:
        """Find a table."""
        return _find(self.tables, id, "table")

    def release(self, id: str) -> SessionRelease:
        """Find a release."""
        return _find(self.releases, id, "release")

    def task(self, id: str) -> Task:
        """Find a task."""
        return _find(self.tasks, id, "task")

    # --- tasks

    def start(self, kind: str, work: Callable[[Task], dict[str, Any]]) -> Task:
        """Start a task."""
        with self.lock:
            running = [each for each in self.tasks.values() if each.state == "running"]
            if len(running) >= MOST_RUNNING:
                raise Refused(
                    HTTPStatus.TOO_MANY_REQUESTS,
                    f"{MOST_RUNNING} tasks are running: wait for one of them, or stop it",
                )

            def guarded(task: Task) -> dict[str, Any]:
                with untrusted(self.keys):
                    return work(task)

            task = Task(kind, guarded, self.save)
            self.tasks[task.id] = task
            for old in [each.id for each in self.tasks.values() if each.state != "running"][:-100]:
                del self.tasks[old]
            self.save()  # before the task can crash
        return task.start()

    # --- recovery after a crash

    def go_on(self, busy: Path) -> None:
        """Restore the state of a crashed process, and save it from now on; `busy` exists while tasks run."""
        self._busy = busy
        if (path := self.folder / KEY_FILE).exists():
            self.key_file = path
        with contextlib.suppress(OSError):
            draft, version, tables, tasks = pickle.loads(self._state.read_bytes())  # noqa: S301 - our own
            for id, name, again in tables:
                with contextlib.suppress(Exception):  # of any driver, if a database is gone
                    source = again()
                    assert source is not None
                    if isinstance(source, Source):
                        table = OpenTable(name, source, again=again)
                    else:
                        table = self.open_relation(source, again)
                    self.tables[id], table.id = table, id
            if draft.table not in self.tables:
                draft = draft.model_copy(update={"table": None})
            self.history = DraftHistory(draft, version)
            for id, kind in tasks:
                self.tasks[id] = task = Task(kind, lambda _: {})
                task.id = id
                task.crash()
        self.save()

    @property
    def _state(self) -> Path:
        return self.folder / "state"

    def save(self) -> None:
        """Save the state that has to survive a crash, if it has changed."""
        if self._busy is None:
            return
        with self.lock:
            running = [(each.id, each.kind) for each in self.tasks.values() if each.state == "running"]
            now = self.history.version, list(self.tables), running
            if now == self._saved:
                return
            tables = [(each.id, each.name, each.again) for each in self.tables.values()]
            file = self._state.with_suffix(".new")
            with contextlib.suppress(OSError):  # a full disk is reported when a result is written
                file.write_bytes(pickle.dumps((self.history.draft, self.history.version, tables, running)))
                file.replace(self._state)
                self._saved = now
                if running:
                    self._busy.touch()
                else:
                    self._busy.unlink(missing_ok=True)

    # --- tables, releases and the key

    def add(self, table: OpenTable) -> OpenTable:
        """Add a table to the session."""
        with self.lock:
            self.require_room()
            self.tables[table.id] = table
        return table

    def open_relation(self, relation: Relation, again: Again) -> OpenTable:
        """Open a table of an engine with a sample of its rows; the rows stay in the engine."""
        from veil.engines.sample_rows import glimpse  # here, as it needs Ibis

        sample = glimpse(relation)
        return OpenTable(relation.name, Source(sample.table, "pyarrow"), relation, sample.total, again=again)

    def require_room(self) -> None:
        """Refuse another table if there are too many."""
        if len(self.tables) >= MOST_TABLES:
            raise Refused(HTTPStatus.TOO_MANY_REQUESTS, f"{MOST_TABLES} tables are open: close one first")

    def keep(self, entry: SessionRelease) -> SessionRelease:
        """Keep a release, and drop the oldest one if there are too many."""
        with self.lock:
            self.releases[entry.id] = entry
            while len(self.releases) > MOST_RELEASES:
                del self.releases[next(iter(self.releases))]
        return entry

    def close_table(self, table: OpenTable) -> None:
        """Close a table and forget its releases."""
        with self.lock:
            del self.tables[table.id]
            self.releases = {id: each for id, each in self.releases.items() if each.table is not table}
            if self.history.draft.table == table.id:
                self.history = DraftHistory()

    def keep_key(self, key: str | None) -> None:
        """Store the key of pseudonyms, or forget it."""
        path = self.folder / KEY_FILE
        path.unlink(missing_ok=True)
        if key is not None:
            with open(
                os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii"
            ) as file:
                file.write(key)
        self.key_file = None if key is None else path

    @property
    def is_busy(self) -> bool:
        """Whether a task is running."""
        return any(each.state == "running" for each in list(self.tasks.values()))

    def close(self) -> None:
        """Stop all tasks and remove all files."""
        for task in list(self.tasks.values()):
            task.cancel()
        self.tables, self.releases = {}, {}
        shutil.rmtree(self.folder, ignore_errors=True)


def _find(things: dict[str, Thing], id: str, what: str) -> Thing:
    thing = things.get(id)
    if thing is None:
        raise not_found(what)
    return thing
