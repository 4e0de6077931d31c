"""The privacy accountant: every release costs a part of a budget, which is never exceeded.

Losses are composed by `veil.dp.composition`; sums and comparisons are exact, or on the safe side. A ledger is
for one relation of neighbours (`veil.dp.neighbours`).

A budget in a file is spent before it is used: `spend` returns once the entry is on the disk. If the program
stops after that, the budget is gone, whether or not a result was seen. A lock keeps two
processes from spending the same part. A budget in memory belongs to the process that created it: fork, pickle or
copy would grant it again, and are refused.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import threading
from collections.abc import Sequence
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

from veil.base.locks import wait_for_lock
from veil.base.paths import usable
from veil.base.untrusted import check_json
from veil.dp.composition import Amount, Composition, Entry, amount
from veil.dp.neighbours import Neighbours, check_neighbours, convert_loss
from veil.dp.symbolic import Readable, Symbolic
from veil.errors import BudgetError, InputError, OutputError, ParameterError, PlanError
from veil.tables import Source, atomic
from veil.tables.source import file_digest, read_cells

_FORMAT = "veil-budget-1"
LOST = "Nothing was spent"
"""Consequence of a failed lock, for the message."""


class Accountant:
    """Account of a privacy budget, which refuses to exceed it.

    Parameters
    ----------
    epsilon, delta
        The budget: numbers, or texts such as "ln(3)".
    neighbours
        What the budget hides: the presence of a person ("one more or less"), or the content of a person's
        record, where the number of records is public ("one changed").
    zcdp_delta
        A part of delta that is set aside for releases that are counted in zCDP (`rho`); by default none.

    The account lives as long as the object; `create` and `open` keep it in a file.

    >>> accountant = Accountant("ln(3)", 1e-5)
    >>> for quarter in range(2):
    ...     _ = accountant.spend(f"release {quarter}", "ln(3)/3", 2e-6)
    >>> print(accountant.remaining)
    epsilon = 1/3*ln(3), delta = 6e-06
    >>> accountant.spend("one more", 0.5)
    Traceback (most recent call last):
    ...
    veil.errors.BudgetError: 'one more' would cost epsilon = 0.5 and epsilon = 1/3*ln(3), delta = ...

    Releases about disjoint parts cost what the most expensive part costs:

    >>> regions = Accountant(1)
    >>> for region in ("north", "south"):
    ...     _ = regions.spend("counts", 0.4, partition="region", part=region)
    >>> print(regions.remaining)
    epsilon = 0.6
    """

    def __init__(
        self,
        epsilon: Readable,
        delta: Readable = 0,
        *,
        neighbours: Neighbours = "one more or less",
        zcdp_delta: Readable = 0,
    ) -> None:
        budget = amount(epsilon, delta)
        if budget.epsilon.sign() == 0:
            raise ParameterError("`epsilon` should be greater than 0, not 0")
        self._rules = Composition(budget, check_neighbours(neighbours), amount(1, zcdp_delta).delta)
        self._entries: tuple[Entry, ...] = ()
        self._threads = threading.Lock()
        self._file: Path | None = None
        self._fingerprint = ""
        self._process = os.getpid()

    @classmethod
    def create(
        cls,
        file: str | os.PathLike[str],
        epsilon: Readable,
        delta: Readable = 0,
        *,
        fingerprint: str,
        neighbours: Neighbours = "one more or less",
        zcdp_delta: Readable = 0,
    ) -> Accountant:
        """Start a budget in a file that does not exist yet.

        `fingerprint` identifies the data set of the budget, by the function of that name.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     data = Path(folder, "patients.csv")
        ...     _ = data.write_text("age")
        ...     digest = fingerprint(data)
        ...     _ = Accountant.create(beside(data), 1, fingerprint=digest).spend("release", 0.75)
        ...     print(Accountant.open(beside(data), fingerprint=digest).remaining)
        epsilon = 0.25
        """
        accountant = cls(epsilon, delta, neighbours=neighbours, zcdp_delta=zcdp_delta)
        accountant._file = Path(os.path.realpath(usable(file, OutputError)))
        accountant._fingerprint = _check_fingerprint(fingerprint)
        with wait_for_lock(accountant._file, LOST):
            if accountant._file.exists():
                raise OutputError(
                    f"{file}: a budget already exists, and a new one would forget what was spent. Use "
                    "Accountant.open"
                )
            accountant._write(())
        return accountant

    @classmethod
    def open(cls, file: str | os.PathLike[str], *, fingerprint: str) -> Accountant:
        """Open the budget in a file. It must be that of the same data set."""
        path = Path(os.path.realpath(usable(file)))
        rules, stored, _ = _read(path)
        if stored != _check_fingerprint(fingerprint):
            raise PlanError(
                f"{file}: this budget is for another data set (SHA-256 {stored[:12]}…, not "
                f"{fingerprint[:12]}…). "
                "If the data were changed, they are still about the same people: think before you start a "
                "new budget"
            )
        accountant = cls(*rules.budget, neighbours=rules.neighbours, zcdp_delta=rules.zcdp_delta)
        accountant._file, accountant._fingerprint = path, stored
        return accountant

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Let copies and other processes share the account in its file; one in memory has no copies."""
        if self._file is None:
            raise ParameterError(
                "a budget in memory cannot be copied or handed to another process: each copy would grant it again. "
                "Keep it in a file: Accountant.create"
            )
        return _reopen, (str(self._file), self._fingerprint)

    def check_data(self, source: Source) -> None:
        """Refuse a table other than that of the account, if its fingerprint is recorded."""
        if not self._fingerprint or (digest := source.fingerprint()) == self._fingerprint:
            return
        about = "without a fingerprint" if digest is None else f"with the SHA-256 {digest[:12]}…"
        raise PlanError(
            f"the budget is for the data set with the SHA-256 {self._fingerprint[:12]}…, and this table is "
            f"one {about}: "
            "what is spent here would be missing there. Use the file or frame that the budget was started "
            "for, or the budget of this table (veil.dp.fingerprint identifies it)"
        )

    @property
    def budget(self) -> Amount:
        """The whole budget."""
        return self._rules.budget

    @property
    def neighbours(self) -> Neighbours:
        """The relation of neighbours that it is for."""
        return self._rules.neighbours

    @property
    def ledger(self) -> tuple[Entry, ...]:
        """All entries, in order."""
        if self._file is None:
            return self._entries
        return self._reread()

    @property
    def spent(self) -> Amount:
        """The total cost, by the better of sums and zCDP."""
        return self._rules.spent(self.ledger)

    @property
    def remaining(self) -> Amount:
        """The remaining budget for a release about all of the data."""
        return self._rules.remaining(self.ledger)

    @property
    def remaining_rho(self) -> Fraction:
        """The remaining budget for a release that is counted in zCDP."""
        return self._rules.remaining_rho(self.ledger)

    def remaining_for(self, partition: str, part: str) -> Amount:
        """Return the remaining budget for a release about a part, free up to the cost of other parts."""
        return self._rules.remaining(self.ledger, partition, part)

    def spend(
        self,
        label: str,
        epsilon: Readable = 0,
        delta: Readable = 0,
        *,
        rho: Readable = 0,
        neighbours: Neighbours | None = None,
        partition: str | None = None,
        part: str | None = None,
        alone: bool = False,
    ) -> Entry:
        """Spend a part of the budget, before it is used; refuse if there is not enough left.

        Parameters
        ----------
        label
            The name of the release in the ledger.
        rho
            In place of epsilon and delta: the privacy loss of a release that is counted in zCDP.
        neighbours
            The relation of the loss, if not that of this budget. "one more or less" costs more in a budget
            for "one changed": twice epsilon, (1 + e^epsilon) delta, four times rho. The reverse is refused.
        partition, part
            For a mechanism that sees a part of the data only: the name of the division into disjoint parts,
            which must not depend on the data, and of the part.
        alone
            For a promise that does not compose with others: it must be the only entry.
        """
        loss, concentrated = amount(epsilon, delta), _rho(rho)
        if loss.epsilon.sign() == 0 and loss.delta == 0 and concentrated == 0:
            raise ParameterError("`epsilon` and `delta` are both 0: there is nothing to spend")
        if concentrated and loss != amount(0, 0):
            raise ParameterError("give a privacy loss either as `epsilon` and `delta` or as `rho`, not both")
        if concentrated and not self._rules.zcdp_delta:
            raise ParameterError(
                "`rho` needs a budget that was started with `zcdp_delta`. Spend `epsilon` and `delta` here"
            )
        relation = self.neighbours if neighbours is None else check_neighbours(neighbours)
        dearer = convert_loss(*loss, concentrated, promise=relation, budget=self.neighbours)
        loss, concentrated = amount(*dearer[:2]), dearer[2]
        if (partition is None) != (part is None):
            raise ParameterError(
                f"`partition` and `part` go together, not partition = {partition!r} and part = {part!r}"
            )
        moment = datetime.now(UTC).replace(microsecond=0)
        entry = Entry(label, *loss, moment, partition, part, concentrated, alone)
        if self._file is None:
            if os.getpid() != self._process:
                raise BudgetError(
                    f"{label!r} would be charged to a copy: this budget is in the memory of the process "
                    "that created it, and a forked process has its own copy with the same amount. Keep it "
                    "in a file: Accountant.create"
                )
            with self._threads:
                self._entries = self._extend(self._entries, entry)
            return entry
        with wait_for_lock(self._file, LOST):
            self._write(self._extend(self._reread(), entry))
        return entry

    def _extend(self, entries: tuple[Entry, ...], entry: Entry) -> tuple[Entry, ...]:
        if entries and (entry.alone or entries[-1].alone):
            raise BudgetError(
                f"{entry.label!r} cannot be combined with {entries[-1].label!r}: a release that relies on "
                "how the table was sampled must be the only one made from it. Nothing was spent: do not "
                "use `acquisition_sampling` in any release from this table, or stop here"
            )
        if not self._rules.allows((*entries, entry)):
            left: object = self._rules.remaining(entries, entry.partition, entry.part)
            if entry.rho:
                left = f"rho = {float(self._rules.remaining_rho(entries)):.6g}"
            raise BudgetError(
                f"{entry.label!r} would cost {entry.loss} and {left} is left of {self.budget}. Nothing was spent: "
                "spend less, or stop here"
            )
        return (*entries, entry)

    def _reread(self) -> tuple[Entry, ...]:
        assert self._file is not None
        rules, fingerprint, entries = _read(self._file)
        if rules != self._rules or fingerprint != self._fingerprint:
            raise InputError(f"{self._file}: has been replaced by another budget. Open it again")
        return entries

    def _write(self, entries: Sequence[Entry]) -> None:
        assert self._file is not None
        content = {
            "format": _FORMAT,
            "fingerprint": self._fingerprint,
            **_to_texts(self.budget),
            "neighbours": self.neighbours,
            "zcdp_delta": str(Symbolic(self._rules.zcdp_delta)),
            "spent": [
                {
                    "label": entry.label,
                    **_to_texts(Amount(entry.epsilon, entry.delta)),
                    "time": entry.time.isoformat(),
                    "partition": entry.partition,
                    "part": entry.part,
                    "rho": _text_of_rho(entry.rho),
                    "alone": entry.alone,
                }
                for entry in entries
            ],
        }
        content["digest"] = _digest(content)
        with atomic(self._file) as temporary:
            temporary.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def beside(data: str | os.PathLike[str]) -> Path:
    """Return the path of the budget of a data file, next to it.

    >>> beside("patients.csv").name
    'patients.csv.budget.json'
    """
    return Path(f"{os.fspath(data)}.budget.json")


