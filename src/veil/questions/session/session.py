"""Questions to a table under a budget: each is charged before the table is read, and answered with noise."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Generic, TypedDict, TypeVar, Unpack

from veil.api.open import Engine, open_cells
from veil.base.randomness import Randomness
from veil.dp.accountant import Accountant
from veil.dp.declared import Declared, Outside
from veil.dp.draws import checked_randomness
from veil.dp.neighbours import Neighbours, convert_loss
from veil.dp.priors import Prior
from veil.dp.privacy_loss import PrivacyLoss
from veil.dp.source import MemorySource, QuestionSource, TruncatedOwners, as_source, check_names
from veil.dp.symbolic import Readable
from veil.dp.unit import Unit
from veil.errors import BudgetError, ParameterError, PlanError
from veil.plan.plan import ASK
from veil.questions.mechanisms.answers import Answer, CostEstimate
from veil.questions.mechanisms.counting import count, histogram
from veil.questions.mechanisms.individual import record
from veil.questions.mechanisms.quantiles import quantiles
from veil.questions.mechanisms.question import Noise, Question
from veil.questions.mechanisms.totals import mean_of, sum_of
from veil.questions.session.constant_time import STEP, pad_time
from veil.questions.session.joint_query import Joint
from veil.tables import Format

Result = TypeVar("Result", Answer, CostEstimate)


class LossFields(TypedDict, total=False):
    """The privacy loss of a question: `epsilon`, and a `delta` for some noises; or `rho`."""

    epsilon: Readable | None
    delta: Readable
    rho: Readable | None


class Asking(ABC, Generic[Result]):
    """The possible questions; a session answers them, its preview estimates their costs."""

    def __init__(self, declared: Declared) -> None:
        self._declared = declared

    @abstractmethod
    def _handle(self, question: Question) -> Result: ...

    def count(
        self, where: str | None = None, *, noise: Noise = "geometric", **loss: Unpack[LossFields]
    ) -> Result:
        """Ask for the number of records, or of those that fulfil a condition such as "age >= 65"."""
        return self._handle(count(self._declared, where, PrivacyLoss.read(**loss), noise))

    def histogram(
        self,
        by: str | Sequence[str],
        *,
        where: str | None = None,
        noise: Noise = "geometric",
        **loss: Unpack[LossFields],
    ) -> Result:
        """Ask how often each key of a column occurs, or each combination of keys of several columns."""
        return self._handle(histogram(self._declared, by, where, PrivacyLoss.read(**loss), noise))

    def sum(
        self, column: str, *, where: str | None = None, noise: Noise = "laplace", **loss: Unpack[LossFields]
    ) -> Result:
        """Ask for the sum of a column."""
        return self._handle(sum_of(self._declared, column, where, PrivacyLoss.read(**loss), noise))

    def mean(
        self, column: str, *, where: str | None = None, noise: Noise = "laplace", **loss: Unpack[LossFields]
    ) -> Result:
        """Ask for the mean of a column."""
        return self._handle(mean_of(self._declared, column, where, PrivacyLoss.read(**loss), noise))

    def quantiles(
        self,
        column: str,
        shares: Sequence[Any],
        *,
        where: str | None = None,
        epsilon: Readable | None = None,
        candidates: int | None = None,
    ) -> Result:
        """Ask for the values that given shares of the records do not exceed, such as 0.5 for the median."""
        return self._handle(
            quantiles(self._declared, column, shares, where, PrivacyLoss.read(epsilon), candidates)
        )

    def record(
        self,
        who: Any,
        column: str,
        *,
        epsilon: Readable | None = None,
        delta: Readable = 0,
        noise: Prior | None = None,
    ) -> Result:
        """Ask for one person's value in a column, given a prior; by default uniform over keys or bounds.

        `who` is that person's value in the column of people, and `rows_per_person` has to be 1.
        """
        loss = PrivacyLoss.read(epsilon, delta=delta)
        return self._handle(record(self._declared, who, column, loss, noise))


class Session(Asking[Answer]):
    """Questions to a table under a budget.

    Parameters
    ----------
    source
        A pandas, polars or pyarrow frame, a file, or a table in an engine, as for `veil.anonymize`.
    accountant
        The account that answers are charged to.
    format, engine
        How it is read, as for `veil.anonymize`.
    neighbours
        The hidden difference: "one more or less", or "one changed" if the number of people is public.
    person, rows_per_person
        The owners of rows: None if every row is a different person; or the column that identifies people, and
        the largest public number of rows of one person. Of more rows, so many are drawn, once a session, and
        every answer hides all rows of a person. Values that differ in blanks, case or Unicode form only are
        one person, except with "COLUMN=as written". A row without a value there is left out. None of this is
        reported, as a refusal because people repeat would reveal them. See `veil.dp.unit`.
    bounds, keys
        The range or the values of each column that is added up or counted, from public knowledge: a bound of
        "half more than the largest value" is data. Cells are read by their text alone (see
        `veil.tables.cells`): in a column with bounds, cells that are no numbers are missing.
    missing
        For each column of numbers, the number for missing values, or "leave out".
    outside
        Treatment of values outside of bounds: "clamp", or "leave out"; it is not reported. Values that are no
        key are not counted.
    constant_time
        Whether each answer takes a multiple of a quarter of a second, against timing side channels.
    randomness
        For tests: `Randomness.for_testing(seed)`.

    Once a question is refused for want of budget, so are all that follow.

    >>> import pyarrow as pa
    >>> patients = pa.table({"age": [34, 71, 68, 25], "sex": ["f", "m", "f", "f"]})
    >>> session = Session(patients, Accountant(1), neighbours="one more or less", person=None, constant_time=False)
    >>> print(session.preview.count(where="age >= 65", epsilon=0.1))
    count where age >= 65: geometric, epsilon = 0.1; with 95 % the answer is within ± 30
    >>> answer = session.count(where="age >= 65", epsilon=0.1)
    >>> type(answer.value), str(answer.loss), str(session.accountant.remaining)
    (<class 'int'>, 'epsilon = 0.1', 'epsilon = 0.9')
    """

    def __init__(
        self,
        source: Any,
        accountant: Accountant,
        *,
        format: Format | None = None,
        engine: Engine = "auto",
        neighbours: Neighbours,
        person: str | None = ASK,
        rows_per_person: int | None = None,
        bounds: Mapping[str, tuple[Any, Any]] | None = None,
        keys: Mapping[str, Sequence[Hashable]] | None = None,
        missing: Mapping[str, Any] | None = None,
        outside: Outside = "clamp",
        constant_time: bool = True,
        randomness: Randomness | None = None,
    ) -> None:
        unit = Unit.declared(person, rows_per_person)
        super().__init__(Declared(neighbours, unit, bounds or {}, keys or {}, missing or {}, outside))
        if not isinstance(accountant, Accountant):
            raise ParameterError(
                f"`accountant` should be an Accountant, such as Accountant(1), not {accountant!r}"
            )
        _check_relation(neighbours, accountant)
        self.accountant = accountant
        self._source: QuestionSource = as_source(open_cells(source, format, engine), neighbours, unit)
        if isinstance(self._source, MemorySource) and self._source.source is not None:
            accountant.check_data(self._source.source)
        person_column = [] if unit.person is None else [unit.person]
        check_names(self._source, [*(bounds or {}), *(keys or {}), *(missing or {}), *person_column])
        self._constant_time = constant_time
        self._randomness = checked_randomness(randomness)
        self._people = TruncatedOwners(self._source, unit, self._randomness)
        self.is_private = self._randomness.is_private
        self._refused = ""

    @property
    def preview(self) -> Asking[CostEstimate]:
        """The same questions without spending: mechanism, privacy loss and accuracy of each answer."""
        return _CostEstimates(self._declared, self.accountant)

    def jointly(self, sensitivity: Readable, epsilon: Readable) -> Joint:
        """Pay once for several counts, histograms and sums with a joint sensitivity to one person.

        Each gets Laplace noise of scale sensitivity / epsilon (protocol 1 of the thesis). L1 sensitivities of
        questions add up; one that exceeds the joint one is refused, and so are all that follow.
        """
        loss = PrivacyLoss.read(epsilon)

        def ask(question: Question) -> Answer:
            return self._answer(question, joint_loss=loss)

        joint = Joint(self._declared, sensitivity, loss, ask)
        self._pay(f"questions of joint sensitivity {sensitivity}", loss, self._declared.neighbours)
        return joint

    def _handle(self, question: Question) -> Answer:
        return self._answer(question)

    def _check(self, question: Question) -> None:
        """Refuse invalid questions by public facts alone: the names of columns, and declarations."""
        question.check()
        check_names(self._source, question.reads)

    def _answer(self, question: Question, joint_loss: PrivacyLoss | None = None) -> Answer:
        with pad_time(STEP if self._constant_time else 0):
            self._check(question)
            loss = joint_loss or self._pay(question.label, question.loss, question.promise)
            selected = self._people.select(question.reads)
            value, interval = question.respond(selected, question.choose(selected), self._randomness)
        return Answer(question.label, value, loss, question.mechanism, interval)

    def _pay(self, label: str, loss: PrivacyLoss, promise: Neighbours) -> PrivacyLoss:
        """Charge the account, before the table is read."""
        if self._refused:
            raise BudgetError(f"{self._refused!r} was refused, so this session refuses all further questions")
        try:
            entry = self.accountant.spend(label, loss.epsilon, loss.delta, rho=loss.rho, neighbours=promise)
        except BudgetError:
            self._refused = label
            raise
        return PrivacyLoss(entry.epsilon, entry.delta, entry.rho)


class _CostEstimates(Asking[CostEstimate]):
    """Estimates of the costs of questions."""

    def __init__(self, declared: Declared, accountant: Accountant) -> None:
        super().__init__(declared)
        self._accountant = accountant

    def _handle(self, question: Question) -> CostEstimate:
        loss = question.loss
        cost = convert_loss(
            loss.epsilon,
            loss.delta,
            loss.rho,
            promise=question.promise,
            budget=self._accountant.neighbours,
        )
        return CostEstimate(question.label, question.mechanism, PrivacyLoss(*cost), question.accuracy)


def _check_relation(neighbours: Neighbours, accountant: Accountant) -> None:
    if neighbours == "one changed" and accountant.neighbours != neighbours:
        raise PlanError(
            'the budget is for neighbours="one more or less", which answers for "one changed" do not satisfy. Ask with '
            'neighbours="one more or less", or start a budget with Accountant(…, neighbours="one changed")'
        )
