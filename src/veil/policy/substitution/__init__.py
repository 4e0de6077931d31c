"""Privacy models that follow from others, with proofs."""

from veil.policy.substitution.known import Distribution as Distribution
from veil.policy.substitution.search import Step as Step
from veil.policy.substitution.search import Substitution as Substitution
from veil.policy.substitution.search import consequences as consequences
from veil.policy.substitution.search import implied as implied
from veil.policy.substitution.search import weakest as weakest