def fingerprint(data: Any) -> str:
    """Return the identity of a data set: the SHA-256 of a file, or of the cells of a frame, in hexadecimal.

    >>> import pyarrow as pa
    >>> fingerprint(pa.table({"age": [31, 47]}))[:12]
    'c76b5f421907'
    """
    if isinstance(data, str | os.PathLike):
        return file_digest(Path(data))
    digest = read_cells(data).fingerprint()
    assert digest is not None
    return digest


def _reopen(file: str, fingerprint: str) -> Accountant:
    return Accountant.open(file, fingerprint=fingerprint)


# --- the file ---------------------------------------------------------------------------------------


def _to_texts(amount: Amount) -> dict[str, str]:
    """Return texts of an amount that are read back exactly."""
    texts = {"epsilon": str(amount.epsilon), "delta": str(Symbolic(amount.delta))}
    for name, text in texts.items():
        Symbolic.read(text, name)
    return texts


def _read(path: Path) -> tuple[Composition, str, tuple[Entry, ...]]:
    """Read a file. Files without neighbours, of an earlier version, are for one more or less."""
    try:
        text = path.read_text(encoding="utf-8")
        check_json(text, str(path))
        content = json.loads(text)
    except FileNotFoundError:
        raise InputError(
            f"{path}: there is no budget. If it was lost, restore it from a backup: a new one forgets what was "
            "spent. Accountant.create starts one"
        ) from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except InputError as error:
        raise _damage_error(path, str(error).removeprefix(f"{path}: ")) from None
    except ValueError:
        raise _damage_error(path, "it is not JSON") from None
    try:
        if content["format"] != _FORMAT:
            raise _damage_error(path, f"its format is {content['format']!r}, not {_FORMAT!r}")
        if content.pop("digest") != _digest(content):
            raise _damage_error(path, "its content does not match its digest")
        budget = amount(content["epsilon"], content["delta"])
        neighbours = check_neighbours(content.get("neighbours", "one more or less"))
        rules = Composition(budget, neighbours, amount(1, content.get("zcdp_delta", 0)).delta)
        spent = tuple(_entry(each) for each in _typed(content["spent"], list))
        if not rules.zcdp_delta and any(each.rho for each in spent):
            raise ValueError("a release is counted in zCDP, and no part of delta is set aside for any")
        return rules, _check_fingerprint(_typed(content["fingerprint"], str)), spent
    except (ArithmeticError, KeyError, TypeError, ValueError, ParameterError, AttributeError) as error:
        raise _damage_error(path, f"{type(error).__name__}: {error}") from None


