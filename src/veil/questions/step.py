"""The verb ask: questions to a table under its budget, in memory or in an engine; and how a recipe writes them.

input: patients.csv
budget: patients.csv.budget.json
person: patient
questions:
  neighbours: one more or less
  rows_per_person: 1
  bounds: {age: [0, 120]}
  keys: {sex: [f, m]}
  missing: {age: leave out}
  ask:
    - {ask: count, where: age >= 65, epsilon: 0.1}
    - {ask: histogram, of: sex, epsilon: 0.1}
    - {ask: quantiles, of: age, shares: [0.25, 0.5, 0.75], epsilon: 0.3}
    - {ask: record, who: A17, of: sex, epsilon: 0.1, noise: {chances: {f: 0.6, m: 0.4}}}
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from veil.api.budget import open_budget
from veil.api.open import Engine
from veil.api.resolve import Run
from veil.base.declare import declared
from veil.dp.accountant import Accountant
from veil.dp.priors import Prior
from veil.dp.unit import Unit
from veil.errors import MissingDependencyError, ParameterError, did_you_mean
from veil.plan.plan import Option
from veil.questions.mechanisms.answers import Answer, CostEstimate
from veil.questions.session.session import Asking, Session
from veil.recipe import Recipe
from veil.recipe.neighbouring import COST, DECLARED, Delta, Epsilon, Hidden, Rho, RowsPerPerson
from veil.recipe.parts import Names, Number
from veil.recipe.steps import Annex
from veil.tables import Format


class PriorSpec(BaseModel):
    """The expected answer to a question: chances, equally likely answers, or a range of numbers.

    >>> PriorSpec(chances={"yes": 0.01, "no": 0.99}).prior().weights
    (1, 99)
    >>> len(PriorSpec(range=(0, 99), distribution="norm", parameters={"loc": 40, "scale": 15}).prior().points)
    4096
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    chances: Annotated[
        dict[str, Number] | list[tuple[Any, Number]] | None,
        Field(
            description="the chance of each answer, or pairs of an answer and its chance; they add up to 1"
        ),
    ] = None
    answers: Annotated[list[Any] | None, Field(description="answers that are equally likely")] = None
    range: Annotated[tuple[float, float] | None, Field(description="numbers from the one to the other")] = (
        None
    )
    distribution: Annotated[
        str | None, Field(description="of numbers in the range, as scipy.stats calls it; by default uniform")
    ] = None
    parameters: Annotated[
        dict[str, float],
        Field(default_factory=dict, description="of the distribution, such as loc and scale"),
    ]
    distance: Annotated[
        Literal["absolute", "nominal", "ordinal"] | None,
        Field(description="how far two answers are apart, with chances"),
    ] = None

    def prior(self) -> Prior:
        """Return the prior."""
        sources = [name for name in ("chances", "answers", "range") if getattr(self, name) is not None]
        if len(sources) != 1:
            raise ParameterError(
                f"a prior needs exactly one of `chances`, `answers` and `range`, not {len(sources)}"
            )
        if self.distance is not None and self.chances is None:
            raise ParameterError("`distance` of a prior is only for `chances`")
        if (self.distribution is not None or self.parameters) and self.range is None:
            raise ParameterError("`distribution` and `parameters` of a prior are only for a `range`")
        if self.chances is not None:
            return Prior.table(dict(self.chances), self.distance or "nominal")
        if self.answers is not None:
            return Prior.uniform(self.answers)
        assert self.range is not None
        if self.distribution is None:
            return Prior.uniform(*self.range)
        return Prior.cut(self._distribution(self.distribution), *self.range)

    def _distribution(self, name: str) -> Any:
        try:
            from scipy import stats
        except ImportError:
            raise MissingDependencyError(
                "priors from distributions need SciPy. Install it with: pip install scipy"
            ) from None
        distribution = getattr(stats, name, None)
        if not isinstance(distribution, stats.rv_continuous):
            names = [each for each in dir(stats) if isinstance(getattr(stats, each), stats.rv_continuous)]
            raise ParameterError(f"scipy.stats has no distribution {name!r}.{did_you_mean(name, names)}")
        try:
            return distribution(**self.parameters)
        except TypeError as error:
            raise ParameterError(f"the parameters of {name!r} are wrong: {error}") from None


