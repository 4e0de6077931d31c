"""The concepts of a hierarchy, the distances between them, and a walk through its leaves.

Distances are those of Soria-Comas (2013, section 6.3): with φ(a) for a and its ancestors, δ(a, b) = log2(1 +
(|φa ∪ φb| - |φa ∩ φb|) / |φa ∪ φb|). They are rounded to whole numbers of 2^-32, and sensitivities are
computed from the rounded distances, so that promises hold for any rounding.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from veil.hierarchies.hierarchy import Hierarchy

UNIT = 2.0**-32
"""The size of a step of a distance."""

_Path = tuple[str | None, ...]


class ConceptTaxonomy:
    """All concepts of a hierarchy: its values and their generalizations.

    >>> sports = [["sailing", "water", "sport"], ["swimming", "water", "sport"], ["soccer", "field", "sport"]]
    >>> taxonomy = ConceptTaxonomy(Hierarchy.from_rows(sports))
    >>> round(float(taxonomy.steps[0, taxonomy.labels.index("swimming")]) * UNIT, 5)
    0.58496
    """

    def __init__(self, hierarchy: Hierarchy) -> None:
        leaves = [_path(hierarchy, code) for code in range(hierarchy.size)]
        concepts = list(dict.fromkeys(leaf[start:] for leaf in leaves for start in range(len(leaf))))
        place = {concept: number for number, concept in enumerate(concepts)}
        self.labels: tuple[str | None, ...] = tuple(concept[0] for concept in concepts)
        """The label of each concept."""
        # Depth first, branches in the order of their first appearance.
        self.walk: NDArray[np.int64] = np.array(
            sorted(
                range(len(leaves)),
                key=lambda code: [
                    place[leaves[code][start:]] for start in reversed(range(len(leaves[code])))
                ],
            ),
            np.int64,
        )
        """The codes of the leaves, in the order of the walk."""
        self.steps: NDArray[np.int64] = np.array(
            [
                [_steps(leaf, concept) for concept in concepts]
                for leaf in (leaves[code] for code in self.walk)
            ],
            np.int64,
        )
        """The distance of each leaf, in the order of the walk, to each concept."""

    @property
    def length(self) -> int:
        """The length of the walk in steps: the sum of the largest changes of a marginality between leaves."""
        return int(np.abs(np.diff(self.steps, axis=0)).max(axis=1, initial=0).sum())

    @property
    def diameter(self) -> int:
        """The largest difference of the distances of two leaves to one concept, in steps."""
        return int((self.steps.max(axis=0) - self.steps.min(axis=0)).max())


def _path(hierarchy: Hierarchy, code: int) -> _Path:
    """Return a value and its generalizations; a level that repeats the one below is no separate concept."""
    labels = [
        hierarchy.labels[level][hierarchy.label_map(level)[code]] for level in range(len(hierarchy.labels))
    ]
    return tuple(label for level, label in enumerate(labels) if level == 0 or label != labels[level - 1])


def _steps(one: _Path, other: _Path) -> int:
    above, above_other = ({path[start:] for start in range(len(path))} for path in (one, other))
    either, both = len(above | above_other), len(above & above_other)
    return round(math.log2(1 + (either - both) / either) / UNIT)
