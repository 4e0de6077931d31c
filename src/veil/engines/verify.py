"""Checks of what an engine has written, by counting it: nothing of how it was made is used again.

The output is condensed as the input was. Every privacy model is verified on what is there, and every combination of
cells must occur exactly as often as in the release that the driver has verified cell by cell. Columns that no model
looks at pass through the engine unseen; they are compared by aggregates over all their values. In rows that are
suppressed they have to be blank: a row that shows anything belongs to a class, and is judged with it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.base.wording import plural
from veil.engines.blank import with_rest
from veil.engines.condense import Condensed, condense
from veil.engines.copy import copy_rows
from veil.engines.dialects import collect
from veil.engines.lookups import as_released, is_not, key
from veil.engines.transform import Transform
from veil.models.subset import numbers_with_gaps
from veil.outcome.outcome import Outcome
from veil.plan.plan import Plan
from veil.published.blank import is_blank
from veil.published.finding import Finding, Verification
from veil.tables.rows import Owners, Rows
from veil.tables.spelling import renamed
from veil.verification.release import as_published, rows_of, verify_links, verify_models, verify_roles

if TYPE_CHECKING:
    import ibis

    from veil.engines.relation import Relation
    from veil.engines.source import EngineSource

_MODULUS = 2**31 - 1
"""Hashes are added up modulo this, so that no engine's integers overflow."""


def verify_output(outcome: Outcome, source: EngineSource, staged: ibis.Table) -> Verification:
    """Check the written rows against the plan, and against the outcome."""
    assert outcome.prepared is not None
    plan, flag = outcome.prepared.plan, source.flag_of(outcome)
    planned = [
        name
        for name in source.relation.table.columns
        if plan.role_of(name) != "dropped" and plan.identifying.get(name) != "remove"
    ]
    planned += [flag] if flag is not None else []
    released = [name for name in outcome.table.column_names if flag is not None or name != outcome.flag]
    renamed = [str(flag) if name == outcome.flag else name for name in released]
    expected = outcome.table.select(released).rename_columns(renamed)
    known = outcome.quasi_identifiers if plan.suppressed_rows == "blank" and outcome.suppressed else None

    def judge(relation: Relation, written: Condensed) -> list[Finding]:
        found = (
            _verify_models(outcome, Rows.of(written.table, written.weights), flag)
            if plan.person_column is None
            else _verify_people(outcome, source, expected.column_names, flag, written)
        )
        return found + [
            _verify_mask(relation, name, plan.marker)
            for name in planned
            if plan.identifying.get(name) == "mask"
        ]

    def before() -> list[ibis.Table]:
        table = source.relation.table
        as_it_was = outcome.rows is None and (not outcome.suppressed or plan.suppressed_rows == "keep cells")
        return [table if as_it_was else Transform(outcome, source)(table)]

    return verify_written(
        source.relation,
        staged,
        ExpectedOutput(
            "the table has the columns of the plan and no others", planned, expected, known, plan.marker
        ),
        outcome.weights,
        judge,
        before,
        [name for name in planned if name not in expected.column_names and name not in plan.identifying],
    )


class ExpectedOutput(NamedTuple):
    """What should have been written: a promise about columns, their names, and the cells that models look at.

    Rows that are blank in the columns `known` should be so in all, with `marker` in text; None if none has to be.
    """

    promise: str
    columns: Collection[str]
    cells: pa.Table
    known: Collection[str] | None = None
    marker: str | None = None


