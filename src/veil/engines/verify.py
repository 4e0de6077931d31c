"""Verification of rows that an engine has written, by counting them: how they were made is not used.

The output is condensed like the input. Every privacy model is verified on it, and every combination of cells
must occur exactly as often as in the release, which was verified cell by cell. Columns that no model looks at
pass through the engine; they are compared by aggregates over all their values. In suppressed rows they must
be blank: a row that shows anything belongs to a class, and is judged with it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.base.wording import Phrase, plural
from veil.engines.blank import with_rest
from veil.engines.condense import Condensed, condense
from veil.engines.copy import copy_rows
from veil.engines.dialects import collect
from veil.engines.lookups import as_released, is_not, key
from veil.engines.transform import Transform
from veil.models.subset import numbers_with_gaps
from veil.outcome.outcome import Outcome
from veil.outcome.result import Origins
from veil.plan.plan import Plan
from veil.published.blank import is_blank
from veil.published.finding import Finding, Verification
from veil.tables.rows import Owners, Rows, Weights
from veil.tables.spelling import renamed
from veil.verification.release import as_published, rows_of, verify_links, verify_models, verify_roles

if TYPE_CHECKING:
    import ibis

    from veil.engines.relation import Relation
    from veil.engines.source import CondensedSource

_MODULUS = 2**31 - 1
"""Hashes are summed modulo this, so that no engine's integers overflow."""


def verify_output(outcome: Outcome, source: CondensedSource, rows: ibis.Table) -> Verification:
    """Check the written rows against the plan, and against the outcome."""
    plan, flag = outcome.searched.plan, source.flag_of(outcome)
    names = [name for name in outcome.table.column_names if flag is not None or name != outcome.flag]
    renamed = [str(flag) if name == outcome.flag else name for name in names]
    due = ExpectedOutput.of_plan(
        plan,
        [*released_columns(plan, source.relation), *([flag] if flag is not None else [])],
        outcome.table.select(names).rename_columns(renamed),
        outcome.after.weights,
        outcome.quasi_identifiers if plan.suppressed_rows == "blank" and outcome.suppressed else None,
    )

    def judge(relation: Relation, output: Condensed) -> list[Finding]:
        findings = (
            _verify_models(outcome, Rows.of(output.table, output.weights), flag)
            if plan.person_column is None
            else _verify_people(outcome, source, due.cells.column_names, flag, output)
        )
        masked = [name for name in due.columns if plan.identifying.get(name) == "mask"]
        return findings + [_verify_mask(relation, name, plan.marker) for name in masked]

    def before() -> list[ibis.Table]:
        table = source.relation.table
        as_it_was = outcome.link.rows is None and (
            not outcome.suppressed or plan.suppressed_rows == "keep cells"
        )
        return [table if as_it_was else Transform(outcome, source)(table)]

    return verify_written(source.relation, rows, due, judge, before)


def released_columns(plan: Plan, relation: Relation) -> list[str]:
    """Return the columns of a relation that a release has."""
    return [
        name
        for name in relation.table.columns
        if plan.role_of(name) != "dropped" and plan.identifying.get(name) != "remove"
    ]


class ExpectedOutput(NamedTuple):
    """The output as it should be: a promise about columns, their names, and the cells that models look at.

    Each row of the cells has a weight; other columns that are `passed` on are unchanged. Rows that are blank in
    `blank_in` must be so everywhere, with `marker` in text; None if none has to be.
    """

    promise: str
    columns: Collection[str]
    cells: pa.Table
    weights: Weights
    passed: list[str]
    blank_in: Collection[str] | None = None
    marker: str | None = None

    @staticmethod
    def of_plan(
        plan: Plan, names: list[str], cells: pa.Table, weights: Weights, blank_in: Collection[str] | None
    ) -> ExpectedOutput:
        """Return the output of a plan with columns of these names."""
        promise = "the table has the columns of the plan and no others"
        passed = [name for name in names if name not in cells.column_names and name not in plan.identifying]
        return ExpectedOutput(promise, names, cells, weights, passed, blank_in, plan.marker)


