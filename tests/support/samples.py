"""From the oracle's words to the engine's: the same problem as a sample, the same quality as a model."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from support import oracle
from veil import quality
from veil.classes.encoding import Encoding, Levels
from veil.classes.sample import Sample, SampleAttribute
from veil.classes.table import ClassTable
from veil.hierarchies.hierarchy import Hierarchy
from veil.lattice.evaluator import Evaluator
from veil.models import KAnonymity
from veil.models.base import PrivacyModel
from veil.quality import QualityModel, Score
from veil.quality.base import Evaluation, Node

ROWS = [
    ("21", "f", "110"),
    ("23", "f", "112"),
    ("21", "m", "110"),
    ("35", "m", "110"),
    ("38", "m", "241"),
    ("35", "f", "243"),
    ("38", "f", "241"),
    ("23", "m", "112"),
    ("35", "m", "243"),
    ("21", "f", "110"),
]
DISEASES = ["flu", "flu", "cold", "flu", "gout", "cold", "flu", "gout", "cold", "gout"]
AGE = [
    ["21", "20-29", "*"],
    ["23", "20-29", "*"],
    ["35", "30-39", "*"],
    ["38", "30-39", "*"],
    ["47", "40-49", "*"],
]
GENDER = [["f", "*"], ["m", "*"]]
ZIP = [[z, z[:2] + "*", z[:1] + "**", "***"] for z in ("110", "112", "241", "243")]

E1 = oracle.Problem(ROWS, [AGE, GENDER, ZIP], {"S": DISEASES})
"""The reference's example: ten people, quasi-identifiers A, G and Z, and a further column S."""

E1_SUBSET = dataclasses.replace(E1, subset=frozenset({0, 1, 2, 4, 6, 9}))


def names_of(problem: oracle.Problem) -> list[str]:
    return [f"q{j}" for j in range(problem.width)]


def sample_of(problem: oracle.Problem, names: Sequence[str] | None = None) -> Sample:
    """Encode a problem of the oracle, with everything any quality model may ask for."""
    names = names or names_of(problem)
    hierarchies, codes = [], []
    for j, name in enumerate(names):
        column = [row[j] for row in problem.rows]
        counts = Counter(column)
        distinct = pa.array(list(counts), pa.string())
        hierarchy = hierarchy_of(problem, j).build(distinct, np.array(list(counts.values())), name)
        code_of = dict(zip(counts, hierarchy.encode(distinct, name).tolist(), strict=True))
        hierarchies.append(hierarchy)
        codes.append(np.array([code_of[value] for value in column], np.int32))
    attributes = tuple(attribute_of(name, column) for name, column in problem.sensitive.items())
    subset = None
    if problem.subset is not None:
        subset = np.array([row in problem.subset for row in range(len(problem.rows))])
    return Sample(
        Encoding(names, hierarchies),
        codes,
        attributes,
        subset,
        microaggregated=problem.microaggregated,
        squares=True,
    )


def hierarchy_of(problem: oracle.Problem, j: int) -> Hierarchy:
    """Compile a hierarchy table, with its explicit shares if it has some."""
    table = problem.hierarchies[j]
    explicit = problem.shares[j] if problem.shares is not None else None
    if explicit is None:
        return Hierarchy.from_rows(table)
    shares = []
    for level in range(len(table[0])):
        labels = dict.fromkeys(row[level] for row in table)
        shares.append([float(explicit[level][label]) for label in labels])
    return Hierarchy.from_rows(table, shares=shares, domain_size=float(problem.domain_size(j)))


def attribute_of(name: str, column: Sequence[str | None]) -> SampleAttribute:
    values = sorted(set(column), key=lambda value: (value is None, value or ""))
    hidden = np.array([not oracle.is_value(value) for value in values])
    codes = np.array([values.index(value) for value in column], np.int32)
    return SampleAttribute(name, codes, tuple(values), hidden)


def model_of(asked: oracle.Quality, names: Sequence[str]) -> QualityModel:
    """Return the quality model that the oracle's parameters describe."""
    parameters: dict[str, object] = {}
    if asked.name in oracle.VECTOR_MODELS:
        if asked.aggregate is not None:
            parameters["aggregate"] = asked.aggregate
        if asked.weights is not None:
            # A microaggregated column is always M.
            weights = zip([*names, "M"], map(float, asked.weights), strict=False)
            parameters["weights"] = dict(weights)
    if asked.name in ("Discernibility", "Precision", "NonUniformEntropy"):
        parameters["monotone"] = asked.monotonic
    if asked.name in WITH_FACTOR:
        parameters["factor"] = float(asked.gs)
    if asked.name == "Static":
        parameters["losses"] = {
            name: list(map(float, losses)) for name, losses in zip(names, asked.losses, strict=True)
        }
    if asked.name == "Classification":
        parameters["responses"] = [names[r] if isinstance(r, int) else r for r in asked.responses]
    if asked.name == "PublisherPayout":
        parameters |= {
            "journalist": asked.attacker == "journalist",
            "benefit": asked.benefit,
            "publisher_loss": asked.loss,
            "adversary_gain": asked.gain,
            "cost": asked.cost,
        }
    model = getattr(quality, asked.name)(**parameters)
    assert isinstance(model, QualityModel)
    return model


WITH_FACTOR = (
    "AverageClassSize",
    "Precision",
    "Loss",
    "NonUniformEntropy",
    "EntropyBased",
    "PublisherPayout",
    "Classification",
)


def evaluator_of(
    problem: oracle.Problem, asked: oracle.Quality, k: int, limit: float = 1.0, sample: Sample | None = None
) -> Evaluator:
    sample = sample or sample_of(problem)
    return Evaluator(sample, [KAnonymity(k)], model_of(asked, sample.encoding.names), limit)


def evaluate(evaluator: Evaluator, levels: Levels) -> Evaluation:
    return evaluator.evaluate(levels, evaluator.sample.table, score=True)[0]


def score_of(evaluator: Evaluator, levels: Levels) -> Score:
    score = evaluate(evaluator, levels).score
    assert score is not None
    return score


def as_tuple(score: oracle.Score) -> tuple[float, ...]:
    return score if isinstance(score, tuple) else (score,)


class Whimsical(PrivacyModel):
    """Rejects classes for no reason, differently at every node: no monotonicity for a bound to lean on."""

    def __init__(self, seed: int, share: float) -> None:
        self.seed, self.share = seed, share

    def bind(self, sample: Sample) -> Whimsical:
        return self

    def reject(self, table: ClassTable, rejected: NDArray[np.uint8]) -> None:
        chance = np.random.default_rng([self.seed, *table.levels]).random(len(table))
        rejected[chance < self.share] = 1


def judged(evaluator: Evaluator, levels: Levels) -> Node:
    """Return the node as measures see it."""
    return evaluator.judge(levels, evaluator.sample.table)[0]
