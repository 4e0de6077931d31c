"""Modes of local recoding: the passes and the options of each."""

from __future__ import annotations

import dataclasses
from collections.abc import Generator
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field

from veil.base.declare import declared
from veil.base.exact import decimal_fraction
from veil.errors import PlanError
from veil.plan.plan import Plan
from veil.quality import QualityModel
from veil.quality.factors import Factor


class PassOptions(NamedTuple):
    """Options of a pass: its generalization/suppression factor, and the least share of records to recode."""

    factor: float | None
    share: float | None = None


class Mode:
    """The passes of a local recoding."""

    def first(self, plan: Plan) -> Plan:
        """Return the plan of the transformation that all passes start from."""
        return plan

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
        if plan.suppression_limit:
            raise PlanError(
                f"`suppression_limit` should be left out with {self}: it is 1 - 1/iterations for the first "
                "transformation, and records stay suppressed at the end only if no transformation protects them"
            )
        return dataclasses.replace(
            plan,
            quality=with_factor(plan.quality, self.factor),
            suppression_limit=(self.iterations - 1) / self.iterations,
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


LocalRecoding = Annotated[SinglePass | Iterative | FastIterative | FromTheStart, Field(discriminator="kind")]
"""Any mode, discriminated by `kind`: the form that recipes use."""
