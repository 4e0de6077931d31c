"""Several tables about the same people under one plan: one level for each column, one promise to each person.

The rows of all tables are stacked (`veil.published.linked_tables`), and an attacker knows all rows of a
person. So the search, the models and the verifier are those of one table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from veil.errors import PlanError, Say
from veil.hierarchies import identity
from veil.models import PrivacyModel
from veil.plan.plan import Plan
from veil.plan.prepare import distinct_values
from veil.published.linked_tables import column_texts, free_label, sensitive_texts
from veil.tables.arrow import decode_column
from veil.tables.source import Source
from veil.tables.spelling import encode_people, read_person


@dataclass(frozen=True, kw_only=True)
class Stacked(Source):
    """The rows of several tables as one.

    `table` has the name of each row's table, its owner, and the columns that models read.
    """

    sources: Mapping[str, Source]
    asked: Plan
    """The plan as it was given, for all tables."""
    plan: Plan
    """The same for the stacked rows."""
    label: str
    """Column of `table` with the name of the table that a row is from."""

    @property
    def person(self) -> str:
        """Column that distinguishes people, in every table."""
        assert self.asked.person_column is not None
        return self.asked.person_column

    def asked_for(self, plan: Plan) -> Stacked:
        """Return the same tables under another plan, which differs in models and suppression limit."""
        of_all = replace(self.asked, models=plan.models, suppression_limit=plan.suppression_limit)
        return replace(self, plan=plan, asked=of_all)

    @property
    def spans(self) -> dict[str, slice]:
        """The rows of `table` that belong to each table."""
        ends = np.cumsum([source.table.num_rows for source in self.sources.values()]).tolist()
        return {
            name: slice(begin, end)
            for name, begin, end in zip(self.sources, [0, *ends[:-1]], ends, strict=True)
        }


def for_several(person: str | None, identifying: Mapping[str, Any]) -> dict[str, Any]:
    """Return the defaults for several tables: attackers know all rows, and keys become pseudonyms."""
    return {"knows": "all rows", "identifying": {read_person(person): "pseudonym", **identifying}}


def stack(sources: Mapping[str, Source], plan: Plan) -> Stacked:
    """Stack tables, or refuse what several tables cannot have."""
    person = _check(sources, plan)
    tables = {name: source.table for name, source in sources.items()}
    label = free_label({column for table in tables.values() for column in table.column_names})
    model_columns = {name for model in plan.models for name in model.attribute_names}
    sensitive = tuple(name for name in plan.sensitive if name in model_columns)
    owners = column_texts(tables, person)
    _check_shared(tables, owners, person)
    sizes = [table.num_rows for table in tables.values()]
    stacked = pa.table(
        {
            label: pa.array(np.repeat(np.array(list(tables), object), sizes), pa.string()),
            person: owners,
            **{name: _known(tables, name) for name in plan.quasi_identifiers},
            **{name: sensitive_texts(tables, name) for name in sensitive},
        }
    )
    stacked_plan = replace(
        plan,
        quasi_identifiers={label: identity(), **_hierarchies(tables, stacked, plan)},
        maximum_levels={**plan.maximum_levels, label: 0},
        identifying={person: plan.identifying[person]},
        sensitive=sensitive,
        insensitive=(),
        others=None,
        knows="all rows",
    )
    return Stacked(stacked, "pyarrow", sources=sources, asked=plan, plan=stacked_plan, label=label)


def _check(sources: Mapping[str, Source], plan: Plan) -> str:
    """Refuse what several tables cannot have; return the column that distinguishes people."""
    person = plan.person_column
    if person is None:
        raise PlanError(
            "several tables need a column that tells people apart, of the same name in all of them: name it in ",
            Say("person"),
        )
    plan.check_columns(
        list(dict.fromkeys(name for source in sources.values() for name in source.table.column_names))
    )
    for name, source in sources.items():
        if person not in source.table.column_names:
            raise PlanError(
                f"table {name!r} has no column {person!r}, which tells people apart: add it, for example by a join, or "
                "leave the table out"
            )
    if plan.suppressed_rows == "keep cells":
        raise PlanError(
            "with several tables, suppressed people show nothing: say ", Say("suppressed_rows", "blank"), " or ",
            Say("suppressed_rows", "drop"),
        )  # fmt: skip
    for column in plan.microaggregated:
        raise PlanError(
            f"column {column!r} is microaggregated, which several tables cannot have: give it a hierarchy"
        )
    if plan.items:
        raise PlanError(
            "items can only be generalized if all items of a person are in one table: give one table with "
            "all items of a person, or leave ",
            Say("items"),
            " out",
        )
    for model in plan.models:
        _check_model(sources, model)
    return person


def _check_model(sources: Mapping[str, Source], model: PrivacyModel) -> None:
    if model.subset is not None:
        raise PlanError(f"{model} is for one table: leave it out, or anonymize the tables one by one")
    for column in model.attribute_names if model.compares_with or model.views == ("one value",) else ():
        lacking = [name for name, source in sources.items() if column not in source.table.column_names]
        if lacking:
            raise PlanError(
                f"{model} compares with all rows, but table {lacking[0]!r} has no column {column!r}: use a "
                f"model that judges each class on its own, such as DistinctLDiversity({column!r}, 2)"
            )


def _check_shared(tables: Mapping[str, pa.Table], owners: pa.ChunkedArray, person: str) -> None:
    """Refuse a table that shares no person with the others: its people would be taken for other people."""
    _, codes = encode_people(owners, person)
    ends = np.cumsum([table.num_rows for table in tables.values()])[:-1]
    people = [np.unique(each) for each in np.split(codes, ends)]
    for name, here in zip(tables, people, strict=True):
        others = [other for other in people if other is not here]
        if others and not np.isin(here, np.concatenate(others)).any():
            raise PlanError(
                f"table {name!r} shares nobody with the other tables, by column {person!r}. If they are the same "
                "people, write their numbers in the same way in all tables (7 and '7' match, '007' and '7.0' do "
                "not); if not, anonymize it separately"
            )


def _known(tables: Mapping[str, pa.Table], name: str) -> pa.ChunkedArray:
    """Return a quasi-identifier of all tables; missing where a table has no such column."""
    having = {each: table for each, table in tables.items() if name in table.column_names}
    chunks = {each: decode_column(table[name]) for each, table in having.items()}
    kinds = {each.type for each in chunks.values()}
    if len(kinds) > 1:
        raise PlanError(
            f"column {name!r} holds values of different types ({' and '.join(sorted(map(str, kinds)))}) in different tables: "
            "make them the same, or give the columns different names"
        )
    (kind,) = kinds
    stacked: list[pa.Array] = []
    for each, table in tables.items():
        stacked += chunks[each].chunks if each in chunks else [pa.nulls(table.num_rows, kind)]
    return pa.chunked_array(stacked, kind)


def _hierarchies(tables: Mapping[str, pa.Table], stacked: pa.Table, plan: Plan) -> dict[str, Any]:
    """Return the hierarchies, built from the values of the tables that have the column."""
    hierarchies = {}
    for name, builder in plan.quasi_identifiers.items():
        here = [decode_column(table[name]) for table in tables.values() if name in table.column_names]
        column = pa.chunked_array([chunk for each in here for chunk in each.chunks], here[0].type)
        hierarchy = builder.build(*distinct_values(column), name)
        hierarchies[name] = hierarchy.with_missing() if stacked[name].null_count else hierarchy
    return hierarchies
