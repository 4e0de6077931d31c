"""Privacy models that follow from others, with proofs."""

from veil.models.implication.rules import ValueFrequencies as ValueFrequencies
from veil.models.implication.search import Implication as Implication
from veil.models.implication.search import RuleApplication as RuleApplication
from veil.models.implication.search import consequences as consequences
from veil.models.implication.search import implied as implied
from veil.models.implication.search import weakest as weakest
