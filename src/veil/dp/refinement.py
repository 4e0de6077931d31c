"""Knowledge refinement: the answer is one draw from a prior, reweighted towards the truth.

(Soria-Comas 2013, chapter 5.) Answers near the truth get more likely by a factor u, those far from it less
likely by a factor d, and the border keeps the sum of probabilities: the nearest share p = (1 - d) / (u - d)
of the prior gets u, the rest d; a ring of equal distances on the border gets a factor in between. (The thesis
prints p and 1 - p swapped.) No sensitivity is needed, and an answer of prior 0 is never given.

*Individual* questions depend on one person; without that person, the answer is a draw from the prior. u =
e^epsilon and d = e^-epsilon keep it within the factor e^epsilon of any answer with that person: epsilon for
"one more or less". Two truths may be twice as far apart, so it is 2 epsilon for "one changed".

*Statistical* questions keep all truths within u / d = e^epsilon of each other: epsilon for either relation.

*With a delta* a point mass a is added at the truth (or the nearest answer), and r removed from the farthest
tail. Against the prior, no answer gains more than e^epsilon and a; as P(S) - P(S|truth) e^epsilon <=
e^epsilon r, none loses more than e^epsilon and e^epsilon r. So individual questions need a <= delta and r <=
delta e^-epsilon, and two truths a + e^epsilon r <= delta. The border is at p = (1 - d - a + r) / (u - d);
less is moved where the tail has less. The sketch of the thesis, a = r = delta or delta / 2, is not (epsilon,
delta)-private: with epsilon = ln 2 and delta = 1/5 it is 2/5, or 3/10. It is available as `as_published`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from veil.base.exact import TURN, ball, sign
from veil.base.randomness import Randomness
from veil.dp.composition import Amount, amount
from veil.dp.draws import checked_randomness, draw_below, draw_region
from veil.dp.grid import positive
from veil.dp.neighbours import Neighbours, convert_loss
from veil.dp.priors import Prior, Rings
from veil.dp.symbolic import Readable, Symbolic, enclosure
from veil.errors import ParameterError

if TYPE_CHECKING:
    from flint import arb

About = Literal["individual", "statistical"]


@dataclass(frozen=True, init=False)
class Refinement:
    """A mechanism for one question, which draws from a prior reweighted towards the truth.

    Parameters
    ----------
    prior
        The expected answers, without knowledge of the data.
    epsilon, delta
        The privacy loss.
    about
        "individual" if the question is about one person, else "statistical".
    up
        The factor u of statistical questions, from 1 to e^epsilon; by default e^(epsilon/2). A larger one
        favours answers near the truth, a smaller one disfavours those far from it.
    as_published
        Move mass as the thesis sketches it for a delta, which costs more than claimed there.

    >>> question = Refinement(Prior.table({"sick": 0.01, "well": 0.99}), 1, about="individual")
    >>> {point: round(chance, 6) for point, chance in question.probabilities("sick").items()}
    {'sick': 0.027183, 'well': 0.972817}
    >>> question.answer("sick") in ("sick", "well"), str(question.cost("one changed"))
    (True, 'epsilon = 2')
    """

    prior: Prior
    epsilon: Symbolic
    delta: Fraction
    about: About
    up: Fraction | None
    as_published: bool
    _moved: Fraction = field(init=False, repr=False)

    def __init__(
        self,
        prior: Prior,
        epsilon: Readable,
        *,
        about: About,
        delta: Readable = 0,
        up: Readable | None = None,
        as_published: bool = False,
    ) -> None:
        if not isinstance(prior, Prior):
            raise ParameterError(
                f"`prior` should be a Prior, such as Prior.uniform(0, 1) or Prior.table({{...}}), not {prior!r}"
            )
        if about not in ("individual", "statistical"):
            raise ParameterError(f'`about` should be "individual" or "statistical", not {about!r}')
        budget, chance = amount(positive(epsilon), delta)
        if as_published and not chance:
            raise ParameterError("`as_published` only makes a difference with `delta`: leave it out")
        factor = None if up is None else Symbolic.read(up, "up").rational
        if factor is not None and about == "individual":
            raise ParameterError("`up` is only for statistical questions; individual ones use e^epsilon")
        if factor is not None and not (
            factor >= 1 and (sign(lambda bits: budget.ball() - ball(factor).log()) or 0) >= 0
        ):
            raise ParameterError(f"`up` should be from 1 to e^epsilon, not {factor}")
        self.__dict__.update(
            prior=prior, epsilon=budget, delta=chance, about=about, up=factor, as_published=as_published
        )
        self.__dict__["_moved"] = self._most_moved()

    def cost(self, neighbours: Neighbours) -> Amount:
        """Return the privacy loss of an answer under a relation of neighbours."""
        if self.about == "statistical" or neighbours == "one more or less":
            return Amount(self.epsilon, self.delta)
        loss = convert_loss(
            self.epsilon, self.delta, Fraction(0), promise="one more or less", budget=neighbours
        )
        return Amount(*loss[:2])

    def answer(self, truth: Any, randomness: Randomness | None = None) -> Hashable:
        """Draw the answer; from the prior itself if the truth is None."""
        source = checked_randomness(randomness)
        rings = Rings(self.prior, truth)
        regions = self._regions(rings)
        start, end = regions[draw_region(lambda: self._chances(rings, regions), source)]
        return rings.point_at(start + draw_below(end - start, source))

    def probabilities(self, truth: Any) -> dict[Hashable, float]:
        """Return the probability of each answer given the truth. It must not be published."""
        rings = Rings(self.prior, truth)
        chances: dict[Hashable, Fraction] = dict.fromkeys(rings.points, Fraction(0))
        regions = self._regions(rings)
        for number, (start, end) in enumerate(regions):
            chance = _middle(lambda bits, at=number: self._chances(rings, regions)[at])
            for place, point in enumerate(rings.points):
                inside = min(rings.reached[place + 1], end) - max(rings.reached[place], start)
                if inside > 0:
                    chances[point] += chance * Fraction(inside, end - start)
        return {point: float(each) for point, each in chances.items()}

    def nearest_share(self) -> tuple[float, float]:
        """Return the share of the prior, from the truth on, that gets likelier, and its probability then.

        >>> Refinement(Prior.uniform(0, 1), "ln(2)", about="individual").nearest_share()
        (0.3333333333333333, 0.6666666666666666)
        """
        share = _middle(lambda bits: self._shape().border)
        chance = _middle(lambda bits: self._shape().border * self._shape().up + self._shape().added)
        return float(share), float(chance)

    # --- factors and borders --------------------------------------------------------------------------

    def _factors(self) -> tuple[arb, arb]:
        """Return u and d, at the working precision."""
        if self.about == "individual":
            return self.epsilon.ball().exp(), (-self.epsilon).ball().exp()
        if self.up is None:
            return (self.epsilon / 2).ball().exp(), (-self.epsilon / 2).ball().exp()
        return ball(self.up), ball(self.up) * (-self.epsilon).ball().exp()

    def _most_moved(self) -> Fraction:
        """Return the mass added at the truth: as much as delta allows and the tail has."""
        part = self.delta if self.about == "individual" else self.delta / 2

        def most(bits: int) -> arb:
            up, down = self._factors()
            if self.as_published:
                return down * (up - 1) / (up - down)
            return (1 - down) / (1 - (-self.epsilon).ball().exp())

        return min(part, enclosure(most)[0]) if part else part

    def _shape(self) -> _Shape:
        up, down = self._factors()
        added = ball(self._moved)
        removal = added if self.as_published else added * (-self.epsilon).ball().exp()
        return _Shape(up, down, added, (1 - down - added + removal) / (up - down), 1 - removal / down)

    def _regions(self, rings: Rings) -> list[_Region]:
        """Return parts of the answers, given by their weights from near to far.

        On the scale of the prior, from 0 at the truth to 1, answers up to the border get u, those up to the
        cut d, and those beyond nothing. A ring on an edge gets the sum of its parts.
        """
        if len(rings.ends) == 2:  # one ring
            return [_Region(0, rings.ends[1])]
        first, second = (_ring_of(rings, self, edge) for edge in ("border", "cut"))
        ends = rings.ends
        near = [_Region(0, ends[1]), _Region(0, ends[first]), _Region(ends[first], ends[first + 1])]
        if first == second:
            return near
        return [*near, _Region(ends[first + 1], ends[second]), _Region(ends[second], ends[second + 1])]

    def _chances(self, rings: Rings, regions: list[_Region]) -> list[arb]:
        """Return the probability of each region, at the working precision."""
        if len(regions) == 1:
            return [ball(1)]
        shape, total = self._shape(), self.prior.total
        starts = [ball(Fraction(each.start, total)) for each in regions]
        ends = [ball(Fraction(each.end, total)) for each in regions]
        near = [shape.added, shape.up * ends[1]]
        if len(regions) == 3:
            inner = shape.up * (shape.border - starts[2]) + shape.down * (shape.cut - shape.border)
            return [*near, inner]
        inner = shape.up * (shape.border - starts[2]) + shape.down * (ends[2] - shape.border)
        return [*near, inner, shape.down * (ends[3] - starts[3]), shape.down * (shape.cut - starts[4])]


class _Region(NamedTuple):
    start: int
    end: int


class _Shape(NamedTuple):
    up: arb
    down: arb
    added: arb
    border: arb
    cut: arb


def _middle(number: Callable[..., arb]) -> Fraction:
    low, high = enclosure(number)
    return (low + high) / 2


def _ring_of(rings: Rings, question: Refinement, edge: Literal["border", "cut"]) -> int:
    """Return the ring that an edge runs through; between two rings either one, with equal results."""
    from flint import ctx

    low, high = 0, len(rings.ends) - 2
    while low < high:
        middle = (low + high + 1) // 2
        share = Fraction(rings.ends[middle], rings.ends[-1])
        for bits in (256, 4096):
            with TURN, ctx.workprec(bits):
                place = getattr(question._shape(), edge)
                is_beyond, is_before = place > ball(share), place < ball(share)
            if is_beyond or is_before:
                break
        low, high = (middle, high) if is_beyond else (low, middle - 1)
    return low
