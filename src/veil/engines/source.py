"""A table on an engine as the source of a release: condensed in memory, transformed by the engine."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.base.progress import Progress
from veil.base.randomness import Randomness
from veil.engines.blank import any_shows, with_rest
from veil.engines.condense import Condensed, condense
from veil.engines.copy import bring_over, needs_copy
from veil.engines.database import Database
from veil.engines.dialects import collect
from veil.engines.engine_source import EngineSource
from veil.engines.random_sample import draw_rows, store_rows
from veil.engines.relation import Relation, check_columns, no_rows
from veil.engines.shuffle import shuffled
from veil.engines.transform import SubsetRows, Transform
from veil.engines.verify import released_columns, verify_output
from veil.engines.write.writing import write
from veil.errors import InputError, PlanError
from veil.models.query import Query
from veil.models.subset import Where
from veil.outcome.outcome import Outcome
from veil.outcome.written import Written
from veil.plan.plan import Plan
from veil.plan.prepare import Prepared, columns_read
from veil.published.flag import flags_among, free_flag
from veil.published.table import Published
from veil.tables.cells import POINT, Marks
from veil.tables.formats import Format
from veil.tables.source import RowsOrTypes, file_digest

if TYPE_CHECKING:
    import ibis

    from veil.published.finding import Verification


@dataclass(frozen=True, kw_only=True)
class CondensedSource(EngineSource):
    """The condensed table of a relation. The engine makes and writes releases of it."""

    relation: Relation
    condensed: Condensed
    is_sample: bool = False
    state: str | None = None
    """State of the files that were read, to notice a change before they are released."""
    marks: Marks = POINT

    def respelled(self, spellings: Mapping[str, Callable[[pa.Array], pa.Array]]) -> CondensedSource:
        table = self.table
        for name, spell in spellings.items():
            column = table[name].combine_chunks()
            encoded = pa.DictionaryArray.from_arrays(column.indices, spell(column.dictionary))
            table = table.set_column(table.column_names.index(name), name, encoded)
        return replace(self, table=table, condensed=replace(self.condensed, table=table))

    _flags: dict[int, tuple[Outcome, str | None]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @property
    def files(self) -> list[tuple[Path, Format, RowsOrTypes]]:
        """The files that the engine reads."""
        return list(self.relation.original.scan.inputs)

    def flag_of(self, outcome: Outcome) -> str | None:
        """Return the flag as in memory: it is needed if rows that are not suppressed are blank."""
        if outcome.flag is None:
            return None
        if id(outcome) not in self._flags:
            needed = self.is_sample or self._another_looks_blank(outcome)
            self._flags[id(outcome)] = outcome, free_flag(self.relation.table.columns) if needed else None
        return self._flags[id(outcome)][1]

    def _another_looks_blank(self, outcome: Outcome) -> bool:
        """Count the blank rows, also in the columns that no model looks at."""
        relation = self.relation
        rows = Transform(outcome.without_flag(), self)(relation.table)
        shows = any_shows(replace(relation, table=rows), rows.columns, outcome.marker)
        with relation.explain_errors():
            counts = collect(relation.backend, rows.aggregate(rows=rows.count(), shown=shows.sum()))
        total, shown_count = (int(counts[name][0].as_py() or 0) for name in ("rows", "shown"))
        return 0 < total - shown_count - outcome.suppressed < total - outcome.suppressed

    def subset_rows(self, prepared: Prepared) -> SubsetRows | None:
        """Return the rows of the research subset, if there is one."""
        subset = prepared.subset
        return None if subset is None else SubsetRows(self, _columns_of_subsets(prepared.plan), subset)

    # --- on the engine --------------------------------------------------------------------------------

    def expression(self, outcome: Outcome) -> Any:
        relation, transform = self._rows(outcome)
        rows = transform(relation.table)
        return relation.restore(shuffled(rows) if _is_shuffled(outcome) else rows)

    def fingerprint(self) -> str | None:
        """Return the SHA-256 of one file, of those of several, or of the location of a table."""
        relation = self.relation.original
        digests = [file_digest(Path(file)) for file in relation.scan.files]
        if digests:
            return digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()
        if isinstance(relation.location, Database):
            return hashlib.sha256(str(relation.location).encode()).hexdigest()
        return None

    def class_sizes(self, names: list[str]) -> NDArray[np.int64]:
        return Published(self.rows, names, suppressed="none").sizes

    def verify_rows(self, outcome: Outcome, rows: ibis.Table) -> Verification:
        return verify_output(outcome, self, rows)

    def write_rows(self, outcome: Outcome, target: Any, **options: Any) -> Written:
        if self.relation.scan.state != self.state:
            raise InputError(
                f"{self.relation.name}: was changed after its combinations were counted. Nothing was "
                "written. Run it again when nobody is changing it"
            )
        relation, transform = self._rows(outcome)
        return write(
            relation.with_labels(outcome), transform, target, shuffle=_is_shuffled(outcome), **options
        )

    def draw(self, probability: Fraction, randomness: Randomness) -> CondensedSource:
        """Return a random sample of the rows, condensed to the same columns."""
        with self.relation.explain_errors():
            some = draw_rows(self.relation, probability, randomness)
            condensed = condense(some, self.condensed.table.column_names)
        return replace(source_of(some, condensed), is_sample=True, marks=self.marks)

    def _rows(self, outcome: Outcome) -> tuple[Relation, Callable[[ibis.Table], ibis.Table]]:
        """Return rows of the engine, and the function that makes rows of the release out of them.

        In a random sample, suppressed rows are removed first: pieces and row groups cut before that would be
        shorter, and reveal how many are missing.
        """
        transform = Transform(outcome, self)
        if not self.is_sample:
            return self.relation, transform
        return store_rows(self.relation, transform(self.relation.table)), lambda table: table

    @property
    def identity(self) -> tuple[object, ...]:
        spellings = [values.to_pylist() for values in self.condensed.engine_values.values()]
        return (str(self.relation.location), spellings)


def _is_shuffled(outcome: Outcome) -> bool:
    return outcome.searched.plan.order == "random"


def for_plan(relation: Relation, plan: Plan, progress: Progress | None = None) -> CondensedSource:
    """Condense a relation to the columns of a plan."""
    plan.check_columns(relation.original.table.columns)
    for name in plan.microaggregated:
        raise PlanError(
            f"column {name!r} is microaggregated, which engines do not support. Give it a hierarchy "
            "instead, or read the "
            "table into memory"
        )
    _check_models(relation, plan)
    private = plan.over_neighbours
    if private:
        relation = relation.cell_by_cell()
    columns = [*columns_read(plan, relation.table.columns), *_columns_of_subsets(plan)]
    check_columns(relation, columns)
    relation = bring_over(*columns_for_release(relation, plan, columns), progress)
    return condensed_source(relation, columns, may_be_empty=private)


def _check_models(relation: Relation, plan: Plan) -> None:
    """Let models check the types that Parquet files had before DuckDB read them."""
    for table in relation.scan.examples:
        for model in plan.models:
            model.check_table(table)


def columns_for_release(relation: Relation, plan: Plan, needed: Sequence[str]) -> tuple[Relation, list[str]]:
    """Return the columns that a release needs.

    Columns that are masked in it and not read otherwise are brought over empty.
    """
    import ibis

    names = {*needed, *released_columns(plan, relation)}
    columns = [name for name in relation.table.columns if name in names]
    if needs_copy(relation):
        masked = (name for name in columns if plan.role_of(name) == "identifying" and name not in needed)
        empty = {name: ibis.null("string") for name in masked}
        relation = replace(relation, table=relation.table.mutate(**empty))
    return relation, columns


def for_verifying(relation: Relation, plan: Plan) -> CondensedSource:
    """Condense a published table to the columns that can be checked against a plan."""
    _check_models(relation, plan)
    columns = [
        *plan.roles["quasi-identifying"],
        *columns_read(plan, ()),
        *plan.identifying,
    ]
    return of_release(relation, [name for name in columns if name in relation.table.columns], plan.marker)


def of_release(relation: Relation, columns: Sequence[str], marker: str | None = "*") -> CondensedSource:
    """Condense a published table to some columns, and to those that show suppressed rows."""
    names = relation.table.columns
    flags = flags_among(names, columns)
    relation = replace(relation, table=relation.dialect.with_truth(relation.table, flags))
    return _with_blank_rows(relation, [*columns, *flags], columns, marker)


def for_columns(
    relation: Relation, columns: Sequence[str], subset: object | None, marker: str | None = "*"
) -> CondensedSource:
    """Condense a table to some columns, those of a research subset, and one that marks blank rows."""
    needed = [*columns, *(() if subset is None else _columns_of(subset))]
    return _with_blank_rows(relation, needed, columns, marker)


def _with_blank_rows(
    relation: Relation, needed: Sequence[str], blank_in: Sequence[str], marker: str | None
) -> CondensedSource:
    check_columns(relation, needed)
    columns, names = tuple(relation.original.table.columns), relation.table.columns
    relation, rest = with_rest(relation, blank_in, [name for name in names if name not in needed], marker)
    return replace(condensed_source(relation, [*needed, *rest]), columns=columns)


def condensed_source(
    relation: Relation, columns: Iterable[str], *, may_be_empty: bool = False
) -> CondensedSource:
    """Condense a relation to some columns."""
    names = list(dict.fromkeys(columns))
    check_columns(relation, names)
    relation = bring_over(relation, names)
    with relation.explain_errors():
        condensed = condense(relation, names)
    if not condensed.weights.size and not may_be_empty:
        raise no_rows(relation)
    return source_of(relation, condensed)


def source_of(relation: Relation, condensed: Condensed) -> CondensedSource:
    """Return a condensed table as the source of a release."""
    return CondensedSource(
        condensed.table,
        "engine",
        weights=condensed.weights,
        columns=tuple(relation.original.table.columns),
        relation=relation,
        condensed=condensed,
        state=relation.scan.state,
        marks=relation.marks,
    )


def _columns_of_subsets(plan: Plan) -> list[str]:
    subsets = [model.subset for model in plan.models if model.subset is not None]
    return list(dict.fromkeys(name for subset in subsets for name in _columns_of(subset)))


def _columns_of(subset: object) -> list[str]:
    """Return the columns that the query of a research subset reads; refuse subsets that are not queries."""
    if not isinstance(subset, Where):
        raise PlanError(
            f"the research subset {subset!r} is not a query, but an engine's rows have no numbers and no order. Add a "
            'column that says who is in the subset, and use a query: Where("in_study = true")'
        )
    return Query(subset.query).columns
