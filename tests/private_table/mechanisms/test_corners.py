"""Insensitive microaggregation: its clusters, the noise that is enough, and what was published, with counterexamples."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from support.dp.tables import numbers, read_columns
from support.realdata import SHARED
from veil.base.randomness import Randomness
from veil.dp import Accountant
from veil.errors import ParameterError, PlanError
from veil.private_table import Corners, private_table
from veil.private_table.mechanisms.clusters import cluster_sums, clusters
from veil.private_table.mechanisms.columns import Numbers
from veil.private_table.mechanisms.published import published_numbers
from veil.tables import read

CENSUS = SHARED / "data" / "census" / "census.csv"
BOUNDS = {"FICA": (0, 11898), "FEDTAX": (0, 31890), "INTVAL": (0, 74137.5), "POTHVAL": (0, 158911.5)}
needs_census = pytest.mark.skipif(not CENSUS.exists(), reason="needs the table census")


def centroids(columns: list[Numbers], rows: list[np.ndarray]) -> list[list[Fraction]]:
    """The exact mean of each cluster."""
    return [
        [
            Fraction(int(total)) * column.bounds.step / len(each)
            for column, total in zip(columns, sums, strict=True)
        ]
        for each, sums in zip(rows, cluster_sums(columns, rows), strict=True)
    ]


# --- the promise ----------------------------------------------------------------------------------------


def small_neighbours() -> list[tuple[Any, Any]]:
    universe = list(itertools.product(range(3), repeat=2))
    tables = itertools.combinations_with_replacement(universe[::2], 4)
    return [
        (list(table), [*table[:place], record, *table[place + 1 :]])
        for table in tables
        for place in range(4)
        for record in universe
    ]


def test_log_ratios_of_whole_releases() -> None:
    """Laplace noise of scale b turns a shift by s into a log-ratio of exactly s / b, and shifts add up."""
    sound = published = 0.0
    for before, after in small_neighbours():
        one, other = numbers(before, 2), numbers(after, 2)
        rows, others = clusters(one, 2), clusters(other, 2)
        moved = np.abs(cluster_sums(one, rows) - cluster_sums(other, others)).sum(axis=0)
        sound = max(sound, sum(moved / (len(rows) * one[0].reach) / 2))
        by_row = []
        for columns, groups in ((one, rows), (other, others)):
            means = np.empty((4, 2))
            for group, mean in zip(groups, centroids(columns, groups), strict=True):
                means[group] = [float(each) for each in mean]
            by_row.append(means)
        published = max(published, float(np.abs(by_row[0] - by_row[1]).sum() / (2 / 2)))
    assert 0.4 < sound <= 1
    assert published > 2


def test_the_centroid_of_a_record_can_move_by_nearly_the_whole_range() -> None:
    """Proposition 8 of the thesis claims 0.2 for each record."""
    values = [0, 1, 2, 3, 4, 5, 100, 100, 100, 100]
    found = []
    for first in (0, 100):
        columns = numbers([[value] for value in (first, *values[1:])], 100)
        rows = clusters(columns, 5)
        means = centroids(columns, rows)
        found.append(
            (means, {int(row): mean[0] for group, mean in zip(rows, means, strict=True) for row in group})
        )
    (means, by_row), (others, by_row_after) = found
    assert abs(by_row[0] - by_row_after[0]) == Fraction(98)
    assert abs(by_row[5] - by_row_after[5]) == Fraction(78)
    assert sum(abs(one[0] - other[0]) for one, other in zip(means, others, strict=True)) == Fraction(20)


def test_forty_points_in_a_square() -> None:
    """Algorithm 6.2 of the thesis takes centroids to move by 1 in all, and its release to have a log-ratio of 1."""
    points = [(961 + j, 0) if j // 2 % 2 == 0 else (0, 961 + j) for j in range(40)]
    found = []
    for first in (points[0], (1000, 1000)):
        columns = numbers([first, *points[1:]], 1000)
        # From near to far; ties by their values.
        order = np.array(
            sorted(
                range(40),
                key=lambda row: (
                    sum(each.steps[row] ** 2 for each in columns),
                    *(each.steps[row] for each in columns),
                ),
            )
        )
        found.append(centroids(columns, [order[start : start + 2] for start in range(0, 40, 2)]))
    moved = (
        sum(abs(a - b) for one, other in zip(*found, strict=True) for a, b in zip(one, other, strict=True))
        / 1000
    )
    assert moved == Fraction(38241, 2000)
    # Each centroid is released for two records, with noise of scale 1 / (k epsilon).
    assert float(moved * 2 * 2) == pytest.approx(76.482)


def test_noise_has_the_scale_that_is_enough() -> None:
    """Two clusters of 50: in each column 2 * (sum of both ranges) / 50."""
    table = pa.table({"a": np.full(100, 150), "b": np.full(100, 50)})
    bounds = {"a": (-(10**4) + 300, 10**4), "b": (-(10**4), 10**4)}
    found = np.array(
        [
            list(
                private_table(
                    table, Corners(50), 1, neighbours="one changed", bounds=bounds, for_testing_seed=seed, person=None
                ).table.slice(0, 1).to_pylist()[0].values()
            )
            for seed in range(600)
        ]
    )  # fmt: skip
    scale = 2 * (19700 + 20000) / 50
    assert np.median(np.abs(found - [150, 50]), axis=0) == pytest.approx(scale * math.log(2), rel=0.2)


# --- what leaves ----------------------------------------------------------------------------------------


def make(method: Corners, epsilon: Any = 1, **options: Any) -> Any:
    table = pa.table({"a": list(range(100)), "b": list(range(100))})
    given = {"neighbours": "one changed", "person": None, "bounds": {"a": (0, 100), "b": (0, 100)}, **options}
    return private_table(table, method, epsilon, **given)


def test_records_are_whole_records() -> None:
    out = make(Corners(10), 10**9).table
    assert np.array(out["a"]) == pytest.approx(np.array(out["b"]), abs=0.01)
    _, times = np.unique(np.round(np.array(out["a"]), 2), return_counts=True)
    assert (times % 10 == 0).all()  # clusters of 10; some have the same mean
    assert np.array(out["a"]).tolist() != sorted(out["a"].to_pylist())


def test_it_says_when_k_is_too_small() -> None:
    assert "square root" in str(make(Corners(9)))
    assert "square root" not in str(make(Corners(10)))
    assert make(Corners(9)).is_private


def test_auto_depends_on_what_is_public() -> None:
    one = make(Corners("auto"))
    assert one.proof == make(Corners("auto")).proof
    assert one.proof != make(Corners("auto"), 1000).proof


def test_as_published_is_labelled_and_has_no_price() -> None:
    made = make(Corners(10, as_published=True))
    assert not made.is_private
    assert "as published" in made.method
    assert made.proof.startswith("NOT DIFFERENTIALLY PRIVATE")
    with pytest.raises(PlanError, match="no privacy loss"):
        make(Corners(10, as_published=True), accountant=Accountant(5, neighbours="one changed"))


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"neighbours": "one more or less"}, PlanError, "one changed"),
        ({"method": Corners(101)}, ParameterError, "`k` is 101"),
        (
            {"bounds": {"a": (0, 100)}, "domains": {"b": list(range(100))}, "missing": {"b": 0}},
            ParameterError,
            "only takes numbers",
        ),
        ({"delta": "1e-6"}, ParameterError, "delta"),
    ],
)
def test_what_is_refused(options: dict[str, Any], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        make(**{"method": Corners(10), **options})


# --- figures of the thesis ------------------------------------------------------------------------------


def census() -> tuple[list[Numbers], np.ndarray]:
    table = read(CENSUS).table.select(list(BOUNDS))
    columns: Any = read_columns(table, BOUNDS, {}, {}, "one changed")
    return columns, np.array([np.array(table[name], float) for name in BOUNDS]).T


def published_values(
    columns: list[Numbers], rows: list[np.ndarray], k: int, epsilon: float, source: Randomness
) -> np.ndarray:
    return np.column_stack([published_numbers(each, rows, k, epsilon, source) for each in columns])


def linked(original: np.ndarray, released: np.ndarray) -> float:
    """The percentage of records whose original is among the nearest to what was released, divided by their number."""
    width, total = np.array([high for _, high in BOUNDS.values()]), 0.0
    for row, record in enumerate(released):
        far = (((original - record) / width) ** 2).sum(axis=1)
        nearest = far <= far.min() * (1 + 1e-12)
        total += nearest[row] / nearest.sum()
    return 100 * total / len(released)


@needs_census
@pytest.mark.parametrize(("k", "error", "linkage"), [(2, 1.1003e10, 15.648), (5, 1.7822e10, 10.463)])
def test_census_without_noise(k: int, error: float, linkage: float) -> None:
    columns, original = census()
    rows = clusters(columns, k)
    released = np.empty_like(original)
    for group, mean in zip(rows, centroids(columns, rows), strict=True):
        released[group] = [float(each) for each in mean]
    assert ((original - released) ** 2).sum() == pytest.approx(error, rel=1e-4)
    assert linked(original, released) == pytest.approx(linkage, abs=1e-3)


@needs_census
@pytest.mark.parametrize(
    ("epsilon", "factors"),
    [
        (0.01, (1.01, 1.05, 1.10)),
        (0.1, (1.14, 1.52, 2.20)),
        (1, (2.49, 6.57, 9.92)),
        (10, (3.26, 3.37, 2.90)),
    ],
)
def test_census_as_published_table_6_2(epsilon: float, factors: tuple[float, ...]) -> None:
    columns, original = census()

    def error(k: int) -> float:
        rows = clusters(columns, k)
        runs = [published_values(columns, rows, k, epsilon, Randomness.for_testing(run)) for run in range(10)]
        return float(np.mean([((original - run) ** 2).sum() for run in runs]))

    plain = error(1)
    for k, factor in zip((5, 15, 30), factors, strict=True):
        assert math.sqrt(plain / error(k)) == pytest.approx(factor, rel=0.05)


TABLE_6_5 = {  # how far means move, in parts of them, for epsilon = .01, .1, 1, 10
    ("FEDTAX", 1): (1.0947, 1.0356, 0.6925, 0.0500), ("FEDTAX", 5): (1.1030, 0.8743, 0.1461, 0.0024),
    ("POTHVAL", 1): (14.5160, 13.7959, 9.0362, 1.2125), ("POTHVAL", 5): (14.0466, 11.4310, 2.6323, 0.1670),
    ("INTVAL", 1): (25.4754, 24.6380, 15.9486, 2.2799), ("INTVAL", 5): (24.5284, 19.3688, 4.7766, 0.3356),
    ("FICA", 1): (1.0126, 0.9648, 0.6151, 0.0270), ("FICA", 5): (0.9927, 0.8061, 0.1304, 0.0010),
    ("FEDTAX", 30): (0.9677, 0.2841, 0.0030, 0.0001), ("POTHVAL", 30): (12.5205, 4.4492, 0.2970, 0.0034),
    ("INTVAL", 30): (21.9726, 7.7496, 0.6244, 0.0152), ("FICA", 30): (0.8812, 0.2678, 0.0026, 0.0002),
}  # fmt: skip


@needs_census
@pytest.mark.parametrize("k", [1, 5, 30])
def test_census_as_published_table_6_5(k: int) -> None:
    """Means of ten runs, here of sixty: apart by no more than four standard errors of the difference."""
    columns, original = census()
    rows = clusters(columns, k)
    for number, epsilon in enumerate((0.01, 0.1, 1, 10)):
        runs = [
            published_values(columns, rows, k, epsilon, Randomness.for_testing(run)).mean(axis=0)
            for run in range(60)
        ]
        moved = np.abs(np.array(runs) / original.mean(axis=0) - 1)
        for place, name in enumerate(BOUNDS):
            error = moved[:, place].std() * math.sqrt(1 / 10 + 1 / 60)
            assert abs(moved[:, place].mean() - TABLE_6_5[name, k][number]) < 4 * error + 1e-4
