"""Score functions by their names, and the scores of every scheme."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from support.dp.definitions import DEFINITIONS, Hierarchies, Levels, Table, schemes
from veil import quality
from veil.classes.encoding import Encoding
from veil.classes.sample import Sample
from veil.classes.table import roll_up
from veil.dp.scores import RetentionScore, ScoreFunction, score_function
from veil.hierarchies import Hierarchy

NAMES = list(DEFINITIONS)
QUALITIES: dict[str, quality.QualityModel] = {
    "Granularity": quality.Loss(),
    "Intensity": quality.Precision(),
    "Discernibility": quality.Discernibility(),
    "Entropy": quality.NonUniformEntropy(),
    "GroupSize": quality.AverageClassSize(),
    "Classification": quality.Classification(["q0"]),
}
TWO = [["a", "*"], ["b", "*"]]
THREE = [["a", "x", "*"], ["b", "x", "*"], ["c", "z", "*"]]


def encoding_of(hierarchies: Hierarchies) -> Encoding:
    names = [f"q{j}" for j in range(len(hierarchies))]
    return Encoding(names, [Hierarchy.from_rows(rows) for rows in hierarchies])


def function_of(name: str, encoding: Encoding, retention: RetentionScore) -> ScoreFunction:
    made = score_function(QUALITIES[name], encoding, retention)
    also_quality_models = ("Discernibility", "Classification")
    assert type(made).__name__ == f"{name}{'Score' if name in also_quality_models else ''}"
    return made


def scores_of(function: ScoreFunction, table: Table, hierarchies: Hierarchies) -> dict[Levels, Fraction]:
    """The score of every scheme."""
    if not table:
        return dict.fromkeys(schemes(hierarchies), Fraction(0))
    places = [{row[0]: i for i, row in enumerate(rows)} for rows in hierarchies]
    codes = [np.array([p[record[j]] for record in table], np.int32) for j, p in enumerate(places)]
    sample = Sample(function.encoding, codes)
    work = sample.workspace()
    return {
        levels: function.score(roll_up(function.encoding, sample.table, levels, work))
        for levels in schemes(hierarchies)
    }
