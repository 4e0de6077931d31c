"""Fields that the steps share whose promise is about neighbouring tables: what they hide, of whom, at which privacy loss."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from veil.dp.neighbours import Neighbours
from veil.plan.plan import Option
from veil.recipe.parts import Number

DECLARED, COST = "What is known without the data", "What it may cost"
"""The headings of options."""

Hidden = Annotated[
    Neighbours,
    Field(description="what is hidden"),
    Option(hint="Default: what the budget is for.", panel=COST),
]
RowsPerPerson = Annotated[
    int | None,
    Field(ge=1, description="how many rows one person has at most, which is known without the data"),
    Option(metavar="NUMBER", panel=DECLARED),
]
Epsilon = Annotated[
    Number | None, Field(description="the privacy loss"), Option(metavar="NUMBER", panel=COST)
]
Delta = Annotated[
    Number, Field(description="the delta, if the noise is gaussian"), Option(metavar="NUMBER", panel=COST)
]
Rho = Annotated[
    Number | None,
    Field(description="the privacy loss in zCDP, instead of epsilon and delta"),
    Option(metavar="NUMBER", panel=COST),
]
