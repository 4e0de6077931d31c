"""Safe Harbor: the levels of ages, ZIP codes and dates that HIPAA's rule of that name allows."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from veil.errors import HierarchyError, PlanError, did_you_mean
from veil.hierarchies.hierarchy import ROOT, Hierarchy, Label
from veil.tables import read
from veil.tables.columns import encode_values

_RESTRICTED = {
    "036", "059", "063", "102", "203", "556", "692", "790", "821", "823", "830", "831", "878", "879", "884",
    "890", "893",
}  # fmt: skip
"""First digits of ZIP codes of areas with at most 20,000 people (census of 2000, US Department of Health)."""

_Below = dict[Label, list[str]]
"""The labels of a level, each with the values below it."""


def safe_harbor_levels(
    source: Any,
    quasi_identifiers: Mapping[str, Any],
    *,
    ages: str | Iterable[str] = (),
    zip_codes: str | Iterable[str] = (),
    dates: str | Iterable[str] = (),
) -> dict[str, int]:
    """Return the least levels that fit HIPAA's Safe Harbor rule (45 CFR 164.514(b)(2)), for `minimum_levels`.

    `ages` in years: all from 90 on have one label, which means no more than "90 or older". So `>=90`, `90+`,
    `80+`, `90 or older` and `*` fit; `90`, `[90, 95[` and `[80, 100[` do not, as they exclude older people,
    even if there are none. Ages are taken to end at 120, so `[90, 120[` fits. A word such as `old` fits if
    the hierarchy lists all years from 90 to 120 below it, or has a level below that fits. `zip_codes`: labels
    have at most the first three digits, and not even these for areas of 20,000 people or fewer (one label for
    all of those, such as 000, will do). `dates`: labels have at most the year. A level whose labels are not
    understood is passed over. All values of the hierarchy count, in the table or not. Together with
    `Profitability` this is what ARX calls Safe-Harbor-friendly.

    A help, not legal advice. Safe Harbor asks for more than levels: no names, numbers, addresses and other
    identifiers of its list, no years of birth that imply an age above 89, and no knowledge that the rest
    identifies a person.

    >>> import pyarrow as pa
    >>> from veil import hierarchies as h
    >>> people = pa.table({"zip": ["02139", "02142", "94305"]})
    >>> safe_harbor_levels(people, {"zip": h.redaction()}, zip_codes="zip")
    {'zip': 2}
    >>> old = pa.table({"age": [61, 88, 93]})
    >>> safe_harbor_levels(old, {"age": h.intervals(5, 10, top=90)}, ages="age")
    {'age': 1}
    """
    table = read(source).table
    levels: dict[str, int] = {}
    for columns, fits in ((ages, _ages_fit), (zip_codes, _zip_codes_fit), (dates, _dates_fit)):
        for name in [columns] if isinstance(columns, str) else columns:
            if name not in quasi_identifiers or name not in table.column_names:
                candidates = [each for each in quasi_identifiers if each in table.column_names]
                raise PlanError(
                    f"{name!r} is not a quasi-identifier of the table.{did_you_mean(name, candidates)}"
                )
            builder = quasi_identifiers[name]
            if not hasattr(builder, "build"):
                raise HierarchyError(
                    f"column {name!r} needs a hierarchy, such as h.redaction(), not {builder!r}"
                )
            values, codes = encode_values(table[name])
            hierarchy: Hierarchy = builder.build(values, np.bincount(codes, minlength=len(values)), name)
            levels[name] = _least_level(hierarchy, name, fits)
    return levels


def _least_level(hierarchy: Hierarchy, name: str, fits: Callable[[_Below], bool | None]) -> int:
    """Return the level from which on all levels fit, as a search may take any of them.

    `fits` returns None for labels it does not understand. Above labels that fit, these are less specific.
    """
    least = None
    for level, labels in enumerate(hierarchy.labels):
        below: _Below = {}
        for text, code in zip(hierarchy.labels[0], hierarchy.label_map(level).tolist(), strict=True):
            if text is not None:
                below.setdefault(labels[code], []).append(text)
        try:
            verdict = fits(below)
        except ValueError as error:
            raise PlanError(f"column {name!r}: {error}") from None
        if verdict is False:
            least = None
        elif verdict and least is None:
            least = level
    if least is None:
        raise HierarchyError(
            f"the last level of the hierarchy of {name!r} is not general enough for Safe Harbor: add one, at least "
            "`*` for all"
        )
    return least


_OLD, _OLDEST = 90, 120
"""The age from which on ages must share one label, and one that is hardly ever reached."""

_AGE = "([0-9]+(?:[.][0-9]+)?)"
_FROM = re.compile(f"(?:>=|≥|from) ?{_AGE}|{_AGE} ?(?:[+]|(?:or|and) (?:older|over|above|more|up))")
_ABOVE = re.compile(f"(?:>|over|above|older than|more than) ?{_AGE}")
_BELOW = re.compile(f"(?:<=?|≤|up to|under|below) ?{_AGE}")
_BETWEEN = re.compile(rf"([\[\](]?) ?{_AGE} ?(?:,|;|-|–|to|[.][.]) ?(?:{_AGE}|inf|∞) ?[\[\])]?")


def _ages_fit(below: _Below) -> bool | None:
    ages = {label: [_age(text) for text in texts] for label, texts in below.items()}
    old = [label for label, years in ages.items() if max(years) >= _OLD]
    if len(old) != 1:
        return not old
    (label,) = old
    if label is None or label == ROOT or (len(below) == 1 and not label.strip(ROOT)):
        return True
    age_range = _ages_of_label(label)
    if age_range is not None:
        return age_range[0] <= _OLD and age_range[1] >= _OLDEST
    if set(ages[label]) >= set(range(_OLD, _OLDEST + 1)):
        return True
    return False if re.search("[0-9]", label) else None


def _age(text: str) -> float:
    try:
        age = float(text)
    except ValueError:
        age = math.nan
    if not math.isfinite(age):
        raise ValueError(f"{text!r} is not an age in years")
    return age


def _ages_of_label(label: str) -> tuple[float, float] | None:
    """Return the youngest and the oldest age of a label, None if it has another form.

    >>> _ages_of_label("[90, 95["), _ages_of_label("aged 90 years or older"), _ages_of_label("over 89"), _ages_of_label("90s")
    ((90.0, 95.0), (90.0, inf), (89.00000000000001, inf), None)
    """
    text = " ".join(re.sub(r"\b(?:age[ds]?|years?|old)\b", " ", label.lower()).split())
    if match := _FROM.fullmatch(text):
        return float(match[1] or match[2]), math.inf
    if match := _ABOVE.fullmatch(text):
        return math.nextafter(float(match[1]), math.inf), math.inf
    if match := _BELOW.fullmatch(text):
        return 0.0, float(match[1])
    if match := _BETWEEN.fullmatch(text):
        low = float(match[2])
        without = match[1] in ("]", "(")
        return math.nextafter(low, math.inf) if without else low, float(match[3] or math.inf)
    return None


def _zip_codes_fit(below: _Below) -> bool | None:
    if any(letter.isalpha() for label in below for letter in label or ""):
        return None  # names of places may be more specific than three digits
    areas = {label: {_area(text) for text in texts} for label, texts in below.items()}
    everywhere = {area for pairs in areas.values() for area, _ in pairs}
    if sum(len({area for area, _ in pairs}) for pairs in areas.values()) > len(everywhere):
        return None  # an area is split
    small = everywhere & _RESTRICTED
    for label, pairs in areas.items():
        digits = "".join(re.findall("[0-9]", label or ""))
        names = {area for area, _ in pairs}
        if len(names) > 1:
            alone = names <= small and names != small
        else:
            # Numbers lack leading zeros, so fewer digits may be all three.
            is_prefix = all(visible.startswith(digits) for _, visible in pairs)
            alone = digits != "000" and not (
                is_prefix and (all(digits != v for _, v in pairs) or not names <= small)
            )
        if alone:
            return None
    return True


def _area(text: str) -> tuple[str, str]:
    """Return the first three digits of a ZIP code, and those of them that are in the text."""
    match = re.fullmatch("([0-9]{1,5})(?:-?[0-9]{4})?", text)
    if match is None:
        raise ValueError(f"{text!r} is not a ZIP code")
    area = match[1].zfill(5)[:3]
    return area, area[5 - len(match[1]) :]


def _dates_fit(below: _Below) -> bool | None:
    years = {label: {_year(text) for text in texts} for label, texts in below.items()}
    if sum(map(len, years.values())) > len(set().union(*years.values())):
        return None  # a year is split
    for label, label_years in years.items():
        # The year, and in an interval the next one, where it ends.
        allowed = {*label_years, *(str(int(year) + 1) for year in label_years)}
        if len(label_years) == 1 and not allowed.issuperset(re.findall(r"\w+", label or "")):
            return None
    return True


def _year(text: str) -> str:
    match = re.search("(?<![0-9])[0-9]{4}(?![0-9])", text)
    if match is None:
        raise ValueError(f"{text!r} does not show a year")
    return match[0]
