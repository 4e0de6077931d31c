"""k-anonymity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from veil.base.declare import declared
from veil.base.wording import Phrase
from veil.classes.sample import Sample
from veil.models.base import PrivacyModel, PromisedRisk, Strength
from veil.published.finding import Finding
from veil.published.table import Published


@declared(kind_of=PrivacyModel)
class KAnonymity(PrivacyModel):
    """Every record is indistinguishable from at least k - 1 others by its quasi-identifiers.

    Both kinds of monotone: merging classes only makes them larger, and parts of a class that is too small
    are too small. Samarati and Sweeney (1998).
    """

    k: Annotated[int, Field(ge=1, description="smallest allowed class; 5 to 20 is usual for publication")]
    kind: Literal["KAnonymity"] = Field(default="KAnonymity", repr=False, kw_only=True)

    monotone_generalization: ClassVar[bool] = True
    monotone_suppression: ClassVar[bool] = True
    attacks: ClassVar[tuple[str, ...]] = ("record linkage",)
    relaxed_by: ClassVar[tuple[str, float] | None] = ("k", 1)

    def minimal_class_size(self, sample: Sample) -> int:
        """Return k."""
        return self.k

    def promised(self, records: int) -> PromisedRisk:
        """A record is hidden among k."""
        return PromisedRisk.of_classes(self.k)

    def verify(self, published: Published) -> Finding:
        """Check the size of the smallest class."""
        smallest = int(published.sizes.min(initial=published.records))
        promise = Phrase("{k}-anonymity", k=self.k)
        return Finding(promise, smallest >= self.k or not published.sizes.size, f"k = {smallest}")

    @classmethod
    def strongest(cls, published: Published, sensitive: Sequence[str]) -> list[Strength]:
        """Return the size of the smallest class."""
        return [Strength("KAnonymity", "k", int(published.sizes.min(initial=published.records)))]
