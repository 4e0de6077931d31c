"""The steps of a release under policies that change the table: consent by cell, pseudonyms, population."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from veil.base.randomness import Randomness
from veil.errors import NOTHING, PlanError, Say, did_you_mean
from veil.masking.pseudonyms.methods import Pseudonyms
from veil.models import PrivacyModel
from veil.models.implication import ValueFrequencies
from veil.models.subset import RowNumbers
from veil.policy.documents.elements import PseudonymizationMethod
from veil.policy.release.combined import Joined, Terms, join_pseudonyms, strictest_group
from veil.policy.release.personal_minimum import CoarsenedColumn
from veil.policy.release.population import below, others_of
from veil.published.blank import shows_no_value
from veil.tables.columns import encode_values, is_text, replace_column
from veil.tables.rows import Rows
from veil.tables.spelling import encode_people
from veil.tables.text import canonical_text

Integers = NDArray[np.int64]


def groups_of(terms: list[Terms]) -> dict[str, str]:
    """Return the strictest privacy group of each column."""
    groups: dict[str, set[str]] = {}
    for each in terms:
        for name, group in each.groups.items():
            groups.setdefault(name, set()).add(group)
    return {name: strictest_group(each) for name, each in groups.items()}


def describe_absent_columns(groups: Mapping[str, str], columns: list[str]) -> list[str]:
    """Return a message about each column that policies list and the table does not have."""
    return [
        f"policies list {name!r}, and the table has no such column.{did_you_mean(name, columns)}"
        for name in sorted(groups)
        if name not in columns
    ]


def only_listed(
    table: pa.Table, groups: Mapping[str, str], terms: list[Terms], codes: Integers
) -> tuple[pa.Table, dict[str, int]]:
    """Keep the columns that some policy lists, and in each record those that its own policy lists.

    Also return how many cells of each column are withheld.
    """
    table = table.select([name for name in table.column_names if name in groups])
    withheld: dict[str, int] = {}
    for name in table.column_names:
        listed_mask = np.fromiter((name in each.groups for each in terms), np.bool_, len(terms))[codes]
        if not listed_mask.all():
            places = pa.array(np.arange(table.num_rows), mask=~listed_mask)
            table = replace_column(table, name, table[name].take(places))
            withheld[name] = int(np.count_nonzero(~listed_mask))
    return table, withheld


def pseudonymize(
    table: pa.Table,
    names: list[str],
    terms: list[Terms],
    codes: Integers,
    make: Callable[[PseudonymizationMethod, str], Pseudonyms],
) -> tuple[pa.Table, dict[str, str | None], pa.Table | None]:
    """Replace names by pseudonyms. Also return the `attrName` of each new column, and the mapping if kept."""
    methods = join_pseudonyms({name: each.pseudonyms for name, each in zip(names, terms, strict=True)})
    attribute_names: dict[str, str | None] = {}
    mappings: list[pa.Table] = []
    done: list[Any] = []
    for method in methods.values():
        if method in done:
            continue
        done.append(method)
        columns = [str(each) for each in method.data]
        for column in columns:
            if column not in table.column_names:
                raise PlanError(
                    f"policies ask for pseudonyms of {column!r}, and the table has no such column."
                    f"{did_you_mean(column, table.column_names)}"
                )
        asks = np.array([method in each.pseudonyms for each in terms])[codes]
        values = _joint_values(table, columns)
        values = pa.array([v if a else None for v, a in zip(values, asks, strict=True)], pa.string())
        target = method.attr_name or columns[0]
        _check_no_value(table, target)
        if target in table.column_names and target not in columns:
            raise PlanError(
                f"pseudonyms go to {target!r}, which the table already has. Choose another attrName"
            )
        masked = make(method, target).mask(Rows.of(pa.table({target: values})), Randomness())
        table = table.drop_columns(columns).append_column(target, masked.table[target])
        attribute_names[target] = method.attr_name
        mappings += [each for name, each in masked.apart.items() if name in masked.secret]
    return table, attribute_names, pa.concat_tables(mappings) if mappings else None


def _check_no_value(table: pa.Table, name: str) -> None:
    """Refuse a column name that is a value in the table: release, report and certificate would publish it."""
    for column in table.column_names:
        values = table[column]
        kind = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
        if is_text(kind) and pc.any(pc.equal(values.cast(pa.string()), name)).as_py():
            raise PlanError(
                f"pseudonymizationMethodList: attrName {name!r} is a value of column {column!r}, and would "
                "be published. Choose another attrName"
            )


def _joint_values(table: pa.Table, columns: list[str]) -> list[str | None]:
    """Return for each row one text that encodes its values in several columns unambiguously."""
    texts = [canonical_text(table[name], column=name) for name in columns]
    if len(columns) == 1:
        return texts[0]
    return [
        None
        if all(each is None for each in row)
        else "".join("-" if each is None else f"{len(each)}:{each}" for each in row)
        for row in zip(*texts, strict=True)
    ]


def copies_of(table: pa.Table, groups: Mapping[str, str], joined: list[Joined]) -> dict[str, str]:
    """Name a copy of the original cells for each column that is both QID and SD and has a model."""
    spoken_of = {each.strictest.attribute for each in joined}
    both = [name for name in table.column_names if groups.get(name) == "QID and SD" and name in spoken_of]
    copies = {name: f"{name} before generalization" for name in both}
    _check_free(table, copies)
    return copies


def _check_free(table: pa.Table, copies: Mapping[str, str]) -> None:
    for copy in copies.values():
        if copy in table.column_names:
            raise PlanError(f"the table has a column {copy!r}, a name that Veil uses internally. Rename it")


def with_unambiguous(
    table: pa.Table,
    lifted: Mapping[str, CoarsenedColumn],
    roles: Mapping[str, str],
    joined: list[Joined],
    marker: str | None,
) -> tuple[pa.Table, dict[str, str]]:
    """Append a copy without ambiguous labels of each sensitive column that has such and has a model."""
    spoken_of = {each.strictest.attribute for each in joined}
    copies = {}
    for name, column in lifted.items():
        if roles[name] == "SD" and name in spoken_of and (cells := column.unambiguous(marker)) is not None:
            copies[name] = f"{name} without labels above others"
            _check_free(table, copies)
            table = table.append_column(copies[name], cells)
    return table, copies


def with_columns(table: pa.Table, lifted: Mapping[str, CoarsenedColumn]) -> pa.Table:
    """Insert the cells that are as coarse as the policy of each record requires."""
    for name, column in lifted.items():
        if column.values is not None:
            table = replace_column(table, name, column.values)
    return table


def distributions_of(
    table: pa.Table, models: list[PrivacyModel], records: int, marker: str | None
) -> dict[str, ValueFrequencies]:
    """Count the values of sensitive columns in the released records, before any suppression."""
    names = {name for model in models for name in model.attribute_names}
    distributions = {}
    for name in names:
        if name in table.column_names and table.num_rows:
            values, codes = encode_values(table[name].slice(0, records))
            blank_mask = shows_no_value(values, marker)
            counts = np.bincount(codes, minlength=len(values))[~blank_mask]
            if counts.size:
                distributions[name] = ValueFrequencies(tuple(counts.tolist()), complete=not blank_mask.any())
    return distributions


def with_others(
    table: pa.Table,
    everything: pa.Table,
    population: pa.Table | None,
    quasi_identifiers: Sequence[str],
    person: str | None,
) -> tuple[pa.Table, RowNumbers]:
    """Append the rest of the population to the table, and return which rows are released.

    The population does not show which of its records belong to one person, so people may have one record
    only: further ones would count as other people.
    """
    if population is None:
        raise PlanError(
            "policies ask for k-map, δ-presence or inclusion, which need the population that the table was "
            "selected from, with its quasi-identifiers: ",
            Say("population"),
        )
    if person is not None and len(encode_people(everything[person], person)[0]) < everything.num_rows:
        raise PlanError(
            "policies ask for k-map, δ-presence or inclusion, which compare people with a population, and "
            f"column {person!r} says that some have several records. Keep one record per person; or, if every "
            "record is a different person, say ",
            Say("person", NOTHING),
        )
    for name in quasi_identifiers:
        if table[name].null_count != everything[name].null_count:
            raise PlanError(
                f"column {name!r} is blanked for people whose policy does not list it, so it is unknown how "
                "many others look like them. List it in every policy, or leave those records out"
            )
    table = below(table, others_of(everything, population, quasi_identifiers))
    return table, RowNumbers(tuple(range(everything.num_rows)), table.num_rows)
