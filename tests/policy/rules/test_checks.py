"""Everything that can be wrong with a policy is found, with its path."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from support.policies import PID, attributes, datum, lecture, model, policy
from veil.errors import PlanError
from veil.policy.documents.elements import (
    Entity,
    Policy,
    PseudonymizationMethod,
    Purpose,
    Retention,
    SubPurpose,
)
from veil.policy.rules.checks import check, check_to_run

DATA = (datum("age", "QID", ("25", "20-30", "*"), 0, 2), datum("ill", "SD"), datum("name", "EI"))


def changed(**more: Any) -> Policy:
    found = policy("p", DATA)
    return dataclasses.replace(found, purposes=(dataclasses.replace(found.purposes[0], **more),))


def graves(found: Policy) -> list[str]:
    return [str(each) for each in check(found) if each.grave]


def gaps(found: Policy) -> list[str]:
    return [str(each) for each in check(found) if not each.grave]


AT = "purposeList.purpose[0]"


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (Policy("p"), "purposeList: the policy has no purpose"),
        (changed(data=()), f"{AT}.dataList: the purpose has no data"),
        (changed(data=(*DATA, DATA[0])), f"{AT}.dataList.data[3]: there is another datum 'age'"),
        (changed(data=(datum("a", "QQ"),)), f"{AT}.dataList.data[0]: the privacy group should be EI, QID"),
        (changed(data=(datum("a", "QID", ("1", "*"), 1, 2),)), f"{AT}.dataList.data[0].anonymizationMethod: max 2"),
        (changed(data=(datum("a", "QID", ("1", "*"), 1, 0),)), "min 1 of 'a' is above max 0"),
        (changed(data=(datum("a", "QID", ("1", "1"), 0, 1),)), "contains an entry twice: 1 → 1"),
        (changed(retention=Retention("later")), f"{AT}.retention: a retention should be indefinite, afterPurpose or"),
        (changed(retention=Retention("afterPurpose", "2 years")), f"{AT}.retention: '2 years' is not a duration"),
        (changed(retention=Retention("fixedDate", "soon")), f"{AT}.retention: 'soon' is not a date"),
        (changed(models=(model("k-anonymty", k=3),)), "there is no privacy model 'k-anonymty'. Did you mean 'k-Anonymity'?"),
        (changed(models=(model("k-Anonymity"),)), "k-Anonymity needs the parameter 'k'"),
        (changed(models=(model("k-Anonymity", k=0),)), "should be greater than or equal to 1, not 0"),
        (changed(models=(model("k-Anonymity", k="many"),)), "'k' should be a number, not 'many'"),
        (changed(models=(model("k-Anonymity", k=3, q=2),)), "k-Anonymity has no parameter 'q'"),
        (changed(models=(model("t-Closeness", "job", t=0.2),)), "nameOfData[0]: the purpose has no datum 'job'"),
        (changed(pseudonymization=(PseudonymizationMethod("PID", None, (), ("nme",)),)), "Did you mean 'name'?"),
        (changed(pseudonymization=(PseudonymizationMethod("PID", None, (), ("name", "age")),)), "Add attrName"),
        (changed(pseudonymization=(PseudonymizationMethod("DES", None, (), ("name",)),)), "use HMAC-SHA-256"),
        (changed(pseudonymization=(PseudonymizationMethod("HMAC-SHA-1", None, (), ("name",)),)), "use HMAC-SHA-256"),
        (
            changed(pseudonymization=(PseudonymizationMethod("PID", None, attributes(seed=1165), ("name",)),)),
            "the policy contains a secret ('seed')",
        ),
        (
            changed(
                pseudonymization=(PseudonymizationMethod("HMAC-SHA-256", "p", attributes(keyRef="../k.key"), ("name",)),)
            ),
            "keyRef '../k.key' looks like a path or address",
        ),
        (changed(pseudonymization=(PseudonymizationMethod("Crypt", None, (), ("name",)),)), "no pseudonymization method 'Crypt'"),
    ],
    ids=range(23),
)  # fmt: skip
def test_what_would_have_to_be_guessed_is_grave(found: Policy, told: str) -> None:
    assert any(told in each for each in graves(found)), graves(found)
    with pytest.raises(PlanError, match="policy 'p', "):
        check_to_run(found, "p")


def test_one_level_needs_the_other() -> None:
    data = datum("age", "QID", ("25", "*"), 0, 1)
    assert data.method is not None
    alone = dataclasses.replace(data, method=dataclasses.replace(data.method, attributes=attributes(min=1)))
    assert all(fact in graves(changed(data=(alone,)))[0] for fact in ("'age'", "without max"))


def nested(*links: tuple[str, str], **more: Any) -> Policy:
    whole = policy("p", DATA).purposes[0]
    part = dataclasses.replace(whole, name="part", **more)
    return dataclasses.replace(
        policy("p", DATA), purposes=(whole, part), hierarchy=tuple(SubPurpose(*each) for each in links)
    )


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (nested(("research", "part"), ("part", "research")), "lies under itself"),
        (nested(("research", "part"), ("marketing", "part")), "has the parents 'research' and 'marketing'"),
        (nested(("research", "prt")), "there is no purpose 'prt'. Did you mean 'part'?"),
        (nested(("hobby", "part")), "'hobby' is neither a purpose nor a category"),
        (nested(("research", "part"), data=(*DATA, datum("job", "NSD"))), "'part' has the datum 'job'"),
        (nested(("research", "part"), opt_out=True), "'part' has optOut True"),
        (nested(("research", "part"), recipients=(Entity("other"),)), "'part' has the recipient 'other'"),
        (nested(("research", "part"), legal_bases=("contract",)), "'part' has the legal basis 'contract'"),
    ],
    ids=range(8),
)
def test_purposes_form_a_forest_and_parts_ask_for_no_more(found: Policy, told: str) -> None:
    assert any(told in each for each in graves(found)), graves(found)


def test_a_forest_is_fine() -> None:
    assert not graves(nested(("research", "part"), ("marketing", "research")))


CONTROLLER = Entity("clinic", "Public Authority")
RIGHTS = ("access", "rectification", "erasure", "restriction", "objection")


def test_gaps_are_told_and_do_not_stop() -> None:
    found = policy("p", (dataclasses.replace(DATA[0], categories=()),))
    told = gaps(found)
    assert "purposeList.purpose[0].dataList.data[0]: the datum 'age' has no category" in told
    assert "controllerList: nobody is said to be responsible. Name a controller" in told
    assert "dataSubjectRightList: the right 'portability' is missing" in told
    check_to_run(found, "p")
    authority = policy("p", DATA, controllers=(CONTROLLER,), rights=RIGHTS)
    assert gaps(authority) == [
        "dataProtectionOfficerList: a public authority needs a data protection officer. Name one"
    ]
    assert gaps(dataclasses.replace(authority, officers=(Entity("officer"),))) == []


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"country": "XX"}, "needs its code"),
        ({"country": "DE", "adequacy_decision": True}, "DE is in the European Union"),
        ({"country": "US"}, "needs an adequacy decision or safeguards"),
        ({"country": "US", "safeguards": ("clauses",)}, None),
        ({"country": "CH", "adequacy_decision": True}, None),
    ],
)
def test_third_countries_need_grounds(more: dict[str, Any], told: str | None) -> None:
    recipient = Entity("lab", "Legal Entity", third_country_transfer=True, **more)
    found = [each for each in gaps(changed(recipients=(recipient,))) if "dataRecipient" in each]
    assert (told is None and not found) or (told is not None and told in found[0])


def test_what_the_law_demands_is_required_and_consent_is_asked_for() -> None:
    assert any("the law demands" in each for each in gaps(changed(legal_bases=("legalObligation",))))
    unasked = changed(required=True, point_of_acceptance=None)
    assert any("nobody has agreed" in each for each in gaps(unasked))


def test_problems_of_policies_below_are_found() -> None:
    below = changed(models=(model("nonsense"),))
    found = dataclasses.replace(policy("p", DATA), underlying=(below,))
    assert graves(found)[0].startswith("underlyingPrivacyPolicy[0].purposeList.purpose[0].privacyModelList")


def test_the_lecture_has_nothing_grave() -> None:
    for found in lecture(PID).values():
        assert not graves(found)
    assert isinstance(lecture()["Bob"].purposes[0], Purpose)
