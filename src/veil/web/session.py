"""A session: the tables, the plan, the releases and the jobs of one browser, and nothing of anybody else."""

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
from veil.risk import Proposal, Repeated, SingledOut, SinglingOut, find_repeats, propose_roles, singled_out
from veil.tables import Csv, Format, Source
from veil.tables.arrow import dictionary_encoded
from veil.tables.columns import encode_values
from veil.tables.csv.bad_cells import Mistakes, find_mistakes
from veil.tables.profile import ColumnProfile
from veil.tables.spelling import Person, encode_people
from veil.tables.text import canonical_text
from veil.web.draft import KEY_FILE, DraftHistory
from veil.web.jobs import Task
from veil.web.problems import Refused, not_found

Thing = TypeVar("Thing")
Again = Callable[[], Source | Relation | None]
"""A function with a name, or a part of one, so that another process can call it."""

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
    """Return a text as the name of a file can hold it everywhere.

    >>> plain_name("Aufnahmen März/2025")
    'Aufnahmen-M-rz-2025'
    """
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text)


def _records_digest(table: pa.Table) -> str:
    """Return a SHA-256 of the columns by their names and of the records, whatever their order, format or types.

    >>> one, other = pa.table({"a": [1, 2], "b": ["x", None]}), pa.table({"b": ["NA", "X"], "a": ["2.0", "1"]})
    >>> _records_digest(one) == _records_digest(other)
    True
    """
    names = sorted(table.column_names)
    records = np.zeros((table.num_rows, 4), np.uint64)
    for name in names:
        values, codes = encode_values(table[name])
        spelled = [
            hashlib.sha256(json.dumps([name, _alike(text)], default=str).encode()).digest()
            for text in (values.to_pylist() if pa.types.is_nested(values.type) else canonical_text(values))
        ]
        digests = np.frombuffer(b"".join(spelled), np.uint64).reshape(-1, 4)
        records = records * np.uint64(0x9E3779B97F4A7C15) + digests[codes]
    records = records[np.lexsort(records.T)]
    return hashlib.sha256(json.dumps(names).encode() + records.tobytes()).hexdigest()


_MISSING = frozenset(["", "na", "nan", "none", "null", "n/a", "#n/a"])
_MIDNIGHT = re.compile(r"(?<=\d)[t ]0?0:00(:00(\.0+)?)?$")


