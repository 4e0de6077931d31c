"""Generated tables for the benchmarks: large, skewed, correlated, and the same on every machine.

Each function returns a :class:`Workload`: a table, the hierarchy of every quasi-identifier as rows of text
(column 0 is the value, the last column the most general label), and the name of the sensitive column. Nothing
here describes a real person; the marginals are made up to have the shape of a register (a few big cities,
many small places, ages that decide about marriage and schooling), because uniform noise would flatter or
punish an engine for the wrong reasons.

Run it to see what the tables look like::

    python bench/generate.py            # shape, distinct rows, transformations
    python bench/generate.py --visits   # also counts the classes of every transformation of `near_distinct`
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Codes = npt.NDArray[np.int64]
Weights = npt.NDArray[np.float64]
Rows = list[list[str]]


class Workload(NamedTuple):
    """A table with the hierarchies of its quasi-identifiers, in column order."""

    table: pa.Table
    hierarchies: dict[str, Rows]
    sensitive: str

    @property
    def transformations(self) -> int:
        """Size of the lattice: the product of the number of levels."""
        return math.prod(len(rows[0]) for rows in self.hierarchies.values())


# ----------------------------------------------------------------------------------------------------------
# 1.2 million rows, 8 quasi-identifiers, 12,960 transformations, about 200,000 distinct rows


def large(rows: int = 1_200_000, seed: int = 20, part: int | None = None) -> Workload:
    """A register of persons with many repeated rows: what collapsing to classes is good for.

    Parts with different numbers are other people of the same places, so that a larger register can be made of them.
    """
    rng = np.random.default_rng(seed)
    zips = _zip_codes(rng, 36, regions=range(10, 60, 7), room=60)
    if part is not None:
        rng = np.random.default_rng([seed, part])
    place = _draw(rng, _zipf(len(zips), 1.2), rows)
    region = np.array([int(z[:2]) for z in zips])[place]
    age = _draw(rng, _pyramid(100), rows)
    sex = (rng.random(rows) < 0.49 + 0.0008 * (age - 40)).astype(np.int64)

    stage = np.digitize(age, [16, 25, 35, 50, 65])
    schooling = _draw_within(rng, _drifting(9, np.array([0.5, 3.5, 4.8, 4.4, 3.6, 3.0]), 0.8), stage)
    marital = _draw_within(
        rng,
        np.array(
            [
                [1.0, 0.0, 0.0, 0.0, 0.0],
                [0.90, 0.09, 0.01, 0.0, 0.0],
                [0.48, 0.44, 0.06, 0.02, 0.0],
                [0.17, 0.64, 0.15, 0.03, 0.01],
                [0.08, 0.66, 0.20, 0.03, 0.03],
                [0.05, 0.54, 0.11, 0.01, 0.29],
            ]
        ),
        stage,
    )
    work = _draw_within(
        rng,
        np.array(
            [
                [0.0, 0.0, 0.0, 0.0, 0.0, 1.0],
                [0.55, 0.04, 0.03, 0.01, 0.07, 0.30],
                [0.74, 0.09, 0.06, 0.03, 0.05, 0.03],
                [0.68, 0.12, 0.09, 0.04, 0.04, 0.03],
                [0.60, 0.14, 0.11, 0.05, 0.05, 0.05],
                [0.06, 0.02, 0.05, 0.0, 0.01, 0.86],
            ]
        ),
        stage,
    )
    # People born abroad are rare outside the two largest regions.
    urban = (region <= 17).astype(np.int64)
    home = np.concatenate([[1.0], 0.0 * np.ones(len(_COUNTRIES) - 1)])
    abroad = np.concatenate([[0.0], _zipf(len(_COUNTRIES) - 1, 1.3)])
    country = _draw_within(
        rng, np.stack([0.985 * home + 0.015 * abroad, 0.955 * home + 0.045 * abroad]), urban
    )
    private = (rng.random(rows) < 0.35 * (schooling > 4) * (work < 4)).astype(np.int64)

    frail = np.minimum(age // 20, 4) * 2 + sex
    diagnosis = _draw_within(rng, _shifted(_zipf(60, 0.9), 10, 5), frail)

    table = pa.table(
        {
            "age": pa.array(age),
            "sex": _text(["female", "male"], sex),
            "zip": _text(zips, place),
            "country": _text([row[0] for row in _COUNTRIES], country),
            "education": _text([row[0] for row in _EDUCATION], schooling),
            "marital": _text([row[0] for row in _MARITAL], marital),
            "work": _text([row[0] for row in _WORK], work),
            "insurance": _text(["public", "private"], private),
            "diagnosis": _text([f"D{code:02d}" for code in range(60)], diagnosis),
        }
    )
    hierarchies = {
        "age": _intervals(range(100), [5, 10, 20, 40]),
        "sex": [["female", "*"], ["male", "*"]],
        "zip": _redaction(zips, [1, 3, 4]),
        "country": _COUNTRIES,
        "education": _EDUCATION,
        "marital": _MARITAL,
        "work": _WORK,
        "insurance": [["public", "*"], ["private", "*"]],
    }
    return Workload(table, hierarchies, "diagnosis")


# ----------------------------------------------------------------------------------------------------------
# 63,441 rows, 7 quasi-identifiers, 9,000 transformations, nearly every row distinct


def near_distinct(rows: int = 63_441, seed: int = 21) -> Workload:
    """A donor file with a ZIP code of 13,000 values.

    Collapsing gains nothing here and enumeration is dear (246,864,788 classes over all transformations), so
    only bounds help.
    """
    rng = np.random.default_rng(seed)
    zips = _zip_codes(rng, 13_000, regions=range(10, 100), room=1000)
    # Every place has at least one donor; the rest follow its size.
    place = rng.permutation(
        np.concatenate([np.arange(len(zips)), _draw(rng, _zipf(len(zips), 0.8), rows - len(zips))])
    )
    wealth = rng.normal(0.0, 0.5, len(zips))[place]

    age = np.clip(np.rint(rng.normal(62, 14, rows)), 18, 98).astype(np.int64)
    sex = (rng.random(rows) < 0.44).astype(np.int64)
    income = np.exp(rng.normal(3.4, 0.45, rows) + 0.5 * wealth - 0.0006 * (age - 52.0) ** 2)
    income = np.clip(np.rint(income / 5) * 5, 5, 195).astype(np.int64)
    gifts = np.clip(rng.geometric(0.23, rows) + age // 30, 1, 59).astype(np.int64)
    total = np.exp(rng.normal(2.2, 0.6, rows)) * gifts**0.8 * (income / 25.0) ** 0.3
    total = np.clip(np.rint(total / 10) * 10, 10, 1990).astype(np.int64)
    stage = np.digitize(age, [35, 65])
    marital = _draw_within(
        rng,
        np.array(
            [[0.55, 0.38, 0.06, 0.0, 0.01], [0.14, 0.64, 0.18, 0.02, 0.02], [0.06, 0.57, 0.1, 0.01, 0.26]]
        ),
        stage,
    )
    answered = _draw_within(rng, _shifted(_zipf(12, 0.8), 3, 2), stage)

    table = pa.table(
        {
            "zip": _text(zips, place),
            "age": pa.array(age),
            "sex": _text(["female", "male"], sex),
            "income": pa.array(income),
            "total": pa.array(total),
            "gifts": pa.array(gifts),
            "marital": _text([row[0] for row in _MARITAL], marital),
            "campaign": _text([f"C{code:02d}" for code in range(12)], answered),
        }
    )
    hierarchies = {
        "zip": _redaction(zips, [1, 2, 3, 4]),
        "age": _intervals(range(18, 99), [5, 20, 40]),
        "sex": [["female", "*"], ["male", "*"]],
        "income": _intervals(range(5, 200, 5), [10, 50, 100]),
        "total": _intervals(range(10, 2000, 10), [50, 250, 500]),
        "gifts": _intervals(range(1, 60), [10]),
        "marital": [[row[0], "*"] for row in _MARITAL],
    }
    return Workload(table, hierarchies, "campaign")


# ----------------------------------------------------------------------------------------------------------
# 68,725 rows and as many quasi-identifiers as wanted, with two to five levels each


def wide(attributes: int, rows: int = 68_725, seed: int = 22) -> Workload:
    """A household survey with many questions.

    Answers follow a few hidden circumstances (age, wealth, health, place), most households resemble each
    other, and every question has rare answers: that is what makes many columns identifying together.
    """
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=(rows, 6))
    columns: dict[str, pa.Array] = {}
    hierarchies: dict[str, Rows] = {}
    for j in range(attributes):
        widths = _WIDTHS[j % len(_WIDTHS)]
        size = _SIZES[j % len(_SIZES)]
        # Each question depends on two circumstances and on chance; later blocks of questions on chance less.
        first, second = hidden[:, j % 6], hidden[:, (j * 5 + 2) % 6]
        strength = 0.75 + 0.2 * ((j * 7) % 10) / 10
        leaning = strength * (0.8 * first + 0.6 * second) + math.sqrt(1 - strength**2) * rng.normal(size=rows)
        # Cut into answers whose shares fall off: the first is given by half of the households or more.
        edges = np.quantile(leaning, np.cumsum(_zipf(size, 1.4))[:-1])
        answer = np.searchsorted(edges, leaning)
        name = f"q{j:02d}"
        columns[name] = pa.array(answer)
        hierarchies[name] = _intervals(range(size), widths)
    columns["diagnosis"] = _text([f"D{code:02d}" for code in range(20)], _draw(rng, _zipf(20, 0.9), rows))
    return Workload(pa.table(columns), hierarchies, "diagnosis")


_SIZES = (24, 2, 9, 5, 15, 3, 2, 40, 6, 12)
_WIDTHS: tuple[tuple[int, ...], ...] = ((4, 12), (), (3,), (2,), (3, 6), (), (), (5, 10, 20), (2,), (3, 6))
"""Numbers of answers of ten questions, and the widths of the intervals that generalize them."""


# ----------------------------------------------------------------------------------------------------------
# Drawing


def _zipf(size: int, exponent: float) -> Weights:
    weights = 1.0 / np.arange(1, size + 1) ** exponent
    return weights / weights.sum()


def _pyramid(size: int) -> Weights:
    """Share of each age: flat until about 60, then falling."""
    years = np.arange(size)
    weights = 1.0 / (1.0 + np.exp((years - 74.0) / 8.0)) * (1.0 + 0.15 * np.cos(years / 9.0))
    return weights / weights.sum()


def _drifting(size: int, centres: Weights, width: float) -> Weights:
    """One bell-shaped distribution over `size` ordered values for each centre."""
    weights = np.exp(-0.5 * ((np.arange(size)[None, :] - centres[:, None]) / width) ** 2)
    return weights / weights.sum(axis=1, keepdims=True)


def _shifted(weights: Weights, groups: int, step: int) -> Weights:
    """The same shape for each group, its peak moved on by `step` values."""
    return np.stack([np.roll(weights, group * step) for group in range(groups)])


def _draw(rng: np.random.Generator, weights: Weights, rows: int) -> Codes:
    return _draw_within(rng, weights[None, :], np.zeros(rows, np.int64))


def _draw_within(rng: np.random.Generator, weights: Weights, group: Codes) -> Codes:
    """One value a row from the distribution of its group: the inverse method, all groups in one search."""
    groups, size = weights.shape
    cumulative = np.cumsum(weights, axis=1) / weights.sum(axis=1, keepdims=True)
    edges = (cumulative + np.arange(groups)[:, None]).ravel()
    found = np.searchsorted(edges, rng.random(len(group)) + group, side="right") - group * size
    return np.clip(found, 0, size - 1).astype(np.int64)


def _zip_codes(rng: np.random.Generator, size: int, regions: range, room: int) -> list[str]:
    """Distinct five-digit codes in random order: two digits for the region, three below `room`."""
    region = np.concatenate(
        [
            np.full(count, code)
            for code, count in zip(regions, _apportion(_zipf(len(regions), 0.5), size, room), strict=True)
        ]
    )
    codes = np.concatenate(
        [code * 1000 + rng.choice(room, np.count_nonzero(region == code), replace=False) for code in regions]
    )
    return [f"{code:05d}" for code in rng.permutation(codes)]


def _apportion(weights: Weights, total: int, room: int) -> Codes:
    """Whole numbers close to the weights that add up to `total`, none above `room`."""
    counts = np.minimum(np.floor(weights * total), room).astype(np.int64)
    for index in np.argsort(-weights):
        counts[index] += min(room - counts[index], total - int(counts.sum()))
    return counts


def _text(labels: Sequence[str], codes: Codes) -> pa.Array:
    return pa.array(labels, pa.string()).take(pa.array(codes))


# ----------------------------------------------------------------------------------------------------------
# Hierarchies


def _intervals(values: range, widths: Sequence[int]) -> Rows:
    """Each value, the interval of every width it lies in (starting at 0), and `*`."""
    return [
        [str(v), *(f"[{v // width * width}, {(v // width + 1) * width}[" for width in widths), "*"]
        for v in values
    ]


def _redaction(values: Sequence[str], hidden: Sequence[int]) -> Rows:
    """Each value, the value with that many last characters hidden, and `*`."""
    return [[v, *(v[:-n] + "*" * n for n in hidden), "*"] for v in sorted(values)]


_EDUCATION: Rows = [
    ["none", "compulsory", "*"],
    ["primary", "compulsory", "*"],
    ["lower secondary", "compulsory", "*"],
    ["upper secondary", "secondary", "*"],
    ["vocational", "secondary", "*"],
    ["some college", "higher", "*"],
    ["bachelor", "higher", "*"],
    ["master", "higher", "*"],
    ["doctorate", "higher", "*"],
]
_MARITAL: Rows = [
    ["never married", "alone", "*"],
    ["married", "together", "*"],
    ["divorced", "alone", "*"],
    ["separated", "alone", "*"],
    ["widowed", "alone", "*"],
]
_WORK: Rows = [
    ["private", "employed", "*"],
    ["self-employed", "self-employed", "*"],
    ["local government", "employed", "*"],
    ["federal government", "employed", "*"],
    ["unemployed", "not working", "*"],
    ["not in labour force", "not working", "*"],
]
# The first is the country of the register; the others stand in order of how many people come from them.
_COUNTRIES: Rows = [
    [name, region, continent, "*"]
    for name, region, continent in [
        ("USA", "North America", "America"),
        ("Mexico", "Central America", "America"),
        ("India", "South Asia", "Asia"),
        ("China", "East Asia", "Asia"),
        ("Philippines", "East Asia", "Asia"),
        ("El Salvador", "Central America", "America"),
        ("Vietnam", "East Asia", "Asia"),
        ("Cuba", "Caribbean", "America"),
        ("Dominican Republic", "Caribbean", "America"),
        ("Guatemala", "Central America", "America"),
        ("Korea", "East Asia", "Asia"),
        ("Colombia", "South America", "America"),
        ("Jamaica", "Caribbean", "America"),
        ("Canada", "North America", "America"),
        ("Germany", "Western Europe", "Europe"),
        ("United Kingdom", "Western Europe", "Europe"),
        ("Nigeria", "West Africa", "Africa"),
        ("Ethiopia", "East Africa", "Africa"),
        ("Poland", "Eastern Europe", "Europe"),
        ("Ukraine", "Eastern Europe", "Europe"),
        ("Iran", "West Asia", "Asia"),
        ("Pakistan", "South Asia", "Asia"),
        ("Ghana", "West Africa", "Africa"),
        ("Kenya", "East Africa", "Africa"),
    ]
]


# ----------------------------------------------------------------------------------------------------------
# Looking at them


def distinct_rows(workload: Workload) -> int:
    """Number of distinct rows over the quasi-identifiers."""
    return int(
        workload.table.select(list(workload.hierarchies))
        .group_by(list(workload.hierarchies))
        .aggregate([])
        .num_rows
    )


def class_counts(workload: Workload) -> Iterator[tuple[tuple[int, ...], int]]:
    """The number of classes of every transformation, the obvious way: pack generalized codes, sort, count."""
    levels = []
    for name, rows in workload.hierarchies.items():
        domain = pa.array([row[0] for row in rows])
        values = workload.table.column(name).combine_chunks().cast(pa.string()).dictionary_encode()
        leaf = np.array([domain.index(value).as_py() for value in values.dictionary])[
            values.indices.to_numpy()
        ]
        columns = []
        for level in range(len(rows[0])):
            labels = {label: code for code, label in enumerate(dict.fromkeys(row[level] for row in rows))}
            columns.append((np.array([labels[row[level]] for row in rows], np.int64)[leaf], len(labels)))
        levels.append(columns)
    for node in product(*(range(len(columns)) for columns in levels)):
        key = np.zeros(workload.table.num_rows, np.int64)
        for columns, level in zip(levels, node, strict=True):
            codes, size = columns[level]
            key = key * size + codes
        key.sort()
        yield node, 1 + int(np.count_nonzero(key[1:] != key[:-1]))


def main() -> None:
    """Print what the tables look like."""
    for make in (large, near_distinct):
        start = time.perf_counter()
        workload = make()
        print(
            f"{make.__name__}: {workload.table.num_rows:,} rows, "
            f"{len(workload.hierarchies)} quasi-identifiers, "
            f"{distinct_rows(workload):,} distinct, {workload.transformations:,} transformations, "
            f"made in {time.perf_counter() - start:.1f} s"
        )
        if make is near_distinct and "--visits" in sys.argv[1:]:
            print(f"  {sum(count for _, count in class_counts(workload)):,} class visits")


if __name__ == "__main__":
    main()
