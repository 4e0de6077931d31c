"""The recipe of patients that tests of the workbench release, and the answer of the library."""

from __future__ import annotations

import veil
from support.recipes import generalize_data
from veil.recipe import Recipe

QUASI = {"age": {"kind": "intervals", "widths": [5, 10, 20]}, "sex": "suppression", "zip": "redaction"}


RECIPE = {
    "quasi_identifiers": QUASI,
    "sensitive": ["diagnosis"],
    "others": "drop",
    "models": [{"kind": "KAnonymity", "k": 5}],
    "suppression_limit": 0.05,
}


def by_library(recipe, source):
    return veil.anonymize(source, Recipe(**generalize_data(**recipe)).plan())
