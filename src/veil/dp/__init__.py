"""Differential privacy: truthful releases by SafePub, budgets, noise, and exact arithmetic.

    SafePub(1.0, 1e-4)              # a privacy model: random sample, generalization, no small classes
    Accountant(2.0, 1e-4)           # the privacy budget of a data set
    compare_noise(1, epsilon=0.5)   # Laplace, staircase, step and Gaussian noise side by side
    Refinement(Prior.uniform(0, 1), 0.5, about="individual")   # an answer drawn from a prior
    laplace(42.0, 1, epsilon=0.5)   # and geometric, gaussian, exponential: single numbers and choices

`veil.questions` and `veil.private_table` are built on it.
"""

from veil.dp.accountant import Accountant, fingerprint
from veil.dp.compare_noise import NoiseFigures, compare_noise
from veil.dp.gaussian import Gaussian
from veil.dp.mechanisms import ExponentialChoice, exponential, gaussian, geometric, laplace
from veil.dp.neighbours import Neighbours
from veil.dp.noise import Laplace
from veil.dp.parameters import Parameters, plot_smoothness, smoothness
from veil.dp.priors import Prior
from veil.dp.refinement import Refinement
from veil.dp.safepub import SafePub
from veil.dp.staircase import Staircase
from veil.dp.step_noise import StepNoise
from veil.dp.zcdp import epsilon_of_rho, rho_of_epsilon

__all__ = [
    "Accountant",
    "ExponentialChoice",
    "Gaussian",
    "Laplace",
    "Neighbours",
    "NoiseFigures",
    "Parameters",
    "Prior",
    "Refinement",
    "SafePub",
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
    "rho_of_epsilon",
    "smoothness",
]
