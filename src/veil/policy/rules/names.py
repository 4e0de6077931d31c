"""The names of privacy models in policies, as in the literature and in tools, and their requirements.

Case, spaces, hyphens and brackets do not count. A `Requirement` knows the model, its parameters and the
column, and becomes a model of Veil once there are hierarchies.
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
from veil.policy.documents import elements
from veil.policy.documents.elements import cached_by_identity


class Requirement(NamedTuple):
    """A requirement of a policy on the whole table, for one column where the model is about one."""

    kind: str
    attribute: str | None
    parameters: tuple[tuple[str, Any], ...]
    note: str = ""
    """How an ambiguous name is interpreted."""

    @property
    def speaks_of_people(self) -> bool:
        """Whether the model compares the release with the population, not only with its size."""
        return self.kind in ("DeltaPresence", "Inclusion") or (
            self.kind == "KMap" and "population" not in dict(self.parameters)
        )

    def model(self, hierarchies: Mapping[str, Any] | None = None, subset: Any = None) -> PrivacyModel:
        """Return the model of Veil. The hierarchical distance needs the hierarchy of the column; models of a
        population need the rows of it that are released.
        """
        parameters = dict(self.parameters)
        if self.speaks_of_people:
            parameters["subset"] = subset
        if self.attribute is not None:
            parameters["attribute"] = self.attribute
        if parameters.get("distance") == "hierarchical":
            hierarchy = (hierarchies or {}).get(str(self.attribute))
            if hierarchy is None:
                raise PlanError(
                    f"the hierarchical distance of {self.attribute!r} needs its hierarchy: list it in the policy "
                    "(HierarchyEntry), or give `hierarchies`"
                )
            parameters["hierarchy"] = hierarchy
        model: PrivacyModel = _MODELS[self.kind](**parameters)
        return model


class _ModelName(NamedTuple):
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


def _closeness(title: str, distance: str, note: str = "") -> _ModelName:
    return _ModelName(title, "TCloseness", ("t",), {"distance": distance}, ("order",), True, note)


def _profit(title: str, attacker: str, no_attack: bool) -> _ModelName:
    return _ModelName(title, "Profitability", (), {"attacker": attacker, "no_attack": no_attack}, _MONEY)


_MODEL_NAMES = (
    _ModelName("k-Anonymity", "KAnonymity", ("k",)),
    _ModelName("k-Map", "KMap", ("k",), {}, ("population", "significance")),
    _ModelName("Distinct-l-Diversity", "DistinctLDiversity", ("l",), speaks_of_column=True),
    _ModelName(
        "l-Diversity",
        "DistinctLDiversity",
        ("l",),
        speaks_of_column=True,
        note="bare l-diversity is read as distinct l-diversity",
    ),
    _ModelName("Entropy-l-Diversity", "EntropyLDiversity", ("l",), speaks_of_column=True),
    _ModelName("Recursive-(c,l)-Diversity", "RecursiveCLDiversity", ("c", "l"), speaks_of_column=True),
    _closeness("Ordered Distance t-Closeness", "ordered"),
    _closeness("Equal Distance t-Closeness", "equal"),
    _closeness("Hierarchical Distance t-Closeness", "hierarchical"),
    _closeness(
        "t-Closeness",
        "equal",
        "bare t-closeness is read with the equal distance, which implies the ordered and the hierarchical one",
    ),
    _ModelName(
        "delta-Disclosure Privacy",
        "DeltaDisclosure",
        ("delta",),
        speaks_of_column=True,
        note="values that do not occur in a class are not judged",
    ),
    _ModelName("Basic beta-Likeness", "BetaLikeness", ("beta",), {"enhanced": False}, (), True),
    _ModelName("Enhanced beta-Likeness", "BetaLikeness", ("beta",), {"enhanced": True}, (), True),
    _ModelName(
        "beta-Likeness",
        "BetaLikeness",
        ("beta",),
        {"enhanced": True},
        (),
        True,
        "bare β-likeness is read as the enhanced form, which implies the basic one",
    ),
    _ModelName("(alpha,k)-Anonymity", "AlphaKAnonymity", ("alpha", "k"), speaks_of_column=True),
    _ModelName("delta-Presence", "DeltaPresence", ("minimum", "maximum")),
    _ModelName("Inclusion", "Inclusion", (), note="inclusion protects nothing by itself"),
    _profit("Profitability Prosecutor", "prosecutor", False),
    _profit("Profitability Journalist", "journalist", False),
    _profit("Profitability Prosecutor No Attack", "prosecutor", True),
    _profit("Profitability Journalist No Attack", "journalist", True),
    _ModelName("(e,d)-Differential Privacy", "SafePub", ("epsilon", "delta")),
    _ModelName("Average Risk", "AverageReidentificationRisk", ("average",), {}, ("highest", "at_risk")),
    _ModelName("Population Uniqueness", "PopulationUniqueness", ("threshold", "population"), {}, ("model",)),
    _ModelName("Sample Uniqueness", "SampleUniqueness", ("threshold",)),
)

_GREEK = str.maketrans({"α": "alpha", "β": "beta", "δ": "delta", "ε": "e", "ℓ": "l"})


def plain(name: str) -> str:
    """Return a name without case, spaces, hyphens, brackets and commas, which do not count.

    >>> plain("Recursive-(c,l)-Diversity") == plain("recursive (c, l) diversity")
    True
    """
    return re.sub(r"[\s\-_‐-―(),.]+", "", name.casefold().translate(_GREEK))


_BY_NAME = {plain(each.title): each for each in _MODEL_NAMES}
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


def requirements(model: elements.PolicyModel, sensitive: tuple[str, ...]) -> tuple[Requirement, ...]:
    """Return the requirements of a model; one for each sensitive column, if it needs a column and names none.

    >>> diversity = elements.PolicyModel("l-diversity", (elements.Attribute("L", "3"),))
    >>> [each.model() for each in requirements(diversity, ("disease",))]
    [DistinctLDiversity(attribute='disease', l=3)]
    >>> requirements(elements.PolicyModel("k-anonymty"), ())
    Traceback (most recent call last):
    ...
    veil.errors.PlanError: there is no privacy model 'k-anonymty'. Did you mean 'k-Anonymity'?
    """
    return _requirements_of(model)(sensitive)


@cached_by_identity
def _requirements_of(model: elements.PolicyModel) -> Callable[[tuple[str, ...]], tuple[Requirement, ...]]:
    """Return a cached function of the sensitive columns."""
    return functools.lru_cache(maxsize=1_000)(functools.partial(_requirements, model))


def _requirements(model: elements.PolicyModel, sensitive: tuple[str, ...]) -> tuple[Requirement, ...]:
    entry = _BY_NAME.get(plain(model.name or ""))
    if entry is None:
        titles_by_name = {plain(each.title): each.title for each in _MODEL_NAMES}
        hint = did_you_mean(plain(model.name or ""), titles_by_name)
        for short, title in titles_by_name.items():
            hint = hint.replace(repr(short), repr(title))
        raise PlanError(f"there is no privacy model {model.name!r}.{hint}")
    allowed = (*entry.needed, *entry.optional)
    parameters: dict[str, Any] = dict(entry.fixed)
    columns = tuple(map(str, model.data))
    for each in model.attributes:
        key = plain(each.key or "")
        if key in ("attribute", "sensitive", "column"):
            columns = (*columns, str(each.value))
            continue
        name = next((one for one in allowed if plain(one) == key), _PARAMETERS.get(key))
        if name not in allowed:
            hint = did_you_mean(each.key or "", allowed) if allowed else " It has none."
            raise PlanError(f"{entry.title} has no parameter {each.key!r}.{hint}")
        if name in parameters:
            raise PlanError(f"{entry.title}: the parameter {name!r} appears twice. Write it once")
        parameters[name] = _value(str(each.value), name, entry.title)
    for name in entry.needed:
        if name not in parameters:
            raise PlanError(f"{entry.title} needs the parameter {name!r}. Add it to the model")
    fields = tuple(sorted(parameters.items()))
    if not entry.speaks_of_column:
        result: tuple[Requirement, ...] = (Requirement(entry.kind, None, fields, entry.note),)
    elif not (columns or sensitive):
        raise PlanError(
            f"{entry.title} refers to a sensitive column, but there is none: name it (nameOfData), or give "
            "a datum the privacy group SD"
        )
    else:
        result = tuple(Requirement(entry.kind, name, fields, entry.note) for name in columns or sensitive)
    for requirement in result:
        _check(requirement, entry.title)
    return result


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


def _check(requirement: Requirement, title: str) -> None:
    """Refuse parameters outside of their range, as the model itself does."""
    if dict(requirement.parameters).get("distance") == "hierarchical":
        requirement = requirement._replace(
            parameters=tuple((key, each) for key, each in requirement.parameters if key != "distance")
        )
    if requirement.kind == "DeltaPresence" or requirement.kind == "KMap" or requirement.kind == "Inclusion":
        return  # these need the population, which no policy contains
    try:
        requirement.model()
    except ParameterError as error:
        raise error.after(f"{title}: ") from None


def titles() -> list[str]:
    """Return the preferred names of all models."""
    return [each.title for each in _MODEL_NAMES]


def title_of(name: str) -> str | None:
    """Return the preferred spelling of a name, if there is such a model."""
    entry = _BY_NAME.get(plain(name))
    return None if entry is None else entry.title


def needed_parameters(name: str) -> tuple[str, ...]:
    """Return the required parameters of a model.

    >>> needed_parameters("k-Anonymity")
    ('k',)
    """
    return _BY_NAME[plain(name)].needed


def element_of(model: PrivacyModel) -> elements.PolicyModel | None:
    """Return a model as policies write it; None if they have no name for it.

    >>> element = element_of(DistinctLDiversity("disease", 3))
    >>> element.name, element.attributes, element.data
    ('Distinct-l-Diversity', (Attribute(key='l', value='3'),), ('disease',))
    """
    for entry in sorted(
        _MODEL_NAMES, key=lambda each: bool(each.note)
    ):  # a name that needs no note comes first
        if entry.kind != type(model).__name__:
            continue
        if any(getattr(model, name, None) != value for name, value in entry.fixed.items()):
            continue
        parameters = [(name, getattr(model, name, None)) for name in (*entry.needed, *entry.optional)]
        plain_values = [(name, value) for name, value in parameters if isinstance(value, int | float | str)]
        attributes = tuple(elements.Attribute(name, str(value)) for name, value in plain_values)
        return elements.PolicyModel(entry.title, attributes, model.attribute_names)
    return None
