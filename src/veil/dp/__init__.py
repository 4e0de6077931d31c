"""Differential privacy: truthful releases by SafePub, mechanisms, budgets, and the arithmetic behind them.

SafePub(1.0)                    # a privacy model: random sample, generalization, no small classes
Accountant(2.0, 1e-4)           # what may be spent on a data set, and what has been
parameters(1.0, 1e-6).k         # from a budget to the sampling probability and the smallest class
laplace(42.0, 1, epsilon=0.5)   # and geometric, gaussian, exponential: single numbers and choices
"""

from veil.dp.accountant import Accountant, fingerprint
from veil.dp.mechanisms import ExponentialChoice, exponential, gaussian, geometric, laplace
from veil.dp.parameters import Parameters, plot_smoothness, smoothness
from veil.dp.safepub import SafePub

__all__ = [
    "Accountant",
    "ExponentialChoice",
    "Parameters",
    "SafePub",
    "exponential",
    "fingerprint",
    "gaussian",
    "geometric",
    "laplace",
    "plot_smoothness",
    "smoothness",
]