def verify_written(
    source: Relation,
    staged: ibis.Table,
    due: ExpectedOutput,
    weights: NDArray[np.int64] | None,
    judge: Callable[[Relation, Condensed], list[Finding]],
    before: Callable[[], Iterable[ibis.Table]],
    passed: list[str],
) -> Verification:
    """Check written rows: their columns, what `judge` finds, the number of each combination, and what passed unseen.

    Each row of the cells that are due stands for `weights` records; `before` makes the rows as they were, in parts.
    """
    fits = sorted(staged.columns) == sorted(due.columns)
    findings = [Finding(due.promise, fits, f"{len(staged.columns)} columns")]
    if not fits:
        return Verification(tuple(findings))
    backend = staged._find_backend()
    relation = copy_rows(dataclasses.replace(source, table=staged, backend=backend, origin=None, note=None))
    relation, rest = with_rest(relation, due.known or (), passed, due.marker)
    written = condense(relation, [*due.cells.column_names, *rest])
    findings += judge(relation, written)
    findings.append(compare_counts(due.cells, weights, written.table, written.weights))
    if passed:
        findings += compare_passed(source, before(), relation.table, passed)
    return Verification(tuple(findings))


def _verify_mask(relation: Relation, name: str, marker: str | None) -> Finding:
    table, column = relation.table, relation.table[name]
    wrong = table.filter(column.notnull() if marker is None else is_not(column, marker))
    number = int(collect(relation.backend, wrong.aggregate(cells=wrong.count()))["cells"][0].as_py())
    return Finding(f"identifying column {name!r} is masked", number == 0, f"{number} cells show something")


def _verify_people(
    outcome: Outcome, source: EngineSource, names: list[str], flag: str | None, written: Condensed
) -> list[Finding]:
    """Check models that count people, on rows of which the column that tells them apart has not gone yet."""
    assert outcome.plan is not None
    transform = Transform(outcome, source, keep=outcome.plan.person_column)
    relation = dataclasses.replace(source.relation, table=transform(source.relation.table))

    def judge(rows: Rows) -> list[Finding]:
        return _verify_models(outcome, rows, flag)

    return verify_people(outcome.plan, relation, transform.kept_as, names, written, judge)


def verify_people(
    plan: Plan,
    relation: Relation,
    whose: str,
    names: list[str],
    written: Condensed,
    judge: Callable[[Rows], list[Finding]],
) -> list[Finding]:
    """Check models that count people. Written rows do not tell whose they are: so the engine makes them again, for counting.

    Everything is as it is written, but the column that tells people apart has not gone yet: it is `whose`. What is
    counted has to be what was written, combination by combination.
    """
    person = plan.person_column
    assert person is not None
    made = condense(copy_rows(dataclasses.replace(relation, origin=None, note=None)), [*names, whose])
    cells = made.table.drop_columns([whose])
    owners = Owners.of(made.table, renamed(person, whose), plan.knows)
    found = judge(Rows.of(cells, made.weights, owners))
    if plan.identifying[person] == "pseudonym":
        hidden = is_blank(cells[person], plan.marker)
        found += verify_roles(cells.select([person]), plan)
        found += verify_links(
            pa.table({person: made.table[whose]}), cells.select([person]), plan, None, hidden
        )
    same = compare_counts(cells, made.weights, written.table, written.weights)
    promise = "the rows whose people were counted are those that were written"
    return [*found, Finding(promise, same.holds, same.measured)]


def _verify_models(outcome: Outcome, written: Rows, flag: str | None) -> list[Finding]:
    prepared, recoded = outcome.prepared, outcome.recoding is not None
    assert prepared is not None
    blanked = prepared.plan.suppressed_rows == "blank" and outcome.suppressed > 0
    published = as_published(
        rows_of(prepared.table, prepared.weights, prepared.plan),
        written,
        prepared.plan,
        outcome.levels,
        outcome.hierarchies,
        subset=prepared.subset,
        flag=flag,
        suppressed="by cells" if blanked else "none",
    )
    # Of the levels of labels there are several after local recoding, and written rows do not say which is theirs.
    models = [each for each in outcome.models if not (recoded and each.reads_levels)]
    findings = verify_models(published, models)
    return (
        [*findings, compare_blank(published.suppressed_records, outcome.suppressed)] if blanked else findings
    )


def compare_blank(blank: int, suppressed: int) -> Finding:
    """Compare the rows that show nothing with the suppressed records; others of which nothing is known may be among them."""
    promise = (
        f"{plural(suppressed, 'suppressed record shows', 'suppressed records show')} nothing in any column"
    )
    measured = f"{suppressed - blank} of them do" if blank < suppressed else plural(blank, "row")
    return Finding(promise, blank >= suppressed, measured)


