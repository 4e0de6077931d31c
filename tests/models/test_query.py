"""The query language of research subsets: what queries are true of, and what is pointed at."""

from __future__ import annotations

import datetime
import decimal
import operator

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.judging import often, refused
from veil.errors import PlanError
from veil.models.subset import Where

PEOPLE = pa.table({"age": [30, 40, 30, None, 30], "sex": ["f", "m", "f", "f", None]})


def chosen(subset: Where, table: pa.Table = PEOPLE) -> list[int]:
    return np.flatnonzero(subset.mask(table)).tolist()


EVERYTHING = pa.table(
    {
        "i": [1, 2, None, 4],
        "f": [0.1, 2.5, None, 1e300],
        "g": pa.array([0.1, 2, None, 3], pa.float32()),
        "s": ["a", "b'c", None, "30"],
        "b": [True, False, None, True],
        "d": [datetime.date(2020, 1, 31), datetime.date(1960, 2, 29), None, datetime.date(2021, 1, 1)],
        "t": pa.array([datetime.datetime(2020, 1, 31, 12), datetime.datetime(1960, 1, 1), None, None], pa.timestamp("ns")),
        "z": pa.array([datetime.datetime(2020, 1, 31, 12), None, None, None], pa.timestamp("us", tz="Europe/Oslo")),
        "m": [decimal.Decimal("1.50"), decimal.Decimal("2.25"), None, decimal.Decimal("0.10")],
        "c": pa.array(["u", "v", None, "u"]).dictionary_encode(),
        "marital-status": ["x", "y", "y", "x"],
        "two `words`": [1, 2, 3, 4],
        "or": [1, 2, 3, 4],
        "list": [[1], [2], None, []],
    }
)  # fmt: skip


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("i > 1.5", [1, 3]),
        ("i >= 2 and i < 4", [1]),
        ("i = 2.0", [1]),
        ("i == 1.5", []),
        ("i <> 2", [0, 3]),
        ("i ≠ 2 and i ≤ 1", [0]),
        ("not i = 2", [0, 3]),
        ("i>-1e3", [0, 1, 3]),
        ("i < 99999999999999999999999999", [0, 1, 3]),
        ("f = 0.1", [0]),
        ("f >= 1e300", [3]),
        ("f < 1e999", [0, 1, 3]),
        ("g = 0.1", [0]),
        ("g <= 2", [0, 1]),
        ("s = 'b''c'", [1]),
        ('s = "b\'c"', [1]),
        ("s != 'a'", [1, 3]),
        ("s > 'a'", [1]),
        ("s = '30'", [3]),
        ("b = true", [0, 3]),
        ("b != TRUE", [1]),
        ("d > 2020-01-30", [0, 3]),
        ("d = '2020-01-31'", [0]),
        ("d < 1960-03-01", [1]),
        ("d <= 2020-01-31T00:00:01", [0, 1]),
        ("t = 2020-01-31T12:00", [0]),
        ("t > '2020-01-31 11:59:59.999999999'", [0]),
        ("t >= 2020-01-31T12:00:00.000000001", []),
        ("t < 1970-01-01", [1]),
        ("z = 2020-01-31T12:00Z", [0]),
        ("z > '2020-01-31T12:59:59+01:00'", [0]),
        ("z > '2020-01-31T13:00:00+01:00'", []),
        ("m = 1.5", [0]),
        ("m < 2.25 and m > 0.1", [0]),
        ("c = 'u'", [0, 3]),
        ("marital-status='x' and i=1", [0]),
        ("`two ``words```>=3", [2, 3]),
        ("`or` = 1 or `or` = 3", [0, 2]),
        ("i is missing", [2]),
        ("i is NULL or s is not missing", [0, 1, 2, 3]),
        ("not i is missing", [0, 1, 3]),
        ("i = 1 or i = 2 and i = 3", [0]),
        ("(i = 1 or i = 2) and i = 2", [1]),
        ("not (i = 1 or i = 2)", [3]),
        ("not not i = 1", [0]),
        ("i = 5 or s is missing", [2]),
        ("i = 5 and s is missing", []),
        ("not (i = 5 and `or` = 9)", [0, 1, 2, 3]),  # the second part is false, whatever i is
    ],
)
def test_queries(query, rows):
    assert chosen(Where(query), EVERYTHING) == rows


