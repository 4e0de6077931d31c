"""Tables and releases as risks see them: their rows, with weights and owners."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import veil
from support.refusals import refused
from veil.errors import PlanError
from veil.risk.grouping import (
    group_records,
    published_of,
    require_single_records,
    rows_of,
    rows_of_population,
)
from veil.tables.rows import Owners, Rows

VISITS = pa.table({"who": list("aabbccd"), "age": [20] * 6 + [61], "sex": list("fffmmmm")})


def released() -> veil.Release:
    return veil.anonymize(
        VISITS,
        quasi_identifiers={"age": "identity"},
        models=veil.KAnonymity(2),
        suppression_limit=0.5,
        identifying=["who"],
        person="who",
        others="keep",
    )


def test_a_release_counts_its_people_by_any_columns() -> None:
    release = released()
    assert published_of(release, None).sizes.tolist() == [3]
    by_sex = published_of(release, "sex")
    sizes = dict(zip(by_sex.labels["sex"].to_pylist(), by_sex.sizes.tolist(), strict=True))
    assert sizes == {"f": 2, "m": 2}  # of three women's and three men's rows
    assert rows_of(release, ["sex"], None).owners.codes is not None


def test_a_table_counts_people_where_it_names_their_column() -> None:
    assert published_of(VISITS, "age", person="who").sizes.tolist() == [3, 1]
    assert published_of(VISITS, "age", person=None).sizes.tolist() == [6, 1]
    with refused(PlanError, "the same people", "'patient_id'"):
        published_of(VISITS.rename_columns(["patient_id", "age", "sex"]), "age")


def test_a_group_has_each_person_once() -> None:
    grouped = group_records(published_of(VISITS, ["age"], person="who"))
    assert (grouped.sizes.tolist(), grouped.all_records) == ([3, 1], 7)
    assert grouped.spread(grouped.sizes).tolist() == [3] * 6 + [1]


@pytest.mark.parametrize("column", [None, "who"])
def test_a_population_has_the_unit_of_the_rows(column: str | None) -> None:
    rows = Rows.of(VISITS, owners=Owners.of(VISITS, column))
    assert rows_of_population(VISITS, rows, column).people == (7 if column is None else 4)


def test_single_records_are_neither_combinations_nor_those_of_people_with_several() -> None:
    require_single_records(Rows.of(VISITS))
    with refused(PlanError, "every row is a person"):
        require_single_records(Rows.of(VISITS, owners=Owners.of(VISITS, "who")))
    with refused(PlanError, "table of an engine"):
        require_single_records(Rows.of(VISITS, np.arange(1, 8)))
