"""How a privacy model reads a class in which a person has several values of a sensitive attribute."""

from __future__ import annotations

from typing import Literal

View = Literal["worst", "most", "one value"]
"""A view of a class takes one of each person's values there, and none of them may break the model.

"worst" is a histogram that every view is at least as even as, "most" counts everybody who shows a value, and "one value"
rejects classes in which somebody shows two.
"""
