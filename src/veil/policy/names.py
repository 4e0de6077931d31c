"""The names of privacy models in policies, as the literature and tools write them, and what each asks for.

Case, spaces, hyphens and brackets do not count. What is asked is a `Requirement`: it knows the model, its parameters and
the column, and becomes a model of Veil once hierarchies are there.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from veil.dp.safepub import SafePub
from veil.errors import ParameterError, PlanError, did_you_mean
from veil.models import (
    AlphaKAnonymity,
    AverageReidentificationRisk,
    BetaLikeness,
    DeltaDisclosure,
    DeltaPresence,
    DistinctLDiversity,
    EntropyLDiversity,
    Inclusion,
    KAnonymity,
    KMap,
    PopulationUniqueness,
    PrivacyModel,
    Profitability,
    RecursiveCLDiversity,
    SampleUniqueness,
    TCloseness,
)
from veil.policy import elements
from veil.policy.elements import once


class Requirement(NamedTuple):
    """What a policy asks of the whole table, for one column where the model speaks of one."""

    kind: str
    attribute: str | None
    parameters: tuple[tuple[str, Any], ...]
    note: str = ""
    """What a name that can mean several things is taken for."""

    @property
    def speaks_of_people(self) -> bool:
        """Whether it compares the release with the people that it was chosen from, and not with their number alone."""
        return self.kind in ("DeltaPresence", "Inclusion") or (
            self.kind == "KMap" and "population" not in dict(self.parameters)
        )

    def model(self, hierarchies: Mapping[str, Any] | None = None, subset: Any = None) -> PrivacyModel:
        """Return the model of Veil. The hierarchical distance needs the hierarchy of the column; models that speak of a
        population, the rows that are released of it.
        """
        given = dict(self.parameters)
        if self.speaks_of_people:
            given["subset"] = subset
        if self.attribute is not None:
            given["attribute"] = self.attribute
        if given.get("distance") == "hierarchical":
            known = (hierarchies or {}).get(str(self.attribute))
            if known is None:
                raise PlanError(
                    f"the hierarchical distance of {self.attribute!r} needs its hierarchy: list it in the policy "
                    "(HierarchyEntry), or give `hierarchies`"
                )
            given["hierarchy"] = known
        made: PrivacyModel = _MODELS[self.kind](**given)
        return made


class _Named(NamedTuple):
    title: str
    kind: str
    needed: tuple[str, ...]
    fixed: Mapping[str, Any] = {}
    optional: tuple[str, ...] = ()
    speaks_of_column: bool = False
    note: str = ""


_MODELS: dict[str, type[Any]] = {
    each.__name__: each
    for each in (
        *(AlphaKAnonymity, AverageReidentificationRisk, BetaLikeness, DeltaDisclosure, DeltaPresence),
        *(DistinctLDiversity, EntropyLDiversity, Inclusion, KAnonymity, KMap, PopulationUniqueness),
        *(Profitability, RecursiveCLDiversity, SafePub, SampleUniqueness, TCloseness),
    )
}

_MONEY = ("benefit", "publisher_loss", "adversary_gain", "cost")


def _closeness(title: str, distance: str, note: str = "") -> _Named:
    return _Named(title, "TCloseness", ("t",), {"distance": distance}, ("order",), True, note)


def _profit(title: str, attacker: str, no_attack: bool) -> _Named:
    return _Named(title, "Profitability", (), {"attacker": attacker, "no_attack": no_attack}, _MONEY)


_KNOWN = (
    _Named("k-Anonymity", "KAnonymity", ("k",)),
    _Named("k-Map", "KMap", ("k",), {}, ("population", "significance")),
    _Named("Distinct-l-Diversity", "DistinctLDiversity", ("l",), speaks_of_column=True),
    _Named(
        "l-Diversity",
        "DistinctLDiversity",
        ("l",),
        speaks_of_column=True,
        note="bare l-diversity is read as distinct l-diversity",
    ),
    _Named("Entropy-l-Diversity", "EntropyLDiversity", ("l",), speaks_of_column=True),
    _Named("Recursive-(c,l)-Diversity", "RecursiveCLDiversity", ("c", "l"), speaks_of_column=True),
    _closeness("Ordered Distance t-Closeness", "ordered"),
    _closeness("Equal Distance t-Closeness", "equal"),
    _closeness("Hierarchical Distance t-Closeness", "hierarchical"),
    _closeness(
        "t-Closeness",
        "equal",
        "bare t-closeness is read with the equal distance, which implies the ordered and the hierarchical one",
    ),
    _Named(
        "delta-Disclosure Privacy",
        "DeltaDisclosure",
        ("delta",),
        speaks_of_column=True,
        note="values that do not occur in a class are not judged",
    ),
    _Named("Basic beta-Likeness", "BetaLikeness", ("beta",), {"enhanced": False}, (), True),
    _Named("Enhanced beta-Likeness", "BetaLikeness", ("beta",), {"enhanced": True}, (), True),
    _Named(
        "beta-Likeness",
        "BetaLikeness",
        ("beta",),
        {"enhanced": True},
        (),
        True,
        "bare β-likeness is read as the enhanced form, which implies the basic one",
    ),
    _Named("(alpha,k)-Anonymity", "AlphaKAnonymity", ("alpha", "k"), speaks_of_column=True),
    _Named("delta-Presence", "DeltaPresence", ("minimum", "maximum")),
    _Named("Inclusion", "Inclusion", (), note="inclusion protects nothing by itself"),
    _profit("Profitability Prosecutor", "prosecutor", False),
    _profit("Profitability Journalist", "journalist", False),
    _profit("Profitability Prosecutor No Attack", "prosecutor", True),
    _profit("Profitability Journalist No Attack", "journalist", True),
    _Named("(e,d)-Differential Privacy", "SafePub", ("epsilon", "delta")),
    _Named("Average Risk", "AverageReidentificationRisk", ("average",), {}, ("highest", "at_risk")),
    _Named("Population Uniqueness", "PopulationUniqueness", ("threshold", "population"), {}, ("model",)),
    _Named("Sample Uniqueness", "SampleUniqueness", ("threshold",)),
)

_GREEK = str.maketrans({"α": "alpha", "β": "beta", "δ": "delta", "ε": "e", "ℓ": "l"})


def plain(name: str) -> str:
    """Return a name without what does not count: case, spaces, hyphens, brackets and commas.

    >>> plain("Recursive-(c,l)-Diversity") == plain("recursive (c, l) diversity")
    True
    """
    return re.sub(r"[\s\-_‐-―(),.]+", "", name.casefold().translate(_GREEK))


_BY_NAME = {plain(each.title): each for each in _KNOWN}
_BY_NAME |= {
    plain(alias): _BY_NAME[plain(title)]
    for alias, title in {
        "delta-Disclosure": "delta-Disclosure Privacy",
        "d-Disclosure Privacy": "delta-Disclosure Privacy",
        "d-Presence": "delta-Presence",
        "Differential Privacy": "(e,d)-Differential Privacy",
        "(epsilon,delta)-Differential Privacy": "(e,d)-Differential Privacy",
        "Distinct Diversity": "Distinct-l-Diversity",
        "Entropy Diversity": "Entropy-l-Diversity",
        "Shannon Entropy l-Diversity": "Entropy-l-Diversity",
        "Recursive-l-Diversity": "Recursive-(c,l)-Diversity",
        "(c,l)-Diversity": "Recursive-(c,l)-Diversity",
        "Ordered t-Closeness": "Ordered Distance t-Closeness",
        "Equal t-Closeness": "Equal Distance t-Closeness",
        "Hierarchical t-Closeness": "Hierarchical Distance t-Closeness",
        "Average Reidentification Risk": "Average Risk",
        "Profitability": "Profitability Prosecutor",
        "No Attack": "Profitability Prosecutor No Attack",
    }.items()
}

_PARAMETERS = {
    "dmin": "minimum",
    "deltamin": "minimum",
    "min": "minimum",
    "dmax": "maximum",
    "deltamax": "maximum",
    "max": "maximum",
    "d": "delta",
    "delta": "delta",
    "e": "epsilon",
    "eps": "epsilon",
    "b": "beta",
    "a": "alpha",
    "gain": "adversary_gain",
    "adversarygain": "adversary_gain",
    "adversarycost": "cost",
    "publisherbenefit": "benefit",
    "publisherloss": "publisher_loss",
    "loss": "publisher_loss",
    "averagerisk": "average",
    "risk": "average",
    "atrisk": "at_risk",
    "populationsize": "population",
}


def requirements(model: elements.PrivacyModel, sensitive: tuple[str, ...]) -> tuple[Requirement, ...]:
    """Return what a model of a policy asks; of each sensitive column, if it names none and speaks of one.

    >>> asked = elements.PrivacyModel("l-diversity", (elements.Attribute("L", "3"),))
    >>> [each.model() for each in requirements(asked, ("disease",))]
    [DistinctLDiversity(attribute='disease', l=3)]
    >>> requirements(elements.PrivacyModel("k-anonymty"), ())
    Traceback (most recent call last):
    ...
    veil.errors.PlanError: there is no privacy model 'k-anonymty'. Did you mean 'k-Anonymity'?
    """
    return _asked_by(model)(sensitive)


@once
def _asked_by(model: elements.PrivacyModel) -> Callable[[tuple[str, ...]], tuple[Requirement, ...]]:
    """Remember what a model asks, for each set of sensitive columns."""
    return functools.lru_cache(maxsize=1_000)(functools.partial(_requirements, model))


def _requirements(model: elements.PrivacyModel, sensitive: tuple[str, ...]) -> tuple[Requirement, ...]:
    known = _BY_NAME.get(plain(model.name or ""))
    if known is None:
        close = {plain(each.title): each.title for each in _KNOWN}
        told = did_you_mean(plain(model.name or ""), close)
        for short, title in close.items():
            told = told.replace(repr(short), repr(title))
        raise PlanError(f"there is no privacy model {model.name!r}.{told}")
    allowed = (*known.needed, *known.optional)
    given: dict[str, Any] = dict(known.fixed)
    columns = tuple(map(str, model.data))
    for each in model.attributes:
        key = plain(each.key or "")
        if key in ("attribute", "sensitive", "column"):
            columns = (*columns, str(each.value))
            continue
        name = next((one for one in allowed if plain(one) == key), _PARAMETERS.get(key))
        if name not in allowed:
            hint = did_you_mean(each.key or "", allowed) if allowed else " It has none."
            raise PlanError(f"{known.title} has no parameter {each.key!r}.{hint}")
        if name in given:
            raise PlanError(f"{known.title}: the parameter {name!r} appears twice. Write it once")
        given[name] = _value(str(each.value), name, known.title)
    for name in known.needed:
        if name not in given:
            raise PlanError(f"{known.title} needs the parameter {name!r}. Add it to the model")
    fields = tuple(sorted(given.items()))
    if not known.speaks_of_column:
        made: tuple[Requirement, ...] = (Requirement(known.kind, None, fields, known.note),)
    elif not (columns or sensitive):
        raise PlanError(
            f"{known.title} refers to a sensitive column, but there is none: name it (nameOfData), or give "
            "a datum the "
            "privacy group SD"
        )
    else:
        made = tuple(Requirement(known.kind, name, fields, known.note) for name in columns or sensitive)
    for asked in made:
        _check(asked, known.title)
    return made


def _value(text: str, name: str, title: str) -> Any:
    if name in ("order", "population", "model"):
        if name == "order":
            return tuple(part.strip() for part in text.split(","))
        return int(text) if text.isascii() and text.isdigit() else text
    try:
        number = float(text)
    except ValueError:
        raise PlanError(f"{title}: {name!r} should be a number, not {text!r}") from None
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def _check(asked: Requirement, title: str) -> None:
    """Refuse parameters outside of their range, as the model itself does."""
    if dict(asked.parameters).get("distance") == "hierarchical":
        asked = asked._replace(
            parameters=tuple((key, each) for key, each in asked.parameters if key != "distance")
        )
    if asked.kind == "DeltaPresence" or asked.kind == "KMap" or asked.kind == "Inclusion":
        return  # these also need to know the population, which no policy tells
    try:
        asked.model()
    except ParameterError as error:
        raise error.after(f"{title}: ") from None


def titles() -> list[str]:
    """Return the names of all models, as they are written best."""
    return [each.title for each in _KNOWN]


def title_of(name: str) -> str | None:
    """Return how a name is written best, if there is such a model."""
    known = _BY_NAME.get(plain(name))
    return None if known is None else known.title


def needed_parameters(name: str) -> tuple[str, ...]:
    """Return the parameters that a model cannot go without.

    >>> needed_parameters("k-Anonymity")
    ('k',)
    """
    return _BY_NAME[plain(name)].needed


def element_of(model: PrivacyModel) -> elements.PrivacyModel | None:
    """Return a model as policies write it; None if they have no name for it.

    >>> made = element_of(DistinctLDiversity("disease", 3))
    >>> made.name, made.attributes, made.data
    ('Distinct-l-Diversity', (Attribute(key='l', value='3'),), ('disease',))
    """
    for known in sorted(_KNOWN, key=lambda each: bool(each.note)):  # a name that needs no note comes first
        if known.kind != type(model).__name__:
            continue
        if any(getattr(model, name, None) != value for name, value in known.fixed.items()):
            continue
        given = [(name, getattr(model, name, None)) for name in (*known.needed, *known.optional)]
        plain_values = [(name, value) for name, value in given if isinstance(value, int | float | str)]
        attributes = tuple(elements.Attribute(name, str(value)) for name, value in plain_values)
        return elements.PrivacyModel(known.title, attributes, model.attribute_names)
    return None
