"""What follows from what: rules chained by search, with every step.

That one model defends against the same attacks as another proves nothing and is never used. What is not proven stays.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from veil.models import PrivacyModel
from veil.policy.substitution import diversity, frequencies, sizes  # noqa: F401  (they enter their rules)
from veil.policy.substitution.known import RULES, Conclusion, Known, ValueFrequencies
from veil.policy.substitution.weaker import follows

_ROUNDS = 8
_ALL_SUBSETS = 12
"""Up to so many requirements, every subset is looked at."""
_TRIALS = 4
"""So many sets of one size are tried out."""


class RuleApplication(NamedTuple):
    """One application of a rule."""

    rule: str
    premises: tuple[PrivacyModel, ...]
    conclusion: PrivacyModel
    why: str

    def __str__(self) -> str:
        return f"{', '.join(map(str, self.premises))} ⇒ {self.conclusion} ({self.why})"


LAXER = "the same model with a laxer parameter"


def implied(
    premises: Sequence[PrivacyModel],
    goal: PrivacyModel,
    distributions: Mapping[str, ValueFrequencies] | None = None,
) -> tuple[RuleApplication, ...] | None:
    """Return the steps by which a model follows from others; None if that is not proven.

    >>> from veil import DistinctLDiversity, KAnonymity
    >>> known = {"ill": ValueFrequencies((9, 8, 7, 6, 5))}  # everybody has a value
    >>> for step in implied([DistinctLDiversity("ill", 5)], KAnonymity(3), known) or ():
    ...     print(step.premises, "⇒", step.conclusion)
    (DistinctLDiversity(attribute='ill', l=5),) ⇒ KAnonymity(k=5)
    (KAnonymity(k=5),) ⇒ KAnonymity(k=3)
    >>> implied([KAnonymity(5)], DistinctLDiversity("ill", 2)) is None
    True
    """
    proofs = _closure(premises, Known(distributions or {}, (goal,)))
    return _steps(proofs, premises, goal)


def consequences(
    premises: Sequence[PrivacyModel], distributions: Mapping[str, ValueFrequencies] | None = None
) -> list[PrivacyModel]:
    """Return what is proven to follow from some models, the strongest parameters only."""
    found = list(_closure(premises, Known(distributions or {}, tuple(premises))))
    return [
        each
        for each in found
        if each not in premises and not any(other != each and follows(other, each) for other in found)
    ]


Proofs = dict[PrivacyModel, tuple[str, Conclusion] | None]


def _closure(premises: Sequence[PrivacyModel], known: Known) -> Proofs:
    """Apply all rules until nothing new follows; each fact remembers where it comes from."""
    proofs: Proofs = dict.fromkeys(premises)
    for _ in range(_ROUNDS):
        facts = list(proofs)
        for each in RULES:
            for conclusion in each(facts, known):
                if not any(follows(fact, conclusion.model) for fact in proofs):
                    proofs[conclusion.model] = (_claim(each), conclusion)
        if len(proofs) == len(facts):
            break
    return proofs


def _claim(rule: Callable[..., object]) -> str:
    return (rule.__doc__ or "").strip().splitlines()[0]


def _steps(
    proofs: Proofs, premises: Sequence[PrivacyModel], goal: PrivacyModel
) -> tuple[RuleApplication, ...] | None:
    strict = next((each for each in proofs if follows(each, goal)), None)
    if strict is None:
        return None
    steps: list[RuleApplication] = []

    def tell(model: PrivacyModel) -> None:
        proof = proofs[model]
        if proof is None:
            return
        why, conclusion = proof
        for each in conclusion.premises:
            tell(each)
        step = RuleApplication(why, conclusion.premises, model, why)
        if step not in steps:
            steps.append(step)

    tell(strict)
    if strict != goal:
        steps.append(RuleApplication(LAXER, (strict,), goal, LAXER))
    return tuple(steps)


@dataclass(frozen=True)
class Substitution:
    """A smallest set of models that proves all others.

    Attributes
    ----------
    models
        What has to be asked for.
    proofs
        How each of the other requirements follows.
    others
        Sets that are as small and do it as well.
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
) -> Substitution:
    """Return a smallest set of requirements from which all others follow.

    Parameters
    ----------
    requirements
        Models that must hold.
    distributions
        How often each value of a sensitive column occurs in the input, fixed before anything is suppressed. Without it,
        rules that depend on the data are not used.
    trial
        Among sets of the same size: what a release with these models loses, less is better. By default the first is taken.

    >>> from veil import DistinctLDiversity, EntropyLDiversity, KAnonymity
    >>> known = {"ill": ValueFrequencies((9, 8, 7, 6, 5))}  # everybody has a value
    >>> weakest([KAnonymity(3), DistinctLDiversity("ill", 5), EntropyLDiversity("ill", 2.5)], known).models
    (DistinctLDiversity(attribute='ill', l=5), EntropyLDiversity(attribute='ill', l=2.5, estimator='shannon'))
    """
    asked = list(dict.fromkeys(requirements))
    known = distributions or {}
    if len(asked) > _ALL_SUBSETS:
        sufficient = [_greedy(asked, known)]
    else:
        sufficient = []
        for size in range(1, len(asked) + 1):
            subsets = itertools.combinations(asked, size)
            sufficient = [each for each in subsets if _suffices(each, asked, known)]
            if sufficient:
                break
    if not sufficient:
        return Substitution(())
    chosen = sufficient[0] if trial is None or len(sufficient) == 1 else min(sufficient[:_TRIALS], key=trial)
    proofs = tuple((each, implied(chosen, each, known) or ()) for each in asked if each not in chosen)
    return Substitution(chosen, proofs, tuple(each for each in sufficient if each != chosen))


def _suffices(
    few: tuple[PrivacyModel, ...], asked: list[PrivacyModel], known: Mapping[str, ValueFrequencies]
) -> bool:
    rest = [each for each in asked if each not in few]
    proofs = _closure(few, Known(known, tuple(rest)))
    return all(any(follows(fact, each) for fact in proofs) for each in rest)


def _greedy(asked: list[PrivacyModel], known: Mapping[str, ValueFrequencies]) -> tuple[PrivacyModel, ...]:
    """Leave out what follows from the rest, one after the other."""
    left = list(asked)
    for each in asked:
        rest = tuple(other for other in left if other != each)
        if rest and _suffices(rest, [*rest, each], known):
            left.remove(each)
    return tuple(left)
