"""Readings of a class in which an owner has several values of a sensitive attribute, or cells are blank."""

from __future__ import annotations

from typing import Literal

View = Literal["worst", "most", "sure", "fewest", "lowest", "highest", "one value"]
"""A view of a class takes one value of each owner there; a model has to hold for all views.

"worst": a histogram that every view is at least as even as. "most" counts the owners who have a value, "sure"
those who have no other, "fewest" the same, but 1 instead of 0: the largest count of the value in a view, the
smallest, and the smallest in a view with it. "lowest" and "highest" take each owner's first or last value in
order: no view has more, or fewer, owners up to any value. "one value" rejects classes with two of an owner.
"""

FillingRule = Literal["commonest", "each", "each or one"]
"""The fillings of the blank cells of a class to be tried, such that no other one is worse for a model.

"commonest" fills all with the most frequent value of the class: for models that only get harder to fulfil as
counts move from rare values to frequent ones. "each" fills all with one value, and tries every value: for
models that are convex in the shares of values, as a convex function is largest at a corner. "each or one"
also tries one value in one cell and another in the rest: for models about the rarity of values that occur.
"""
