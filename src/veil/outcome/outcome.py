"""The outcome of anonymizing a table, by any method, as plain data.

The verifier checks an outcome; engines, risk, utility and reports read it. A `Release` adds verbs to it.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

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
        Information loss of the records that were suppressed before the pass, also of those that remain so.
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
    """The outcome of anonymizing a table.

    Attributes
    ----------
    source : Source
        The input, and where its rows are: in memory, or in an engine.
    asked : Plan or tuple of Method
        The steps: a plan, or masking methods in their order.
    person : str, optional
        With masks: the column of the input that distinguishes people with several rows. A plan has its own.
    table : pyarrow.Table
        The output. If the input is in an engine: each combination of cells once.
    weights : array, optional
        Number of records of each row of `table`; None if all are 1.
    rows : array, optional
        The input row of each row of `table`; None if their order is unchanged.
    hidden : array, optional
        Mask of the suppressed input rows; None if these are not in memory, or none can be suppressed.
    flag : str, optional
        Column of `table` that marks its suppressed rows, where the cells alone are ambiguous.
    parts : tuple of Part
        Records that are not suppressed, by their levels. The first part exists even if it is empty.
    prepared : Prepared, optional
        Codes and hierarchies, if the plan was applied to a table in memory.
    apart : dict
        Further tables for files of their own: the second table of an Anatomy release, the key of pseudonyms.
    secret : set
        Names of those that must not be released.
    verification : Verification
        The findings about each promise on the output.
    passes : tuple of Pass
        The passes of local recoding.
    facts : dict
        Numbers and short texts about the run, by name.
    story : object
        How the outcome was found, for the user interfaces: a search, a random walk, or steps.
    statement : str, optional
        The promise in plain words, where it needs them: that of differential privacy.
    is_private : bool
        False if the draws can be repeated from a seed, or are not proven to be private.
    recoding : object
        The local recoding of suppressed records; None if there was none.
    over_limit : bool
        Whether more records are suppressed than the plan allows, by explicit choice.
    acknowledged : tuple of str
        Concerns that the data holder has accepted: see `veil.risk.concerns`.
    account : object
        What privacy policies required and how it was met, if there were any: see `veil.policy`.
    tables : dict
        With several tables, whose rows are stacked in `table`: the output of each, by name. Otherwise empty.
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

    # --- steps ------------------------------------------------------------------------------------

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
            return roles_of_plan(self.asked, tuple(generalized))
        # Masking in an engine keeps all columns, also those that Veil does not read.
        others: Literal["insensitive", "dropped"] = "insensitive" if self.is_condensed else "dropped"
        names = self.original.column_names, self.table.column_names
        return roles_of_masks(self.asked, *names, self.person, others)

    @property
    def person_column(self) -> str | None:
        """The column of the input that distinguishes people; None if every row is a person, or unknown."""
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
        """Return the role of a column; with masks, those that an attacker may know are quasi-identifying."""
        return self.roles.role_of(name)

    @property
    def kept_columns(self) -> list[str]:
        """Columns of the input that the output has too, including those that an engine copies unread."""
        return [name for name in self.columns if self.roles.is_released(name)]

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
            return self.by_records.suppressed_records
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
        """Whether a row can represent several records, as with tables in an engine."""
        return self.weights is not None

    @property
    def origins(self) -> NDArray[np.int64]:
        """The input row of each row of `table`."""
        return np.arange(self.table.num_rows) if self.rows is None else self.rows

    @property
    def hidden_rows(self) -> NDArray[np.bool_] | None:
        """Mask of the suppressed rows of `table`; None where only their cells show it."""
        return self.hidden if self.hidden is None or self.rows is None else self.hidden[self.rows]

    @property
    def blank_rows(self) -> Suppressed:
        """Mask of the suppressed, entirely blank rows of `table`; "by cells" if only cells show it."""
        treatment = self.roles.suppressed_rows
        if treatment == "none" or self.hidden_rows is None:
            return "none" if treatment == "none" else "by cells"
        return self.hidden_rows & (treatment == "blank")

    def pick(self, rows: NDArray[np.int64]) -> pa.Table:
        """Return the rows of the output that come from some rows of the input."""
        place = np.empty(self.original.num_rows, np.int64)
        place[self.origins] = np.arange(self.table.num_rows)
        return self.table.take(pa.array(place[rows]))

    @functools.cached_property
    def before(self) -> Rows:
        """The input with its weights and owners."""
        weights = self.source.weights if self.prepared is None else self.prepared.rows.weights.counts
        person = self.roles.person if self.roles.person in self.original.column_names else None
        return Rows.of(self.original, weights, Owners.of(self.original, person, self.roles.knows))

    @functools.cached_property
    def after(self) -> Rows:
        """The output with its weights and owners."""
        owners = self.before.owners
        return Rows.of(self.table, self.weights, None if owners.are_records else owners.take(self.origins))

    @functools.cached_property
    def by_people(self) -> Published:
        """The output as an attacker sees it: `by_records`, counted in people if they have several rows."""
        return self.by_records if self.after.owners.are_records else self.by_records.owned(self.after.owners)

    @functools.cached_property
    def by_records(self) -> Published:
        """The output as published, row by row. Masks suppress no records: a missing cell is a value there."""
        return Published(
            Rows.of(self.table, self.weights),
            self.quasi_identifiers,
            marker=self.marker,
            flag=self.flag,
            suppressed=self.blank_rows,
        )


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
    plan, prepared, suppressed_mask = outcome.plan, outcome.prepared, outcome.hidden_rows
    if plan is None or prepared is None or suppressed_mask is None or plan.suppressed_rows != "keep cells":
        return outcome
    plan = dataclasses.replace(plan, suppressed_rows="drop")
    rows = outcome.origins[~suppressed_mask]
    return dataclasses.replace(
        outcome,
        asked=plan,
        prepared=dataclasses.replace(prepared, plan=plan),
        table=outcome.table.filter(pa.array(~suppressed_mask)),
        rows=rows,
        weights=prepared.weights_of(rows),
    )


def without_columns(outcome: Outcome, names: Sequence[str]) -> Outcome:
    """Return an outcome without some of its sensitive columns and the models that refer to them."""
    plan, prepared = outcome.plan, outcome.prepared
    if not names or plan is None or prepared is None:
        return outcome
    models = tuple(model for model in plan.models if not set(names) & set(model.attribute_names))
    plan = dataclasses.replace(
        plan,
        sensitive=tuple(name for name in plan.sensitive if name not in names),
        models=models or (KAnonymity(1),),
    )
    return dataclasses.replace(
        outcome,
        source=dataclasses.replace(outcome.source, table=outcome.source.table.drop_columns(list(names))),
        asked=plan,
        prepared=dataclasses.replace(
            prepared, plan=plan, rows=prepared.rows.showing(prepared.table.drop_columns(list(names)))
        ),
        table=outcome.table.drop_columns(list(names)),
    )


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
