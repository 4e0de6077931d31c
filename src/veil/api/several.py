"""Several tables about the same people: one plan, one transformation for each column, one promise to each person.

The rows of all tables are stacked, with the name of their table as part of what an attacker knows of a row. All that a
person has in all tables is then the set of rows that `knows="all rows"` speaks of: the joined view of a person, without the
product of rows that a join would make. So the search, the models and the verifier are those of one table. What comes out is
taken apart again, and checked as it leaves: put together by pseudonyms, as an attacker would.
"""

from __future__ import annotations

import dataclasses
import functools
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from veil.api.deliver import file_name
from veil.api.open import find_relation
from veil.api.release import Release
from veil.api.targets import check_target, is_database
from veil.base.progress import Progress, ProgressLike
from veil.base.wording import plural
from veil.dp.safepub import SafePub
from veil.errors import InputError, OutputError, PlanError, Say
from veil.hierarchies import identity
from veil.models import PrivacyModel
from veil.outcome.apply import blank_cells, decode_column
from veil.outcome.generalize import generalize, search_best
from veil.outcome.outcome import Outcome
from veil.outcome.written import Written
from veil.plan.plan import Plan
from veil.plan.prepare import distinct_values, prepare
from veil.published.finding import Finding, Verification
from veil.published.people import People
from veil.published.table import Published
from veil.tables import Csv, Source, output_format, read, write
from veil.tables.arrow import in_new_memory
from veil.tables.columns import encode_values
from veil.tables.csv.writer import write_csv
from veil.tables.text import canonical_text
from veil.tables.writing import sync
from veil.verification.delivered import check_frame
from veil.verification.files import check_file
from veil.verification.outcome import verified
from veil.verification.release import verify_models


@dataclass(frozen=True, eq=False)
class Part:
    """One of the tables: what came in, what goes out, and the input row of each row that goes out."""

    source: Source
    table: pa.Table
    rows: NDArray[np.int64]


