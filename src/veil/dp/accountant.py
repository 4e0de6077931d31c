"""The privacy accountant: what was spent of a budget, and that it is not exceeded.

Every release about the same people tells a little more about them. Budgets add up (sequential composition),
except for releases about disjoint parts of the data, of which only the most expensive one counts (parallel
composition; McSherry 2009): one record lies in one part. All sums and comparisons are exact.

A budget that is kept in a file is spent before it is used: `spend` returns once the entry is on the disk. If
the program stops after that, the budget is gone, whether a result was seen or not. Processes take turns, so
that two of them cannot spend the same part. One in memory belongs to the process that made it: what fork, pickle or
copy would make of it is another account with the same money in it, and is refused.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from veil.dp.symbolic import Readable, Symbolic
from veil.errors import BudgetError, InputError, OutputError, ParameterError, PlanError
from veil.tables import Source, atomic, read
from veil.tables.source import file_digest

_FORMAT = "veil-budget-1"
_PATIENCE = 30.0
"""Seconds to wait for another process; each holds the file for milliseconds."""


class Amount(NamedTuple):
    """A budget, or a part of one."""

    epsilon: Symbolic
    delta: Fraction

    def __str__(self) -> str:
        return f"epsilon = {self.epsilon}" + (f", delta = {Symbolic(self.delta)}" if self.delta else "")


@dataclass(frozen=True)
class Entry:
    """What was spent: on what, how much and when; and if it was about a part of the data only, on which.

    What is paid for `alone` has a promise that does not add up with others, and closes the account.
    """

    label: str
    epsilon: Symbolic
    delta: Fraction
    time: datetime
    partition: str | None = None
    part: str | None = None
    alone: bool = False


class Accountant:
    """Keeps account of a privacy budget and refuses to exceed it.

    Parameters
    ----------
    epsilon, delta
        The budget: numbers, or texts such as "ln(3)".

    Of this kind it lives as long as the object; `create` and `open` keep it in a file.

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

    def __init__(self, epsilon: Readable, delta: Readable = 0) -> None:
        self._budget = _amount(epsilon, delta)
        if self._budget.epsilon.sign() == 0:
            raise ParameterError("`epsilon` should be greater than 0, not 0")
        self._entries: tuple[Entry, ...] = ()
        self._threads = threading.Lock()
        self._file: Path | None = None
        self._fingerprint = ""
        self._process = os.getpid()

    @classmethod
    def create(
        cls, file: str | os.PathLike[str], epsilon: Readable, delta: Readable = 0, *, fingerprint: str
    ) -> Accountant:
        """Start a budget in a file that does not exist yet.

        `fingerprint` says which data set the budget is for, as the function of that name tells it.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     data = Path(folder, "patients.csv")
        ...     _ = data.write_text("age")
        ...     digest = fingerprint(data)
        ...     _ = Accountant.create(beside(data), 1, fingerprint=digest).spend("release", 0.75)
        ...     print(Accountant.open(beside(data), fingerprint=digest).remaining)
        epsilon = 0.25
        """
        made = cls(epsilon, delta)
        made._file = Path(os.path.realpath(file))
        made._fingerprint = _check_fingerprint(fingerprint)
        with _turn(made._file):
            if made._file.exists():
                raise OutputError(
                    f"{file}: there is a budget already, and a new one would forget what was spent. Use "
                    "Accountant.open"
                )
            made._write(())
        return made

    @classmethod
    def open(cls, file: str | os.PathLike[str], *, fingerprint: str) -> Accountant:
        """Go on with the budget in a file. It must be that of the same data set."""
        path = Path(os.path.realpath(file))
        budget, found, _ = _read(path)
        if found != _check_fingerprint(fingerprint):
            raise PlanError(
                f"{file}: this budget is for another data set (SHA-256 {found[:12]}…, not {fingerprint[:12]}…). "
                "If the data were changed, the people in them are still the same: think before you start a new one"
            )
        made = cls(budget.epsilon, budget.delta)
        made._file, made._fingerprint = path, found
        return made

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Let copies and other processes go on with the account in its file; one in memory has no copies."""
        if self._file is None:
            raise ParameterError(
                "a budget in memory cannot be copied or handed to another process: each copy would grant it again. "
                "Keep it in a file: Accountant.create"
            )
        return _reopen, (str(self._file), self._fingerprint)

    def check_data(self, source: Source) -> None:
        """Refuse a table that the account was not started for, where it says for which."""
        if not self._fingerprint or (found := source.fingerprint()) == self._fingerprint:
            return
        about = "without a fingerprint" if found is None else f"with the SHA-256 {found[:12]}…"
        raise PlanError(
            f"the budget is for the data set with the SHA-256 {self._fingerprint[:12]}…, and this table is one {about}: "
            "what is spent here would be missing there. Give the very file or frame that it was started for, or the "
            "account of this one (veil.dp.fingerprint tells which that is)"
        )

    @property
    def budget(self) -> Amount:
        """The whole budget."""
        return self._budget

    @property
    def ledger(self) -> tuple[Entry, ...]:
        """What was spent, in order."""
        if self._file is None:
            return self._entries
        return self._reread()

    @property
    def spent(self) -> Amount:
        """What was spent in total."""
        return _total(self.ledger)

    @property
    def remaining(self) -> Amount:
        """What is left for a release about all of the data."""
        return _minus(self._budget, self.spent)

    def remaining_for(self, partition: str, part: str) -> Amount:
        """Return what is left for a release about a part: its share of what other parts have cost is free."""
        return self._remaining(self.ledger, partition, part)

    def spend(
        self,
        label: str,
        epsilon: Readable,
        delta: Readable = 0,
        *,
        partition: str | None = None,
        part: str | None = None,
        alone: bool = False,
    ) -> Entry:
        """Spend a part of the budget, before it is used; refuse if there is not enough left.

        Parameters
        ----------
        label
            On what it is spent, for the ledger.
        partition, part
            For a mechanism that sees a part of the data only: the name of the division into disjoint parts,
            which must not depend on the data, and of the part.
        alone
            For a promise that does not add up with others: it must be the first entry, and is the last.
        """
        price = _amount(epsilon, delta)
        if price.epsilon.sign() == 0 and price.delta == 0:
            raise ParameterError("`epsilon` and `delta` are both 0: there is nothing to spend")
        if (partition is None) != (part is None):
            raise ParameterError(
                f"`partition` and `part` go together, not partition = {partition!r} and part = {part!r}"
            )
        entry = Entry(label, *price, datetime.now(UTC).replace(microsecond=0), partition, part, alone)
        if self._file is None:
            if os.getpid() != self._process:
                raise BudgetError(
                    f"{label!r} would be paid from a copy: this budget is in the memory of the process that made it, and a "
                    "fork has another one, with the same amount in it. Keep it in a file: Accountant.create"
                )
            with self._threads:
                self._entries = self._extend(self._entries, entry)
            return entry
        with _turn(self._file):
            self._write(self._extend(self._reread(), entry))
        return entry

    def _extend(self, entries: tuple[Entry, ...], entry: Entry) -> tuple[Entry, ...]:
        if entries and (entry.alone or entries[-1].alone):
            raise BudgetError(
                f"{entry.label!r} cannot be paid beside {entries[-1].label!r}: a release that counts on how the table was "
                "sampled must be the only one made from it. Nothing was spent: leave `acquisition_sampling` out from the "
                "first release on, or stop here"
            )
        left = self._remaining(entries, entry.partition, entry.part)
        if entry.epsilon > left.epsilon or entry.delta > left.delta:
            raise BudgetError(
                f"{entry.label!r} would cost {Amount(entry.epsilon, entry.delta)} and {left} is left of "
                f"{self._budget}. Nothing was spent: spend less, or stop here"
            )
        return (*entries, entry)

    def _remaining(self, entries: Sequence[Entry], partition: str | None, part: str | None) -> Amount:
        """Return what is left of the budget and, for a part, what other parts have spent beyond its own."""
        left = _minus(self._budget, _total(entries))
        if partition is None:
            return left
        among = _total([each for each in entries if each.partition == partition])
        own = _total([each for each in entries if (each.partition, each.part) == (partition, part)])
        free = _minus(among, own)
        return Amount(left.epsilon + free.epsilon, left.delta + free.delta)

    def _reread(self) -> tuple[Entry, ...]:
        assert self._file is not None
        budget, fingerprint, entries = _read(self._file)
        if budget != self._budget or fingerprint != self._fingerprint:
            raise InputError(f"{self._file}: was replaced by another budget in the meantime. Open it again")
        return entries

    def _write(self, entries: Sequence[Entry]) -> None:
        assert self._file is not None
        content = {
            "format": _FORMAT,
            "fingerprint": self._fingerprint,
            **_to_texts(self._budget),
            "spent": [
                {
                    "label": entry.label,
                    **_to_texts(Amount(entry.epsilon, entry.delta)),
                    "time": entry.time.isoformat(),
                    "partition": entry.partition,
                    "part": entry.part,
                    "alone": entry.alone,
                }
                for entry in entries
            ],
        }
        content["digest"] = _digest(content)
        with atomic(self._file) as temporary:
            temporary.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def beside(data: str | os.PathLike[str]) -> Path:
    """Return where the budget of a data file is kept: next to it.

    >>> beside("patients.csv").name
    'patients.csv.budget.json'
    """
    return Path(f"{os.fspath(data)}.budget.json")


def fingerprint(data: Any) -> str:
    """Return which data set a budget is for: the SHA-256 of a file, or that of the cells of a frame, in hexadecimal.

    >>> import pyarrow as pa
    >>> fingerprint(pa.table({"age": [31, 47]}))[:12]
    'c76b5f421907'
    """
    if isinstance(data, str | os.PathLike):
        return file_digest(Path(data))
    found = read(data).fingerprint()
    assert found is not None
    return found


def _reopen(file: str, fingerprint: str) -> Accountant:
    return Accountant.open(file, fingerprint=fingerprint)


# --- composition ------------------------------------------------------------------------------------


def _total(entries: Sequence[Entry]) -> Amount:
    """Add up what concerns all records, and for each partition what its most expensive part costs.

    Epsilon and delta may be largest in different parts: the record that two neighbouring tables differ by
    lies in one of the parts, and the cost of that one is at most both maxima.
    """
    parts: dict[str | None, dict[str | None, Amount]] = {}
    for entry in entries:
        sums = parts.setdefault(entry.partition, {})
        before = sums.get(entry.part, _NOTHING)
        sums[entry.part] = Amount(before.epsilon + entry.epsilon, before.delta + entry.delta)
    epsilon, delta = _NOTHING
    for sums in parts.values():
        epsilon += max(each.epsilon for each in sums.values())
        delta += max(each.delta for each in sums.values())
    return Amount(epsilon, delta)


_NOTHING = Amount(Symbolic(Fraction(0)), Fraction(0))


def _minus(one: Amount, other: Amount) -> Amount:
    return Amount(one.epsilon - other.epsilon, one.delta - other.delta)


def _amount(epsilon: Readable, delta: Readable) -> Amount:
    budget, chance = Symbolic.read(epsilon, "epsilon"), Symbolic.read(delta, "delta")
    if budget.sign() < 0:
        raise ParameterError(f"`epsilon` should not be below 0, but is {budget}")
    if chance.logarithms or not 0 <= chance.rational < 1:
        raise ParameterError(f"`delta` should be a number from 0 to below 1, not {chance}")
    return Amount(budget, chance.rational)


# --- the file ---------------------------------------------------------------------------------------


def _to_texts(amount: Amount) -> dict[str, str]:
    """Return texts that say exactly the same when they are read again."""
    texts = {"epsilon": str(amount.epsilon), "delta": str(Symbolic(amount.delta))}
    for name, text in texts.items():
        Symbolic.read(text, name)
    return texts


def _read(path: Path) -> tuple[Amount, str, tuple[Entry, ...]]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(
            f"{path}: there is no budget. If it was lost, restore it from a backup: a new one forgets what was "
            "spent. Accountant.create starts one"
        ) from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except ValueError:
        raise _damage_error(path, "it is not JSON") from None
    try:
        if content["format"] != _FORMAT:
            raise _damage_error(path, f"its format is {content['format']!r}, not {_FORMAT!r}")
        if content.pop("digest") != _digest(content):
            raise _damage_error(path, "its content does not match its digest")
        budget = _amount(content["epsilon"], content["delta"])
        return budget, content["fingerprint"], tuple(_entry(each) for each in content["spent"])
    except (KeyError, TypeError, ValueError, ParameterError, AttributeError) as error:
        raise _damage_error(path, f"{type(error).__name__}: {error}") from None


def _entry(content: dict[str, Any]) -> Entry:
    price = _amount(content["epsilon"], content["delta"])
    moment = datetime.fromisoformat(content["time"])
    return Entry(
        content["label"], *price, moment, content["partition"], content["part"], bool(content["alone"])
    )


def _damage_error(path: Path, reason: str) -> InputError:
    return InputError(
        f"{path}: is damaged ({reason}). Restore it from a backup; to start again would forget what was spent"
    )


def _digest(content: dict[str, Any]) -> str:
    """Return a check against accidents. Whoever can write the file can forge it."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _check_fingerprint(fingerprint: str) -> str:
    if not re.fullmatch("[0-9a-fA-F]{64}", fingerprint):
        raise ParameterError(f"`fingerprint` should be a SHA-256 in hexadecimal, not {fingerprint!r}")
    return fingerprint.lower()


@contextlib.contextmanager
def _turn(file: Path) -> Iterator[None]:
    """Wait until no other process or thread is at work on the file.

    The lock is on a file of its own, as the budget is replaced as a whole. The system gives it up when a
    process ends, in whatever way; the lock file stays, since taking it away could hand the same turn to two.
    """
    path = file.with_name(f".{file.name}.lock")
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise OutputError(
            f"{file}: cannot be locked: {path.name}: {error.strerror}. Nothing was spent"
        ) from None
    try:
        deadline = time.monotonic() + _PATIENCE
        while not _try_lock(descriptor):
            if time.monotonic() > deadline:
                raise OutputError(
                    f"{file}: another process does not let go of it. Nothing was spent: try again"
                )
            time.sleep(0.005)
        yield
    finally:
        os.close(descriptor)


def _try_lock(descriptor: int) -> bool:
    try:
        if os.name == "nt":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined, unused-ignore]
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
