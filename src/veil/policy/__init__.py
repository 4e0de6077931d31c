"""Privacy policies that are carried out: what each person allowed, for which purpose and recipient.

from veil import policy

alice = policy.read("alice.xml")              # a Layered Privacy Language policy
policy.check(alice)                           # its problems
policy.apply(table, "policies/", purpose="research", recipient="lab")
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # names for editors and type checkers
    from veil.outcome.account import Account as Account
    from veil.policy.documents.documents import parse as parse
    from veil.policy.documents.documents import read as read
    from veil.policy.documents.documents import read_all as read_all
    from veil.policy.documents.documents import to_json as to_json
    from veil.policy.documents.documents import to_xml as to_xml
    from veil.policy.documents.documents import write as write
    from veil.policy.documents.elements import Policy as Policy
    from veil.policy.documents.schema import json_schema as json_schema
    from veil.policy.documents.schema import xml_schema as xml_schema
    from veil.policy.documents.unmapped_parts import Unmapped as Unmapped
    from veil.policy.documents.unmapped_parts import unmapped as unmapped
    from veil.policy.release.audit import refused_cells as refused_cells
    from veil.policy.release.carry_out import apply as apply
    from veil.policy.release.processing import processing_record as processing_record
    from veil.policy.rules.checks import PolicyProblem as PolicyProblem
    from veil.policy.rules.checks import check as check
    from veil.policy.rules.retention import DueData as DueData
    from veil.policy.rules.retention import due as due

_HOMES = {
    "release.carry_out": ("Account", "apply"),
    "release.processing": ("processing_record",),
    "rules.checks": ("PolicyProblem", "check"),
    "documents.documents": ("parse", "read", "read_all", "to_json", "to_xml", "write"),
    "documents.elements": ("Policy",),
    "release.audit": ("refused_cells",),
    "rules.retention": ("DueData", "due"),
    "documents.schema": ("json_schema", "xml_schema"),
    "documents.unmapped_parts": ("Unmapped", "unmapped"),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            attribute = getattr(importlib.import_module(f"veil.policy.{home}"), name)
            globals()[name] = attribute
            return attribute
    raise AttributeError(f"module 'veil.policy' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(name for names in _HOMES.values() for name in names)