def verify_written(
    source: Relation,
    rows: ibis.Table,
    due: ExpectedOutput,
    judge: Callable[[Relation, Condensed], list[Finding]],
    before: Callable[[], Iterable[ibis.Table]],
) -> Verification:
    """Check written rows: their columns, the findings of `judge`, the counts of combinations, other columns.

    `before` returns the original rows, in parts.
    """
    fits = sorted(rows.columns) == sorted(due.columns)
    findings = [Finding(due.promise, fits, Phrase("{count} columns", count=len(rows.columns)))]
    if not fits:
        return Verification(tuple(findings))
    backend = rows._find_backend()
    relation = copy_rows(dataclasses.replace(source, table=rows, backend=backend, origin=None, note=None))
    relation, rest = with_rest(relation, due.blank_in or (), due.passed, due.marker)
    output = condense(relation, [*due.cells.column_names, *rest])
    findings += judge(relation, output)
    findings.append(compare_counts(due.cells, due.weights.array, output.table, output.weights))
    if due.passed:
        findings += compare_passed(source, before(), relation.table, due.passed)
    return Verification(tuple(findings))


def _verify_mask(relation: Relation, name: str, marker: str | None) -> Finding:
    table, column = relation.table, relation.table[name]
    wrong = table.filter(column.notnull() if marker is None else is_not(column, marker))
    number = int(collect(relation.backend, wrong.aggregate(cells=wrong.count()))["cells"][0].as_py())
    promise = Phrase("identifying column {column!r} is masked", column=name)
    return Finding(promise, number == 0, f"{number} cells show something")


def _verify_people(
    outcome: Outcome, source: CondensedSource, names: list[str], flag: str | None, output: Condensed
) -> list[Finding]:
    """Check models that count owners, on rows that still have the column `person`."""
    transform = Transform(outcome, source, keep=outcome.person_column)
    relation = dataclasses.replace(source.relation, table=transform(source.relation.table))

    def judge(rows: Rows) -> list[Finding]:
        return _verify_models(outcome, rows, flag)

    return verify_people(outcome.searched.plan, relation, transform.kept_as, names, output, judge)


def verify_people(
    plan: Plan,
    relation: Relation,
    column: str,
    names: list[str],
    output: Condensed,
    judge: Callable[[Rows], list[Finding]],
) -> list[Finding]:
    """Check models that count owners.

    The owners of written rows are unknown. So the engine makes the rows again, with the column `person` as
    `column`. The counted rows must be the written ones, combination by combination.
    """
    person = plan.person_column
    assert person is not None
    condensed = condense(copy_rows(dataclasses.replace(relation, origin=None, note=None)), [*names, column])
    cells = condensed.table.drop_columns([column])
    owners = Owners.of(condensed.table, renamed(person, column), plan.knows)
    findings = judge(Rows.of(cells, condensed.weights, owners))
    if plan.identifying[person] == "pseudonym":
        mask = is_blank(cells[person], plan.marker)
        findings += verify_roles(cells.select([person]), plan)
        findings += verify_links(
            pa.table({person: condensed.table[column]}),
            cells.select([person]),
            plan,
            Origins(cells.num_rows),
            mask,
        )
    same = compare_counts(cells, condensed.weights, output.table, output.weights)
    promise = "the rows whose people were counted are those that were written"
    return [*findings, Finding(promise, same.holds, same.measured)]


def _verify_models(outcome: Outcome, output: Rows, flag: str | None) -> list[Finding]:
    prepared, recoded = outcome.searched, outcome.recoding is not None
    blanked = prepared.plan.suppressed_rows == "blank" and outcome.suppressed > 0
    published = as_published(
        rows_of(prepared.table, prepared.rows.weights, prepared.plan),
        output,
        prepared.plan,
        outcome.levels,
        outcome.hierarchies,
        subset=prepared.subset,
        flag=flag,
        suppressed="by cells" if blanked else "none",
    )
    # After local recoding there are several levels, and written rows do not show which is theirs.
    models = [each for each in outcome.models if not (recoded and each.reads == "levels")]
    findings = verify_models(published, models)
    return (
        [*findings, compare_blank(published.suppressed_records, outcome.suppressed)] if blanked else findings
    )


def compare_blank(blank: int, suppressed: int) -> Finding:
    """Compare the blank rows with the suppressed records; other rows without any value may be among them."""
    promise = (
        f"{plural(suppressed, 'suppressed record shows', 'suppressed records show')} nothing in any column"
    )
    measured = f"{suppressed - blank} of them do" if blank < suppressed else plural(blank, "row")
    return Finding(promise, blank >= suppressed, measured)


