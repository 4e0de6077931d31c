"""Policies as linked data: W3C's Data Privacy Vocabulary and ODRL, in Turtle and JSON-LD."""

from veil.errors import InputError
from veil.policy.documents.elements import Policy
from veil.policy.linked.dpv import from_dpv, is_dpv
from veil.policy.linked.graphs import Graph
from veil.policy.linked.graphs import is_linked as is_linked
from veil.policy.linked.graphs import is_turtle as is_turtle
from veil.policy.linked.graphs import parse_json_ld as parse_json_ld
from veil.policy.linked.graphs import parse_turtle as parse_turtle
from veil.policy.linked.odrl import from_odrl, is_odrl


def from_graph(graph: Graph) -> Policy:
    """Return the policy that a document of linked data holds."""
    if is_odrl(graph):
        return from_odrl(graph)
    if is_dpv(graph):
        return from_dpv(graph)
    raise InputError(
        "the document has neither rules of ODRL nor processes of DPV with a purpose. Is it another kind?"
    )
