"""SafePub: differentially private releases of true records.

Each record is drawn with probability β, drawn records are generalized by one scheme for all, and classes
with fewer than k of them are left out. Nothing is invented and nothing is blurred at random (Bild, Kuhn and
Prasser 2018).

*What is proved*, for neighbouring tables, of which one has one record more:

1. The scheme is chosen by `veil.dp.walk.private_search` on the whole table: ε_search-differentially
   private.
2. For every scheme that does not depend on the sample, drawing, generalizing and leaving out is
   (ε_anonymization, δ)-differentially private (`veil.dp.parameters`). The coins of the sample are tossed
   after the scheme has been chosen, so the scheme does not depend on them.
3. So both together are (ε_search + ε_anonymization, δ)-differentially private (Dwork and Roth 2014, Theorem
   B.1, for mechanisms that see the results of earlier ones). With a fixed scheme the whole budget goes to
   the second step.

The proof is about a multiset of generalized records, and the release is exactly that: rows come in random
order and without an index, rows that were not drawn or were left out are absent, not even blank, and no
column is published that is not generalized along with the others.

*What is assumed to be public*, and therefore must not be made from the data: names of the columns; the
hierarchies with all values that are possible, whether they occur or not (builders that look at the data are
refused); bounds on levels; the plan with its budgets; the kind of frame, and the declared format of a file.
All visible properties of the published table follow from these and from its cells: columns are text, in the
spelling of the hierarchies, independently of the types of the input (`veil.dp.domain`).

*No record is refused.* Every cell is read as a value of the domain, by itself: one that the hierarchy does
not list is a missing value, which is part of every domain here. A table without records has an empty release.
Owners are declared, and never questioned. So declarations decide whether a run ends in a release.

*What is not covered.* The exact numbers that a release has in Python beside its table (records, suppressed
records, scores, risks), the time that a run takes, and the account: they are for the data holder. The
terminal, logs, report and certificate leave them out.

*A table that is a random sample itself.* Where every person came into the table with a known probability,
drawn independently, and the members are secret, `acquisition_sampling` declares it. The promise is then one
to the whole population, k is smaller and often no further sampling is needed (4 in `veil.dp.parameters`). The
table cannot confirm the declaration: it is repeated in statement, certificate and report. It needs a fixed
scheme, and such a release must be the only one from the table: it closes the account.

*People with several rows.* If the plan names a column of persons, neighbouring tables differ by all rows of
one person. At most C rows of each person take part (`rows_per_person`), drawn first and independently for
each person. So the participating rows of two neighbours differ by at most C, all other draws being equal.
With C = 1 everything above holds unchanged. With a larger C, each row gets ε/C and δ · (e^(ε/C) - 1) / (e^ε -
1), rounded down: C rows one after the other then cost ε and δ · (1 + e^(ε/C) + ... + e^(ε (C - 1)/C)) ·
(e^(ε/C) - 1)/(e^ε - 1) = δ together (group privacy; Vadhan 2017, Lemma 2.2). Rows beyond the cap are lost,
which costs less than it seems, as the budget of each row shrinks with C.

`final="as_published"` searches as in the paper, which is not proven to be private; see `veil.dp.walk`.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field

from veil.base.declare import declared
from veil.base.exact import ball
from veil.base.randomness import Randomness
from veil.base.wording import Phrase, joined, plural
from veil.classes.sample import Sample
from veil.dp.parameters import Parameters, parameters
from veil.dp.symbolic import Symbolic, enclosure
from veil.errors import ParameterError
from veil.models.base import PrivacyModel
from veil.published.finding import Finding
from veil.published.table import Published

if TYPE_CHECKING:
    from flint import arb

SEARCH_SHARE = Fraction(1, 10)
"""Default part of the budget for the search: the paper's 0.1 of 1."""


def _plain(value: Any) -> Any:
    """Return a value in a form that a recipe can hold."""
    readable = value is None or (isinstance(value, int | float | str) and not isinstance(value, bool))
    return value if readable else str(value)


Amount = Annotated[int | float | str, BeforeValidator(_plain)]


class Budgets(NamedTuple):
    """The parts of a budget."""

    search: Symbolic
    anonymization: Symbolic
    delta: Fraction


