"""Noise for all numbers of one answer, on whole numbers, by the name of the noise and a privacy loss."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol, get_args

from veil.base.exact import ball
from veil.base.randomness import Randomness
from veil.dp.gaussian import Gaussian
from veil.dp.noise import Laplace, Noise
from veil.dp.privacy_loss import PrivacyLoss
from veil.dp.staircase import Staircase
from veil.dp.step_noise import StepNoise
from veil.dp.symbolic import Symbolic, enclosure
from veil.errors import ParameterError, did_you_mean

NoiseName = Literal["laplace", "geometric", "gaussian", "staircase", "step"]


class VectorNoise(Protocol):
    """Noise for the numbers of an answer."""

    @property
    def name(self) -> str:
        """The name of the kind of noise."""

    def draw(self, randomness: Randomness | None) -> list[int]:
        """Draw the noise of each number."""

    def half_width(self, number: int, /, confidence: float) -> float:
        """Return the largest error of one number with a given probability."""


def noise_for(
    noise: str, sensitivities: Sequence[int], together: int, loss: PrivacyLoss, records: int = 1
) -> VectorNoise:
    """Return noise by its name, for whole numbers of which one record changes at most `together`.

    Independent noise shares the loss among the numbers that change together; Gaussian noise grows with the
    root of their number, as their distance does; step noise hides all at once.

    A person may have n = `records`. If all numbers change together anyway, each changes by n times as much.
    If not, the records may change n times as many, or the same ones n times: n times the loss of one record, one
    after the other, cover both (also for the staircase, which pays a share of the loss for each sensitivity
    passed). The distance of n records is at most n times that of one, by the triangle inequality, as Gaussian
    noise requires; no number changes by more than n times its sensitivity, as step noise requires.

    >>> noise_for("geometric", [1, 1, 1], 2, PrivacyLoss.read(1)).half_width(0, 0.95)
    6.0
    """
    if noise not in get_args(NoiseName):
        raise ParameterError(
            f"there is no noise {noise!r}.{did_you_mean(str(noise), get_args(NoiseName))} Or use a prior"
        )
    if noise == "gaussian":
        if not loss.rho and not loss.delta:
            raise ParameterError(
                "gaussian noise needs a `delta` above 0, or `rho` in place of epsilon and delta"
            )
        return _Each([_gaussian(each * records, together, loss) for each in sensitivities], "gaussian")
    if loss.rho:
        raise ParameterError(f"`rho` is the privacy loss of gaussian noise; {noise} noise has an `epsilon`")
    if loss.delta:
        raise ParameterError(f"{noise} noise does not use `delta`: leave it out")
    if noise == "step":
        return StepNoise([each * records for each in sensitivities], loss.epsilon, whole=True)
    if together >= len(sensitivities):
        sensitivities, records = [each * records for each in sensitivities], 1
    share = loss.epsilon / (together * records)
    kind = Staircase if noise == "staircase" else Laplace
    noises = {each: kind(each, share, whole=True) for each in set(sensitivities)}
    return _Each([noises[each] for each in sensitivities], noise)


def _gaussian(sensitivity: int, together: int, loss: PrivacyLoss) -> Gaussian:
    reach = enclosure(lambda bits: sensitivity * ball(together).sqrt())[1]
    if loss.rho:
        return Gaussian(Symbolic(reach), rho=loss.rho, whole=True)
    return Gaussian(Symbolic(reach), loss.epsilon, loss.delta, whole=True)


class _Each:
    """Independent noise for each number."""

    def __init__(self, noises: Sequence[Noise], name: str) -> None:
        self._noises, self.name = noises, name

    def draw(self, randomness: Randomness | None) -> list[int]:
        return [each.draw(randomness) for each in self._noises]

    def half_width(self, number: int, confidence: float) -> float:
        return self._noises[number].half_width(confidence)
