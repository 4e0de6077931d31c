"""The names of privacy models in policies, as in the literature and in tools, and their requirements.

Case, spaces, hyphens and brackets do not count. A `Requirement` knows the model, its parameters and the
column, and becomes a model of Veil once there are hierarchies.
"""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from veil.dp.safepub import SafePub
from veil.errors import ParameterError, PlanError, did_you_mean
from veil.models import MODELS, PrivacyModel
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
    needed: Sequence[str] = ()
    fixed: Mapping[str, Any] = {}
    optional: Sequence[str] = ()
    aliases: Sequence[str] = ()
    note: str = ""

    @property
    def speaks_of_column(self) -> bool:
        """Whether the model is about one column."""
        return "attribute" in _MODELS[self.kind].__dataclass_fields__


_MODELS: Mapping[str, Any] = MODELS.plus(SafePub)
_NAMES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_MODEL_NAMES = [_ModelName(**each) for each in _NAMES["models"]]

_GREEK = str.maketrans({"α": "alpha", "β": "beta", "δ": "delta", "ε": "e", "ℓ": "l"})


def plain(name: str) -> str:
    """Return a name without case, spaces, hyphens, brackets and commas, which do not count.

    >>> plain("Recursive-(c,l)-Diversity") == plain("recursive (c, l) diversity")
    True
    """
    return re.sub(r"[\s\-_‐-―(),.]+", "", name.casefold().translate(_GREEK))


_BY_NAME = {plain(name): each for each in _MODEL_NAMES for name in (each.title, *each.aliases)}
_PARAMETERS = {name: parameter for parameter, names in _NAMES["parameters"].items() for name in names.split()}


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


def needed_parameters(name: str) -> Sequence[str]:
    """Return the required parameters of a model.

    >>> needed_parameters("k-Anonymity")
    ['k']
    """
    return _BY_NAME[plain(name)].needed


def element_of(model: PrivacyModel) -> elements.PolicyModel | None:
    """Return a model as policies write it; None if they have no name for it.

    >>> from veil.models import DistinctLDiversity
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
