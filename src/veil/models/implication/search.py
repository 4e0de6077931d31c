"""Models that follow from others: a search that chains rules, with every step.

A defence against the same attacks proves nothing and is never used. Models that are not proven stay required.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from veil.models import PrivacyModel
from veil.models.implication import diversity, frequencies, sizes  # noqa: F401  (they enter their rules)
from veil.models.implication.rules import RULES, Conclusion, RuleContext, ValueFrequencies
from veil.models.implication.weaker import follows

_ROUNDS = 8
_ALL_SUBSETS = 12
"""Largest number of requirements of which every subset is examined."""
_TRIALS = 4
"""Largest number of sets of one size that are tried out."""


class RuleApplication(NamedTuple):
    """One application of a rule."""

    rule: str
    premises: tuple[PrivacyModel, ...]
    conclusion: PrivacyModel
    why: str

    def __str__(self) -> str:
        return f"{', '.join(map(str, self.premises))} ⇒ {self.conclusion} ({self.why})"


WEAKER = "the same model with a weaker parameter"


def implied(
    premises: Sequence[PrivacyModel],
    goal: PrivacyModel,
    distributions: Mapping[str, ValueFrequencies] | None = None,
) -> tuple[RuleApplication, ...] | None:
    """Return the steps by which a model follows from others; None if that is not proven.

    >>> from veil import DistinctLDiversity, KAnonymity
    >>> distributions = {"ill": ValueFrequencies((9, 8, 7, 6, 5))}  # all records have a value
    >>> for step in implied([DistinctLDiversity("ill", 5)], KAnonymity(3), distributions) or ():
    ...     print(step.premises, "⇒", step.conclusion)
    (DistinctLDiversity(attribute='ill', l=5),) ⇒ KAnonymity(k=5)
    (KAnonymity(k=5),) ⇒ KAnonymity(k=3)
    >>> implied([KAnonymity(5)], DistinctLDiversity("ill", 2)) is None
    True
    """
    proofs = _closure(premises, RuleContext(distributions or {}, (goal,)))
    return _steps(proofs, goal)


def consequences(
    premises: Sequence[PrivacyModel], distributions: Mapping[str, ValueFrequencies] | None = None
) -> list[PrivacyModel]:
    """Return the models proven to follow from others, with the strongest parameters only."""
    facts = list(_closure(premises, RuleContext(distributions or {}, tuple(premises))))
    return [
        each
        for each in facts
        if each not in premises and not any(other != each and follows(other, each) for other in facts)
    ]


Proofs = dict[PrivacyModel, tuple[str, Conclusion] | None]


def _closure(premises: Sequence[PrivacyModel], context: RuleContext) -> Proofs:
    """Apply all rules until nothing new follows; each fact keeps its proof."""
    proofs: Proofs = dict.fromkeys(premises)
    for _ in range(_ROUNDS):
        facts = list(proofs)
        for each in RULES:
            for conclusion in each(facts, context):
                if not any(follows(fact, conclusion.model) for fact in proofs):
                    proofs[conclusion.model] = (_claim(each), conclusion)
        if len(proofs) == len(facts):
            break
    return proofs


def _claim(rule: Callable[..., object]) -> str:
    return (rule.__doc__ or "").strip().splitlines()[0]


def _steps(proofs: Proofs, goal: PrivacyModel) -> tuple[RuleApplication, ...] | None:
    strict = next((each for each in proofs if follows(each, goal)), None)
    if strict is None:
        return None
    steps: list[RuleApplication] = []

    def add(model: PrivacyModel) -> None:
        proof = proofs[model]
        if proof is None:
            return
        why, conclusion = proof
        for each in conclusion.premises:
            add(each)
        step = RuleApplication(why, conclusion.premises, model, why)
        if step not in steps:
            steps.append(step)

    add(strict)
    if strict != goal:
        steps.append(RuleApplication(WEAKER, (strict,), goal, WEAKER))
    return tuple(steps)


@dataclass(frozen=True)
class Implication:
    """A smallest set of models that proves all others.

    Attributes
    ----------
    models
        The models to require.
    proofs
        How each of the other requirements follows.
    others
        Further sets of the same size from which all requirements follow.
    """

    models: tuple[PrivacyModel, ...]
    proofs: tuple[tuple[PrivacyModel, tuple[RuleApplication, ...]], ...] = ()
    others: tuple[tuple[PrivacyModel, ...], ...] = ()

    def __str__(self) -> str:
        lines = [f"asked for: {', '.join(map(str, self.models))}"]
        for model, steps in self.proofs:
            lines.append(f"{model} follows:")
            lines += [f"  {step}" for step in steps]
        return "\n".join(lines)


def weakest(
    requirements: Iterable[PrivacyModel],
    distributions: Mapping[str, ValueFrequencies] | None = None,
    *,
    trial: Callable[[tuple[PrivacyModel, ...]], float] | None = None,
) -> Implication:
    """Return a smallest set of requirements from which all others follow.

    Parameters
    ----------
    requirements
        Models that must hold.
    distributions
        How often each value of a sensitive column occurs in the input, fixed before suppression. Without it,
        rules that depend on the data are not used.
    trial
        The loss of a release with some models, to choose among sets of one size; by default the first one.

    >>> from veil import DistinctLDiversity, EntropyLDiversity, KAnonymity
    >>> counts = {"ill": ValueFrequencies((9, 8, 7, 6, 5))}  # all records have a value
    >>> weakest([KAnonymity(3), DistinctLDiversity("ill", 5), EntropyLDiversity("ill", 2.5)], counts).models
    (DistinctLDiversity(attribute='ill', l=5), EntropyLDiversity(attribute='ill', l=2.5, estimator='shannon'))
    """
    models = list(dict.fromkeys(requirements))
    if len(models) > _ALL_SUBSETS:
        sufficient = [_greedy(models, distributions or {})]
    else:
        sufficient = []
        for size in range(1, len(models) + 1):
            subsets = itertools.combinations(models, size)
            sufficient = [each for each in subsets if _suffices(each, models, distributions or {})]
            if sufficient:
                break
    if not sufficient:
        return Implication(())
    smallest = (
        sufficient[0] if trial is None or len(sufficient) == 1 else min(sufficient[:_TRIALS], key=trial)
    )
    proofs = tuple(
        (each, implied(smallest, each, distributions) or ()) for each in models if each not in smallest
    )
    return Implication(smallest, proofs, tuple(each for each in sufficient if each != smallest))


def _suffices(
    few: tuple[PrivacyModel, ...], models: list[PrivacyModel], distributions: Mapping[str, ValueFrequencies]
) -> bool:
    rest = [each for each in models if each not in few]
    proofs = _closure(few, RuleContext(distributions, tuple(rest)))
    return all(any(follows(fact, each) for fact in proofs) for each in rest)


def _greedy(
    models: list[PrivacyModel], distributions: Mapping[str, ValueFrequencies]
) -> tuple[PrivacyModel, ...]:
    """Leave out models that follow from the rest, one after the other."""
    left = list(models)
    for each in models:
        rest = tuple(other for other in left if other != each)
        if rest and _suffices(rest, [*rest, each], distributions):
            left.remove(each)
    return tuple(left)
