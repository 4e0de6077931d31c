"""Recipes of questions: what to ask a table under a budget, written down in YAML.

    input: patients.csv
    budget: patients.csv.budget.json
    neighbours: one more or less
    bounds: {age: [0, 120]}
    keys: {sex: [f, m]}
    missing: {age: leave out}
    questions:
      - {ask: count, where: age >= 65, epsilon: 0.1}
      - {ask: histogram, of: sex, epsilon: 0.1}
      - {ask: quantiles, of: age, shares: [0.25, 0.5, 0.75], epsilon: 0.3}

Relative paths start at the folder of the recipe.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from veil.dp.neighbours import Neighbours
from veil.dp.session import Asking
from veil.errors import ParameterError
from veil.recipe.base import Located, schema_of

Number = int | float | str
"""A number, or a text such as ln(3)."""


def _one_or_more(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


class QuestionSpec(BaseModel):
    """One question."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    ask: Annotated[
        Literal["count", "histogram", "sum", "mean", "quantiles", "record"], Field(description="the question")
    ]
    of: Annotated[
        list[str],
        BeforeValidator(_one_or_more, json_schema_input_type=str | list[str]),
        Field(description="the column, or the columns of a histogram"),
    ] = []
    where: Annotated[str | None, Field(description="which records, such as age >= 65")] = None
    shares: Annotated[list[float], Field(description="which quantiles")] = []
    who: Annotated[int | str | None, Field(description="whose record")] = None
    epsilon: Annotated[Number | None, Field(description="the price")] = None
    delta: Annotated[Number, Field(description="the price, where noise is gaussian")] = 0
    rho: Annotated[Number | None, Field(description="the price in zCDP, in place of epsilon and delta")] = (
        None
    )
    noise: Annotated[
        Literal["laplace", "geometric", "gaussian", "staircase", "step"] | None,
        Field(description="the noise; by default geometric for counts and laplace for sums"),
    ] = None

    def put(self, asking: Asking[Any]) -> Any:
        """Ask the question."""
        price: dict[str, Any] = {"epsilon": self.epsilon}
        if self.ask == "quantiles":
            return asking.quantiles(self._column(), self.shares, where=self.where, **price)
        price["delta"] = self.delta
        if self.ask == "record":
            return asking.record(self.who, self._column(), **price)
        price |= {"rho": self.rho, "where": self.where} | (
            {} if self.noise is None else {"noise": self.noise}
        )
        if self.ask == "count":
            return asking.count(**price)
        if self.ask == "histogram":
            self._column(several=True)
            return asking.histogram(self.of if len(self.of) > 1 else self.of[0], **price)
        return (asking.sum if self.ask == "sum" else asking.mean)(self._column(), **price)

    def _column(self, *, several: bool = False) -> str:
        if not self.of or (len(self.of) > 1 and not several):
            raise ParameterError(f"the question {self.ask!r} needs one column, `of`, not {len(self.of)}")
        return self.of[0]


class AskingRecipe(Located):
    """Questions together with the table, its budget and what is declared about it.

    >>> recipe = AskingRecipe(neighbours="one changed", questions=[{"ask": "count", "epsilon": 0.1}])
    >>> recipe.questions[0].ask
    'count'
    >>> AskingRecipe(neighbours="one changed", questions=[{"ask": "guess"}])
    Traceback (most recent call last):
    ...
    veil.errors.ParameterError: `questions[0].ask` should be 'count', 'histogram', 'sum', 'mean', 'quantiles' or 'record', not 'guess'
    """

    model_config = ConfigDict(title="Veil recipe of questions")

    budget: Annotated[
        str | None, Field(min_length=1, description="where the budget is kept; by default beside the table")
    ] = None
    neighbours: Annotated[Neighbours, Field(description="what answers hide")]
    bounds: Annotated[
        dict[str, tuple[float, float]],
        Field(default_factory=dict, description="between which numbers values lie"),
    ]
    keys: Annotated[
        dict[str, list[Any]], Field(default_factory=dict, description="which values a column has")
    ]
    missing: Annotated[
        dict[str, float | Literal["leave out"]],
        Field(default_factory=dict, description="what missing values count as"),
    ]
    outside: Annotated[
        Literal["clamp", "leave out"], Field(description="what becomes of values outside of bounds")
    ] = "clamp"
    person: Annotated[str | None, Field(description="the column that names people")] = None
    questions: Annotated[list[QuestionSpec], Field(min_length=1, description="what to ask, in this order")]

    @property
    def budget_path(self) -> Path | None:
        """Where the budget is kept, seen from here."""
        return None if self.budget is None else self.locate(self.budget)


def asking_schema() -> dict[str, Any]:
    """Return the JSON schema (draft 2020-12) of recipes of questions."""
    return schema_of(AskingRecipe)
