"""Privacy models that follow from others, with proofs."""

from veil.policy.substitution.rules import ValueFrequencies as ValueFrequencies
from veil.policy.substitution.search import RuleApplication as RuleApplication
from veil.policy.substitution.search import Substitution as Substitution
from veil.policy.substitution.search import consequences as consequences
from veil.policy.substitution.search import implied as implied
from veil.policy.substitution.search import weakest as weakest
