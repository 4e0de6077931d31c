"""Differential privacy: truthful releases by SafePub, questions under a budget, noise, and exact arithmetic.

SafePub(1.0, 1e-4)              # a privacy model: random sample, generalization, no small classes
Accountant(2.0, 1e-4)           # the privacy budget of a data set Session(patients, Accountant(1),
neighbours="one more or less", person=None)   # counts, sums, means, quantiles compare_noise(1, epsilon=0.5)
# Laplace, staircase, step and Gaussian noise side by side Refinement(Prior.uniform(0, 1), 0.5,
about="individual")   # an answer drawn from a prior private_table(patients, MarginalTree(), 1, delta=1e-6,
neighbours="one changed", person=None, bounds=bounds) laplace(42.0, 1, epsilon=0.5)   # and geometric,
gaussian, exponential: single numbers and choices
"""

from veil.dp.accountant import Accountant, fingerprint
from veil.dp.answers import Answer, CostEstimate
from veil.dp.compare_noise import NoiseFigures, compare_noise
from veil.dp.gaussian import Gaussian
from veil.dp.mechanisms import ExponentialChoice, exponential, gaussian, geometric, laplace
from veil.dp.neighbours import Neighbours
from veil.dp.noise import Laplace
from veil.dp.parameters import Parameters, plot_smoothness, smoothness
from veil.dp.priors import Prior
from veil.dp.private_table import Corners, IndividualRanking, MarginalTree, PrivateTable, private_table
from veil.dp.refinement import Refinement
from veil.dp.safepub import SafePub
from veil.dp.session import Session
from veil.dp.staircase import Staircase
from veil.dp.step_noise import StepNoise
from veil.dp.zcdp import epsilon_of_rho, rho_of_epsilon

__all__ = [
    "Accountant",
    "Answer",
    "Corners",
    "CostEstimate",
    "ExponentialChoice",
    "Gaussian",
    "IndividualRanking",
    "Laplace",
    "MarginalTree",
    "Neighbours",
    "NoiseFigures",
    "Parameters",
    "Prior",
    "PrivateTable",
    "Refinement",
    "SafePub",
    "Session",
    "Staircase",
    "StepNoise",
    "compare_noise",
    "epsilon_of_rho",
    "exponential",
    "fingerprint",
    "gaussian",
    "geometric",
    "laplace",
    "plot_smoothness",
    "private_table",
    "rho_of_epsilon",
    "smoothness",
]
