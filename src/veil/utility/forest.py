"""Random forests of weighted records."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Forest:
    """Trees, each trained with Poisson weights of the records.

    For many records this equals drawing with replacement (Oza and Russell 2001). It also works for collapsed
    records, each of which scikit-learn's own forests would draw as a single one.
    """

    def __init__(self, tree: Any, trees: int, seed: int) -> None:
        self.tree, self.trees, self.seed = tree, trees, seed

    def fit(self, examples: Any, answers: Any, sample_weight: Any) -> Forest:
        """Train the trees."""
        self.classes_ = np.unique(answers)
        self.fitted = []
        for number in range(self.trees):
            weights = np.random.default_rng([self.seed, number]).poisson(sample_weight).astype(np.float64)
            sample = np.flatnonzero(weights)
            if not sample.size:  # hardly any records
                sample, weights = np.arange(len(answers)), sample_weight
            tree = self.tree(random_state=number + 1000 * self.seed)
            self.fitted.append(tree.fit(examples[sample], answers[sample], sample_weight=weights[sample]))
        return self

    def predict_proba(self, questions: Any) -> Floats:
        """Return the mean probabilities of the trees."""
        probabilities = np.zeros((len(questions), self.classes_.size))
        for tree in self.fitted:
            probabilities[:, np.searchsorted(self.classes_, tree.classes_)] += tree.predict_proba(questions)
        return probabilities / len(self.fitted)

    def predict(self, questions: Any) -> Floats:
        """Return the mean predictions of regression trees."""
        prediction: Floats = np.mean([tree.predict(questions) for tree in self.fitted], axis=0)
        return prediction
