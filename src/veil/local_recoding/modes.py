"""Modes of local recoding: which passes are made, and what is asked of each."""

from __future__ import annotations

from collections.abc import Generator
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from veil.base.declare import declared
from veil.quality.factors import Factor, exact


class Ask(NamedTuple):
    """What a mode asks of a pass: another generalization/suppression factor, and how many records at least."""

    factor: float | None
    share: float | None = None


class Mode:
    """Which passes are made."""

    def passes(self) -> Generator[Ask, int, None]:
        """Yield what to ask of the next pass; what comes back is the number of records that it recoded."""
        raise NotImplementedError


@declared
class SinglePass(Mode):
    """One pass, with the suppression limit of the plan for the records that are left."""

    factor: Factor = 0.5
    kind: Literal["SinglePass"] = Field(default="SinglePass", repr=False, kw_only=True)

    def passes(self) -> Generator[Ask, int, None]:
        yield Ask(self.factor)


@declared
class Iterative(Mode):
    """Pass after pass, with the suppression limit of the plan for the records that are left each time.

    After a pass that recodes nothing, `adaptation` is added to the factor, which makes suppression more expensive, as
    long as it does not exceed 1; without adaptation that is the end.
    """

    factor: Factor = 0.05
    iterations: Annotated[int, Field(ge=1, description="most passes, those that recode nothing included")] = (
        100
    )
    adaptation: Annotated[
        float, Field(ge=0, le=1, description="added to the factor after a pass that recodes nothing")
    ] = 0.05
    kind: Literal["Iterative"] = Field(default="Iterative", repr=False, kw_only=True)

    def passes(self) -> Generator[Ask, int, None]:
        factor = exact(self.factor)
        for _ in range(self.iterations):
            if not (yield Ask(float(factor))):
                factor += exact(self.adaptation)
                if not self.adaptation or factor > 1:
                    return


@declared
class FastIterative(Mode):
    """Pass after pass, each of which recodes a share of the records of the table at least, until one cannot.

    With `share` r, N records in the table and n left, a pass may leave the share 1 - min(1, r * N / n) of these
    suppressed. There are 1/r passes at most. Without `factor`, that of the plan's quality model stays.
    """

    share: Annotated[
        float, Field(gt=0, le=1, description="share of all records that a pass recodes at least")
    ] = 0.01
    factor: Annotated[Factor | None, Field(description="generalization/suppression factor of the passes")] = (
        None
    )
    kind: Literal["FastIterative"] = Field(default="FastIterative", repr=False, kw_only=True)

    def passes(self) -> Generator[Ask, int, None]:
        while (yield Ask(self.factor, self.share)):
            pass


LocalRecoding = Annotated[SinglePass | Iterative | FastIterative, Field(discriminator="kind")]
"""Any mode, told apart by `kind`: the form that recipes use."""
