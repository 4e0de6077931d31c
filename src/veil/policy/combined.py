"""The common guarantee: what many policies ask of one table together."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from veil.errors import PlanError
from veil.policy.checks import group_of, sensitive_names
from veil.policy.elements import PseudonymizationMethod, Purpose
from veil.policy.levels import Levels, levels_of
from veil.policy.names import Requirement, requirements


class Terms(NamedTuple):
    """What one policy asks, for one purpose."""

    groups: dict[str, str]
    levels: dict[str, Levels]
    requirements: tuple[Requirement, ...]
    pseudonyms: tuple[PseudonymizationMethod, ...]
    legal_bases: tuple[str, ...] = ()


def terms_of(purpose: Purpose, withheld: Collection[str] = ()) -> Terms:
    """Return what a purpose asks, in a form that can be joined; of data that are withheld, as if it did not list them.

    Models are asked for all the same: what one person withholds, others show.
    """
    sensitive = sensitive_names(purpose)
    data = [each for each in purpose.data if each.name not in withheld]
    return Terms(
        {str(each.name): group_of(each) for each in data},
        {str(each.name): levels_of(each) for each in data if each.method is not None},
        tuple(asked for model in purpose.models for asked in requirements(model, sensitive)),
        tuple(each for each in purpose.pseudonymization if not any(name in withheld for name in each.data)),
        tuple(map(str, purpose.legal_bases)),
    )


# Privacy groups


def strictest_group(groups: set[str]) -> str:
    """Join privacy groups: EI > {QID, SD} > NSD; QID against SD is both.

    >>> strictest_group({"QID", "NSD"}), strictest_group({"QID", "SD"}), strictest_group({"EI", "SD"})
    ('QID', 'QID and SD', 'EI')
    """
    if "EI" in groups:
        return "EI"
    if {"QID", "SD"} <= groups:
        return "QID and SD"
    return next(each for each in ("QID", "SD", "NSD") if each in groups)


# Models

_JOIN: dict[str, dict[str, Callable[..., Any]]] = {
    "KAnonymity": {"k": max},
    "KMap": {"k": max},
    "DistinctLDiversity": {"l": max},
    "EntropyLDiversity": {"l": max},
    "RecursiveCLDiversity": {"c": min, "l": max},
    "TCloseness": {"t": min},
    "DeltaDisclosure": {"delta": min},
    "BetaLikeness": {"beta": min},
    "AlphaKAnonymity": {"alpha": min, "k": max},
    "DeltaPresence": {"minimum": max, "maximum": min},
    "SafePub": {"epsilon": min, "delta": min},
    "AverageReidentificationRisk": {"average": min},
    "PopulationUniqueness": {"threshold": min},
    "SampleUniqueness": {"threshold": min},
}
"""Which value of a parameter is the stricter one. What is not here is joined only with its like."""


@dataclass
class Joined:
    """One requirement that covers those of many policies."""

    strictest: Requirement
    askers: dict[Requirement, list[str]] = field(default_factory=dict)
    """What each of them asks, with the policies that do."""


def join(asked: Mapping[Requirement, list[str]]) -> list[Joined]:
    """Join requirements: the largest k and l, the smallest t, β, δ, ε, c and α; intervals of δ-presence are cut.

    >>> three, five = Requirement("KAnonymity", None, (("k", 3),)), Requirement("KAnonymity", None, (("k", 5),))
    >>> join({three: ["Ada"], five: ["Bob"]})[0].strictest.model()
    KAnonymity(k=5)
    """
    made: dict[tuple[Any, ...], Joined] = {}
    for each, names in asked.items():
        ways = _JOIN.get(each.kind, {})
        rest = tuple((key, value) for key, value in each.parameters if key not in ways)
        key = (each.kind, each.attribute, rest)
        if key not in made:
            made[key] = Joined(each)
        joined = made[key]
        joined.askers[each] = names
        before, now = dict(joined.strictest.parameters), dict(each.parameters)
        both = {name: ways[name](before[name], now[name]) for name in ways if name in now and name in before}
        parameters = tuple(sorted({**now, **before, **both}.items()))
        joined.strictest = joined.strictest._replace(
            parameters=parameters, note=each.note or joined.strictest.note
        )
        _check_interval(joined)
    return list(made.values())


def _check_interval(joined: Joined) -> None:
    given = dict(joined.strictest.parameters)
    if joined.strictest.kind == "DeltaPresence" and given["minimum"] > given["maximum"]:
        least = max(joined.askers, key=lambda each: dict(each.parameters)["minimum"])
        most = min(joined.askers, key=lambda each: dict(each.parameters)["maximum"])
        raise PlanError(
            f"policies {joined.askers[least][0]!r} and {joined.askers[most][0]!r} contradict each other: "
            f"one requires δ-presence of at least {given['minimum']}, the other of at most "
            f"{given['maximum']}. Leave one of them out"
        )


def most_demanding(joined: list[Joined]) -> set[str]:
    """Return the fewest policies that ask for more than others do: without them, less has to hold.

    Nobody, if all ask for the same.
    """
    choices: list[set[str]] = []
    everybody = {name for each in joined for names in each.askers.values() for name in names}
    for each in joined:
        ways = _JOIN.get(each.strictest.kind, {})
        for parameter, way in ways.items():
            values = {dict(asked.parameters).get(parameter) for asked in each.askers} - {None}
            if len(values) > 1:
                strict = way(values)
                choices.append(
                    {
                        name
                        for asked, names in each.askers.items()
                        if dict(asked.parameters).get(parameter) == strict
                        for name in names
                    }
                )
        whole = {name for names in each.askers.values() for name in names}
        if whole != everybody:
            choices.append(whole)
    return min(choices, key=len, default=set())


# Pseudonyms


def join_pseudonyms(
    asked: Mapping[str, tuple[PseudonymizationMethod, ...]],
) -> dict[str, PseudonymizationMethod]:
    """Return the method of each column; policies that ask for different ones contradict each other."""
    made: dict[str, tuple[PseudonymizationMethod, str]] = {}
    for name, methods in asked.items():
        for method in methods:
            for column in method.data:
                other, whose = made.setdefault(str(column), (method, name))
                if other is not method and other != method:
                    raise PlanError(
                        f"policies {whose!r} and {name!r} contradict each other: {column!r} is "
                        f"pseudonymized by {other.name!r} and by {method.name!r}, or with different keys. "
                        "Agree on one of them"
                    )
    return {column: method for column, (method, _) in made.items()}
