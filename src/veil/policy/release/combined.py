"""The common guarantee: the requirements of many policies on one table, joined."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from veil.errors import PlanError
from veil.policy.documents.elements import PseudonymizationMethod, Purpose
from veil.policy.rules.checks import group_of, sensitive_names
from veil.policy.rules.levels import Levels, levels_of
from veil.policy.rules.names import Requirement, requirements


class Terms(NamedTuple):
    """The requirements of one policy, for one purpose."""

    groups: dict[str, str]
    levels: dict[str, Levels]
    requirements: tuple[Requirement, ...]
    pseudonyms: tuple[PseudonymizationMethod, ...]
    legal_bases: tuple[str, ...] = ()


def terms_of(purpose: Purpose, withheld: Collection[str] = ()) -> Terms:
    """Return the terms of a purpose, in a form that can be joined, as if it did not list withheld data.

    Models are required all the same: data that one person withholds, others show.
    """
    sensitive = sensitive_names(purpose)
    data = [each for each in purpose.data if each.name not in withheld]
    return Terms(
        {str(each.name): group_of(each) for each in data},
        {str(each.name): levels_of(each) for each in data if each.method is not None},
        tuple(requirement for model in purpose.models for requirement in requirements(model, sensitive)),
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
"""Which value of a parameter is stricter. Requirements are joined if all other parameters are equal."""


@dataclass
class Joined:
    """One requirement that covers those of many policies."""

    strictest: Requirement
    askers: dict[Requirement, list[str]] = field(default_factory=dict)
    """The requirements that it covers, each with its policies."""


def join(askers: Mapping[Requirement, list[str]]) -> list[Joined]:
    """Join requirements: the largest k and l, the smallest t, β, δ, ε, c and α; δ-presence is intersected.

    >>> three, five = (Requirement("KAnonymity", None, (("k", k),)) for k in (3, 5))
    >>> join({three: ["Ada"], five: ["Bob"]})[0].strictest.model()
    KAnonymity(k=5)
    """
    groups: dict[tuple[Any, ...], Joined] = {}
    for requirement, names in askers.items():
        ways = _JOIN.get(requirement.kind, {})
        rest = tuple((key, value) for key, value in requirement.parameters if key not in ways)
        key = (requirement.kind, requirement.attribute, rest)
        if key not in groups:
            groups[key] = Joined(requirement)
        joined = groups[key]
        joined.askers[requirement] = names
        before, now = dict(joined.strictest.parameters), dict(requirement.parameters)
        both = {name: ways[name](before[name], now[name]) for name in ways if name in now and name in before}
        parameters = tuple(sorted({**now, **before, **both}.items()))
        joined.strictest = joined.strictest._replace(
            parameters=parameters, note=requirement.note or joined.strictest.note
        )
        _check_interval(joined)
    return list(groups.values())


def _check_interval(joined: Joined) -> None:
    parameters = dict(joined.strictest.parameters)
    if joined.strictest.kind == "DeltaPresence" and parameters["minimum"] > parameters["maximum"]:
        least = max(joined.askers, key=lambda each: dict(each.parameters)["minimum"])
        most = min(joined.askers, key=lambda each: dict(each.parameters)["maximum"])
        raise PlanError(
            f"policies {joined.askers[least][0]!r} and {joined.askers[most][0]!r} contradict each other: "
            f"one requires δ-presence of at least {parameters['minimum']}, the other of at most "
            f"{parameters['maximum']}. Leave one of them out"
        )


def most_demanding(joined: list[Joined]) -> set[str]:
    """Return the fewest policies that ask for more than others do; none, if all ask for the same."""
    choices: list[set[str]] = []
    policies = {name for each in joined for names in each.askers.values() for name in names}
    for each in joined:
        ways = _JOIN.get(each.strictest.kind, {})
        for parameter, way in ways.items():
            values = {dict(requirement.parameters).get(parameter) for requirement in each.askers} - {None}
            if len(values) > 1:
                strict = way(values)
                choices.append(
                    {
                        name
                        for requirement, names in each.askers.items()
                        if dict(requirement.parameters).get(parameter) == strict
                        for name in names
                    }
                )
        whole = {name for names in each.askers.values() for name in names}
        if whole != policies:
            choices.append(whole)
    return min(choices, key=len, default=set())


# Pseudonyms


def join_pseudonyms(
    methods_by_policy: Mapping[str, tuple[PseudonymizationMethod, ...]],
) -> dict[str, PseudonymizationMethod]:
    """Return the method of each column; refuse policies that ask for different ones."""
    by_column: dict[str, tuple[PseudonymizationMethod, str]] = {}
    for policy, methods in methods_by_policy.items():
        for method in methods:
            for column in method.data:
                other, first_policy = by_column.setdefault(str(column), (method, policy))
                if other is not method and other != method:
                    raise PlanError(
                        f"policies {first_policy!r} and {policy!r} contradict each other: {column!r} is "
                        f"pseudonymized by {other.name!r} and by {method.name!r}, or with different keys. "
                        "Agree on one of them"
                    )
    return {column: method for column, (method, _) in by_column.items()}
