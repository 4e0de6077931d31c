"""Usage policies of SPECIAL: reading and comparison."""

from veil.policy.special.compliance import complies as complies
from veil.policy.special.concepts import Concept as Concept
from veil.policy.special.concepts import Ontology as Ontology
from veil.policy.special.documents import parse as parse
