"""The oracle of what was delivered: rows of plain values, the plan and the input, in loops over dictionaries.

It asks of every cell whether it may stand there, puts rows that look alike into classes as a recipient would, and lets
the oracle of the models judge these. `Wrong` says what a promise and a delivered table disagree about.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any

from support import oracle
from support.delivered.forms import Rows, is_missing, text_of
from support.oracle import Value
from support.oracle.suppression import SampleModel, sizes_of

GONE = "(not released)"
"""A label that nobody has: of records that models compare with, and that are not shown."""

STAR = "(a star)"
"""A star that is a value like others."""

_SCIENTIFIC = re.compile(r"-?\d(\.\d+)?e[+-]?\d+")


class Wrong(AssertionError):
    """What was delivered is not what was promised."""


@dataclass
class Asked:
    """What was asked, in plain words.

    `labels` lists for each quasi-identifier and each value of it, by its text, its label on every level. `members` are the
    rows that may be released at all. `levels` are the lowest and the highest level of a column; all of them by default.
    """

    rows: Rows
    labels: dict[str, dict[Value, Sequence[Value]]]
    models: Sequence[oracle.AnyModel]
    sensitive: Sequence[str]
    kept: Sequence[str]
    masked: Sequence[str]
    removed: Sequence[str]
    aggregated: dict[str, str] = field(default_factory=dict)
    suppressed_rows: str = "blank"
    marker: str | None = "*"
    limit: float = 0.0
    members: frozenset[int] = frozenset()
    levels: dict[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def known(self) -> list[str]:
        """Columns that an attacker may know."""
        return [*self.labels, *self.aggregated]


@dataclass
class Given:
    """What was delivered: its rows, the input row of each, and what else a recipient can see.

    `spelled` tells that cells are texts, as those of a CSV file are. `texts` are the columns that hold text.
    """

    rows: Rows
    origin: Sequence[int]
    texts: frozenset[str]
    levels: dict[str, int] | None
    flag: str | None
    spelled: bool = False
    loose: bool = False
    hidden: frozenset[int] = frozenset()


def judge(asked: Asked, given: Given) -> int:
    """Check every promise; return the number of suppressed rows."""
    _check_columns(asked, given)
    if len(set(given.origin)) != len(given.origin) or not set(given.origin) <= asked.members:
        raise Wrong("rows do not join back")
    shown, hidden = [], []
    for number, row in enumerate(given.rows):
        (hidden if _is_suppressed(asked, given, row, given.origin[number]) else shown).append(number)
    if asked.suppressed_rows == "drop" and hidden:
        raise Wrong("dropped rows are there")
    if asked.suppressed_rows != "drop" and set(given.origin) != asked.members:
        raise Wrong("rows are missing")
    gone = len(asked.members) - len(shown)
    if gone > math.floor(Fraction(str(asked.limit)) * len(asked.members)):
        raise Wrong(f"{gone} records are suppressed")
    for number in shown:
        _check_shown(asked, given, number)
    for number in hidden:
        _check_hidden(asked, given, number)
    check_forms(given)
    _check_models(asked, given, shown, hidden)
    return gone


def _check_columns(asked: Asked, given: Given) -> None:
    planned = [
        name for name in asked.rows[0] if name in {*asked.known, *asked.sensitive, *asked.kept, *asked.masked}
    ]
    planned += [given.flag] if given.flag is not None else []
    for row in given.rows:
        if list(row) != planned:
            raise Wrong(f"columns {list(row)} instead of {planned}")


def is_blank(asked: Asked, given: Given, name: str, value: Any) -> bool:
    """Whether a cell shows nothing: the marker in a text column, a missing value in any other."""
    if given.spelled or given.loose:  # of these files, nobody can tell what a column holds
        return is_missing(value) or value in (asked.marker, "")
    if name in given.texts and asked.marker is not None:
        return not is_missing(value) and bool(value == asked.marker)
    return is_missing(value)


def _is_suppressed(asked: Asked, given: Given, row: dict[str, Any], origin: int) -> bool:
    """By what everybody sees. Where cells are kept, nobody but the holder can tell: blank rows are a class like others."""
    if given.flag is not None:
        return str(row[given.flag]).lower() in ("true", "1")
    if asked.suppressed_rows == "keep cells":
        return origin in given.hidden
    return asked.suppressed_rows == "blank" and all(is_blank(asked, given, name, row[name]) for name in row)


def same_cell(given: Given, cell: Any, value: Any) -> bool:
    """Whether a cell shows a value, as far as its file can tell."""
    if given.spelled or given.loose:
        return _loosely(cell) == _loosely(value)
    if is_missing(cell) or is_missing(value):
        return is_missing(cell) and is_missing(value)
    # How many zeros a decimal ends in is a matter of its column, and `check_forms` sees that it is one.
    return bool(_counted(cell) == _counted(value)) and (
        isinstance(cell, Decimal) or text_of(cell) == text_of(value)
    )


def _loosely(value: Any) -> Any:
    """A value as files tell it that know few types: numbers are numbers, and a day begins at midnight."""
    text = text_of(value) or None
    try:
        return float(text)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return text if text is None else text.removesuffix("T00:00:00")


def _check_shown(asked: Asked, given: Given, number: int) -> None:
    row, before = given.rows[number], asked.rows[given.origin[number]]
    for name in (*asked.sensitive, *asked.kept):
        if not same_cell(given, row[name], before[name]):
            raise Wrong(f"{name} shows another value than the record has")
    for name in asked.masked:
        if not is_blank(asked, given, name, row[name]):
            raise Wrong(f"{name} is not masked")
    for name, labels in asked.labels.items():
        if name in asked.aggregated:
            continue
        allowed = labels[text_of(before[name])]
        if name in asked.levels:
            allowed = allowed[asked.levels[name][0] : asked.levels[name][1] + 1]
        if given.levels is not None:
            allowed = [allowed[given.levels[name] - asked.levels.get(name, (0, 0))[0]]]
        if not any(_same_label(given, row[name], label, before[name]) for label in allowed):
            raise Wrong(f"{name} shows a label that the record does not have")


def _same_label(given: Given, cell: Any, label: Value, before: Any) -> bool:
    if label == text_of(before):
        return same_cell(given, cell, before) or cell == label
    return (
        (text_of(cell) or None) == (label or None) if given.spelled or given.loose else text_of(cell) == label
    )


def _check_hidden(asked: Asked, given: Given, number: int) -> None:
    row, before = given.rows[number], asked.rows[given.origin[number]]
    for name in row:
        if name == given.flag:
            continue
        if name in asked.known or name in asked.masked or asked.suppressed_rows == "blank":
            if not is_blank(asked, given, name, row[name]):
                raise Wrong(f"a suppressed record shows {name}")
        elif not same_cell(given, row[name], before[name]):
            raise Wrong(f"{name} shows another value than the record has")


def check_forms(given: Given) -> None:
    """Cells that are equal look the same, and cells that look the same are equal."""
    if not given.rows:
        return
    for name in given.rows[0]:
        cells = [row[name] for row in given.rows]
        known = [cell for cell in cells if not is_missing(cell) and not isinstance(cell, list | dict)]
        if len({type(cell) for cell in known}) > 1 and not given.loose:
            raise Wrong(f"{name} shows values of several types")
        if not given.loose and len(set(map(_counted, known))) != len({str(cell) for cell in known}):
            raise Wrong(f"{name} shows one value in several forms")
        if len({str(cell) for cell in cells if is_missing(cell)}) > 1:
            raise Wrong(f"{name} shows nothing in several forms")


def _counted(cell: Any) -> Any:
    """A cell as the value that it is: of the hour in which clocks go back, Python takes two instants for one."""
    if isinstance(cell, dt.datetime) and cell.tzinfo is not None:
        return cell.astimezone(dt.UTC)
    return _as_python_spells(cell) if isinstance(cell, str) else cell


def _as_python_spells(text: str) -> str:
    """A number with an exponent, of which files write 1e-7 where Python writes 1e-07."""
    return repr(float(text)) if _SCIENTIFIC.fullmatch(text) else text


# --- models ---------------------------------------------------------------------------------------


def _check_models(asked: Asked, given: Given, shown: list[int], hidden: list[int]) -> None:
    labels = {number: _labels(asked, given, number) for number in range(len(given.rows))}
    others = [row for row in range(len(asked.rows)) if row not in asked.members]
    suppressed = gone = sorted(asked.members - {given.origin[number] for number in shown})
    if asked.suppressed_rows == "keep cells":
        gone = sorted(set(gone) - {given.origin[number] for number in hidden})
    visible = shown + (hidden if asked.suppressed_rows == "keep cells" else [])
    # First the rows that are shown, then those that models compare with: suppressed ones, and the population.
    rows = [labels[number] for number in visible]
    rows += [(GONE,) * len(asked.known)] * len(gone) + [_outside(asked, given, row) for row in others]
    origin = [*(given.origin[number] for number in visible), *gone, *others]
    problem = oracle.Problem(
        rows,
        [[[value] for value in dict.fromkeys(each)] for each in zip(*rows, strict=True)],
        {name: [_value(asked, asked.rows[row][name]) for row in origin] for name in asked.sensitive},
        None if not others else set(range(len(visible) + len(gone))),
    )
    classes: dict[tuple[Value, ...], list[int]] = defaultdict(list)
    for place, row in enumerate(rows):
        if GONE not in row:
            classes[row].append(place)
    levels = (0,) * len(asked.known)
    # Of people whose like are in the release, but suppressed, the models that speak of presence say nothing.
    unsaid = {_outside(asked, given, row) for row in suppressed} if others else set()
    judged = [cls for row, cls in classes.items() if cls[0] < len(visible) or row not in unsaid]
    for cls in judged:
        for model in asked.models:
            if not isinstance(model, SampleModel) and oracle.rejects(model, problem, levels, cls):
                raise Wrong(f"a class of {len(cls)} does not fulfil {model}")
    present = [cls for cls in classes.values() if oracle.members(problem, cls)]
    sizes = sizes_of(problem, present)
    for model in asked.models:
        if isinstance(model, SampleModel) and not oracle.fulfils(model, sizes):
            raise Wrong(f"classes of {sorted(sizes)} do not fulfil {model}")


def _value(asked: Asked, cell: Any) -> Value:
    """The text of a sensitive value. A star withholds one only where it is the marker."""
    text = text_of(cell)
    return STAR if text == "*" != asked.marker else text


def _labels(asked: Asked, given: Given, number: int) -> tuple[Value, ...]:
    row = given.rows[number]
    return tuple(text_of_cell(given, row[name]) for name in asked.known)


def text_of_cell(given: Given, value: Any) -> Value:
    """The text of a cell. A workbook knows neither decimals nor days, and few files tell nothing from an empty text."""
    if given.loose and isinstance(value, Decimal):
        value = float(value)
    text = text_of(value)
    if given.loose and isinstance(value, dt.datetime):
        text = value.isoformat().removesuffix("T00:00:00")
    if given.spelled and text is not None:
        text = _as_python_spells(text)
    return (text or None) if given.spelled or given.loose else text


def _outside(asked: Asked, given: Given, row: int) -> tuple[Value, ...]:
    """The generalized values of somebody who is not in the release."""
    assert given.levels is not None
    found = []
    for name, labels in asked.labels.items():
        value = asked.rows[row][name]
        level = given.levels[name]
        label = labels[text_of(value)][level]
        found.append(text_of_cell(given, value if level == 0 else label))
    return tuple(found)
