"""The verb assess: the privacy models that a table already satisfies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from html import escape
from typing import Any, Literal

import pyarrow as pa

from veil.api.open import Engine, open_source
from veil.base.html import html_table
from veil.base.keywords import own_keywords
from veil.engines.relation import Relation
from veil.errors import ParameterError, PlanError, Say, did_you_mean
from veil.hierarchies import Hierarchy
from veil.models import MODELS, PrivacyModel, Strength
from veil.models.subset import subset_of
from veil.models.uniqueness import PopulationUniqueness
from veil.outcome.outcome import outcome_of
from veil.plan.owners import rows_of_people
from veil.plan.parameters import hierarchy_builder
from veil.plan.plan import ASK
from veil.plan.prepare import distinct_values
from veil.population.size import population_of
from veil.published.table import Published
from veil.risk import find_repeats
from veil.risk.identify.repeats import Repeated
from veil.risk.reidentification import Risk, sample_risk
from veil.tables import Format, Source
from veil.tables.spelling import read_person


@own_keywords
def assess(
    source: Any,
    *,
    quasi_identifiers: str | Iterable[str] | None = None,
    sensitive: str | Iterable[str] = (),
    hierarchies: Mapping[str, Any] | None = None,
    subset: Any = None,
    population: Any = None,
    person: str | None = ASK,
    knows: Literal["one row", "all rows"] = "one row",
    marker: str | None = "*",
    format: Format | None = None,
    engine: Engine = "auto",
) -> Assessment:
    """Find the strongest parameter of every privacy model that a table already satisfies.

    Parameters
    ----------
    source, format, engine
        The table, as for `anonymize`.
    quasi_identifiers, sensitive
        Columns that an attacker may know, and columns to protect. For a release, the former are known.
    hierarchies
        Hierarchies of sensitive columns, for t-closeness with the hierarchical distance.
    subset
        The rows that would be released, if not all: row numbers, a query, or another table (see
        `veil.models.subset`). The whole table is then the population for δ-presence and k-map.
    population
        The people the table was drawn from, as a number, the name of a region or a `Population`, for
        estimates of population uniqueness.
    person
        The column that distinguishes people, if they may have several rows, to count people. None: every row
        is a different person. A release has its own. By default rows are counted, and `notes` warns if people
        seem to have several.
    knows
        Whether an attacker may know the quasi-identifiers of "one row" or of "all rows" of a person.
    marker
        Text of suppressed cells.

    >>> import pyarrow as pa
    >>> found = assess(pa.table({"age": ["20-29", "20-29", "30-39", "30-39"]}), quasi_identifiers="age")
    >>> next(iter(found))
    Strength(model='KAnonymity', parameter='k', value=2, attribute=None)
    """
    person_option, person = person, None if person == ASK else read_person(person)
    outcome = outcome_of(source)
    if quasi_identifiers is None:
        quasi_identifiers = () if outcome is None else outcome.quasi_identifiers
    columns = _names(quasi_identifiers, "quasi_identifiers")
    attributes = _names(sensitive, "sensitive")
    if not columns:
        raise PlanError("assess needs at least one quasi-identifier: a column that an attacker may know")
    if knows not in ("one row", "all rows"):
        raise ParameterError(f"`knows` should be 'one row' or 'all rows', not {knows!r}")
    own_rows = outcome.after if outcome is not None and person_option == ASK else None
    if subset is not None and (person is not None or (own_rows and not own_rows.owners.are_records)):
        raise PlanError(
            "a research subset selects rows, possibly only some of a person's rows: leave ",
            Say("subset"),
            " or ",
            Say("person"),
            " out",
        )
    column_names = [*columns, *attributes, *(hierarchies or {}), *([] if person is None else [person])]
    row_subset = None if subset is None else subset_of(subset)
    repeated: tuple[Repeated, ...] | None = None

    def condense(relation: Relation) -> Source:
        from veil.engines.source import for_columns  # needs Ibis

        nonlocal repeated
        repeated = find_repeats(relation) if person_option == ASK else ()
        return for_columns(relation, column_names, row_subset, marker)

    source = open_source(source, format, engine, condense)
    table, weights = source.table, source.weights
    for name in column_names:
        if name not in table.column_names:
            raise PlanError(f"the table has no column {name!r}.{did_you_mean(name, table.column_names)}")
    mask = None if row_subset is None else row_subset.mask(table)
    if mask is not None and not mask.any():
        raise PlanError(
            f"the research subset {row_subset} is empty: it should select at least one row of the table"
        )
    rows = own_rows or rows_of_people(table, person, weights, knows, published=True)
    published = Published(
        rows if mask is None else rows.take(mask),
        columns,
        marker=marker,
        members=mask,
        hierarchies={
            name: _build_hierarchy(table[name], each, name, weights)
            for name, each in (hierarchies or {}).items()
        },
        region=None if population is None else population_of(population),
        population=None if mask is None else rows.showing(table.select([*columns, *attributes])),
    )
    strengths = [each for model in MODELS.values() for each in _strongest(model, published, attributes)]
    if repeated is None:
        repeated = () if weights is not None or person_option != ASK else find_repeats(table)
    return Assessment(tuple(strengths), sample_risk(published.sizes), published.suppressed_records, repeated)


def _strongest(
    model: type[PrivacyModel], published: Published, attributes: Sequence[str]
) -> Sequence[Strength]:
    """Return the strongest parameters of a model; with several rows per person, if it can count people."""
    owners = published.rows.owners
    if owners.are_records:
        return model.strongest(published, attributes)
    if not _counts(model, all_rows=owners.know_all_rows):
        return []
    # A model of one value per person is undefined for attributes of which a person shows two.
    view = model.views[0]
    plain = len(model.views) == 1 and view != "one value"
    decided = [name for name in attributes if plain or not published.undecided(name)]
    return model.strongest(published.with_view(view), decided)


def _counts(model: type[PrivacyModel], *, all_rows: bool) -> bool:
    """Whether a kind of model can count people; estimates need each person once, and so all rows."""
    if model is PopulationUniqueness:
        return all_rows
    return model.reads in ("records", "sizes") or (model.reads != "unions" and not all_rows)


def _names(value: Any, parameter: str) -> list[str]:
    names = [value] if isinstance(value, str) else list(value) if isinstance(value, Iterable) else [value]
    if strange := [name for name in names if not isinstance(name, str)]:
        raise PlanError(f"`{parameter}` of assess should be names of columns, not {strange[0]!r}")
    return names


def _build_hierarchy(column: pa.ChunkedArray, builder: Any, name: str, weights: Any) -> Hierarchy:
    values, counts = distinct_values(column, weights)
    hierarchy: Hierarchy = hierarchy_builder(builder).build(values, counts, name)
    return hierarchy


@dataclass(frozen=True)
class Assessment:
    """The models that a table already satisfies, and the remaining risks. Iterating yields the strengths.

    Printed numbers are rounded such that they hold: a promise of the printed number is kept.
    """

    strengths: tuple[Strength, ...]
    risk: Risk
    suppressed: int
    repeated: tuple[Repeated, ...] = ()
    """Signs that several rows are about the same people: all figures count rows."""

    def __iter__(self) -> Iterator[Strength]:
        return iter(self.strengths)

    def __str__(self) -> str:
        lines = [
            f"{each.model}{f'({each.attribute})' if each.attribute else ''}: {each}"
            for each in self.strengths
        ]
        return "\n".join([*lines, *self.notes])

    @property
    def notes(self) -> list[str]:
        """Remarks on the figures."""
        return [
            f"Rows seem to be about the same people, and rows were counted: {each}." for each in self.repeated
        ]

    def _repr_html_(self) -> str:
        rows = [(each.model, each.attribute or "", str(each)) for each in self.strengths]
        remarks = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        return html_table(("Model", "Attribute", "Strongest parameter"), rows) + remarks

    def to_arrow(self) -> pa.Table:
        """Return the strengths as a table."""
        return pa.Table.from_pylist(self.to_dict()["strengths"])

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, with all digits, for JSON."""
        names = ("model", "attribute", "parameter", "value")
        return {
            "strengths": [{name: getattr(each, name) for name in names} for each in self.strengths],
            "risk": asdict(self.risk),
            "suppressed": self.suppressed,
            "repeated": [asdict(each) for each in self.repeated],
        }
