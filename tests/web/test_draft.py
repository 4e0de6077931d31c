"""Drafts: their steps are those of masking recipes."""

from __future__ import annotations

import veil
from veil.web.draft import checked_steps


def test_steps_are_those_of_masking_recipes():
    (step,) = checked_steps([{"kind": "RankSwapping", "columns": "age", "p": 5}])
    assert step == veil.masking.RankSwapping("age", p=5)
