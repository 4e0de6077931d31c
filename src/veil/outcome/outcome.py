"""The outcome of anonymizing a table, by any steps, as plain data.

The verifier checks an outcome; engines, risk, utility and reports read it. A `Release` adds verbs to it.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.base.exact import largest_count
from veil.classes.sample import Sample
from veil.errors import InputError
from veil.hierarchies import Hierarchy
from veil.models.base import PrivacyModel
from veil.models.k_anonymity import KAnonymity
from veil.outcome.linked_tables import TableOut, tables_of
from veil.outcome.masked import Masked
from veil.outcome.result import (
    Apart,
    Kind,
    Origins,
    Pass,
    Passes,
    Privacy,
    RecodedPart,
    StepResult,
    SuppressedRows,
)
from veil.outcome.roles import Roles, roles_of_plan
from veil.plan.plan import Plan
from veil.plan.prepare import Prepared
from veil.plan.recoding import FullDomain, Recoding
from veil.published.finding import Verification
from veil.published.table import Published, Suppressed
from veil.tables.arrow import in_new_memory
from veil.tables.rows import Rows
from veil.tables.source import Source

if TYPE_CHECKING:
    from veil.outcome.method import Method


@dataclass(frozen=True, eq=False)
class Outcome:
    """The outcome of anonymizing a table.

    Attributes
    ----------
    source : Source
        Where the rows came from, and how a release gets that form again.
    before : Rows
        The input as it is judged; several tables are stacked.
    results : tuple of StepResult
        The result of each step, in order.
    verification : Verification
        The findings about each promise on the output.
    acknowledged : tuple of str
        Concerns that the data holder has accepted: see `veil.risk.concerns`.
    """

    source: Source
    before: Rows
    results: tuple[StepResult, ...]
    verification: Verification
    acknowledged: tuple[str, ...]

    @staticmethod
    def of(
        source: Source,
        before: Rows,
        *results: StepResult,
        verification: Verification = Verification(()),  # noqa: B008  (it cannot change)
    ) -> Outcome:
        """Return the outcome of some steps, without findings unless they are given."""
        return Outcome(source, before, results, verification, ())

    def changed(self, **fields: Any) -> Outcome:
        """Return an outcome with other fields of its last result; `table` gives its rows other cells.

        Nothing of this is verified yet.
        """
        last = self.results[-1]
        if "table" in fields:
            fields["rows"] = last.rows.showing(fields.pop("table"))
        return dataclasses.replace(self, results=(*self.results[:-1], dataclasses.replace(last, **fields)))

    # --- steps ------------------------------------------------------------------------------------

    @property
    def steps(self) -> tuple[StepResult, ...]:
        """The results of all steps: also of masks whose output was searched, which is `before` here."""
        masks = self.source.masks.results if isinstance(self.source, Masked) else ()
        return (*masks, *self.results)

    @property
    def last(self) -> StepResult:
        """The result of the last step: what is released."""
        return self.results[-1]

    @property
    def plan(self) -> Plan | None:
        """The plan that was carried out; None for masks."""
        return next((each.step for each in self.results if isinstance(each.step, Plan)), None)

    @property
    def methods(self) -> tuple[Method, ...]:
        """The masking methods that were carried out; none for plans."""
        return tuple(each.step for each in self.steps if not isinstance(each.step, Plan))

    @property
    def models(self) -> tuple[PrivacyModel, ...]:
        """The privacy models that the output fulfils."""
        return tuple(model for result in self.results for model in result.models)

    def trace(self, kind: type[Kind]) -> Kind | None:
        """Return how the outcome was found, as one room recorded it; None if it had no part in it."""
        return next((trace for each in self.results if (trace := each.trace(kind)) is not None), None)

    @property
    def prepared(self) -> Prepared | None:
        """Codes and hierarchies, if a plan was applied to a table in memory."""
        return next(iter(self._searches), None)

    @property
    def searched(self) -> Prepared:
        """The prepared plan of an outcome that a search has made: masks, parts and blocks have none."""
        (prepared,) = self._searches
        return prepared

    @property
    def _searches(self) -> list[Prepared]:
        return [trace for each in self.results for trace in each.traces if isinstance(trace, Prepared)]

    @property
    def facts(self) -> Mapping[str, Any]:
        """Numbers and short texts about the run of a single step, by name."""
        return self.last.facts if len(self.results) == 1 else {}

    @property
    def recoding(self) -> Recoding | None:
        """How records got levels of their own; None if all have the same, or if parts of the table have theirs."""
        plan = self.plan
        return None if plan is None or isinstance(plan.recoding, FullDomain) else plan.recoding

    @property
    def passes(self) -> tuple[Pass, ...]:
        """The passes of local recoding, or the parts."""
        trace = self.trace(Passes)
        return () if trace is None else trace.passes

    @property
    def apart(self) -> dict[str, pa.Table]:
        """Further tables for files of their own, by name."""
        return {each.name: each.table for result in self.steps for each in result.apart}

    @property
    def secret(self) -> frozenset[str]:
        """Names of those that must not be released."""
        return frozenset(each.name for result in self.steps for each in result.apart if each.is_secret)

    @property
    def statement(self) -> str | None:
        """The promise of differential privacy in plain words, if there is one."""
        return self.last.privacy.statement

    @property
    def is_private(self) -> bool:
        """False if draws of a step can be repeated from a seed, or are not proven to be private."""
        return all(each.privacy.is_private for each in self.steps)

    # --- columns ----------------------------------------------------------------------------------

    @property
    def roles(self) -> Roles:
        """What each column is."""
        return self.last.roles

    @property
    def person_column(self) -> str | None:
        """The column of the input that distinguishes people; None if every row is a person, or unknown."""
        return self.roles.person

    @property
    def marker(self) -> str | None:
        """Text of suppressed cells."""
        return self.roles.marker

    @property
    def flag(self) -> str | None:
        """Column of `table` that marks its suppressed rows, where the cells alone are ambiguous."""
        return self.roles.flag

    def without_flag(self) -> Outcome:
        """Return an outcome without a flag column."""
        return self.changed(roles=dataclasses.replace(self.roles, flag=None))

    @property
    def columns(self) -> Sequence[str]:
        """Columns of the input."""
        return self.original.column_names if self.source.columns is None else self.source.columns

    @property
    def quasi_identifiers(self) -> list[str]:
        """Columns of the output that an attacker may know."""
        return list(self.roles.quasi_identifiers)

    @property
    def hierarchies(self) -> dict[str, Hierarchy]:
        """The hierarchy of each generalized column."""
        return {
            name: hierarchy
            for prepared in self._searches
            for name, hierarchy in zip(prepared.encoding.names, prepared.encoding.hierarchies, strict=True)
        }

    @property
    def parts(self) -> tuple[RecodedPart, ...]:
        """Records that are not suppressed, by their levels; none for masks."""
        return tuple(part for each in self.results for part in each.parts)

    @property
    def levels(self) -> dict[str, int]:
        """The level of each generalized column, in the first part."""
        return {
            name: level
            for part in self.parts[:1]
            for name, level in zip(self.hierarchies, part.levels, strict=True)
        }

    def role_of(self, name: str) -> str:
        """Return the role of a column; with masks, those that an attacker may know are quasi-identifying."""
        return self.roles.role_of(name)

    @property
    def kept_columns(self) -> list[str]:
        """Columns of the input that the output has too, including those that an engine copies unread."""
        return [name for name in self.columns if self.roles.is_released(name)]

    # --- records ----------------------------------------------------------------------------------

    @property
    def after(self) -> Rows:
        """The output with its weights and owners; several tables are stacked."""
        return self.last.rows

    @functools.cached_property
    def tables(self) -> dict[str, TableOut]:
        """The tables that leave, by name: one or more."""
        return tables_of(self)

    @property
    def original(self) -> pa.Table:
        """The input, as far as Veil has read it."""
        return self.before.table

    @property
    def table(self) -> pa.Table:
        """The output. If the input is in an engine: each combination of cells once."""
        return self.after.table

    @property
    def records(self) -> int:
        """Number of records that went in."""
        return self.before.records

    @property
    def suppressed(self) -> int:
        """Number of suppressed records."""
        return sum(each.suppression.records for each in self.results)

    @property
    def suppressed_mask(self) -> NDArray[np.bool_]:
        """Which rows of the input are suppressed."""
        return self.last.suppression.mask

    @property
    def within_limit(self) -> bool:
        """Whether no more records are suppressed than the plan allows."""
        before, limit = self.before, self.roles.suppression_limit
        if not before.owners.are_records and self.last.suppression.by_row:
            return before.people_in(self.suppressed_mask) <= largest_count(limit, before.people)
        records = self.records if self.prepared is None else self.prepared.sample.records
        return self.suppressed <= largest_count(limit, records)

    @property
    def is_condensed(self) -> bool:
        """Whether a row can represent several records, as with tables in an engine."""
        return not self.after.weights.are_one

    @functools.cached_property
    def link(self) -> Origins:
        """The input row of each row of `table`, over all steps."""
        return functools.reduce(
            lambda earlier, result: result.origins.after(earlier), self.results[1:], self.results[0].origins
        )

    @property
    def origins(self) -> NDArray[np.int64]:
        """The input row of each row of `table`, as numbers."""
        return self.link.array

    @property
    def blank_rows(self) -> Suppressed:
        """Mask of the suppressed, entirely blank rows of `table`; "by cells" if only cells show it."""
        treatment = self.roles.suppressed_rows
        if treatment == "none" or not self.last.suppression.by_row:
            return "none" if treatment == "none" else "by cells"
        return self.last.origins.pick(self.suppressed_mask) & (treatment == "blank")

    def pick(self, rows: NDArray[np.int64]) -> pa.Table:
        """Return the rows of the output that come from some rows of the input."""
        place = np.empty(self.original.num_rows, np.int64)
        place[self.origins] = np.arange(self.table.num_rows)
        return self.table.take(pa.array(place[rows]))

    @functools.cached_property
    def by_people(self) -> Published:
        """The output as an attacker sees it, counted in people."""
        return self.seen_by(self.quasi_identifiers)

    @functools.cached_property
    def by_records(self) -> Published:
        """The output as an attacker sees it, row by row."""
        return self.by_people.by_records()

    def seen_by(self, columns: Sequence[str], population: Rows | None = None) -> Published:
        """Return the output as an attacker sees it who knows some columns, counted in people.

        Masks suppress no records: a missing cell is a value there.
        """
        return Published(
            self.after,
            columns,
            marker=self.marker,
            flag=self.flag,
            suppressed=self.blank_rows,
            population=population,
        )


def outcome_of_plan(
    source: Source,
    prepared: Prepared,
    table: pa.Table,
    origins: Origins,
    mask: NDArray[np.bool_],
    parts: Sequence[RecodedPart],
    *traces: object,
    flag: str | None,
    apart: Mapping[str, pa.Table],
    over_limit: bool = False,
) -> Outcome:
    """Return the outcome of a plan on a table in memory; `origins` are the input rows of `table`."""
    before = prepared.rows
    # A table in an engine is not handed out from here; any other must not keep values under its blank cells.
    table = in_new_memory(table) if before.weights.are_one else table.combine_chunks()
    result = StepResult(
        prepared.plan,
        before.showing(table, origins.rows),
        origins,
        SuppressedRows(mask, before.weights.sum_of(mask), over_limit=over_limit),
        roles_of_plan(prepared.plan, prepared.encoding.names, flag),
        tuple(parts),
        tuple(Apart(name, each, True) for name, each in apart.items()),
        {},
        Privacy(),
        (prepared, *traces),
    )
    return Outcome.of(source, before, result)


def outcome_of(result: object) -> Outcome | None:
    """Return the outcome of a release, or an outcome itself; None if it is something else."""
    outcome = getattr(result, "outcome", result)
    return outcome if isinstance(outcome, Outcome) else None


def require_outcome(result: object) -> Outcome:
    """Return the outcome of a release, or an outcome itself; refuse anything else."""
    outcome = outcome_of(result)
    if outcome is None:
        raise InputError(
            f"a {type(result).__name__} is not a release: pass the result of `veil.anonymize` or `veil.mask`"
        )
    return outcome


def without_rows(outcome: Outcome) -> Outcome:
    """Return an outcome without its suppressed rows, if the plan keeps some of their cells."""
    plan, prepared, last = outcome.plan, outcome.prepared, outcome.last
    if plan is None or prepared is None or plan.suppressed_rows != "keep cells":
        return outcome
    visible = ~last.origins.pick(last.suppression.mask)
    changed = _under(outcome, prepared, dataclasses.replace(plan, suppressed_rows="drop"))
    rows = last.origins.array[visible]
    return changed.changed(rows=last.rows.take(visible), origins=Origins(rows.size, rows))


def without_columns(outcome: Outcome, names: Sequence[str]) -> Outcome:
    """Return an outcome without some of its sensitive columns and the models that refer to them."""
    plan, prepared = outcome.plan, outcome.prepared
    if not names or plan is None or prepared is None:
        return outcome
    models = tuple(model for model in plan.models if not set(names) & set(model.attribute_names))
    sensitive = tuple(name for name in plan.sensitive if name not in names)
    plan = dataclasses.replace(plan, sensitive=sensitive, models=models or (KAnonymity(1),))
    table = prepared.table.drop_columns(list(names))
    changed = _under(outcome, dataclasses.replace(prepared, rows=prepared.rows.showing(table)), plan)
    return dataclasses.replace(
        changed.changed(table=outcome.table.drop_columns(list(names))),
        source=dataclasses.replace(outcome.source, table=outcome.source.table.drop_columns(list(names))),
        before=outcome.before.showing(table),
    )


def under_plan(outcome: Outcome, plan: Plan) -> Outcome:
    """Return an outcome as one of another plan, which differs in what is promised."""
    return outcome.changed(step=plan, roles=roles_of_plan(plan, list(outcome.hierarchies), outcome.flag))


def _under(outcome: Outcome, prepared: Prepared, plan: Plan) -> Outcome:
    """Return an outcome whose search was prepared otherwise, for another plan."""
    others = (each for each in outcome.last.traces if not isinstance(each, Prepared))
    return under_plan(outcome, plan).changed(traces=(dataclasses.replace(prepared, plan=plan), *others))


def prepared_part(prepared: Prepared, rows: NDArray[np.int64]) -> Prepared:
    """Return some rows as a table of its own; models still compare its classes with the whole table."""
    sample, codes = prepared.sample, tuple(column[rows] for column in prepared.codes)
    part = prepared.rows.take(rows)
    part_sample = Sample(
        sample.encoding,
        list(codes),
        tuple(dataclasses.replace(each, codes=each.codes[rows]) for each in sample.attributes),
        microaggregated=sample.microaggregated,
        weights=part.weights,
        squares=prepared.plan.quality.needs_squares,
        owners=part.owners,
        baseline=sample,
    )
    return dataclasses.replace(
        prepared,
        rows=part,
        codes=codes,
        sample=part_sample,
        subset=None,
    )
