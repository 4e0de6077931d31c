"""Questions to a table under a budget.

Session(patients, Accountant(1), neighbours="one more or less", person=None)   # counts, sums, means, quantiles
"""

from veil.questions.mechanisms.answers import Answer, CostEstimate
from veil.questions.session.session import Session

__all__ = ["Answer", "CostEstimate", "Session"]
