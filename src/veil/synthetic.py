"""A synthetic table: stays at a hospital that does not exist.

The demo, the documentation and the tests need a table that looks real (a few large places, old people with
longer and dearer stays, rare diagnoses, missing values, postcodes that begin with a zero) and is public.
Nothing in it is sampled from real data: names are put together from syllables, places and figures are made
up.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from veil.base.arrays import Floats, Integers, Mask
from veil.errors import ParameterError


def patients(n: int = 2000, seed: int = 7) -> pa.Table:
    """Make a table of `n` hospital stays, always the same for the same `n` and `seed`.

    Parameters
    ----------
    n : int, default 2000
        Number of rows. A million takes about a second.
    seed : int, default 7
        Seed of the random numbers, which protect nothing here.

    Returns
    -------
    pyarrow.Table
        ``name`` (text), ``age`` (integer), ``sex`` (text), ``zip`` (text of five digits), ``admission``
        (date), ``education`` and ``occupation`` (text), ``diagnosis`` (text), ``stay`` (days, integer) and
        ``cost`` (decimal with two places). Some ages, educations, occupations and costs are missing.

    Examples
    --------
    >>> table = patients(1000)
    >>> table.num_rows, table.column_names[:5]
    (1000, ['name', 'age', 'sex', 'zip', 'admission'])
    >>> str(table["zip"].type), str(table["cost"].type)
    ('string', 'decimal128(10, 2)')
    >>> patients(1000).equals(table)
    True
    """
    for parameter, value in (("n", n), ("seed", seed)):
        if value < 0:
            raise ParameterError(
                f"`{parameter}` of patients should be greater than or equal to 0, not {value!r}"
            )
    rng = np.random.default_rng(seed)

    age = _draw(rng, _AGES, n)
    stage = np.digitize(age, _STAGES).astype(np.int64)
    sex = _draw(rng, np.array([0.515, 0.482, 0.003]), n)
    place = _draw(rng, _zipf(len(_ZIPS), 1.0), n)
    education = _draw_within(rng, _SCHOOLING, np.digitize(age, [6, 15, *_STAGES]).astype(np.int64))
    occupation = _occupation(rng, age, education)
    diagnosis = _draw_within(rng, _diagnosis_weights(), stage * len(_SEXES) + sex)

    gravity = np.array([each[1] for each in _DIAGNOSES])[diagnosis]
    stay = 1 + np.floor(rng.exponential(gravity * (1.0 + age / 90.0))).astype(np.int64)
    cents = np.rint(100 * (350 + 480 * stay * rng.lognormal(0.0, 0.35, n) + 900 * gravity)).astype(np.int64)
    day = _FIRST_DAY + _draw(rng, _season(3 * 365), n)

    # Schooling and jobs of old people are missing more often: missingness is informative, as in real data.
    old = age > 65
    return pa.table(
        {
            "name": _names(rng, n),
            "age": pa.array(age, mask=rng.random(n) < 0.01),
            "sex": _text(_SEXES, sex),
            "zip": _text(_ZIPS, place),
            "admission": pa.array(day.astype("datetime64[D]"), pa.date32()),
            "education": _text(_EDUCATIONS, education, rng.random(n) < 0.02 + 0.05 * old),
            "occupation": _text(_OCCUPATIONS, occupation, rng.random(n) < 0.03 + 0.04 * old),
            "diagnosis": _text([each[0] for each in _DIAGNOSES], diagnosis),
            "stay": pa.array(stay),
            "cost": _money(cents, rng.random(n) < 0.015),
        }
    )


# Drawing


def _draw(rng: np.random.Generator, weights: Floats, n: int) -> Integers:
    return _draw_within(rng, weights[None, :], np.zeros(n, np.int64))


def _draw_within(rng: np.random.Generator, weights: Floats, group: Integers) -> Integers:
    """Draw one code a row from the distribution of its group: inversion, with one search for all groups."""
    groups, size = weights.shape
    cumulative = np.cumsum(weights, axis=1) / weights.sum(axis=1, keepdims=True)
    edges = (cumulative + np.arange(groups)[:, None]).ravel()
    codes = np.searchsorted(edges, rng.random(len(group)) + group, side="right") - group * size
    # If the shares of a group add up to less than 1 by rounding, a row could fall past its last value.
    result: Integers = np.minimum(codes, size - 1).astype(np.int64)
    return result


def _zipf(size: int, exponent: float) -> Floats:
    return np.arange(1, size + 1, dtype=np.float64) ** -exponent


def _season(days: int) -> Floats:
    """Return weights of days, with more admissions in winter."""
    weights: Floats = 1.0 + 0.25 * np.cos(2 * np.pi * np.arange(days) / 365.25)
    return weights


def _occupation(rng: np.random.Generator, age: Integers, education: Integers) -> Integers:
    """Draw an occupation: by schooling while of working age, child or pupil before, mostly retired after."""
    occupation = _draw_within(rng, _JOBS, education)
    occupation[age < 18] = _OCCUPATIONS.index("pupil")
    occupation[age < 6] = _OCCUPATIONS.index("child")
    occupation[(age > 66) & (rng.random(len(age)) < 0.93)] = _OCCUPATIONS.index("retired")
    return occupation


def _diagnosis_weights() -> Floats:
    """Return the weights of the diagnoses for each stage of life and sex, stage by stage."""
    by_stage = np.array([each[2] for each in _DIAGNOSES], np.float64).T
    by_sex = np.array([each[3] for each in _DIAGNOSES], np.float64).T
    return (by_stage[:, None, :] * by_sex[None, :, :]).reshape(-1, len(_DIAGNOSES))


# Columns


def _text(labels: Sequence[str], codes: Integers, missing: Mask | None = None) -> pa.Array:
    return pa.array(labels, pa.string()).take(pa.array(codes, mask=missing))


def _names(rng: np.random.Generator, n: int) -> pa.Array:
    first = _text(_FIRST_NAMES, _draw(rng, _zipf(len(_FIRST_NAMES), 0.6), n))
    last = _text(_LAST_NAMES, _draw(rng, _zipf(len(_LAST_NAMES), 0.5), n))
    return pc.binary_join_element_wise(first, last, " ")


def _money(cents: Integers, missing: Mask) -> pa.Array:
    whole = pa.array(cents, mask=missing).cast(pa.decimal128(19, 0))
    return pc.multiply(whole, pa.scalar(Decimal("0.01"))).cast(pa.decimal128(10, 2))


# The invented hospital

_FIRST_NAMES = [
    a + b
    for a in ("Al", "Be", "Ca", "Do", "El", "Mi", "No", "Ru")
    for b in ("dan", "lia", "mer", "ra", "vin")
]
_LAST_NAMES = [
    a + b + c
    for a in ("Bar", "Cor", "Fen", "Hal", "Lor", "Mar", "Pel", "Tor")
    for b in ("a", "be", "di", "o", "ri")
    for c in ("feld", "lund", "mont", "sen", "ti", "wick")
]
_SEXES = ["female", "male", "other"]
# Four regions, each with a city of many postcodes next to each other and the country around it.
_ZIPS = [
    f"{region}{end:03d}"
    for end in (1, 2, 3, 5, 8, 101, 110, 117, 125, 210, 340, 344, 480, 655, 920)
    for region in ("01", "04", "12", "09")
]
_FIRST_DAY = np.datetime64("2022-01-01").astype(np.int64)

# A stage of life begins at each of these ages.
_STAGES = [18, 40, 65, 80]
_AGES: Floats = 0.35 + np.exp(-0.5 * ((np.arange(101) - 68) / 17.0) ** 2) - 0.0034 * np.arange(101)

_EDUCATIONS = ["none", "primary", "secondary", "vocational", "bachelor", "master", "doctorate"]
# Schooling also turns at 6 and 15.
_SCHOOLING = np.array(
    [
        [1.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00],
        [0.35, 0.65, 0.00, 0.00, 0.00, 0.00, 0.00],
        [0.02, 0.28, 0.70, 0.00, 0.00, 0.00, 0.00],
        [0.01, 0.04, 0.30, 0.27, 0.23, 0.13, 0.02],
        [0.02, 0.07, 0.30, 0.33, 0.17, 0.09, 0.02],
        [0.04, 0.16, 0.34, 0.31, 0.09, 0.05, 0.01],
        [0.08, 0.28, 0.36, 0.21, 0.04, 0.025, 0.005],
    ]
)

_OCCUPATIONS = [
    *("child", "pupil", "retired", "unemployed", "cleaner", "farmer", "driver", "builder", "cook", "clerk"),
    *("nurse", "technician", "teacher", "engineer", "lawyer", "physician", "scientist"),
]
# One row for each education, in the order above.
_JOBS = np.array(
    [
        [0, 0, 0, 30, 25, 12, 8, 14, 8, 3, 0, 0, 0, 0, 0, 0, 0],
        [0, 0, 0, 22, 20, 10, 14, 16, 10, 8, 0, 0, 0, 0, 0, 0, 0],
        [0, 0, 0, 10, 8, 5, 12, 12, 11, 28, 5, 9, 0, 0, 0, 0, 0],
        [0, 0, 0, 6, 2, 5, 10, 17, 10, 17, 17, 16, 0, 0, 0, 0, 0],
        [0, 0, 0, 4, 0, 2, 1, 1, 2, 30, 9, 14, 20, 16, 0, 0, 1],
        [0, 0, 0, 3, 0, 1, 0, 0, 0, 17, 1, 5, 22, 24, 12, 10, 5],
        [0, 0, 0, 2, 0, 0, 0, 0, 0, 3, 0, 1, 10, 15, 6, 30, 33],
    ],
    np.float64,
)

# Name, gravity (mean days at birth), weights by stage of life, weights by sex.
_DIAGNOSES: list[tuple[str, float, list[float], list[float]]] = [
    ("influenza", 2.0, [14, 8, 6, 7, 9], [1, 1, 1]),
    ("asthma", 2.0, [13, 7, 4, 3, 2], [1, 0.9, 1]),
    ("appendicitis", 2.5, [12, 7, 3, 1, 0.5], [1, 1, 1]),
    ("fracture", 3.5, [12, 9, 8, 10, 15], [1, 1, 1]),
    ("gastritis", 1.5, [6, 8, 7, 4, 3], [1, 1, 1]),
    ("migraine", 1.0, [2, 6, 4, 1, 0.3], [1.6, 0.6, 1]),
    ("depression", 8.0, [2, 9, 8, 4, 3], [1.3, 0.8, 1.2]),
    ("childbirth", 2.0, [0, 22, 0, 0, 0], [1, 0, 0.3]),
    ("diabetes", 3.0, [2, 3, 9, 11, 8], [0.9, 1.1, 1]),
    ("hypertension", 2.0, [0, 2, 12, 14, 12], [1, 1, 1]),
    ("heart failure", 5.0, [0, 0.5, 6, 14, 20], [0.9, 1.1, 1]),
    ("stroke", 7.0, [0, 0.4, 4, 9, 12], [1, 1, 1]),
    ("pneumonia", 4.0, [4, 2, 4, 8, 13], [0.9, 1.1, 1]),
    ("breast cancer", 4.0, [0, 0.7, 4, 4, 2], [1.9, 0.02, 1]),
    ("prostate cancer", 4.0, [0, 0, 2, 5, 4], [0, 2.0, 1]),
    ("dementia", 9.0, [0, 0, 0.3, 4, 11], [1.1, 0.9, 1]),
    ("hepatitis", 4.0, [0.3, 1, 1, 0.5, 0.3], [0.8, 1.2, 1]),
    ("HIV", 4.0, [0, 0.5, 0.4, 0.1, 0], [0.5, 1.5, 1]),
]
