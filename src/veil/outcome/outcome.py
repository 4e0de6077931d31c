"""The outcome: what any way of anonymizing has made of a table, as plain data.

The verifier checks an outcome; engines, risk, utility and reports read it. A `Release` is an outcome with verbs.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.base.exact import largest_count
from veil.classes.encoding import Levels
from veil.classes.sample import Sample
from veil.errors import InputError
from veil.hierarchies import Hierarchy
from veil.models.base import PrivacyModel
from veil.models.k_anonymity import KAnonymity
from veil.outcome.linked_tables import TableOut
from veil.outcome.roles import Roles, roles_of_masks, roles_of_plan
from veil.plan.plan import Plan
from veil.plan.prepare import Prepared
from veil.published.finding import Verification
from veil.published.table import Published, Suppressed
from veil.tables.rows import Owners, Rows
from veil.tables.source import Source

if TYPE_CHECKING:
    from veil.outcome.method import Method


class RecodedPart(NamedTuple):
    """Records that are generalized to the same levels: row numbers of the input."""

    levels: Levels
    rows: NDArray[np.int64]


@dataclass(frozen=True)
class Pass:
    """One pass: how the records were transformed, how many of them, and what that costs.

    Attributes
    ----------
    score : float or tuple
        Information loss of the records that were suppressed before the pass; those that it leaves suppressed count.
    factor : float, optional
        Generalization/suppression factor of the quality model; None if it has none.
    proven_optimal : bool
        Whether no transformation of these records has a better score.
    """

    transformation: dict[str, int]
    recoded: int
    score: float | tuple[float, ...]
    factor: float | None
    proven_optimal: bool

    def __str__(self) -> str:
        return f"{self.recoded} records at {self.transformation}, score {self.score}"


@dataclass(frozen=True, eq=False)
class Outcome:
    """What was made of a table.

    Attributes
    ----------
    source : Source
        What came in, and where its rows are: in memory, or with an engine.
    asked : Plan or tuple of Method
        What was to be done: a plan, or masking methods in their order.
    person : str, optional
        Of masks: the column of the input that tells people apart, if they may have several rows. A plan has its own.
    table : pyarrow.Table
        What goes out. Of a table that an engine holds each combination of cells once.
    weights : array, optional
        How many records each row of `table` stands for, if not one.
    rows : array, optional
        The input row of each row of `table`; None if all stayed where they were.
    hidden : array, optional
        Which input rows are suppressed; None where the input rows are not in memory one by one, or none can be.
    flag : str, optional
        Column of `table` that tells which of its rows are suppressed, where the cells alone would not.
    parts : tuple of Part
        Records that are not suppressed, by the levels that they are generalized to. The first is there if empty.
    prepared : Prepared, optional
        Codes and hierarchies, if the plan met the table in memory.
    apart : dict
        Further tables by name, which do not belong into the same file: the second table of an Anatomy release, the
        key to pseudonyms.
    secret : set
        Names of those that must not be released.
    verification : Verification
        What was found of each promise on the output.
    passes : tuple of Pass
        The passes of local recoding.
    facts : dict
        What a person wants to know about the run: numbers and short texts by name.
    story : object
        How the outcome was found, for the face alone: a search, a random walk, or steps.
    statement : str, optional
        The promise in plain words, if it is one that needs them: that of differential privacy.
    is_private : bool
        False if the draws can be repeated from a seed, or are not proven to be private.
    recoding : object
        How suppressed records were transformed again, on their own; None if they were not.
    over_limit : bool
        Whether more records are suppressed than the plan allows, and somebody wanted it so.
    acknowledged : tuple of str
        Concerns about it that somebody has said to know and accept: see `veil.risk.concerns`.
    account : object
        What privacy policies asked and how it was met, if there were any: see `veil.policy`.
    tables : dict
        Of several tables, whose rows are stacked in `table`: each as it leaves, by name. Empty if there is one.
    """

    source: Source
    asked: Plan | tuple[Method, ...]
    table: pa.Table
    weights: NDArray[np.int64] | None = None
    rows: NDArray[np.int64] | None = None
    hidden: NDArray[np.bool_] | None = None
    flag: str | None = None
    parts: tuple[RecodedPart, ...] = ()
    prepared: Prepared | None = None
    apart: Mapping[str, pa.Table] = field(default_factory=dict)
    secret: frozenset[str] = frozenset()
    verification: Verification = field(default_factory=lambda: Verification(()))
    passes: tuple[Pass, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    story: object = None
    statement: str | None = None
    is_private: bool = True
    recoding: object = None
    over_limit: bool = False
    acknowledged: tuple[str, ...] = ()
    account: object = None
    person: str | None = None
    tables: Mapping[str, TableOut] = field(default_factory=dict)

    # --- what was asked ---------------------------------------------------------------------------

    @property
    def plan(self) -> Plan | None:
        """The plan that was carried out; None for masks."""
        return self.asked if isinstance(self.asked, Plan) else None

    @property
    def methods(self) -> tuple[Method, ...]:
        """The masking methods that were carried out; none for plans."""
        return () if isinstance(self.asked, Plan) else self.asked

    @property
    def models(self) -> tuple[PrivacyModel, ...]:
        """The privacy models that the output fulfils."""
        if isinstance(self.asked, Plan):
            return self.asked.models
        return tuple(model for method in self.asked for model in method.privacy_models)

    @functools.cached_property
    def roles(self) -> Roles:
        """What each column is."""
        if isinstance(self.asked, Plan):
            generalized = (
                self.asked.quasi_identifiers if self.prepared is None else self.prepared.encoding.names
            )
            return roles_of_plan(self.asked, self.columns, tuple(generalized))
        # What is masked on an engine keeps all its columns, seen or unseen.
        columns = self.original.column_names if self.is_condensed else self.columns
        return roles_of_masks(self.asked, columns, self.table.column_names, self.person)

    @property
    def person_column(self) -> str | None:
        """The column of the input that distinguishes people; None if every row is a person, or nothing is known."""
        return self.roles.person

    @property
    def marker(self) -> str | None:
        """Text of suppressed cells."""
        return self.roles.marker

    # --- columns ----------------------------------------------------------------------------------

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
        if self.prepared is None:
            return {}
        return dict(zip(self.prepared.encoding.names, self.prepared.encoding.hierarchies, strict=True))

    @property
    def levels(self) -> dict[str, int]:
        """The level of each generalized column, in the first part."""
        if self.prepared is None or not self.parts:
            return {}
        return dict(zip(self.prepared.encoding.names, self.parts[0].levels, strict=True))

    def role_of(self, name: str) -> str:
        """Role of a column; for masks, those that an attacker may know are quasi-identifying."""
        return self.roles.role_of(name)

    @property
    def kept_columns(self) -> list[str]:
        """Columns of the input that the output has too, with the columns that an engine writes unseen."""
        return [name for name in self.columns if name not in self.roles.removed]

    # --- records ----------------------------------------------------------------------------------

    @property
    def original(self) -> pa.Table:
        """The input, as far as Veil has read it."""
        return self.source.table if self.prepared is None else self.prepared.table

    @property
    def records(self) -> int:
        """Number of records that went in."""
        return self.source.records if self.prepared is None else self.prepared.records()

    @property
    def suppressed(self) -> int:
        """Number of suppressed records."""
        if "suppressed" in self.facts:
            return int(self.facts["suppressed"])
        if self.prepared is None or self.hidden is None:
            return self.published.suppressed_records
        return self.prepared.records(self.hidden)

    @property
    def within_limit(self) -> bool:
        """Whether no more records are suppressed than the plan allows."""
        before, limit = self.before, self.roles.suppression_limit
        if not before.owners.are_records and self.hidden is not None:
            return before.people_in(self.hidden) <= largest_count(limit, before.people)
        records = self.records if self.prepared is None else self.prepared.sample.records
        return self.suppressed <= largest_count(limit, records)

    @property
    def is_condensed(self) -> bool:
        """Whether rows stand for several records, as those of tables that an engine holds do."""
        return self.weights is not None

    @property
    def origins(self) -> NDArray[np.int64]:
        """The input row of each row of `table`."""
        return np.arange(self.table.num_rows) if self.rows is None else self.rows

    @property
    def hidden_rows(self) -> NDArray[np.bool_] | None:
        """Which rows of `table` are suppressed; None where only their cells can tell."""
        return self.hidden if self.hidden is None or self.rows is None else self.hidden[self.rows]

    @property
    def blank_rows(self) -> Suppressed:
        """Which rows of `table` show nothing at all, being suppressed; "by cells" where only these can tell."""
        treatment = self.roles.suppressed_rows
        if treatment == "none" or self.hidden_rows is None:
            return "none" if treatment == "none" else "by cells"
        return self.hidden_rows & (treatment == "blank")

    def pick(self, rows: NDArray[np.int64]) -> pa.Table:
        """The rows of the output that come from some rows of the input."""
        place = np.empty(self.original.num_rows, np.int64)
        place[self.origins] = np.arange(self.table.num_rows)
        return self.table.take(pa.array(place[rows]))

    @functools.cached_property
    def before(self) -> Rows:
        """The input as it is judged."""
        table, weights = (
            self.original,
            self.source.weights if self.prepared is None else self.prepared.weights,
        )
        person, knows = self.person_column, "one row" if self.plan is None else self.plan.knows
        return Rows.of(
            table, weights, Owners.of(table, person if person in table.column_names else None, knows)
        )

    @functools.cached_property
    def after(self) -> Rows:
        """The output as it is judged."""
        owners = self.before.owners
        return Rows.of(self.table, self.weights, None if owners.are_records else owners.take(self.origins))

    @functools.cached_property
    def attacked(self) -> Published:
        """The output as an attacker sees it: `published`, in which people are counted where they may have several rows."""
        return self.published if self.after.owners.are_records else self.published.owned(self.after.owners)

    @functools.cached_property
    def published(self) -> Published:
        """The output as everybody sees it, row by row. Masks suppress no records: whatever is missing there is a value."""
        return Published(
            Rows.of(self.table, self.weights),
            self.quasi_identifiers,
            marker=self.marker,
            flag=self.flag,
            suppressed=self.blank_rows,
        )


def outcome_of(result: object) -> Outcome | None:
    """Return the outcome of a release, or an outcome itself; None if it is something else."""
    found = getattr(result, "outcome", result)
    return found if isinstance(found, Outcome) else None


def require_outcome(result: object) -> Outcome:
    """Return the outcome of a release, or an outcome itself; refuse anything else."""
    found = outcome_of(result)
    if found is None:
        raise InputError(
            f"a {type(result).__name__} is not a release: pass the result of `veil.anonymize` or `veil.mask`"
        )
    return found


def without_rows(outcome: Outcome) -> Outcome:
    """Return an outcome whose suppressed rows are gone, for plans that keep some cells of them."""
    plan, prepared, hidden = outcome.plan, outcome.prepared, outcome.hidden_rows
    if plan is None or prepared is None or hidden is None or plan.suppressed_rows != "keep cells":
        return outcome
    plan = dataclasses.replace(plan, suppressed_rows="drop")
    rows = outcome.origins[~hidden]
    return dataclasses.replace(
        outcome,
        asked=plan,
        prepared=dataclasses.replace(prepared, plan=plan),
        table=outcome.table.filter(pa.array(~hidden)),
        rows=rows,
        weights=prepared.weights_of(rows),
    )


def without_columns(outcome: Outcome, names: Sequence[str]) -> Outcome:
    """Return an outcome without some of its sensitive columns, and without what was promised of them."""
    plan, prepared = outcome.plan, outcome.prepared
    if not names or plan is None or prepared is None:
        return outcome
    left = tuple(model for model in plan.models if not set(names) & set(model.attribute_names))
    plan = dataclasses.replace(
        plan,
        sensitive=tuple(name for name in plan.sensitive if name not in names),
        models=left or (KAnonymity(1),),
    )
    return dataclasses.replace(
        outcome,
        source=dataclasses.replace(outcome.source, table=outcome.source.table.drop_columns(list(names))),
        asked=plan,
        prepared=dataclasses.replace(prepared, plan=plan, table=prepared.table.drop_columns(list(names))),
        table=outcome.table.drop_columns(list(names)),
    )


def prepared_part(prepared: Prepared, rows: NDArray[np.int64]) -> Prepared:
    """Return some rows as a table of its own; models go on comparing its classes with the whole one."""
    sample, codes = prepared.sample, tuple(column[rows] for column in prepared.codes)
    weights = None if prepared.weights is None else prepared.weights[rows]
    people = None if prepared.people is None else prepared.people[rows]
    some = Sample(
        sample.encoding,
        list(codes),
        tuple(dataclasses.replace(each, codes=each.codes[rows]) for each in sample.attributes),
        microaggregated=sample.microaggregated,
        weights=weights,
        squares=prepared.plan.quality.needs_squares,
        people=people,
        all_rows=prepared.plan.knows == "all rows",
        baseline=sample,
    )
    return dataclasses.replace(
        prepared,
        table=prepared.table.take(pa.array(rows)),
        codes=codes,
        sample=some,
        subset=None,
        weights=weights,
        people=people,
    )
