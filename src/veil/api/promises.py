"""The promises of a plan before any search: kept already, implied by others, or impossible."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow.compute as pc

from veil.base.keywords import own_keywords
from veil.base.wording import plural
from veil.errors import VeilError
from veil.models import PrivacyModel
from veil.models.implication import RuleApplication, implied
from veil.plan.plan import Plan
from veil.published.finding import Finding
from veil.published.table import Published
from veil.risk.grouping import check_columns, published_of, table_of
from veil.verification.release import verify_model

TWICE = "the same promise is asked for twice"


@dataclass(frozen=True)
class Standing:
    """The state of one promise.

    Attributes
    ----------
    model
        The promise.
    finding
        Whether the table keeps it as it is, and what was measured.
    follows
        The steps by which it follows from the other promises; empty if that is not proven.
    impossible
        Why no release of these records can keep it; None if no reason is known.
    """

    model: PrivacyModel
    finding: Finding
    follows: tuple[RuleApplication, ...] = ()
    impossible: str | None = None

    def __str__(self) -> str:
        clauses = [f"{self.model}: {'kept already' if self.finding.holds else self.finding.measured}"]
        clauses += [f"follows from the others: {step}" for step in self.follows]
        clauses += [] if self.impossible is None else [f"impossible: {self.impossible}"]
        return "; ".join(clauses)


@own_keywords
def promises(source: Any, plan: Plan) -> tuple[Standing, ...]:
    """Check each promise of a plan on a table as it is, without a search.

    A promise that follows from others is redundant. One that needs more people, or more distinct values, than
    there are cannot be kept by any release that shows a record.

    >>> import pyarrow as pa
    >>> from veil import DistinctLDiversity, KAnonymity
    >>> table = pa.table({"age": [20, 20, 30], "ill": ["flu", "cold", "flu"]})
    >>> plan = Plan({"age": "suppression"}, [KAnonymity(2), DistinctLDiversity("ill", 3)], sensitive=["ill"])
    >>> for each in promises(table, plan):
    ...     print(each.finding.holds, len(each.follows), each.impossible)
    False 0 None
    False 0 column 'ill' has 2 different values, and 3 are asked for
    """
    table = table_of(source)
    check_columns(table, [*plan.quasi_identifiers, *plan.sensitive])
    published = published_of(
        table, list(plan.quasi_identifiers), untouched=True, person=plan.person, knows=plan.knows
    )
    return tuple(
        Standing(model, _finding(published, model), follows, next(_impossible(published, model), None))
        for model, follows in zip(plan.models, consequences_among(plan.models), strict=True)
    )


def consequences_among(models: Sequence[PrivacyModel]) -> Iterator[tuple[RuleApplication, ...]]:
    """Return the derivation of each model from the others, if any; of two equal models, that of the later."""
    derivations: dict[int, tuple[RuleApplication, ...]] = {}
    for at in reversed(range(len(models))):
        others = [model for other, model in enumerate(models) if other != at and other not in derivations]
        steps = implied(others, models[at]) if others else None
        if steps is not None:
            derivations[at] = steps or (RuleApplication(TWICE, (models[at],), models[at], TWICE),)
    return iter([derivations.get(at, ()) for at in range(len(models))])


def _finding(published: Published, model: PrivacyModel) -> Finding:
    try:
        return verify_model(published, model)
    except VeilError as error:  # the model needs a population, a subset or hierarchies
        return Finding.not_checked(str(model), str(error))


def _impossible(published: Published, model: PrivacyModel) -> Iterator[str]:
    people = published.rows.people
    k, values = getattr(model, "k", None), getattr(model, "l", None)
    if (
        isinstance(k, int)
        and model.subset is None
        and getattr(model, "population", None) is None
        and k > people
    ):
        who = published.rows.spell(people)
        yield f"the table has {who}, and groups of {k} are asked for"
    for name in model.attribute_names if values is not None else ():
        different = pc.count_distinct(published.table[name], mode="only_valid").as_py()
        if values > different:
            yield f"column {name!r} has {plural(different, 'different value')}, and {values} are asked for"