def _alike(cell: Any) -> Any:
    """Return what the cell is whatever program has saved it last; too few budgets are safe, and too many are not.

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
    """A table of a session, with what has been found out about it."""

    def __init__(
        self,
        name: str,
        source: Source,
        held: Relation | None = None,
        total: int = 0,
        *,
        again: Again,
    ) -> None:
        """Take a table in memory, or some rows of one that an engine holds; `again` finds it again after a crash."""
        self.id = secrets.token_urlsafe(12)
        self.name, self.source, self.held, self.again = name, source, held, again
        self.rows = total if held is not None else source.table.num_rows
        self.beneath: Source | None = None
        """The source whose file this one is read from, too: the file stays as long as it does."""
        self._distinct: dict[str, tuple[pa.Array, NDArray[np.int64]]] = {}
        self._holders: dict[tuple[str, str], Holders] = {}
        self._singled: dict[tuple[frozenset[str], str], SingledOut] = {}
        self._orders: dict[tuple[str, bool], NDArray[np.int64]] = {}
        self._uncovered: dict[str, tuple[str, tuple[str, ...]]] = {}

    @property
    def stem(self) -> str:
        """What files that are made of it are called: as its own file or, in a database, as the table."""
        named = re.fullmatch(r"table (\S+) of .*", self.name) if self.held is not None else None
        return plain_name(named[1] if named else Path(self.name).stem) or "table"

    @property
    def arrow(self) -> pa.Table:
        """Its rows; of a table that an engine holds, some of them."""
        return self.source.table

    @functools.cached_property
    def fingerprint(self) -> str:
        """What tells this table from others, and its budget with it: the same records, in whatever file and order."""
        if self.held is not None:
            return hashlib.sha256(self.name.encode()).hexdigest()
        return _records_digest(self.arrow)

    @property
    def whole(self) -> Any:
        """All of it, as Veil's verbs take it."""
        return self.source if self.held is None else self.held.table

    @functools.cached_property
    def profile(self) -> tuple[ColumnProfile, ...]:
        """What its columns hold."""
        return veil.profile(self.arrow)

    @functools.cached_property
    def mistakes(self) -> tuple[Mistakes, ...]:
        """Cells that keep columns from being numbers or dates."""
        return find_mistakes(self.arrow)

    @functools.cached_property
    def proposals(self) -> tuple[Proposal, ...]:
        """The roles that are proposed for its columns."""
        return propose_roles(self.arrow)

    @functools.cached_property
    def repeated(self) -> tuple[Repeated, ...]:
        """What tells that rows are about the same people."""
        # Of all rows that an engine holds: among some of very many, hardly anybody is there twice.
        return find_repeats(self.arrow if self.held is None else self.held)

    def look_at_columns(self, job: Task) -> None:
        """Find out what the first pages ask, which is found out once."""
        asked = ("profile", "proposals", "repeated", "mistakes")
        for at, what in enumerate(asked):
            job.tell("looking at the columns", at, len(asked), "")
            getattr(self, what)

    @functools.cached_property
    def _singling_out(self) -> SinglingOut:
        return SinglingOut(self.arrow)

    def require(self, name: str) -> pa.ChunkedArray:
        """Return a column."""
        if name not in self.arrow.column_names:
            raise not_found("column")
        return self.arrow[name]

    def distinct(self, name: str) -> tuple[pa.Array, NDArray[np.int64]]:
        """Return the different values of a column, and how often each occurs."""
        if name not in self._distinct:
            self._distinct[name] = distinct_values(self.require(name))
        return self._distinct[name]

    def uncovered(self, name: str, builder: Any) -> tuple[str, ...]:
        """Return the values of a column that a hierarchy does not cover; found out once for each hierarchy."""
        asked = repr(builder)
        if self._uncovered.get(name, ("", ()))[0] != asked:
            self._uncovered[name] = asked, uncovered(builder, self.distinct(name)[0])
        return self._uncovered[name][1]

    def holders(self, name: str, person: str) -> Holders:
        """Tell who has which value of a column, each pair once; whose spelling nobody has said are told apart."""
        person = person if isinstance(person, Person) else Person(person, "as written")
        if (name, repr(person)) not in self._holders:
            _, codes = dictionary_encoded(self.require(name))
            _, people = encode_people(self.require(person), person)
            width = int(people.max(initial=0)) + 1
            pairs = np.unique(codes.astype(np.int64) * width + people)
            self._holders[name, repr(person)] = np.divmod(pairs, width)
        return self._holders[name, repr(person)]

    def singled_out(self, columns: list[str], person: str | None) -> SingledOut:
        """Tell how many people some columns single out; each question is answered once."""
        for name in columns if person is None else [*columns, person]:
            self.require(name)
        asked = (frozenset(columns), repr(person))
        if asked not in self._singled:
            if self.held is None:
                self._singled[asked] = self._singling_out(columns, person=person)
            else:
                self._singled[asked] = singled_out(self.held.table, columns, person=person)
        return self._singled[asked]

    def page(
        self, start: int, count: int, sort: str | None, descending: bool, filters: Sequence[Filter] = ()
    ) -> tuple[list[list[str | None]], int]:
        """Return some rows as text, in the order of a column, and how many there are with these filters."""
        order = None if sort is None else self._order(sort, descending)
        if filters:
            kept = np.logical_and.reduce([self._mask(each) for each in filters])
            order = np.flatnonzero(kept) if order is None else order[kept[order]]
        if order is None:
            return as_text(self.arrow.slice(start, count)), self.arrow.num_rows
        return as_text(self.arrow.take(pa.array(order[start : start + count]))), len(order)

    def _mask(self, wanted: Filter) -> NDArray[np.bool_]:
        """Return which rows a filter keeps: those whose value lies from first to last, or those that have none."""
        column = self.require(wanted.column)
        if wanted.missing:
            return np.asarray(column.is_null().to_numpy(), np.bool_)
        try:
            if wanted.first == wanted.last:
                found = pc.equal(column.cast(pa.string()), wanted.first)
            else:
                first, last = (
                    pa.scalar(each, pa.string()).cast(column.type) for each in (wanted.first, wanted.last)
                )
                found = pc.and_(pc.greater_equal(column, first), pc.less_equal(column, last))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise Refused(
                HTTPStatus.UNPROCESSABLE_ENTITY,
                f"column {wanted.column!r} cannot be filtered by these values",
            ) from None
        return np.asarray(found.fill_null(False).to_numpy(), np.bool_)

    def _order(self, name: str, descending: bool) -> NDArray[np.int64]:
        if (name, descending) not in self._orders:
            direction = "descending" if descending else "ascending"
            try:
                order = pc.sort_indices(self.require(name), sort_keys=[("", direction)])
            except pa.ArrowNotImplementedError:
                raise Refused(
                    HTTPStatus.UNPROCESSABLE_ENTITY, f"column {name!r} has values that have no order"
                ) from None
            self._orders = {(name, descending): order.to_numpy()}  # one at a time
        return self._orders[name, descending]

    def told(self) -> dict[str, Any]:
        """What there is to say about the table before anybody looks into it."""
        return {
            "id": self.id,
            "name": self.name,
            "rows": self.rows,
            "shown": self.arrow.num_rows,
            "engine": None if self.held is None else self.held.kind,
            "columns": list(self.arrow.column_names),
            "format": _format_told(self.source.format),
        }