def compare_counts(
    expected: pa.Table,
    expected_weights: NDArray[np.int64] | None,
    written: pa.Table,
    weights: NDArray[np.int64],
) -> Finding:
    """Count each combination of released cells, as planned and as written."""
    rows = expected.num_rows
    numbers = numbers_with_gaps([expected, written], expected.column_names)
    due = _sum_by_number(
        numbers[:rows], np.ones(rows, np.int64) if expected_weights is None else expected_weights
    )
    found = _sum_by_number(numbers[rows:], weights)
    wrong = 0
    if not all(np.array_equal(*each) for each in zip(due, found, strict=True)):
        _, gaps = _sum_by_number(np.concatenate([due[0], found[0]]), np.concatenate([due[1], -found[1]]))
        wrong = int(np.abs(gaps).sum())
    size = found[0].size
    measured = f"{wrong} rows differ" if wrong else f"{int(weights.sum())} rows in {size} combinations"
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
    relation: Relation, originals: Iterable[ibis.Table], staged: ibis.Table, names: list[str]
) -> list[Finding]:
    """Compare columns that should be as they are in the original rows, by aggregates over all their values."""
    engines = relation.backend, staged._find_backend()
    hashed = engines[0].name == engines[1].name and engines[0].has_operation(_hash())
    before = [_aggregate(engines[0], table, names, hashed=hashed) for table in originals]
    after = _aggregate(engines[1], staged, names, hashed=hashed)
    findings = []
    for name in names:
        due = _of_all([each[name] for each in before])
        equal = all(after[name][what] == value for what, value in due.items())
        compared = "number and sum of hashes" if hashed else "number and extremes"
        measured = f"{'equal' if equal else 'different'} in {compared}"
        findings.append(Finding(f"column {name!r} is unchanged", equal, measured))
    return findings


def _aggregate(
    engine: Any, table: ibis.Table, names: list[str], *, hashed: bool
) -> dict[str, dict[str, Any]]:
    wanted = {
        (name, what): each for name in names for what, each in _aggregates(table[name], hashed=hashed).items()
    }
    numbered = {f"a{number}": each for number, each in enumerate(wanted.values())}
    found = collect(engine, table.aggregate(**numbered)).to_pylist()[0].values()
    made: dict[str, dict[str, Any]] = {name: {} for name in names}
    for (name, what), value in zip(wanted, found, strict=True):
        made[name][what] = value
    return made


def _of_all(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """Put aggregates of parts of a column together; how many different values there are cannot be told from those."""
    if len(parts) == 1:
        return parts[0]
    together: dict[str, Callable[[list[Any]], Any]] = {
        "missing": sum,
        "sum": sum,
        "least": min,
        "greatest": max,
    }
    found = {
        what: [each[what] for each in parts if each[what] is not None]
        for what in parts[0]
        if what in together
    }
    return {what: together[what](values) if values else None for what, values in found.items()}


def _aggregates(column: Any, *, hashed: bool) -> dict[str, Any]:
    """Numbers that do not depend on the order of rows, and where there are no hashes, not on the engine."""
    column = _in_microseconds(as_released(column))
    found = {"missing": column.isnull().sum()}
    if hashed:
        found["sum"] = (column.hash() % _MODULUS).sum()
    elif column.type().is_string():
        found |= {"sum": column.length().sum(), "different": key(column).nunique()}
    elif column.type().is_numeric() or column.type().is_temporal():
        found |= {"least": column.min(), "greatest": column.max(), "different": column.nunique()}
    return found


def _in_microseconds(column: Any) -> Any:
    """Return times of seconds or milliseconds, of which files make other types, with the unit that all can have."""
    kind = column.type()
    if kind.is_timestamp() and kind.scale is not None and kind.scale < 6:
        return column.cast(kind.copy(scale=6))
    return column


def _hash() -> Any:
    import ibis.expr.operations as operations

    return operations.Hash