def compare_counts(
    expected: pa.Table,
    expected_weights: NDArray[np.int64],
    cells: pa.Table,
    weights: NDArray[np.int64],
) -> Finding:
    """Compare the counts of each combination of released cells, as planned and as written."""
    rows = expected.num_rows
    numbers = numbers_with_gaps([expected, cells], expected.column_names)
    due = _sum_by_number(numbers[:rows], expected_weights)
    actual = _sum_by_number(numbers[rows:], weights)
    wrong = 0
    if not all(np.array_equal(*each) for each in zip(due, actual, strict=True)):
        _, gaps = _sum_by_number(np.concatenate([due[0], actual[0]]), np.concatenate([due[1], -actual[1]]))
        wrong = int(np.abs(gaps).sum())
    size = actual[0].size
    measured = (
        plural(wrong, "row differs", "rows differ")
        if wrong
        else f"{int(weights.sum())} rows in {size} combinations"
    )
    return Finding("every combination of cells occurs as often as it should", wrong == 0, measured)


def _sum_by_number(
    numbers: NDArray[np.int64], weights: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the different numbers in ascending order, and the sum of the weights of each."""
    order = np.argsort(numbers)
    ranked = numbers[order]
    first = np.flatnonzero(np.diff(ranked, prepend=ranked[:1] - 1))
    if not first.size:
        return ranked, weights[order]
    return ranked[first], np.add.reduceat(weights[order], first)


def compare_passed(
    relation: Relation, originals: Iterable[ibis.Table], rows: ibis.Table, names: list[str]
) -> list[Finding]:
    """Compare columns that should be unchanged with the original rows, by aggregates over all values."""
    engines = relation.backend, rows._find_backend()
    hashed = engines[0].name == engines[1].name and engines[0].has_operation(_hash())
    before = [_aggregate(engines[0], table, names, hashed=hashed) for table in originals]
    after = _aggregate(engines[1], rows, names, hashed=hashed)
    findings = []
    for name in names:
        due = _of_all([each[name] for each in before])
        equal = all(after[name][what] == value for what, value in due.items())
        compared = "number and sum of hashes" if hashed else "number and extremes"
        measured = f"{'equal' if equal else 'different'} in {compared}"
        findings.append(Finding(Phrase("column {column!r} is unchanged", column=name), equal, measured))
    return findings


def _aggregate(
    engine: Any, table: ibis.Table, names: list[str], *, hashed: bool
) -> dict[str, dict[str, Any]]:
    aggregates = {
        (name, what): each for name in names for what, each in _aggregates(table[name], hashed=hashed).items()
    }
    numbered = {f"a{number}": each for number, each in enumerate(aggregates.values())}
    values = collect(engine, table.aggregate(**numbered)).to_pylist()[0].values()
    result: dict[str, dict[str, Any]] = {name: {} for name in names}
    for (name, what), value in zip(aggregates, values, strict=True):
        result[name][what] = value
    return result


def _of_all(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """Combine aggregates of parts of a column; the number of different values does not follow from those."""
    if len(parts) == 1:
        return parts[0]
    together: dict[str, Callable[[list[Any]], Any]] = {
        "missing": sum,
        "sum": sum,
        "least": min,
        "greatest": max,
    }
    values_of_parts = {
        what: [each[what] for each in parts if each[what] is not None]
        for what in parts[0]
        if what in together
    }
    return {what: together[what](values) if values else None for what, values in values_of_parts.items()}


def _aggregates(column: Any, *, hashed: bool) -> dict[str, Any]:
    """Return aggregates that do not depend on the order of rows nor, without hashes, on the engine."""
    column = _in_microseconds(as_released(column))
    aggregates = {"missing": column.isnull().sum()}
    if hashed:
        aggregates["sum"] = (column.hash() % _MODULUS).sum()
    elif column.type().is_string():
        aggregates |= {"sum": column.length().sum(), "different": key(column).nunique()}
    elif column.type().is_numeric() or column.type().is_temporal():
        aggregates |= {"least": column.min(), "greatest": column.max(), "different": column.nunique()}
    return aggregates


def _in_microseconds(column: Any) -> Any:
    """Return times of seconds or milliseconds in microseconds, the unit that all files can have."""
    kind = column.type()
    if kind.is_timestamp() and kind.scale is not None and kind.scale < 6:
        return column.cast(kind.copy(scale=6))
    return column


def _hash() -> Any:
    import ibis.expr.operations as operations

    return operations.Hash
