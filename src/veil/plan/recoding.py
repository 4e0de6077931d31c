"""How labels are chosen: for a column as a whole, for each value, or for each record.

Modes of local recoding are settings of the last: they recode cells in passes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Generator
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import Field

from veil.base.declare import declared
from veil.base.exact import decimal_fraction
from veil.base.registry import find
from veil.base.wording import Phrase
from veil.errors import ParameterError, PlanError, Say, Words, did_you_mean
from veil.quality import (
    AverageClassSize,
    Classification,
    Discernibility,
    Loss,
    NonUniformEntropy,
    NormalizedNonUniformEntropy,
    Precision,
    QualityModel,
)
from veil.quality.factors import Factor

if TYPE_CHECKING:
    from veil.plan.plan import Plan


class Recoding:
    """A way of recoding."""

    time_limit: ClassVar[float | None] = None
    """Seconds without a limit in the plan; None: those of its strategy."""

    @property
    def by_construction(self) -> tuple[str, ...]:
        """What a recoding does that no table shows, in words."""
        return ()

    def first(self, plan: Plan) -> Plan:
        """Return the plan of the search that it starts from."""
        return plan


@declared
class FullDomain(Recoding):
    """One level of generalization for a whole column, chosen by the strategy of the plan, as in ARX."""

    kind: Literal["FullDomain"] = Field(default="FullDomain", repr=False, kw_only=True)


@declared
class Subtree(Recoding):
    """One label for each value, wherever it occurs: a value and its sister may have different levels.

    Minimizes `Loss`, `Precision` or an entropy, as `Cells` does.
    """

    kind: Literal["Subtree"] = Field(default="Subtree", repr=False, kw_only=True)
    time_limit: ClassVar[float | None] = 30.0


@declared
class Cells(Recoding):
    """Labels for each record by itself: the cells of a column, even those of one value, differ in level.

    Much more is kept than by one level for a whole column. Minimizes the quality model of the plan:

    - `Loss` and `Precision`, as the arithmetic mean over cells, 1 for a suppressed record.
    - `NonUniformEntropy`, as the share of all bits that is lost, and `NormalizedNonUniformEntropy`, as the mean of the
      shares of columns. A suppressed record loses the bits of its values in the whole table.
    - `Discernibility`, `AverageClassSize`, and a target to be predicted (`Classification`), as they are defined, if the
      models ask for nothing but the size of classes. A small share of loss decides between labels for equal classes.

    Labels that are as fine as possible say who is not in a class. With coarsening, some records, drawn at random, get a
    more general label of the release than they need, so that such conclusions are wrong now and then. Sensitive values
    are protected by models only.
    """

    coarsening: float = Field(
        default=0.0,
        ge=0,
        le=1,
        kw_only=True,
        description="most loss that random coarsening of labels may add",
    )
    kind: Literal["Cells"] = Field(default="Cells", repr=False, kw_only=True)
    time_limit: ClassVar[float | None] = 30.0

    @property
    def by_construction(self) -> tuple[str, ...]:
        if not self.coarsening:
            return ()
        template = "labels are coarsened at random, which adds a loss of at most {loss}"
        return (Phrase(template, loss=f"{self.coarsening:g}"),)


class PassOptions(NamedTuple):
    """Options of a pass: its generalization/suppression factor, and the least share of records to recode."""

    factor: float | None
    share: float | None = None


class Mode(Recoding):
    """Recoding of cells in passes: one transformation after the other, each for the records still suppressed."""

    def passes(self) -> Generator[PassOptions, int, None]:
        """Yield the options of each pass, and receive the number of records that it recoded."""
        raise NotImplementedError


@declared
class SinglePass(Mode):
    """One pass, with the suppression limit of the plan for the records that are left."""

    factor: Factor = 0.5
    kind: Literal["SinglePass"] = Field(default="SinglePass", repr=False, kw_only=True)

    def passes(self) -> Generator[PassOptions, int, None]:
        yield PassOptions(self.factor)


@declared
class Iterative(Mode):
    """Pass after pass, with the suppression limit of the plan for the records that are left each time.

    After a pass that recodes nothing, `adaptation` is added to the factor, which makes suppression more
    expensive, as long as it does not exceed 1; without adaptation that is the end.
    """

    factor: Factor = 0.05
    iterations: Annotated[int, Field(ge=1, description="most passes, those that recode nothing included")] = (
        100
    )
    adaptation: Annotated[
        float, Field(ge=0, le=1, description="added to the factor after a pass that recodes nothing")
    ] = 0.05
    kind: Literal["Iterative"] = Field(default="Iterative", repr=False, kw_only=True)

    def passes(self) -> Generator[PassOptions, int, None]:
        factor = decimal_fraction(self.factor)
        for _ in range(self.iterations):
            if not (yield PassOptions(float(factor))):
                factor += decimal_fraction(self.adaptation)
                if not self.adaptation or factor > 1:
                    return


@declared
class FastIterative(Mode):
    """Pass after pass, each of which recodes a share of the records of the table at least, until one cannot.

    With `share` r, N records in the table and n left, a pass may leave the share 1 - min(1, r * N / n) of
    these suppressed. There are 1/r passes at most. Without `factor`, that of the plan's quality model stays.
    """

    share: Annotated[
        float, Field(gt=0, le=1, description="share of all records that a pass recodes at least")
    ] = 0.01
    factor: Annotated[Factor | None, Field(description="generalization/suppression factor of the passes")] = (
        None
    )
    kind: Literal["FastIterative"] = Field(default="FastIterative", repr=False, kw_only=True)

    def passes(self) -> Generator[PassOptions, int, None]:
        while (yield PassOptions(self.factor, self.share)):
            pass


@declared
class FromTheStart(Mode):
    """One transformation after the other from the first one on, each for a part of the records.

    The first transformation may suppress all but one in `iterations` of the records; each of the following
    recodes at least as many of the suppressed ones (`FastIterative`), in about as many passes at most. Much
    more is kept than by one transformation for all, but the cells of a column differ in level. The
    suppression limit does not apply: records stay suppressed only if no transformation protects them.
    """

    iterations: Annotated[
        int, Field(ge=1, description="how many transformations there are at most, more or less")
    ] = 100
    factor: Annotated[
        Factor | None,
        Field(
            description="generalization/suppression factor of the quality model, if it has one: 0 makes suppression "
            "cheap, so that each transformation serves the records that need the least generalization. None leaves "
            "the model as it is"
        ),
    ] = 0.0
    kind: Literal["FromTheStart"] = Field(default="FromTheStart", repr=False, kw_only=True)

    def first(self, plan: Plan) -> Plan:
        limit = (self.iterations - 1) / self.iterations
        if plan.suppression_limit not in (0, limit):
            raise PlanError(
                f"`suppression_limit` should be left out with {self}: it is 1 - 1/iterations for the first "
                "transformation, and records stay suppressed at the end only if no transformation protects them"
            )
        return dataclasses.replace(
            plan,
            quality=with_factor(plan.quality, self.factor),
            suppression_limit=limit,
        )

    def passes(self) -> Generator[PassOptions, int, None]:
        yield from FastIterative(1 / self.iterations).passes()


def with_factor(quality: QualityModel, factor: float | None) -> QualityModel:
    """Return a quality model with another generalization/suppression factor, if it has one."""
    if factor is None or not hasattr(quality, "factor"):
        return quality
    model: Any = quality
    changed: QualityModel = dataclasses.replace(model, factor=factor)
    return changed


AnyRecoding = Annotated[
    FullDomain | Subtree | Cells | SinglePass | Iterative | FastIterative | FromTheStart,
    Field(discriminator="kind"),
]
"""Any way, discriminated by `kind`: the form that recipes use."""

RECODINGS: dict[str, type[Recoding]] = {
    each.__name__: each
    for each in (FullDomain, Subtree, Cells, SinglePass, Iterative, FastIterative, FromTheStart)
}
"""All ways by their kind."""


def by_name(name: str) -> Recoding:
    """Return a way of recoding with its default parameters.

    >>> by_name("full-domain"), by_name("cells")
    (FullDomain(), Cells())
    """
    recoding = find(RECODINGS, name)
    if recoding is None:
        names = ["full-domain", "subtree", "cells"]
        raise ParameterError(
            f"`recoding` should be full-domain, subtree, cells or a mode of veil.recoding, such as FastIterative(), "
            f"not {name!r}.{did_you_mean(name, names)}"
        )
    return recoding()


def check_recoding(plan: Plan) -> None:
    """Refuse what a plan with levels of its own for some records cannot keep."""
    if isinstance(plan.recoding, FullDomain):
        return
    if plan.over_neighbours:
        raise PlanError(
            "SafePub generalizes all records alike, and cannot bring suppressed records back: leave ",
            Say("recoding"),
            " out",
        )
    if plan.choose_by != "all columns":
        raise PlanError(
            f"{plan.recoding} chooses by all columns: leave ",
            Say("recoding"),
            " out, or choose by them (",
            Say("choose_by", "all columns"),
            ")",
        )
    for model in plan.models:
        if model.subset is not None:
            raise PlanError(
                f"records cannot be recoded locally under {model}: nobody could tell which level applies to "
                "people outside its research subset. Anonymize only the rows of the subset"
            )
    if isinstance(plan.recoding, Cells | Subtree) and (reason := why_not_cells(plan)):
        raise PlanError(*reason)
    if plan.knows == "all rows" and isinstance(plan.recoding, Cells) and plan.recoding.coarsening:
        for model in plan.models:
            if not model.survives_union_of_owners:
                raise PlanError(
                    f"`coarsening` joins groups of people, and what {model} promises each of two groups whose rows are "
                    "all known need not hold for both together: leave it out"
                )


def why_not_cells(plan: Plan) -> Words:
    """Return why cells cannot be recoded one by one under a plan, with the way out; empty if they can."""
    if reason := _why_not_quality(plan):
        return reason
    if plan.check_limit is not None:
        return (
            f"{plan.recoding} checks no transformations that ",
            Say("check_limit"),
            " could count: use ",
            Say("time_limit"),
        )
    if plan.microaggregated:
        return (
            f"{plan.recoding} compares labels, and microaggregated columns have none: leave ",
            Say("microaggregated"),
            " out, or recode in passes (",
            Say("recoding", "FromTheStart"),
            ")",
        )
    return ()


COSTS_OF_CELLS = (Loss, Precision, NonUniformEntropy, NormalizedNonUniformEntropy)
"""Quality models that add up over cells."""

COSTS_OF_CLASSES = (Discernibility, AverageClassSize, Classification)
"""Quality models that judge each class by itself."""


def _why_not_quality(plan: Plan) -> Words:
    """Return why a recoding does not minimize the quality model of a plan, with the way out; empty if it does."""
    recoding, quality = plan.recoding, plan.quality
    name = type(quality).__name__
    models = COSTS_OF_CELLS + (COSTS_OF_CLASSES if isinstance(recoding, Cells) else ())
    if not isinstance(quality, models):
        return (
            f"{recoding} does not minimize {quality}, only {', '.join(each.__name__ for each in models)}: set ",
            Say("quality"),
            " to one of them, or recode the whole domain (",
            Say("recoding", "full-domain"),
            ")",
        )
    for column in quality.attribute_names:
        if column in plan.quasi_identifiers:
            reason = (
                f"predicts a target from labels, and {column!r} has labels itself: leave it out of {name}"
            )
            return (f"{recoding} {reason}, or recode the whole domain (", Say("recoding", "full-domain"), ")")
    means = ("arithmetic_mean", "sum", *(("geometric_mean",) if isinstance(quality, Loss) else ()))
    if getattr(quality, "aggregate", means[0]) not in means:
        option, reason = (
            "aggregate",
            f"minimizes the mean over cells, not the {getattr(quality, 'aggregate', '')}",
        )
    elif getattr(quality, "monotone", False):
        option, reason = (
            "monotone",
            "has to know what a suppressed record costs, which the monotone variant ignores",
        )
    elif not isinstance(quality, Loss | Classification) and getattr(quality, "factor", 0.5) != 0.5:
        option, reason = "factor", "weighs generalization and suppression alike"
    else:
        return ()
    return (f"{recoding} {reason}: leave `{option}` of {name} out",)
