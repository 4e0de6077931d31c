"""How a privacy model reads a class in which a person has several values of a sensitive attribute."""

from __future__ import annotations

from typing import Literal

View = Literal["worst", "most", "sure", "fewest", "lowest", "highest", "one value"]
"""A view of a class takes one of each person's values there, and none of them may break the model.

"worst" is a histogram that every view is at least as even as. "most" counts everybody who shows a value, "sure" those who
show no other, and "fewest" the same, but one where there are none: the largest count that a view has of a value, the
smallest, and the smallest of those that have it. "lowest" and "highest" take everybody's first or last value, in the order
of values: no view has more, or fewer, people up to any value. "one value" rejects classes in which somebody shows two.
"""
