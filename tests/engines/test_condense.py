"""Condensing: the engine counts what a loop over the rows counts, and refuses what it cannot compare."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import veil
from support.engines.people import people, plan
from support.refusals import refused
from veil import hierarchies as h
from veil import models as m
from veil.engines.condense import Condensed, condense
from veil.engines.dialects import collect
from veil.engines.relation import relation_of
from veil.errors import InputError, PlanError
from veil.models.subset import Random, RowNumbers

often = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module")
def connection() -> Any:
    import ibis

    return ibis.duckdb.connect()


def counts(found: Condensed) -> Counter[tuple[Any, ...]]:
    rows = zip(*(column.to_pylist() for column in found.table.columns), strict=True)
    made: Counter[tuple[Any, ...]] = Counter()
    for row, weight in zip(rows, found.weights.tolist(), strict=True):
        made[row] += weight
    return made


CELLS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "number": (pa.int64(), [0, 1, -1, 2**62, None]),
    "real": (pa.float64(), [0.0, -0.0, 1.5, float("nan"), float("inf"), None, 1e-300, 0.1 + 0.2]),
    "text": (pa.string(), ["", "a", "A", "ä", "a ", "*", "'", '"', "\\", "NULL", None]),
    "truth": (pa.bool_(), [True, False, None]),
    "day": (pa.date32(), [dt.date(1, 1, 1), dt.date(1970, 1, 1), dt.date(9999, 12, 31), None]),
    "moment": (
        pa.timestamp("us"),
        [dt.datetime(1969, 12, 31, 23, 59, 59, 999999), dt.datetime(2024, 2, 29), None],
    ),
    "price": (pa.decimal128(20, 4), [Decimal("0.1000"), Decimal("-9999999999.9999"), Decimal(0), None]),
    "small": (pa.uint8(), [0, 255, None]),
}


@often
@given(st.data())
def test_the_engine_counts_as_a_loop_does(connection: Any, data: st.DataObject) -> None:
    names = data.draw(st.lists(st.sampled_from(sorted(CELLS)), min_size=1, max_size=4, unique=True))
    rows = data.draw(
        st.lists(st.tuples(*(st.sampled_from(CELLS[name][1]) for name in names)), min_size=1, max_size=25)
    )
    table = pa.table(
        {name: pa.array([row[j] for row in rows], CELLS[name][0]) for j, name in enumerate(names)}
    )
    connection.create_table("cells", table, overwrite=True)
    found = condense(relation_of(connection.table("cells")), names)
    # Not-a-number is a missing value, and zero has no sign.
    assert counts(found) == Counter(tuple(None if cell != cell else cell for cell in row) for row in rows)
    turned = table.take(pa.array(range(len(rows))[::-1]))
    connection.create_table("cells", turned, overwrite=True)
    again = condense(relation_of(connection.table("cells")), names)
    assert again.table.equals(found.table)
    assert again.weights.tolist() == found.weights.tolist()


def test_texts_that_a_collation_takes_for_equal_are_different(sqlite: Callable[..., str]) -> None:
    """Otherwise a and A would be one class of two in the driver, and two classes of one in the release."""
    url = sqlite(
        "CREATE TABLE people (name TEXT COLLATE NOCASE, day DATE)",
        "INSERT INTO people VALUES ('a', '2020-01-31'), ('A', '2020-01-31'), ('a', NULL)",
    )
    relation = relation_of(url + "#people")
    assert relation is not None
    found = condense(relation, ["name", "day"])
    day = dt.date(2020, 1, 31)
    assert counts(found) == {("A", day): 1, ("a", day): 1, ("a", None): 1}
    release = veil.anonymize(
        url + "#people",
        quasi_identifiers={"name": h.suppression()},
        models=m.KAnonymity(2),
        others="keep",
        maximum_levels={"name": 0},
        suppression_limit=0.5,
        progress=False,
    )
    assert release.suppressed == 1
    assert sorted(release.table.name.to_pyarrow().to_pylist()) == ["*", "a", "a"]


def test_dates_are_found_again_however_sqlite_spells_them(sqlite: Callable[..., str]) -> None:
    url = sqlite(
        "CREATE TABLE people (seen TIMESTAMP)",
        "INSERT INTO people VALUES ('2020-01-31 10:00:00'), ('2020-01-31T10:00:00'), ('2020-02-01 00:00:00.250')",
    )
    release = veil.anonymize(
        url + "#people",
        quasi_identifiers={"seen": h.dates("month")},
        models=m.KAnonymity(2),
        minimum_levels={"seen": 1},
        maximum_levels={"seen": 1},
        suppression_limit=0.5,
        progress=False,
    )
    assert sorted(release.table.seen.to_pyarrow().to_pylist()) == ["*", "2020-01", "2020-01"]


def test_what_is_no_date_in_a_column_of_dates_is_refused(sqlite: Callable[..., str]) -> None:
    url = sqlite("CREATE TABLE people (day DATE)", "INSERT INTO people VALUES ('2020-01-31'), ('soon')")
    with refused(InputError, "'day'", "date", "soon"):
        veil.anonymize(
            url + "#people",
            quasi_identifiers={"day": h.suppression()},
            models=m.KAnonymity(2),
            progress=False,
        )


def test_padded_text_of_postgres_is_found_again(postgres: Any) -> None:
    """CHAR(5) loses its blanks when it is compared with text."""
    postgres.execute(
        "DROP TABLE IF EXISTS padded",
        "CREATE TABLE padded (zip CHAR(5), price NUMERIC)",
        "INSERT INTO padded VALUES ('ab', 0.1), ('ab', 0.1), ('abcde', 12345.5), (NULL, NULL)",
        "GRANT SELECT ON padded TO PUBLIC",
    )
    hierarchies = {"zip": h.table([["ab   ", "short"], ["abcde", "long"]]), "price": h.suppression()}
    for level, expected in ((0, ["*", "*", "ab   ", "ab   "]), (1, ["*", "*", "short", "short"])):
        release = veil.anonymize(
            postgres.url("padded"),
            quasi_identifiers=hierarchies,
            models=m.KAnonymity(2),
            minimum_levels={"zip": level},
            maximum_levels={"zip": level, "price": 0},
            suppression_limit=0.5,
            progress=False,
        )
        shown = collect(release.table._find_backend(), release.table.select("zip"))
        assert sorted(shown["zip"].to_pylist()) == expected


@pytest.mark.parametrize("kind", [pa.float64(), pa.float32()])
def test_what_is_counted_as_one_number_looks_like_one(connection: Any, kind: pa.DataType) -> None:
    """Not-a-number is a missing value, and zero has no sign: else two classes of one would pass for one of two."""
    table = pa.table({"real": pa.array([0.0, -0.0, None, float("nan"), 1.0], kind)})
    connection.create_table("reals", table, overwrite=True)
    release = veil.anonymize(
        connection.table("reals"),
        quasi_identifiers={"real": h.suppression()},
        models=m.KAnonymity(2),
        maximum_levels={"real": 0},
        suppression_limit=0.2,
        progress=False,
    )
    shown = collect(connection, release.table)
    assert sorted(map(str, shown["real"].to_pylist())) == ["0.0", "0.0", "None", "None", "None"]
    assert shown.schema.field("real").type == kind


def test_what_is_one_number_in_a_file_is_spelled_in_one_way(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    options: dict[str, Any] = {
        "quasi_identifiers": {"height": h.suppression()},
        "models": m.KAnonymity(2),
        "maximum_levels": {"height": 0},
        "suppression_limit": 0.5,
        "progress": False,
    }
    path.write_text("height\n1.50\n1.5\n2.25\n2.250\n3\n")
    release = veil.anonymize(str(path), engine="duckdb", **options)
    assert release.suppressed == 1
    shown = collect(release.table._find_backend(), release.table)["height"].to_pylist()
    assert sorted(Counter(shown).values()) == [1, 2, 2]
    release.save(tmp_path / "release.csv")


def test_what_is_one_time_in_sqlite_should_be_spelled_in_one_way(sqlite: Callable[..., str]) -> None:
    url = sqlite(
        "CREATE TABLE people (seen TIMESTAMP)",
        "INSERT INTO people VALUES ('2020-01-31 10:00:00'), ('2020-01-31T10:00:00')",
    )
    release = veil.anonymize(
        url + "#people",
        quasi_identifiers={"seen": h.suppression()},
        models=m.KAnonymity(2),
        maximum_levels={"seen": 0},
        progress=False,
    )
    with refused(InputError, "'seen'", "several ways", "2020-01-31 10"):
        release.table  # noqa: B018


# --- refused --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("columns", "what"),
    [
        (
            "[1, 2] AS tags",
            r"column 'tags' has type array<int32>, which cannot have a hierarchy and has no text form",
        ),
        ("{'a': 1} AS tags", r"column 'tags' has type struct<a: int32>, which cannot have a hierarchy"),
        ("CAST('{}' AS JSON) AS tags", r"column 'tags' has type json"),
        ("CAST('10:00' AS TIME) AS tags", r"column 'tags' has type time"),
    ],
)
def test_types_that_no_hierarchy_knows(connection: Any, columns: str, what: str) -> None:
    connection.raw_sql(f"CREATE OR REPLACE TABLE odd AS SELECT 30 AS age, {columns}")
    options = plan(sensitive=[], identifying={}, quasi_identifiers={"tags": h.suppression()}, others="drop")
    with pytest.raises(InputError, match=what):
        veil.anonymize(connection.table("odd"), **options)


def test_odd_types_that_nothing_asks_for_pass(connection: Any) -> None:
    connection.raw_sql("CREATE OR REPLACE TABLE odd AS SELECT 30 AS age, [1, 2] AS tags FROM range(3)")
    options = plan(sensitive=[], identifying={}, quasi_identifiers={"age": h.suppression()})
    release = veil.anonymize(connection.table("odd"), **options)
    assert release.table.columns == ("age", "tags")


def test_a_table_without_rows(connection: Any) -> None:
    connection.raw_sql("CREATE OR REPLACE TABLE nobody AS SELECT 30 AS age WHERE false")
    options = plan(sensitive=[], identifying={}, quasi_identifiers={"age": h.suppression()})
    with refused(InputError, "nobody of duckdb", "no rows"):
        veil.anonymize(connection.table("nobody"), **options)


def test_columns_that_are_not_there(connection: Any) -> None:
    connection.create_table("people", people(), overwrite=True)
    with refused(PlanError, "no column 'aeg'", "mean 'age'"):
        veil.anonymize(
            connection.table("people"), **plan(quasi_identifiers={"aeg": h.suppression()}, sensitive=[])
        )
    with refused(InputError, "no column 'smoke'", "mean 'smoker'"):
        veil.anonymize(connection.table("people"), **plan(models=m.KMap(2, subset="smoke = true")))
    with refused(InputError, "no column 'cty'"):
        veil.assess(connection.table("people"), quasi_identifiers=["cty"])


def test_a_microaggregated_column_needs_memory(connection: Any) -> None:
    connection.create_table("people", people(), overwrite=True)
    with refused(PlanError, "'cost'", "microaggregated", "engines"):
        veil.anonymize(connection.table("people"), **plan(microaggregated={"cost": "mean"}))


@pytest.mark.parametrize("subset", [RowNumbers([0, 1]), Random(0.5), people().slice(0, 2)])
def test_research_subsets_that_are_no_query(connection: Any, subset: Any) -> None:
    connection.create_table("people", people(), overwrite=True)
    with refused(PlanError, "not a query", "no numbers", "Where("):
        veil.anonymize(connection.table("people"), **plan(models=m.KMap(2, subset=subset)))
