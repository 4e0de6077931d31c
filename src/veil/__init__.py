"""Veil anonymizes tables about people, with guarantees that are proven and verified."""

from veil import hierarchies
from veil.api import anonymize, assess, verify
from veil.errors import VeilError
from veil.models import KAnonymity
from veil.plan import Plan
from veil.release import Release

__version__ = "0.1.0"

__all__ = ["KAnonymity", "Plan", "Release", "VeilError", "anonymize", "assess", "hierarchies", "verify"]
