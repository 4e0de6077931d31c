from __future__ import annotations

from datetime import date, datetime
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veil import hierarchies as h


def by_form(form):
    return h.dates("month", "year", "decade", format=form, root=True)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([True, False], h.suppression()),
        (["f", "m", None], h.suppression()),
        ([1, 2, 3], h.suppression()),
        (list(range(17, 91)), h.intervals(5, 10, 20, 40)),
        ([0, 1, 2, 3, 4, 5], h.intervals(2, 4)),
        ([x / 8 for x in range(9)], h.intervals(0.05, 0.1, 0.2, 0.4, 0.8)),
        (np.arange(9, dtype=np.float16) / 8, h.intervals(0.05, 0.1, 0.2, 0.4, 0.8)),
        ([1.5, 30000.0, 100.0, 777.0, 5.0, 6.0], h.intervals(2000, 4000, 8000, 16000)),
        ([date(2020, 1, day) for day in range(1, 9)], h.dates("month", "year", "decade", root=True)),
        ([datetime(2020, 1, 1)], h.dates("day", "month", "year", "decade", root=True)),
        ([f"2020-01-0{day}" for day in range(1, 9)], h.dates("month", "year", "decade", root=True)),
        *(
            (
                [f"2020-01-0{day}{time}" for day in range(1, 9)],
                h.dates("day", "month", "year", "decade", root=True),
            )
            for time in (" 08:30", "T08:30:00", " 08:30:59.123", "T08:30:00Z", "T08:30:00+02:00")
        ),
        ([f"2020-02-{day} 08:30:00" for day in range(24, 31)], h.suppression()),  # no 30 February
        ([f"{day}.12.2020" for day in range(26, 32)], by_form("%d.%m.%Y")),
        (
            ["1.2.2020", "01.03.2020", "2.2.2020", "3.2.2020", "4.2.2020", "5.2.2020", None],
            by_form("%d.%m.%Y"),
        ),
        ([f"{day}/12/2020" for day in range(8, 14)], by_form("%d/%m/%Y")),
        ([f"12/{day}/2020" for day in range(8, 14)], by_form("%m/%d/%Y")),
        ([f"2020/12/{day}" for day in range(8, 14)], by_form("%Y/%m/%d")),
        ([f"{day}/12/2020" for day in range(7, 13)], h.suppression()),  # days or months: nobody knows
        ([f"12/{day}/2020" for day in (13, 14, 15, 16, 17)] + ["13/12/2020"], h.suppression()),  # two forms
        ([f"{day}.12.2020" for day in range(27, 33)], h.suppression()),  # no 32 December
        ([f"{day}.12.20" for day in range(26, 32)], h.suppression()),  # which century?
        (["8010", "8020", "8045", "1010", "1020", "6020"], h.redaction()),
        (["01067", "10115", "20095", "50667", "60311", "80331"], h.redaction()),
        (["7", "42", "3", "105", "88", "16"], h.intervals(10, 20, 40, 80)),
        (["A10", "B20.1", "C34", "E11.9", "I10", "J45"], h.redaction()),
        (["red", "green", "blue", "pink", "grey", "teal"], h.priority()),
        (["St. Pölten 1", "Graz", "Linz", "Wien", "Wels", "Enns"], h.priority()),
        ([float("inf"), 1.0, 2.0, 3.0, 4.0, 5.0], h.priority()),
    ],
)
def test_proposals(values, expected):
    assert h.propose(pa.array(values)) == expected
    assert h.auto().propose(pa.array(values)) == expected


def test_few_is_a_choice():
    colours = pa.array(["red", "green", "blue"])
    assert h.propose(colours) == h.suppression()
    assert h.propose(colours, few=2) == h.priority()


@given(st.sets(st.integers(-(10**12), 10**12), min_size=6, max_size=60))
def test_numbers_get_few_intervals_and_a_last_level_that_still_divides(build, values):
    widths = h.propose(pa.array(list(values))).widths
    span = max(values) - min(values)
    assert span / widths[0] <= 20 or widths[0] == 2
    assert len(widths) == 1 or widths[-1] < span <= 2 * widths[-1]
    assert all(after == 2 * before for before, after in pairwise(widths))


FORMS = {  # day, month and year as they stand, and what stands between
    "%d.%m.%Y": ("dmy", "."),
    "%d/%m/%Y": ("dmy", "/"),
    "%m/%d/%Y": ("mdy", "/"),
    "%Y/%m/%d": ("ymd", "/"),
}


def read(text, form):
    """A date by its parts, or None."""
    order, between = FORMS[form]
    parts = text.split(between)
    if len(parts) != 3:
        return None
    place = dict(zip(order, parts, strict=True))
    if len(place["y"]) != 4:
        return None
    try:
        return date(int(place["y"]), int(place["m"]), int(place["d"]))
    except ValueError:
        return None


def spelled(day, form, padded):
    order, between = FORMS[form]
    width = 2 if padded else 1
    parts = {"d": f"{day.day:0{width}}", "m": f"{day.month:0{width}}", "y": f"{day.year:04}"}
    return between.join(parts[each] for each in order)


@st.composite
def written_dates(draw):
    """Dates of one form mostly; of a month or two, so that days tell the form or not."""
    days = st.dates(date(2020, 11, 1), date(2021, 2, 20)) | st.dates()
    form = draw(st.sampled_from(list(FORMS)))
    texts = {spelled(day, form, draw(st.booleans())) for day in draw(st.lists(days, min_size=6, max_size=12))}
    if draw(st.integers(0, 3)) == 0:
        texts.add(draw(st.sampled_from(["13/01/2020", "01/13/2020", "1.1.2020", "30.02.2020", "?"])))
    return sorted(texts)


@given(written_dates())
def test_a_form_is_taken_if_it_alone_reads_all_texts_and_level_0_is_as_written(build, texts):
    values = pa.array(texts)
    fitting = [form for form in FORMS if all(read(text, form) for text in texts)]
    proposed = h.propose(values, few=1)
    if len(fitting) != 1 or len(texts) == 1:
        if isinstance(
            proposed, type(h.dates("year"))
        ):  # in several forms, each of which reads its texts alone
            assert len(proposed.format) > 1
            shapes = {
                (between, text.index(between) == 4) for text in texts for between in "./" if between in text
            }
            for between, year_first in shapes:
                same = [t for t in texts if between in t and (t.index(between) == 4) == year_first]
                assert sum(all(read(text, form) for text in same) for form in FORMS) == 1
        return
    (form,) = fitting
    assert proposed == by_form(form)
    rows = proposed.build(values, [1] * len(texts), "born").to_rows()
    months = {text: f"{day.year:04}-{day.month:02}" for text in texts if (day := read(text, form))}
    assert {row[0]: row[1] for row in rows} == months
