"""Policies to test with."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from veil.policy.documents.elements import (
    ELEMENTS,
    AnonymizationMethod,
    Attribute,
    Data,
    Entity,
    Policy,
    PolicyModel,
    PseudonymizationMethod,
    Purpose,
    Retention,
    spellings,
)
from veil.policy.documents.form import spell


def attributes(**given: object) -> tuple[Attribute, ...]:
    return tuple(Attribute(key, str(value)) for key, value in given.items())


def datum(
    name: str,
    group: str,
    chain: tuple[str, ...] = (),
    least: int | None = None,
    most: int | None = None,
    **more: Any,
) -> Data:
    method = None
    if chain or least is not None:
        bounds = () if least is None else attributes(min=least, max=most)
        method = AnonymizationMethod("Generalization", bounds, chain)
    return Data(name, "Text", group, True, categories=("dc",), method=method, **more)


def model(name: str, *columns: str, **parameters: object) -> PolicyModel:
    return PolicyModel(name, attributes(**parameters), columns)


def policy(
    name: str,
    data: tuple[Data, ...],
    models: tuple[PolicyModel, ...] = (),
    *,
    purpose: str = "research",
    recipient: str | None = "lab",
    auth: str | None = None,
    accepted: str | None = "1735689600",
    retention: Retention | None = None,
    pseudonymization: tuple[PseudonymizationMethod, ...] = (),
    **more: Any,
) -> Policy:
    recipients = () if recipient is None else (Entity(recipient, "Legal Entity", auth, "DataRecipient"),)
    return Policy(
        name,
        "1.0",
        "en",
        "https://example.org/pp",
        source=Entity(name, "Person", type="DataSource"),
        purposes=(
            Purpose(
                purpose,
                False,
                False,
                accepted,
                recipients=recipients,
                retention=Retention("indefinite") if retention is None else retention,
                legal_bases=("consent",),
                models=models,
                pseudonymization=pseudonymization,
                data=data,
            ),
        ),
        **more,
    )


PID = PseudonymizationMethod("PID", None, (), ("Name",))
ZIP = {"53711": ("53711", "5371*", "537**"), "53712": ("53712", "5371*", "537**")}
AGE = {"25": ("25", "20-30", "<50"), "26": ("26", "20-30", "<50")}
PEOPLE = {
    "Alice": ("25", "53711", "Flu"),
    "Bob": ("25", "53712", "Hepatitis"),
    "Axel": ("26", "53711", "Bronchitis"),
}


def lecture(pseudonyms: PseudonymizationMethod = PID) -> dict[str, Policy]:
    """The patients of the lecture: Alice wants her age coarser, Bob his zip code, and all want 3-anonymity."""
    least = {"Alice": (1, 0), "Bob": (0, 2), "Axel": (0, 0)}
    return {
        name: policy(
            name,
            (
                datum("Name", "EI"),
                datum("Age", "QID", AGE[age], least[name][0], 2),
                datum("Zipcode", "QID", ZIP[code], least[name][1], 2),
                datum("Disease", "SD"),
            ),
            (model("k-Anonymity", k=3),),
            pseudonymization=(pseudonyms,),
        )
        for name, (age, code, _) in PEOPLE.items()
    }


def every_policy(element: str = "Policy", depth: int = 2) -> st.SearchStrategy[Any]:
    """Any policy, or any other element, as documents spell it."""
    words = (
        st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S", "Zs")), min_size=1, max_size=5)
        .map(str.strip)
        .filter(bool)
    )
    made: dict[str, st.SearchStrategy[Any]] = {}
    for name, field in spellings(ELEMENTS[element]).items():
        if field.kind == "text":
            made[name] = st.none() | words
        elif field.kind == "flag":
            made[name] = st.none() | st.booleans()
        elif field.kind == "texts":
            made[name] = st.lists(words, max_size=2).map(tuple)
        elif depth == 0:
            continue
        elif field.kind == "one":
            made[name] = st.none() | every_policy(field.element, depth - 1).filter(
                lambda each: spell(each) != {}
            )
        else:
            made[name] = st.lists(
                every_policy(field.element, depth - 1).filter(lambda each: spell(each) != {}), max_size=1
            ).map(tuple)
    return st.builds(ELEMENTS[element], **made)