class SeveralTables(Release):
    """Anonymized tables about the same people, verified together.

    Search, verification and risks are those of all rows together; `tables` are what is released.
    """

    def __init__(self, outcome: Outcome, stacked: Stacked) -> None:
        self.parts = stacked.take_apart(outcome)
        found = stacked.verify(self.parts, outcome)
        found.require()
        both = Verification((*outcome.verification.findings, *found.findings))
        super().__init__(dataclasses.replace(outcome, verification=both))
        self._stacked = stacked

    def _of(self, outcome: Outcome) -> Release:
        return SeveralTables(outcome, self._stacked)

    @functools.cached_property
    def tables(self) -> dict[str, Any]:
        """The anonymized tables by name, each as the kind of frame that came in."""
        made = {}
        for name, part in self.parts.items():
            made[name] = part.source.restore(part.table, part.rows)
            check_frame(made[name], part.table)
        return made

    @property
    def table(self) -> Any:
        """The anonymized tables by name: see `tables`."""
        return self.tables

    @property
    def key(self) -> Any:
        """Which row of its input each row of a table is, both counted from 0, by the name of the table."""
        return {
            name: pa.table({"release row": np.arange(part.rows.size), "input row": part.rows})
            for name, part in self.parts.items()
        }

    def certificate(self, path: str | Path, *, sign: Any = None, overwrite: bool = False) -> Path:
        """Refuse: a certificate is about one table."""
        raise PlanError(
            f"{path}: a certificate is about one table, and these are several. Write a report instead"
        )

    def local_recoding(self, *given: Any, **options: Any) -> Release:
        """Refuse: people are suppressed in all tables or in none."""
        raise PlanError(
            "several tables are not recoded locally: allow for more suppressed people, or coarser columns"
        )

    def save(
        self,
        target: Any,
        *,
        apart: str | os.PathLike[str] | None = None,
        key: str | os.PathLike[str] | None = None,
        overwrite: bool = False,
        progress: ProgressLike = None,
        **options: Any,
    ) -> Written:
        """Write all tables into a new folder, each to a file of its name: all of them, or none, whatever happens.

        Files have the format of those that were read, and are CSV if frames were. The folder appears with all files in it,
        by one renaming.

        Parameters
        ----------
        target
            The folder, which is made.
        apart
            A file for what turns pseudonyms back (CSV), outside of the folder of the release.
        overwrite
            Whether a folder that is there already is replaced, with all that is in it.
        """
        if key is not None or options:
            given = "key" if key is not None else next(iter(options))
            raise PlanError(f"`{given}` goes with one table, and these are several: leave it out")
        if not isinstance(target, str | os.PathLike) or is_database(Path(target)):  # with a password
            raise OutputError("several tables go into a folder. Give the path of one")
        folder = Path(target)
        self._check(folder, overwrite)
        kept = None if apart is None else Path(apart)
        if kept is not None:
            if "pseudonyms" not in self.outcome.apart:
                raise OutputError(f"{kept}: there are no pseudonyms to turn back. Leave `apart` out")
            if folder.resolve() in (kept.resolve(), *kept.resolve().parents):
                raise OutputError(
                    f"{kept}: the release goes into this folder, and what turns it back must not"
                )
            check_target(kept, overwrite=overwrite)
        with tempfile.TemporaryDirectory(prefix=f".{folder.name}.veil-", dir=folder.resolve().parent) as near:
            made = Path(near) / "release"
            made.mkdir()
            for name, part in self.parts.items():
                path = made / _file_of(name, part.source)
                format = output_format(path, part.source.format)
                write(part.table, path, format=format)
                check_file(path, format, part.table)
                sync(path)
            if kept is not None:
                # First: a release whose key is lost cannot be undone.
                hidden = Path(near) / "apart"
                with os.fdopen(os.open(hidden, os.O_CREAT | os.O_WRONLY, 0o600), "wb") as file:
                    write_csv(self.outcome.apart["pseudonyms"], file, Csv())
                shutil.move(hidden, kept)
            if folder.exists():
                folder.rename(Path(near) / "before")
            made.rename(folder)
        return Written(str(folder), apart=() if kept is None else (kept,), verification=self.verification)

    def _check(self, folder: Path, overwrite: bool) -> None:
        files = [_file_of(name, part.source) for name, part in self.parts.items()]
        if len(set(files)) < len(files):
            raise OutputError(f"two tables would be written to the same file: {', '.join(files)}. Rename one")
        read_from = [part.source.path for part in self.parts.values() if part.source.path is not None]
        if any(folder.resolve() in (each.resolve().parent, *each.resolve().parents) for each in read_from):
            raise OutputError(f"{folder}: tables were read from there. Choose another folder")
        if folder.exists() and not folder.is_dir():
            raise OutputError(f"{folder}: is a file. Give a folder for the tables")
        if folder.exists() and not overwrite:
            raise OutputError(
                f"{folder}: exists already. Choose another folder, or say ", Say("overwrite", True)
            )
        if not folder.resolve().parent.is_dir():
            raise OutputError(f"{folder}: the directory does not exist. Create it, or choose another path")

    def __repr__(self) -> str:
        rows = ", ".join(f"{name}: {plural(part.table.num_rows, 'row')}" for name, part in self.parts.items())
        return f"SeveralTables({rows}; {super().__repr__()})"


def _file_of(name: str, source: Source) -> str:
    ending = ".csv" if source.path is None else "".join(source.path.suffixes[-2:]).lower() or ".csv"
    return file_name(name).removesuffix(".csv") + ending


def anonymize_tables(
    sources: Mapping[str, Any],
    plan: Plan,
    *,
    threads: int | None,
    progress: Progress,
    cancel: Callable[[], bool] | None,
) -> SeveralTables:
    """Anonymize several tables together."""
    stacked = Stacked(_open_all(sources), plan)
    progress.phase("encoding and collapsing")
    source = Source(stacked.table, "pyarrow")
    prepared = prepare(source.table, stacked.plan)
    progress.phase("searching")
    choice = search_best(prepared, threads=threads, progress=progress, cancel=cancel)
    progress.phase("applying")
    outcome = generalize(source, prepared, choice)
    progress.phase("verifying")
    return SeveralTables(verified(outcome), stacked)