class QuestionSpec(BaseModel):
    """One question."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    ask: Annotated[
        Literal["count", "histogram", "sum", "mean", "quantiles", "record"], Field(description="the question")
    ]
    of: Annotated[Names, Field(description="the column, or the columns of a histogram")] = []
    where: Annotated[
        str | None,
        Field(description="which records, such as age >= 65"),
        Option(metavar="QUERY", about='only these records: "age >= 65"', panel="What to ask"),
    ] = None
    shares: Annotated[list[float], Field(description="which quantiles")] = []
    who: Annotated[int | str | None, Field(description="whose record")] = None
    epsilon: Epsilon = None
    delta: Delta = 0
    rho: Rho = None
    noise: Annotated[
        Literal["laplace", "geometric", "gaussian", "staircase", "step"] | PriorSpec | None,
        Field(description="the noise, or a prior; by default geometric for counts and laplace for sums"),
        Option(about="the noise; by default geometric for counts and laplace for sums", panel=COST),
    ] = None

    def put(self, asking: Asking[Any]) -> Any:
        """Ask the question."""
        loss: dict[str, Any] = {"epsilon": self.epsilon}
        if self.ask == "quantiles":
            return asking.quantiles(self._require_column(), self.shares, where=self.where, **loss)
        loss["delta"] = self.delta
        if self.ask == "record":
            if isinstance(self.noise, str):
                raise ParameterError(
                    f"a question about one person needs a prior as `noise`, not {self.noise!r}"
                )
            prior = None if self.noise is None else self.noise.prior()
            return asking.record(self.who, self._require_column(), noise=prior, **loss)
        loss |= {"rho": self.rho, "where": self.where}
        if self.noise is not None:
            loss["noise"] = self.noise.prior() if isinstance(self.noise, PriorSpec) else self.noise
        if self.ask == "count":
            return asking.count(**loss)
        if self.ask == "histogram":
            self._require_column(several=True)
            return asking.histogram(self.of if len(self.of) > 1 else self.of[0], **loss)
        return (asking.sum if self.ask == "sum" else asking.mean)(self._require_column(), **loss)

    def _require_column(self, *, several: bool = False) -> str:
        if not self.of or (len(self.of) > 1 and not several):
            raise ParameterError(f"the question {self.ask!r} needs one column, `of`, not {len(self.of)}")
        return self.of[0]


@declared(kind_of=Annex)
class Questions(Annex):
    """Questions, and what is declared about the table.

    >>> Questions("one changed", [{"ask": "count", "epsilon": 0.1}]).ask[0].ask
    'count'
    """

    neighbours: Hidden
    ask: Annotated[list[QuestionSpec], Field(min_length=1, description="what to ask, in this order")]
    rows_per_person: RowsPerPerson = None
    bounds: Annotated[
        dict[str, tuple[float, float]],
        Field(description="the range of a column's values"),
        Option(metavar="COLUMN=LOW:HIGH", panel=DECLARED),
    ] = Field(default_factory=dict)
    keys: Annotated[
        dict[str, list[Any]],
        Field(description="which values a column has"),
        Option(metavar="COLUMN=A|B", panel=DECLARED),
    ] = Field(default_factory=dict)
    missing: Annotated[
        dict[str, float | Literal["leave out"]],
        Field(description="what to use for missing values"),
        Option(metavar="COLUMN=NUMBER|leave out", panel=DECLARED),
    ] = Field(default_factory=dict)
    outside: Annotated[
        Literal["clamp", "leave out"],
        Field(description="what happens to values outside the bounds"),
        Option(panel=DECLARED),
    ] = "clamp"
    kind: Literal["Questions"] = Field(default="Questions", repr=False, kw_only=True)

    is_step: ClassVar[bool] = False
    command: ClassVar[str] = "ask"
    makes_release: ClassVar[bool] = False
    unused: ClassVar[tuple[str, ...]] = (
        *("tables", "knows", "order", "output", "report", "certificate", "sign", "apart", "origins", "about"),
        *("acknowledge", "overwrite"),
    )

    def check(self, recipe: Recipe) -> None:
        super().check(recipe)
        Unit.declared(recipe.person, self.rows_per_person)

    def carry_out(self, run: Run, *, accountant: Accountant | None = None, **options: Any) -> list[Answer]:
        """Ask the questions under the budget of the recipe, by default the one next to the table."""
        accountant = accountant or open_budget(run.input, run.budget)  # type: ignore[arg-type]
        answers: Any = ask(run.recipe, run.input, accountant, format=run.format, engine=run.engine)
        return list(answers)


def ask(
    recipe: Recipe,
    source: Any,
    accountant: Accountant,
    *,
    preview: bool = False,
    format: Format | None = None,
    engine: Engine = "auto",
) -> list[Answer] | list[CostEstimate]:
    """Ask the questions of a recipe, one after the other; or return what they would cost.

    All of them are built before the first is paid for, so that a mistake in the last one costs nothing.
    """
    questions: Questions = recipe.questions
    session = Session(
        source,
        accountant,
        format=format,
        engine=engine,
        person=recipe.person,
        **{name: getattr(questions, name) for name in _AS_THEY_ARE},
    )
    previews: list[CostEstimate] = [each.put(session.preview) for each in questions.ask]
    return previews if preview else [each.put(session) for each in questions.ask]


_AS_THEY_ARE = ("neighbours", "rows_per_person", "bounds", "keys", "missing", "outside")
"""Fields that a session takes as they are."""