@pytest.mark.parametrize(
    ("query", "at", "message"),
    [
        ("", 1, "a column name should follow, not the end"),
        ("i", 2, "a comparison such as `=` should follow, not the end"),
        ("i >", 4, "a value should follow, not the end"),
        ("i > and s = 'a'", 5, "a value should follow, not 'and'"),
        ("s = abc", 5, r"a value \(text needs quotes\) should follow, not 'abc'"),
        ("30 < i", 1, "a column name should follow, not '30'"),
        ("i = 1 s", 7, "`and`, `or` or the end should follow, not 's'"),
        ("(i = 1", 7, r"`\)`, `and` or `or` should follow, not the end"),
        ("i = 1)", 6, r"`and`, `or` or the end should follow, not '\)'"),
        ("i = $", 5, r"'\$' does not belong here"),
        ("s = 'a", 5, "does not belong here: a quote that is not closed"),
        ("i = 1 && s = 'a'", 7, "'&' does not belong here"),
        ("i = null", 5, "write `i is missing` instead"),
        ("i is 5", 6, "`missing` should follow, not '5'"),
        ("i in 5", 3, "a comparison such as `=` should follow, not 'in'"),
        ("i = 1e9999", 5, "does not belong here"),
        ("d = 2020-13-01", 5, "'2020-13-01' is not a date or time"),
        ("(" * 60 + "i = 1", 52, "more than 50 nested parentheses"),
        ("not " * 60 + "i = 1", 205, "more than 50 nested parentheses"),
        ("i = 1; import os", 6, "';' does not belong here"),
    ],
)
def test_what_cannot_be_read_is_pointed_at(query, at, message):
    with refused(f"`query` of Where, character {at}: .*{message}.*, in ['\"]"):
        Where(query)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("j = 1", r"character 1: the table has no column 'j'.* Choose from: 'i', 'f'"),
        ("maritalstatus = 'x'", r"the table has no column 'maritalstatus'.*Did you mean 'marital-status'?"),
        ("i = '1'", "character 5: a number should follow, as the column holds numbers, not '1'"),
        ("s = 30", "character 5: text in quotes should follow, as the column holds text, not 30"),
        ("c = 30", "text in quotes should follow"),
        ("b = 1", "true or false should follow"),
        ("b > true", "true and false have no order"),
        ("d = 5", "a date such as 2020-01-31 should follow"),
        ("d = 'soon'", "'soon' is not a date or time"),
        ("z = 2020-01-31", "a time with its offset, as .* should follow"),
        ("t = 2020-01-31T12:00Z", "a time without an offset from UTC should follow"),
        ("list = 1", r"a column of type list<.*> cannot be compared"),
    ],
)
def test_what_does_not_fit_the_table_is_pointed_at(query, message):
    with pytest.raises(PlanError, match=message):
        Where(query).mask(EVERYTHING)


RELATIONS = {
    "=": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


def negation(truth):
    return None if truth is None else not truth


def conjunction(truths):
    return False if False in truths else None if None in truths else True


@st.composite
def comparisons(draw):
    name = draw(st.sampled_from(["age", "sex"]))
    if draw(st.integers(0, 5)) == 0:
        negated = draw(st.booleans())
        return f"{name} is {'not ' * negated}missing", lambda row: (row[name] is None) != negated
    relation = draw(st.sampled_from(list(RELATIONS)))
    if name == "age":
        value = draw(st.sampled_from([29, 30, 30.5, 40, 50]))
        text = str(value)
    else:
        value = draw(st.sampled_from(["f", "m", ""]))
        text = f"'{value}'"
    return (
        f"{name} {relation} {text}",
        lambda row: None if row[name] is None else RELATIONS[relation](row[name], value),
    )


def compound(parts):
    def joined(pair):
        (left, of_left), (right, of_right) = pair
        return f"({left}) and ({right})", lambda row: conjunction([of_left(row), of_right(row)])

    def either(pair):
        (left, of_left), (right, of_right) = pair
        return f"({left} or {right})", lambda row: negation(
            conjunction([negation(of_left(row)), negation(of_right(row))])
        )

    def inverted(part):
        return f"not ({part[0]})", lambda row: negation(part[1](row))

    return st.one_of(
        st.tuples(parts, parts).map(joined), st.tuples(parts, parts).map(either), parts.map(inverted)
    )


@often
@given(st.recursive(comparisons(), compound, max_leaves=8))
def test_queries_agree_with_python(pair):
    query, truth = pair
    assert chosen(Where(query)) == [i for i, row in enumerate(PEOPLE.to_pylist()) if truth(row) is True]