def _entry(content: dict[str, Any]) -> Entry:
    loss = amount(content["epsilon"], content["delta"])
    moment = datetime.fromisoformat(content["time"])
    partition, part = (_typed(content[name], str, type(None)) for name in ("partition", "part"))
    if (partition is None) != (part is None):
        raise TypeError("a part without its partition, or the other way round")
    alone = _typed(content.get("alone", False), bool)
    label = _typed(content["label"], str)
    return Entry(label, *loss, moment, partition, part, _rho(content.get("rho", 0)), alone)


def _typed(value: Any, *types: type) -> Any:
    """Return a value of exactly one of the types, subclasses excluded."""
    if type(value) not in types:
        raise TypeError(f"{type(value).__name__} instead of {types[0].__name__}")
    return value


def _rho(value: Readable) -> Fraction:
    number = Symbolic.read(value, "rho")
    if number.logarithms or number.rational < 0:
        raise ParameterError(f"`rho` should be a rational number of at least 0, not {number}")
    return number.rational


def _text_of_rho(rho: Fraction) -> str:
    """Return a text of rho that is read back exactly."""
    text = str(Symbolic(rho))
    _rho(text)
    return text


def _damage_error(path: Path, reason: str) -> InputError:
    return InputError(
        f"{path}: is damaged ({reason}). Restore it from a backup; a new budget would forget what was spent"
    )


def _digest(content: dict[str, Any]) -> str:
    """Return a checksum against accidental damage, not against forgery."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _check_fingerprint(fingerprint: str) -> str:
    if not re.fullmatch("[0-9a-fA-F]{64}", fingerprint):
        raise ParameterError(f"`fingerprint` should be a SHA-256 in hexadecimal, not {fingerprint!r}")
    return fingerprint.lower()
