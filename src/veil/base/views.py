"""How a privacy model reads a class in which a person has several values of a sensitive attribute, or cells show none."""

from __future__ import annotations

from typing import Literal

View = Literal["worst", "most", "sure", "fewest", "lowest", "highest", "one value"]
"""A view of a class takes one of each person's values there, and none of them may break the model.

"worst" is a histogram that every view is at least as even as. "most" counts everybody who shows a value, "sure" those who
show no other, and "fewest" the same, but one where there are none: the largest count that a view has of a value, the
smallest, and the smallest of those that have it. "lowest" and "highest" take everybody's first or last value, in the order
of values: no view has more, or fewer, people up to any value. "one value" rejects classes in which somebody shows two.
"""

FillingRule = Literal["commonest", "each", "each or one"]
"""Which fillings of the blank cells of a class have to be tried, so that no other one is worse for a model.

"commonest" gives all of them the most frequent value of the class: for models that only get harder to fulfil as counts move
from rare values to frequent ones. "each" gives all of them one value, whichever: for models that are convex in the shares
of values, as a convex function is largest at a corner. "each or one" also gives one of them a value and the rest another:
for models that judge how rare a value is where it occurs.
"""
