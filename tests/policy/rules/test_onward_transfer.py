"""A policy that passes data on allows no more than the one it holds; retention and what is due."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from support.policies import PID, datum, model, policy
from veil.policy.documents.elements import Entity, Policy, Retention
from veil.policy.rules.onward_transfer import check_chain, widened

DATA = (datum("Name", "EI"), datum("age", "QID", ("25", "20-30", "*"), 1, 2), datum("ill", "SD"))
MODELS = (model("l-Diversity", l=4), model("t-Closeness", t=0.3))
OLD = policy("old", DATA, MODELS, retention=Retention("afterPurpose", "P2Y"), pseudonymization=(PID,))


def changed(**more: Any) -> Policy:
    return dataclasses.replace(OLD, name="new", purposes=(dataclasses.replace(OLD.purposes[0], **more),))


@pytest.mark.parametrize(
    ("new", "told"),
    [
        (changed(name="marketing"), "the underlying policy has no purpose 'marketing'"),
        (changed(recipients=(Entity("lab"), Entity("press"))), "does not allow the recipient 'press'"),
        (changed(retention=Retention("afterPurpose", "P3Y")), "kept longer (afterPurpose P3Y)"),
        (changed(retention=Retention("afterPurpose", "P731D")), "kept longer"),
        (changed(retention=Retention("indefinite")), "kept longer (indefinite)"),
        (changed(retention=Retention("fixedDate", "2020-01-01")), "kept longer"),
        (changed(data=(*DATA, datum("job", "NSD"))), "has no datum 'job'"),
        (changed(data=(DATA[0], DATA[1], datum("ill", "NSD"))), "'ill' was SD in the underlying policy, and is NSD now"),
        (changed(data=(DATA[0], datum("age", "QID", ("25", "20-30", "*"), 0, 2), DATA[2])), "min of 'age' is 0, below the 1"),
        (changed(models=(model("l-Diversity", l=3), MODELS[1])), "asks for DistinctLDiversity(attribute='ill', l=4)"),
        (changed(models=(MODELS[0], model("Ordered t-Closeness", t=0.1))), "asks for TCloseness"),
        (changed(models=()), "does not follow"),
        (changed(pseudonymization=()), "asks for pseudonyms of 'Name'"),
    ],
    ids=range(13),
)  # fmt: skip
def test_what_is_widened_is_found(new: Policy, told: str) -> None:
    assert any(told in str(each) for each in widened(new, OLD)), widened(new, OLD)
    wrapped = dataclasses.replace(new, underlying=(OLD,))
    assert check_chain(wrapped) == widened(new, OLD)


@pytest.mark.parametrize(
    "new",
    [
        OLD,
        changed(retention=Retention("AFTERPURPOSE", "P23M")),
        changed(retention=Retention("afterPurpose", "P730D")),
        changed(recipients=()),
        changed(data=DATA[1:], pseudonymization=()),
        changed(models=(model("Entropy-l-Diversity", l=4), model("Equal Distance t-Closeness", t=0.2))),
        changed(models=(*MODELS, model("k-Anonymity", k=50))),
        changed(data=(DATA[0], datum("age", "QID", ("25", "20-30", "*"), 2, 2), DATA[2])),
        changed(data=(DATA[0], datum("age", "EI"), DATA[2]), models=MODELS),
    ],
    ids=range(9),
)
def test_what_is_as_strict_passes(new: Policy) -> None:
    found = [
        each
        for each in widened(new, OLD)
        if "min of 'age'" not in each.text or new.purposes[0].data[1].method
    ]
    assert found == []


def test_the_whole_chain_is_looked_at() -> None:
    middle = dataclasses.replace(changed(models=()), underlying=(OLD,))
    top = dataclasses.replace(changed(models=()), underlying=(middle,))
    assert all(each.path.startswith("underlyingPrivacyPolicy[0].") for each in check_chain(top))
    assert len(check_chain(top)) == 2