@declared
class SafePub(PrivacyModel):
    """(ε, δ)-differential privacy with true records: a random sample, generalized, without classes below k.

    A recipient learns at most a factor of e^ε about whether any one record was in the table, except with
    probability δ. The sampling probability and k follow from ε and δ; the transformation is found by a
    private search that spends a part of ε, or is given as `generalization`. Bild, Kuhn and Prasser (2018),
    with the two gaps of their proof closed: see the text of this module.

    `final="as_published"` searches as in the paper, for comparison. This is NOT PROVEN to be private.

    >>> SafePub(1.0, 1e-5).parameters().k
    58
    >>> print(SafePub("ln(2)", 1e-6, generalization={"age": 2}).statement())
    With a probability of at least 50.0 % your record is not in the data at all; if it is, it is hidden among
    at least 65 others that look the same. ...
    """

    epsilon: Annotated[Amount, Field(description='budget: a number, or a text such as "ln(2)"; 1 is usual')]
    delta: Annotated[
        Amount,
        Field(
            description="accepted chance that the bound e^epsilon is exceeded: well below one over the number of people "
            "that the table may hold, such as 1e-6 for 100,000. It is never taken from the table, about which it would reveal something"
        ),
    ]
    search_epsilon: Annotated[
        Amount | None, Field(description="part of epsilon that the search may spend; by default a tenth")
    ] = Field(default=None, kw_only=True)
    steps: Annotated[int, Field(ge=1, description="transformations that the search moves to")] = Field(
        default=300, kw_only=True
    )
    generalization: Annotated[
        dict[str, Annotated[int, Field(ge=0)]] | None,
        Field(description="level of each quasi-identifier, instead of a search"),
    ] = Field(default=None, kw_only=True)
    acquisition_sampling: Annotated[
        Amount | None,
        Field(
            description="probability with which each person came into the table, if it is a random sample whose "
            "members nobody knows: drawn independently for each person. Needs `generalization`"
        ),
    ] = Field(default=None, kw_only=True)
    rows_per_person: Annotated[
        int | None,
        Field(
            ge=1,
            description="how many rows of a person take part at most, drawn at random, if the plan says which column tells "
            "people apart; then 1 by default",
        ),
    ] = Field(default=None, kw_only=True)
    final: Annotated[
        Literal["private", "as_published"],
        Field(
            description='how the search ends; "as_published" is the search as the paper prints it, which is not '
            "proven to be private"
        ),
    ] = Field(default="private", kw_only=True)
    kind: Literal["SafePub"] = Field(default="SafePub", repr=False, kw_only=True)

    monotone_generalization: ClassVar[bool] = True
    monotone_suppression: ClassVar[bool] = True
    over_neighbours: ClassVar[bool] = True
    unverifiable: ClassVar[str | None] = (
        "how the table was drawn, which is what differential privacy is about"
    )
    attacks: ClassVar[tuple[str, ...]] = (
        "record linkage",
        "attribute linkage",
        "table linkage",
        "probabilistic",
    )

    def why_not_owners(self, *, all_rows: bool) -> str | None:
        """Return a reason against `all_rows`: at most `rows_per_person` rows of a person take part anyway."""
        return "what somebody knows of a person changes nothing here: leave `knows` out" if all_rows else None

    def __post_init__(self) -> None:
        epsilon = Symbolic.read(self.epsilon, "epsilon")
        if epsilon.sign() <= 0:
            raise ParameterError(f"`epsilon` of SafePub should be greater than 0, not {self.epsilon}")
        delta = Symbolic.read(self.delta, "delta")
        if delta.logarithms or not 0 < delta.rational < 1:
            raise ParameterError(f"`delta` of SafePub should be above 0 and below 1, not {self.delta}")
        if self.acquisition_sampling is not None:
            self._check_acquisition(self.acquisition_sampling)
            if self.rows_per_person is not None and self.rows_per_person > 1:
                raise ParameterError(
                    "`acquisition_sampling` of SafePub is for people who were sampled individually, with "
                    f"one row each (rows_per_person=1), not {self.rows_per_person}"
                )
        if self.search_epsilon is None:
            return
        if self.generalization is not None:
            raise ParameterError(
                "`search_epsilon` of SafePub has no effect with a fixed `generalization`, because nothing "
                "is searched. Leave one of them out"
            )
        search = Symbolic.read(self.search_epsilon, "search_epsilon")
        if search.sign() <= 0 or search >= epsilon:
            raise ParameterError(
                f"`search_epsilon` of SafePub should be above 0 and below `epsilon` = {self.epsilon}, "
                f"not {self.search_epsilon}"
            )

    def _check_acquisition(self, probability: int | float | str) -> None:
        rate = Symbolic.read(probability, "acquisition_sampling")
        if rate.logarithms or not 0 < rate.rational < 1:
            raise ParameterError(
                f"`acquisition_sampling` of SafePub should be above 0 and below 1, not {probability}"
            )
        if self.generalization is None:
            raise ParameterError(
                "`acquisition_sampling` of SafePub needs a fixed `generalization`, chosen without looking "
                "at the table: a search would look at the sample whose secrecy the promise relies on. Give "
                "the levels, or leave it out"
            )

    @property
    def is_proven(self) -> bool:
        """Whether releases are proven to be private: not if the scheme is searched as published."""
        return self.final == "private" or self.generalization is not None

    # --- what follows from the budget -----------------------------------------------------------------

    def budgets(self) -> Budgets:
        """Return the parts of the budget."""
        epsilon = Symbolic.read(self.epsilon)
        if self.generalization is not None:
            search = Symbolic(Fraction(0))
        elif self.search_epsilon is None:
            search = epsilon * SEARCH_SHARE
        else:
            search = Symbolic.read(self.search_epsilon)
        return Budgets(search, epsilon - search, Symbolic.read(self.delta).rational)

    def row_budgets(self) -> Budgets:
        """Return the parts of the budget for one row: all of it, unless a person has several."""
        whole, rows = self.budgets(), self.rows_per_person or 1
        if rows == 1:
            return whole
        epsilon = whole.search + whole.anonymization

        def share(bits: int) -> arb:
            return ball(whole.delta) * (epsilon / rows).ball().expm1() / epsilon.ball().expm1()

        return Budgets(whole.search / rows, whole.anonymization / rows, enclosure(share)[0])

    def parameters(self) -> Parameters:
        """Return the sampling probability and the smallest class."""
        budgets = self.row_budgets()
        acquired = 1 if self.acquisition_sampling is None else self.acquisition_sampling
        return parameters(budgets.anonymization, budgets.delta, acquired)

    def statement(self) -> str:
        """Return the promise in plain words, addressed to a person in the table."""
        budgets, parameters = self.budgets(), self.parameters()
        rows = self.rows_per_person
        absent = math.floor((1 - parameters.beta) ** (rows or 1) * 1000) / 10
        yours, without = "your record is not", "your record"
        if rows is not None:
            yours, without = "none of your rows is", "you and all of your rows"
        spent = (
            "; {search} of ε was spent to choose how coarse the data are"
            if self.generalization is None
            else ""
        )
        promise = Phrase(
            f"With a probability of at least {{absent:.1f}} % {yours} in the data at all; if it is, it is hidden among at "
            "least {others} others that look the same. Whatever somebody concludes from the data would hardly be different "
            f"without {without}: no result becomes more than {{factor}} times as likely or unlikely, except with a "
            f"probability of {{delta}} ((ε, δ)-differential privacy with ε = {{epsilon}}, δ = {{delta}}{spent}).",
            absent=absent,
            others=parameters.k - 1,
            factor=_factor(self.epsilon),
            delta=_chance(budgets.delta),
            epsilon=str(Symbolic.read(self.epsilon)),
            search=str(budgets.search),
        )
        sentences = [promise]
        if rows is not None:
            row_count = plural(rows, "row")
            sentences.append(
                Phrase("At most {rows} of each person took part, drawn at random.", rows=row_count)
            )
        if self.acquisition_sampling is not None:
            sampling = str(Symbolic.read(self.acquisition_sampling))
            sentences.append(
                Phrase(
                    "This rests on what was declared of the table: everybody came into it with a probability of {sampling}, "
                    "by a draw of their own, nobody knows who did, and nothing else is published from it.",
                    sampling=sampling,
                )
            )
        if not self.is_proven:
            sentences.append(
                Phrase(
                    "NOT PROVEN: how coarse the data are was chosen by the search as published, which reads the sample "
                    "and compares exact scores. The promise does not cover what this choice tells."
                )
            )
        return joined(sentences)

    # --- as a privacy model ---------------------------------------------------------------------------

    def minimal_class_size(self, sample: Sample) -> int:
        """Return k."""
        return self.parameters().k

    def verify(self, published: Published) -> Finding:
        """Check the sizes of classes and of the blank rows.

        Differential privacy itself is a property of the mechanism, not of the table.
        """
        k = self.parameters().k
        sizes = [
            int(size) for size in (published.sizes.min(initial=published.records),) if published.sizes.size
        ]
        sizes += [published.suppressed_records] if published.suppressed_records else []
        smallest = min(sizes, default=published.records)
        measured = f"k = {smallest}" if sizes else "no records"
        promise = Phrase("every record looks like at least {others} others (SafePub)", others=k - 1)
        if self.acquisition_sampling is not None:
            promise = Phrase(
                "{promise}, in a random sample with a rate of {rate}, as declared",
                promise=promise,
                rate=str(self.acquisition_sampling),
            )
        return Finding(promise, smallest >= k or not sizes, measured)


