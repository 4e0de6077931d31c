"""Pseudonyms as policies ask for them, and where their keys are."""

from __future__ import annotations

import pytest

from support.policies import attributes
from support.refusals import refused
from veil.errors import PlanError
from veil.policy.documents.elements import (
    PseudonymizationMethod,
)
from veil.policy.rules.pseudonyms import masking_method
from veil.tables.rows import Rows


def keyed(**given: object) -> PseudonymizationMethod:
    return PseudonymizationMethod("hmac sha 256", "pid", attributes(**given), ("name",))


def test_keys_are_where_the_holder_says() -> None:
    made = masking_method(keyed(keyRef="vault:7", length=16), "name", {"vault:7": "env:CLINIC_KEY"})
    assert "CLINIC_KEY" in repr(made)
    assert "9f2c71e05ad84b36c1f7a40d2e8b9563" not in repr(
        masking_method(keyed(keyRef="k"), "name", {"k": bytes.fromhex("9f2c71e05ad84b36c1f7a40d2e8b9563")})
    )
    with refused(PlanError, "`keys`", "where"):
        masking_method(keyed(keyRef="vault:7"), "name", {})


def test_a_key_in_a_policy_is_taken_only_if_told_so() -> None:
    inside = keyed(key="9f2c71e05ad84b36c1f7a40d2e8b9563")
    with refused(PlanError, "a secret") as caught:
        masking_method(inside, "name", {})
    assert "9f2c71e05ad84b36c1f7a40d2e8b9563" not in str(caught.value)
    assert masking_method(inside, "name", {}, secrets=True)


@pytest.mark.parametrize(("name", "digits"), [("SHA-1", 40), ("SHA256", 64), ("MD5", 32)])
def test_hashes_without_a_key_need_a_word(name: str, digits: int) -> None:
    import pyarrow as pa

    from veil.base.randomness import Randomness
    from veil.masking import GuessableWarning

    method = PseudonymizationMethod(name, None, (), ("name",))
    with pytest.raises(PlanError, match="although_values_can_be_guessed=True"):
        masking_method(method, "name", {})
    made = masking_method(method, "name", {}, unkeyed=True)
    with pytest.warns(GuessableWarning):
        out = made.mask(Rows.of(pa.table({"name": ["Ada"]})), Randomness()).table["name"][0].as_py()
    assert len(out) == digits
