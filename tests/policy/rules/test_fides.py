"""Fides dataset files propose roles, and decide nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.refusals import refused
from veil.errors import InputError
from veil.policy.rules.fides import propose_roles

DATASET = """\
dataset:
  - fides_key: clinic
    name: Clinic
    collections:
      - name: patients
        fields:
          - name: email
            data_categories: [user.contact.email]
          - name: zip
            data_categories: [user.contact.address.postal_code]
          - name: birth
            data_categories: [user.demographic.date_of_birth]
          - name: diagnosis
            data_categories: [user.health_and_medical.record]
          - name: created
            data_categories: [system.operations]
          - name: hobby
            data_categories: [user.hobby]
          - name: note
          - name: address
            fields:
              - name: street
                data_categories: [user.contact.address.street]
"""


def test_roles_are_proposed(tmp_path: Path) -> None:
    (tmp_path / "clinic.yml").write_text(DATASET)
    found = {each.column: each.role for each in propose_roles(tmp_path / "clinic.yml")}
    assert found == {
        "email": "identifying",
        "zip": "quasi-identifying",
        "birth": "quasi-identifying",
        "diagnosis": "sensitive",
        "created": "insensitive",
        "hobby": None,
        "note": None,
        "address.street": "identifying",
    }


BOMB = "a0: &a0 [x]\n" + "".join(
    f"a{at}: &a{at} [{', '.join([f'*a{at - 1}'] * 10)}]\n" for at in range(1, 10)
)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("policies: []", "is not a Fides dataset file"),
        (BOMB, "its aliases expand to more than 10,000 values"),
        ("dataset: " + "[" * 200 + "]" * 200, "nested more than 100 deep"),
        ("dataset: &a [*a]", "refers to itself"),
        ("dataset: [", "not a YAML file"),
        ("dataset: !!python/object/apply:os.system ['true']", "has the YAML tag"),
    ],
)
def test_what_is_hostile_or_something_else_is_refused(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "clinic.yml").write_text(text)
    with pytest.raises(InputError, match=told):
        propose_roles(tmp_path / "clinic.yml")
    with refused(InputError, "cannot be read"):
        propose_roles(tmp_path / "nothing.yml")