def as_text(rows: pa.Table) -> list[list[str | None]]:
    """Write cells as people read them; what is missing is null."""
    columns = [
        [None if each is None else str(each) for each in rows[name].to_pylist()] for name in rows.column_names
    ]
    return [list(cells) for cells in zip(*columns, strict=True)]


def _format_told(format: Format | None) -> dict[str, Any] | None:
    if format is None:
        return None
    told: dict[str, Any] = {"kind": format.kind}
    if isinstance(format, Csv):
        told |= {
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
    return told


@dataclass
class SessionRelease:
    """A release of a session: what was made, of which table, and by which recipe."""

    release: Release
    table: OpenTable
    recipe: dict[str, Any]
    facts: dict[str, Any]
    """What was found out about it once."""
    reports: dict[About, bytes] = field(default_factory=dict)
    """Its report in HTML, by what the first page says."""
    not_anonymous: str | None = None
    """Why it was taken although it keeps not every promise."""
    id: str = field(default_factory=lambda: secrets.token_urlsafe(12))
    lock: threading.RLock = field(default_factory=threading.RLock)
    """Held by whoever adds to what is known of the search."""


class BrowserSession:
    """What belongs to one browser."""

    def __init__(
        self,
        number: str,
        folder: Path,
        *,
        given: Path | None = None,
        allow_paths: bool = False,
    ) -> None:
        self.number, self.folder = number, folder
        self.given, self.allow_paths = given, allow_paths
        """The table that the server was started with, and whether files of its machine may be opened."""
        self.used = time.monotonic()
        self.tables: dict[str, OpenTable] = {}
        self.releases: dict[str, SessionRelease] = {}
        self.jobs: dict[str, Task] = {}
        self.history = DraftHistory()
        self.budgets = folder.parent / "budgets"
        """What may still be spent on each table, by its fingerprint: the same for all sessions, as people are."""
        self._busy: Path | None = None
        self._saved: Any = None
        self.key_file: Path | None = None
        """The secret key of pseudonyms, which is here and nowhere else, and goes with the session."""
        self.keys = (KEY_FILE, str(folder / KEY_FILE))
        """What the key may be called: the only thing of this machine that can be named in a session."""
        self.lock = threading.RLock()

    # --- finding things: what belongs to another session is as little here as what never was

    def table(self, id: str) -> OpenTable:
        """Find a table."""
        return _find(self.tables, id, "table")

    def release(self, id: str) -> SessionRelease:
        """Find a release."""
        return _find(self.releases, id, "release")

    def job(self, id: str) -> Task:
        """Find a job."""
        return _find(self.jobs, id, "job")

    # --- working

    def start(self, kind: str, work: Callable[[Task], dict[str, Any]]) -> Task:
        """Start a job."""
        with self.lock:
            running = [each for each in self.jobs.values() if each.state == "running"]
            if len(running) >= MOST_RUNNING:
                raise Refused(
                    HTTPStatus.TOO_MANY_REQUESTS,
                    f"{MOST_RUNNING} jobs are running: wait for one of them, or stop it",
                )

            def guarded(job: Task) -> dict[str, Any]:
                with untrusted(self.keys):
                    return work(job)

            job = Task(kind, guarded, self.save)
            self.jobs[job.id] = job
            for old in [each.id for each in self.jobs.values() if each.state != "running"][:-100]:
                del self.jobs[old]
            self.save()  # before anything can crash
        return job.start()

    # --- going on after a crash

    def go_on(self, busy: Path) -> None:
        """Go on with what was saved by a process that has crashed, and save from now on; `busy` is there while jobs run."""
        self._busy = busy
        if (path := self.folder / KEY_FILE).exists():
            self.key_file = path
        with contextlib.suppress(OSError):
            draft, version, tables, jobs = pickle.loads(self._state.read_bytes())  # noqa: S301 - our own
            for id, name, again in tables:
                with contextlib.suppress(
                    Exception
                ):  # a database that is gone, whatever its driver calls that
                    found = again()
                    assert found is not None
                    is_held = not isinstance(found, Source)
                    table = self.open_held(found, again) if is_held else OpenTable(name, found, again=again)
                    self.tables[id], table.id = table, id
            if draft.table not in self.tables:
                draft = draft.model_copy(update={"table": None})
            self.history = DraftHistory(draft, version)
            for id, kind in jobs:
                self.jobs[id] = job = Task(kind, lambda _: {})
                job.id = id
                job.crash()
        self.save()

    @property
    def _state(self) -> Path:
        return self.folder / "state"

    def save(self) -> None:
        """Write down what a crash must not take along, if it has changed."""
        if self._busy is None:
            return
        with self.lock:
            running = [(each.id, each.kind) for each in self.jobs.values() if each.state == "running"]
            now = self.history.version, list(self.tables), running
            if now == self._saved:
                return
            tables = [(each.id, each.name, each.again) for each in self.tables.values()]
            written = self._state.with_suffix(".new")
            with contextlib.suppress(OSError):  # a full disk is said by whoever has something to write
                written.write_bytes(pickle.dumps((self.history.draft, self.history.version, tables, running)))
                written.replace(self._state)
                self._saved = now
                if running:
                    self._busy.touch()
                else:
                    self._busy.unlink(missing_ok=True)

    # --- opening and keeping

    def add(self, table: OpenTable) -> OpenTable:
        """Make a table that was read one of the session."""
        with self.lock:
            self.require_room()
            self.tables[table.id] = table
        return table

    def open_held(self, relation: Relation, again: Again) -> OpenTable:
        """Look at some rows of a table that an engine holds; all of them stay where they are."""
        from veil.engines.sample_rows import glimpse  # which needs Ibis

        seen = glimpse(relation)
        return OpenTable(relation.name, Source(seen.table, "pyarrow"), relation, seen.total, again=again)

    def require_room(self) -> None:
        """Refuse one table more than there may be."""
        if len(self.tables) >= MOST_TABLES:
            raise Refused(HTTPStatus.TOO_MANY_REQUESTS, f"{MOST_TABLES} tables are open: close one first")

    def keep(self, made: SessionRelease) -> SessionRelease:
        """Keep a release, and drop the oldest one if there are too many."""
        with self.lock:
            self.releases[made.id] = made
            while len(self.releases) > MOST_RELEASES:
                del self.releases[next(iter(self.releases))]
        return made

    def close_table(self, table: OpenTable) -> None:
        """Close a table, and forget everything that was made from it."""
        with self.lock:
            del self.tables[table.id]
            self.releases = {id: each for id, each in self.releases.items() if each.table is not table}
            if self.history.draft.table == table.id:
                self.history = DraftHistory()

    def keep_key(self, key: str | None) -> None:
        """Take the key of pseudonyms, or forget it."""
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
        """Whether a job is running."""
        return any(each.state == "running" for each in list(self.jobs.values()))

    def close(self) -> None:
        """Stop everything, and remove all files."""
        for job in list(self.jobs.values()):
            job.cancel()
        self.tables, self.releases = {}, {}
        shutil.rmtree(self.folder, ignore_errors=True)


def _find(known: dict[str, Thing], id: str, what: str) -> Thing:
    found = known.get(id)
    if found is None:
        raise not_found(what)
    return found