def _open_all(sources: Mapping[str, Any]) -> dict[str, Source]:
    if not sources:
        raise InputError(
            "there are no tables. Give each by its name, such as {'people': people, 'visits': visits}"
        )
    for name in sources:
        if not isinstance(name, str):
            raise InputError(f"{name!r} is no name of a table. Tables have text for names, such as 'visits'")
    opened = {}
    for name, each in sources.items():
        try:
            opened[name] = _open(each)
        except InputError as error:
            raise InputError(f"table {name!r}: ", *error.words) from error
    return opened


def _open(source: Any) -> Source:
    """Read a table into memory, also one that an engine holds."""
    relation = find_relation(source, None, "auto")
    if relation is not None:
        from veil.engines.dialects import collect  # which needs Ibis

        with relation.explain_errors():
            source = collect(relation.backend, relation.table)
    opened = read(source)
    opened.check_index()
    return opened


class Stacked:
    """The rows of several tables as one: the name of their table, whose they are, and the columns that models judge."""

    def __init__(self, sources: dict[str, Source], plan: Plan) -> None:
        self.sources, self.asked = sources, plan
        self.person = self._check()
        taken = {column for source in sources.values() for column in source.table.column_names}
        self.label = "table"
        while self.label in taken:
            self.label += "_"
        judged = {name for model in plan.models for name in model.attribute_names}
        self.sensitive = [name for name in plan.sensitive if name in judged]
        self.sizes = [source.table.num_rows for source in sources.values()]
        columns: dict[str, Any] = {
            self.label: pa.array(np.repeat(list(sources), self.sizes), pa.string()),
            self.person: pa.chunked_array(
                [chunk for s in sources.values() for chunk in _texts(s, self.person)]
            ),
        }
        self._check_shared(columns[self.person])
        columns |= {name: self._known(name) for name in plan.quasi_identifiers}
        columns |= {name: _judged(name, [s.table for s in sources.values()]) for name in self.sensitive}
        self.table = pa.table(columns)
        self.plan = self._plan()

    def _check(self) -> str:
        """Refuse what several tables cannot have."""
        plan, person = self.asked, self.asked.person_column
        if person is None:
            raise PlanError(
                "several tables need a column that tells people apart, of the same name in all of them: name it in ",
                Say("person"),
            )
        columns = list(
            dict.fromkeys(c for source in self.sources.values() for c in source.table.column_names)
        )
        plan.check_columns(columns)
        for name, source in self.sources.items():
            if person not in source.table.column_names:
                raise PlanError(
                    f"table {name!r} has no column {person!r}, which tells people apart: add it, for example by a join, or "
                    "leave the table out"
                )
        if plan.suppressed_rows == "keep cells":
            raise PlanError(
                "of several tables, suppressed people show nothing: say ", Say("suppressed_rows", "blank"), " or ",
                Say("suppressed_rows", "drop"),
            )  # fmt: skip
        for column in plan.microaggregated:
            raise PlanError(
                f"column {column!r} is microaggregated, which several tables cannot have: give it a hierarchy"
            )
        for model in plan.models:
            self._check_model(model)
        return person

    def _check_model(self, model: PrivacyModel) -> None:
        if isinstance(model, SafePub) or model.subset is not None:
            raise PlanError(f"{model} is for one table: leave it out, or anonymize the tables one by one")
        for column in model.attribute_names if model.view == "one value" else ():
            lacking = [n for n, source in self.sources.items() if column not in source.table.column_names]
            if lacking:
                raise PlanError(
                    f"{model} compares with all rows, and table {lacking[0]!r} has no column {column!r}: use a model of "
                    f"concentration, such as DistinctLDiversity({column!r}, 2)"
                )

    def _check_shared(self, whose: pa.ChunkedArray) -> None:
        """Refuse a table that has nobody of the others: its people are taken for others than they are."""
        _, codes = encode_values(whose)
        ends = np.cumsum(self.sizes)[:-1]
        people = [set(each.tolist()) for each in np.split(codes, ends)]
        for name, here in zip(self.sources, people, strict=True):
            if len(people) > 1 and not any(here & other for other in people if other is not here):
                raise PlanError(
                    f"table {name!r} has nobody who is in another table, by column {self.person!r}. If they are the same people, "
                    "write their numbers alike in all tables (7 and '7' are, '007' and '7.0' are not); if not, anonymize it by "
                    "itself"
                )

    def _known(self, name: str) -> pa.ChunkedArray:
        """A quasi-identifier in all tables; missing where a table has no such column."""
        there = [s.table[name] for s in self.sources.values() if name in s.table.column_names]
        kinds = {each.type.value_type if pa.types.is_dictionary(each.type) else each.type for each in there}
        if len(kinds) > 1:
            raise PlanError(
                f"column {name!r} holds values of different types ({' and '.join(sorted(map(str, kinds)))}) in different tables: "
                "make them the same, or give the columns different names"
            )
        (kind,) = kinds
        chunks: list[pa.Array] = []
        for source in self.sources.values():
            lacks = name not in source.table.column_names
            column = pa.nulls(source.table.num_rows, kind) if lacks else decode_column(source.table[name])
            chunks += column.chunks if isinstance(column, pa.ChunkedArray) else [column]
        return pa.chunked_array(chunks, kind)

    def _plan(self) -> Plan:
        plan = self.asked
        built: dict[str, Any] = {self.label: identity()}
        for name, builder in plan.quasi_identifiers.items():
            here = [s.table[name] for s in self.sources.values() if name in s.table.column_names]
            column = pa.chunked_array([chunk for each in here for chunk in _chunks(decode_column(each))])
            hierarchy = builder.build(*distinct_values(column), name)
            built[name] = hierarchy.with_missing() if self.table[name].null_count else hierarchy
        return dataclasses.replace(
            plan,
            quasi_identifiers=built,
            maximum_levels={**plan.maximum_levels, self.label: 0},
            identifying={self.person: plan.identifying[self.person]},
            sensitive=tuple(self.sensitive),
            insensitive=(),
            others=None,
            knows="all rows",
        )

    def take_apart(self, outcome: Outcome) -> dict[str, Part]:
        """Return what goes out, table by table, in the order in which all rows together leave."""
        assert outcome.hidden is not None
        parts, begin = {}, 0
        for name, source in self.sources.items():
            end = begin + source.table.num_rows
            here = np.flatnonzero((outcome.origins >= begin) & (outcome.origins < end))
            made, rows = outcome.table.take(pa.array(here)), outcome.origins[here] - begin
            parts[name] = self._part(source, made, rows, outcome.hidden[begin:end])
            begin = end
        return parts

    def _part(
        self, source: Source, made: pa.Table, rows: NDArray[np.int64], hidden: NDArray[np.bool_]
    ) -> Part:
        plan, columns, here = self.asked, {}, pa.array(rows)
        for name in source.table.column_names:
            treatment = plan.identifying.get(name)
            if plan.role_of(name) == "dropped" or treatment == "remove":
                continue
            if name == self.person or name in plan.quasi_identifiers:
                columns[name] = made[name]
            elif treatment == "mask":
                columns[name] = pa.array([plan.marker] * rows.size, pa.string())
            elif hidden.any():
                columns[name] = blank_cells(source.table[name], hidden, plan.marker).take(here)
            else:
                columns[name] = source.table[name].take(here)
        return Part(source, in_new_memory(pa.table(columns)), rows)

    # --- the check of what goes out ---------------------------------------------------------------------

    def verify(self, parts: Mapping[str, Part], outcome: Outcome) -> Verification:
        """Check the tables as they leave: put together by whose rows they are, as an attacker who knows all of them does."""
        findings = []
        tables, people, begin = [], [], 0
        assert outcome.hidden is not None
        _, persons = encode_values(self.table[self.person])
        for name, part in parts.items():
            size = part.source.table.num_rows
            hidden = outcome.hidden[begin : begin + size][part.rows]
            findings.append(self._verify_cells(name, part, hidden))
            shown = np.flatnonzero(~hidden)
            tables.append(self._judged_again(name, part.table.take(pa.array(shown))))
            if self.asked.identifying[self.person] == "pseudonym":
                people.append(part.table[self.person].take(pa.array(shown)).cast(pa.string()))
            else:
                whose = persons[begin : begin + size][part.rows][shown]
                people.append(pa.chunked_array([pa.array(whose.astype(str), pa.string())]))
            begin += size
        together = pa.concat_tables(tables)
        whose = pa.chunked_array([chunk for each in people for chunk in each.chunks], pa.string())
        seen = Published(
            together,
            [self.label, *self.asked.quasi_identifiers],
            marker=self.asked.marker,
            untouched=True,
            baseline=self.table,
            baseline_persons=People.of(self.table, self.person, all_rows=True),
            persons=People.of(pa.table({self.person: whose}), self.person, all_rows=True),
        )
        found = verify_models(seen, [model for model in self.asked.models if not model.reads_levels])
        told = [dataclasses.replace(each, promise=f"all tables together: {each.promise}") for each in found]
        return Verification((*told, *findings))

    def _judged_again(self, name: str, table: pa.Table) -> pa.Table:
        """The columns of a released table that models judge, as text."""
        columns = {self.label: pa.array([name] * table.num_rows, pa.string())}
        for each in self.asked.quasi_identifiers:
            lacks = each not in table.column_names
            columns[each] = pa.nulls(table.num_rows, pa.string()) if lacks else _as_text(table[each], each)
        for each in self.sensitive:
            columns[each] = _judged(each, [table], name)
        return pa.table(columns)

    def _verify_cells(self, name: str, part: Part, hidden: NDArray[np.bool_]) -> Finding:
        """Check that suppressed people show nothing, and that what no hierarchy generalizes is what it was."""
        wrong, before = [], part.source.table.take(pa.array(part.rows))
        for column in part.table.column_names:
            cells = part.table[column]
            gone = decode_column(cells.filter(pa.array(hidden)))
            blank = {None, self.asked.marker}
            if hidden.any() and set(gone.unique().to_pylist()) - blank:
                wrong.append(f"{column!r} shows suppressed people")
            treated = (
                column == self.person
                or column in self.asked.quasi_identifiers
                or column in self.asked.identifying
            )
            if not treated:
                kept = pa.array(~hidden)
                old, new = (decode_column(each.filter(kept)) for each in (before[column], cells))
                if (
                    not new.combine_chunks().equals(old.combine_chunks())
                    and new.to_pylist() != old.to_pylist()
                ):
                    wrong.append(f"{column!r} differs")
        promise = f"table {name!r} shows nothing of suppressed people, and else keeps what is not generalized"
        return Finding(promise, not wrong, "; ".join(wrong) or f"{plural(part.table.num_rows, 'row')}")


def _chunks(column: Any) -> list[pa.Array]:
    return list(column.chunks) if isinstance(column, pa.ChunkedArray) else [column]


def _as_text(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    values, codes = encode_values(column)
    return pa.chunked_array(
        [pa.array(canonical_text(values, column=name), pa.string()).take(pa.array(codes))]
    )


def _texts(source: Source, name: str) -> list[pa.Array]:
    """Whose each row is, as text: the same in all tables, however a number is stored."""
    return list(_as_text(source.table[name], name).chunks)


def _judged(name: str, tables: list[pa.Table], label: str = "") -> pa.ChunkedArray:
    """A sensitive column in all tables, as text. Where a table has no such column, every row has a value of its own.

    Rows that say nothing of it cannot be alike in it: models of concentration then judge the rows that have the column,
    and of others ask for no more than a number of people.
    """
    chunks: list[pa.Array] = []
    for number, table in enumerate(tables):
        if name in table.column_names:
            chunks += _as_text(table[name], name).chunks
        else:
            rows = pc.cast(pa.array(np.arange(table.num_rows)), pa.string())
            chunks.append(pc.binary_join_element_wise(f"\0no such column {label}{number}", rows, " "))
    return pa.chunked_array(chunks, pa.string())