def draw_sample(records: int, beta: Fraction, randomness: Randomness) -> NDArray[np.int64]:
    """Draw each of some records with probability `beta`, exactly; return their numbers in random order.

    64 random bits are compared with the first 64 binary digits of beta. Where they are equal, which is rare,
    the next 64 decide.

    >>> draw_sample(5, Fraction(1, 3), Randomness.for_testing(1)).tolist()
    [2, 4]
    """
    drawn_mask = np.full(records, beta == 1)
    undecided = np.arange(0 if beta == 1 else records)
    while undecided.size:
        digits, beta = divmod(beta * 2**64, 1)
        bits = randomness.bits(undecided.size)
        drawn_mask[undecided] = bits < np.uint64(digits)
        undecided = undecided[bits == np.uint64(digits)] if beta else undecided[:0]
    numbers = np.flatnonzero(drawn_mask)
    return numbers[randomness.permutation(numbers.size)]


def _chance(delta: Fraction) -> str:
    """Return the text of a small probability, without an exponent as long as it is readable.

    >>> _chance(Fraction(1, 10**6)), _chance(Fraction(1, 10**12))
    ('0.000001', '1e-12')
    """
    value = float(f"{float(delta):.1g}")
    return f"{value:.8f}".rstrip("0") if value >= 1e-8 else f"{value:g}"


def _factor(epsilon: int | float | str) -> str:
    return f"{math.ceil(math.exp(float(Symbolic.read(epsilon))) * 100) / 100:g}"
