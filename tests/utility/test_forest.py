"""Forests of collapsed records."""

from __future__ import annotations

import numpy as np

from veil.utility.forest import Forest


def test_a_forest_of_collapsed_records_is_as_good_as_one_of_all():
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.tree import DecisionTreeClassifier

    draws = np.random.default_rng(3)
    examples = draws.integers(0, 3, (2000, 3)).astype(np.float32)
    answers = ((examples.sum(axis=1) + draws.normal(0, 1, 2000)) > 3).astype(int)
    joined, times = np.unique(np.column_stack([examples, answers]), axis=0, return_counts=True)
    ours = Forest(
        lambda random_state: DecisionTreeClassifier(max_features="sqrt", random_state=random_state), 100, 0
    )
    ours.fit(joined[:, :3], joined[:, 3].astype(int), sample_weight=times.astype(float))
    theirs = RandomForestClassifier(100, random_state=0).fit(examples, answers)
    questions = np.unique(examples, axis=0)
    assert np.abs(ours.predict_proba(questions) - theirs.predict_proba(questions)).max() < 0.06
