"""Terms of the vocabulary."""

from __future__ import annotations

import pytest

from veil.policy import parse


@pytest.mark.parametrize(
    "place",
    [
        "https://w3id.org/dpv#",
        "https://w3id.org/dpv/2.0#",
        "http://www.w3.org/ns/dpv#",
        "https://w3id.org/dpv/owl#",
    ],
)
def test_versions_of_the_vocabulary_are_one(place: str) -> None:
    text = f"@prefix d: <{place}> . <https://example.org/p> a d:Process ; d:hasPurpose d:Marketing ; d:hasRule d:Permission ."
    policy = parse(text, "policy.ttl")
    assert [(each.name, each.accepted) for each in policy.purposes] == [("Marketing", True)]
