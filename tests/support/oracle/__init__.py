"""The test oracle: what Veil must compute, written from the definitions, slow and obvious.

Nothing here imports Veil. Models and quality models are plain dataclasses with the literature's names;
`exhaustive` judges every transformation of a small problem, `optimum` picks the best.

    problem.py      table, hierarchies, equivalence classes
    quality.py      quality models, aggregation, normalization
    models.py       the privacy models that are judged class by class
    privacy.py      how they judge
    population.py   population uniques
    suppression.py  suppression, criteria judged on the whole sample
    search.py       the solution space
    arithmetic.py   exact numbers
"""

from .arithmetic import exact
from .models import (
    AlphaKAnonymity,
    BetaLikeness,
    DeltaDisclosure,
    DeltaPresence,
    DifferentialPrivacy,
    DistinctLDiversity,
    EntropyLDiversity,
    Inclusion,
    KAnonymity,
    KMAnonymity,
    KMap,
    NoAttack,
    Profitability,
    RatioDistance,
    RecursiveCLDiversity,
    SubsetKAnonymity,
    TCloseness,
)
from .population import (
    REGIONS,
    dankar,
    pitman,
    pitman_solution,
    population_size,
    snb,
    snb_solution,
    uniques,
    zayatz,
)
from .privacy import (
    distance,
    estimated_k,
    is_value,
    minimal_class_size,
    no_attack_size,
    private_k,
    rejects,
)
from .problem import Class, Node, Problem, Value, class_labels, classes, generalize, members, nodes
from .quality import (
    AGGREGATES,
    SINGLE_MODELS,
    VECTOR_MODELS,
    Quality,
    Score,
    bounds,
    normalized,
    score,
    score_vector,
)
from .search import Result, best, close, exhaustive, optimum, ties
from .suppression import (
    AnyModel,
    AverageReidentificationRisk,
    Evaluation,
    PopulationUniqueness,
    SampleUniqueness,
    evaluate,
    fulfils,
    maximal_suppression,
    smallest_safe_size,
)

__all__ = [
    "AGGREGATES",
    "REGIONS",
    "SINGLE_MODELS",
    "VECTOR_MODELS",
    "AlphaKAnonymity",
    "AnyModel",
    "AverageReidentificationRisk",
    "BetaLikeness",
    "Class",
    "DeltaDisclosure",
    "DeltaPresence",
    "DifferentialPrivacy",
    "DistinctLDiversity",
    "EntropyLDiversity",
    "Evaluation",
    "Inclusion",
    "KAnonymity",
    "KMAnonymity",
    "KMap",
    "NoAttack",
    "Node",
    "PopulationUniqueness",
    "Problem",
    "Profitability",
    "Quality",
    "RatioDistance",
    "RecursiveCLDiversity",
    "Result",
    "SampleUniqueness",
    "Score",
    "SubsetKAnonymity",
    "TCloseness",
    "Value",
    "best",
    "bounds",
    "class_labels",
    "classes",
    "close",
    "dankar",
    "distance",
    "estimated_k",
    "evaluate",
    "exact",
    "exhaustive",
    "fulfils",
    "generalize",
    "is_value",
    "maximal_suppression",
    "members",
    "minimal_class_size",
    "no_attack_size",
    "nodes",
    "normalized",
    "optimum",
    "pitman",
    "pitman_solution",
    "population_size",
    "private_k",
    "rejects",
    "score",
    "score_vector",
    "smallest_safe_size",
    "snb",
    "snb_solution",
    "ties",
    "uniques",
    "zayatz",
]
