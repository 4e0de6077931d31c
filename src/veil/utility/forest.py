"""Random forests of records that are collapsed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Forest:
    """Trees, each of which sees every record as often as a draw from the Poisson distribution says.

    For many records that is drawing as many of them with replacement (Oza and Russell 2001), and it can be done with
    records that are collapsed, which scikit-learn's own forests would draw as if each were one.
    """

    def __init__(self, tree: Any, trees: int, seed: int) -> None:
        self.tree, self.trees, self.seed = tree, trees, seed

    def fit(self, examples: Any, answers: Any, sample_weight: Any) -> Forest:
        """Grow the trees."""
        self.classes_ = np.unique(answers)
        self.grown = []
        for number in range(self.trees):
            weights = np.random.default_rng([self.seed, number]).poisson(sample_weight).astype(np.float64)
            drawn = np.flatnonzero(weights)
            if not drawn.size:  # hardly any records
                drawn, weights = np.arange(len(answers)), sample_weight
            grown = self.tree(random_state=number + 1000 * self.seed)
            self.grown.append(grown.fit(examples[drawn], answers[drawn], sample_weight=weights[drawn]))
        return self

    def predict_proba(self, questions: Any) -> Floats:
        """Average over the trees."""
        found = np.zeros((len(questions), self.classes_.size))
        for grown in self.grown:
            found[:, np.searchsorted(self.classes_, grown.classes_)] += grown.predict_proba(questions)
        return found / len(self.grown)

    def predict(self, questions: Any) -> Floats:
        """Average over trees that predict numbers."""
        found: Floats = np.mean([grown.predict(questions) for grown in self.grown], axis=0)
        return found
