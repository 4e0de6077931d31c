"""Problems whose hierarchies carry shares of their own, for the quality models that read them."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

from hypothesis import strategies as st

from support import oracle, strategies

MODELS = (*oracle.VECTOR_MODELS, *oracle.SINGLE_MODELS)
SHARED = ("Loss", "EntropyBased", "PublisherPayout")
"""Models that read the shares a hierarchy was given."""


@st.composite
def shared_problems(draw, max_width=3):
    """Draw a problem whose hierarchies carry shares of their own, sometimes absurd ones."""
    problem = draw(strategies.problems(max_width=max_width, microaggregated=None))
    shares, sizes = [], []
    for j, table in enumerate(problem.hierarchies):
        listed = {row[0] for row in table}
        if any(row[j] not in listed for row in problem.rows) or draw(st.booleans()):
            shares.append(None)
            sizes.append(None)
            continue
        size = draw(st.sampled_from([2, 3, 7.5, 100]))
        part = st.sampled_from([Fraction(1, 100), 0.125, 0.3, 0.5, 0.75, 1])
        rising = draw(st.booleans())
        levels = []
        for level in range(len(table[0])):
            labels = list(dict.fromkeys(row[level] for row in table))
            chosen = {label: draw(part) for label in labels}
            if rising and level:
                for row in table:
                    chosen[row[level]] = max(chosen[row[level]], levels[-1][row[level - 1]])
            levels.append(chosen)
        shares.append(levels)
        sizes.append(size)
    return dataclasses.replace(problem, shares=shares, domain_sizes=sizes)
