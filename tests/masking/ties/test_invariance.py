"""m-invariance over several releases, on what recipients get."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import veil
from support.refusals import refused
from veil.errors import InputError, NoSolutionError, OutputError, PlanError
from veil.masking import MInvariance
from veil.risk import intersection

A, B, C, D = ("A", 21, "flu"), ("B", 22, "gout"), ("C", 23, "flu"), ("D", 24, "cold")
E, F, G = ("E", 25, "gout"), ("F", 41, "cold"), ("G", 42, "flu")


def table(*people: tuple[str, int, str]) -> pa.Table:
    return pa.table(
        {"who": [p[0] for p in people], "age": [p[1] for p in people], "ill": [p[2] for p in people]}
    )


def release(folder: Path, *people: tuple[str, int, str], m: int = 2) -> Any:
    method = MInvariance("ill", m, ["age"], "who", history=str(folder / "history.json"))
    return veil.mask(table(*people), method, order="input")


def groups(made: Any, *people: tuple[str, int, str]) -> dict[str, set[str]]:
    """The values of everybody's group, as they are published."""
    second = made.apart["confidential"]
    values: dict[int, list[str]] = {}
    for number, value in zip(second["group"].to_pylist(), second["ill"].to_pylist(), strict=True):
        values.setdefault(number, []).append(value)
    assert all(len(set(each)) == len(each) for each in values.values())
    return {
        person[0]: set(values[number])
        for person, number in zip(people, made.arrow["group"].to_pylist(), strict=True)
    }


def together(made: Any, *people: tuple[str, int, str]) -> set[frozenset[str]]:
    found: dict[int, set[str]] = {}
    for person, number in zip(people, made.arrow["group"].to_pylist(), strict=True):
        found.setdefault(number, set()).add(person[0])
    return set(map(frozenset, found.values()))


def test_the_worked_example(tmp_path: Path) -> None:
    first = release(tmp_path, A, B, C, D)
    assert together(first, A, B, C, D) == {frozenset("AB"), frozenset("CD")}
    assert first.arrow.column_names == ["age", "group"]
    assert first.arrow["age"].to_pylist() == ["[21, 22]", "[21, 22]", "[23, 24]", "[23, 24]"]
    second = release(tmp_path, A, C, D, E, F, G)
    assert groups(second, A, C, D, E, F, G)["A"] == {"flu", "gout"}
    assert "E" in next(each for each in together(second, A, C, D, E, F, G) if "A" in each)
    assert second.facts["counterfeits"] == 0
    assert second.apart["counterfeits"].num_rows == 0
    third = release(tmp_path, A, C, D, F, G)
    assert groups(third, A, C, D, F, G)["A"] == {"flu", "gout"}
    assert third.facts["counterfeits"] == 1
    (number,) = third.apart["counterfeits"]["group"].to_pylist()
    assert number == third.arrow["group"].to_pylist()[0]
    assert third.verification.holds


def test_a_diverse_release_of_each_moment_is_not_enough() -> None:
    first = pa.table({"age": ["21-22", "21-22", "23-24", "23-24"], "ill": ["flu", "gout", "flu", "cold"]})
    second = pa.table({"age": ["21-24", "21-24", "23-25", "23-25"], "ill": ["flu", "cold", "flu", "gout"]})
    found = intersection(first, second, sensitive="ill")
    told = {tuple(each["age"] for each in overlap.classes): overlap.candidates for overlap in found.overlaps}
    assert told[("21-22", "21-24")] == ("flu",)


def test_the_history_holds_no_names_and_stays_away_from_the_release(tmp_path: Path) -> None:
    made = release(tmp_path, ("Alice", 21, "flu"), ("Bob", 22, "gout"))
    text = (tmp_path / "history.json").read_text()
    assert "Alice" not in text
    assert "Bob" not in text
    assert json.loads(text)["releases"] == 1
    assert (tmp_path / "history.json").stat().st_mode & 0o077 == 0
    with refused(OutputError, "not be published"):
        made.save(tmp_path / "release.csv")
    (tmp_path / "out").mkdir()
    made.save(tmp_path / "out" / "release.csv", apart=tmp_path / "out")
    told = "".join(each.read_text() for each in (tmp_path / "out").iterdir())
    assert "Alice" not in told
    assert "gout" in told


def test_what_cannot_be_done_is_refused_and_not_remembered(tmp_path: Path) -> None:
    with refused(NoSolutionError, "2 of 3", "'flu'", "1/2"):
        release(tmp_path, A, C, B)
    assert not (tmp_path / "history.json").exists()
    release(tmp_path, A, B)
    with refused(InputError, "change", "visible"):
        release(tmp_path, ("A", 21, "cold"), B)
    with refused(PlanError, "m = 2", "'ill'", "m = 3"):
        release(tmp_path, A, B, D, m=3)
    with refused(InputError, "'A' appears twice"):
        release(tmp_path, A, A)
    (tmp_path / "history.json").write_text("{}")
    with refused(InputError, "not a history"):
        release(tmp_path, A, B)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"attribute": ...}, "`attribute`: Field required"),
        ({"m": ...}, "`m`: Field required"),
        ({"key": ...}, "`key`: Field required"),
        ({"people": ...}, "`people`: Field required"),
        ({"sets": None}, "`sets`: "),
        ({"releases": "1"}, "`releases`: "),
        ({"m": True}, "`m`: "),
        ({"key": "ab"}, "`key`: "),
        ({"people": {"0" * 32: -1}}, "`people`: "),
        ({"people": {"0" * 32: 7}}, "has a set that is not in `sets`"),
        ({"people": ["Alice"]}, "`people`: "),
        ({"sets": [["flu"]], "people": {}}, "should have 2 or more values, all distinct"),
        ({"sets": [["flu", "flu"]], "people": {}}, "should have 2 or more values, all distinct"),
        ({"sets": [["flu", 3]], "people": {}}, "`sets`: "),
        ({"more": 1}, "`more`: "),
    ],
    ids=range(15),
)
def test_a_damaged_history_is_refused_and_left_as_it_is(
    tmp_path: Path, change: dict[str, Any], told: str
) -> None:
    release(tmp_path, A, B)
    file = tmp_path / "history.json"
    content = {**json.loads(file.read_text()), **change}
    damaged = json.dumps({name: each for name, each in content.items() if each is not ...})
    file.write_text(damaged)
    with refused(InputError, "history.json", "damaged") as found:
        release(tmp_path, A, B)
    assert told in str(found.value)
    assert "a backup" in str(found.value)
    assert "flu" not in str(found.value)
    assert file.read_text() == damaged


def test_who_comes_back_keeps_the_signature(tmp_path: Path) -> None:
    release(tmp_path, A, B, C, D)
    release(tmp_path, C, D)
    back = release(tmp_path, A, C, D)
    assert groups(back, A, C, D)["A"] == {"flu", "gout"}
    assert back.facts["counterfeits"] == 1


@settings(max_examples=40, deadline=None)
@given(
    st.integers(2, 3),
    st.lists(
        st.lists(st.tuples(st.integers(0, 14), st.integers(20, 60)), max_size=15), min_size=2, max_size=4
    ),
    st.randoms(use_true_random=False),
)
def test_nobody_is_found_out_by_comparing_any_releases(m: int, moments: Any, chance: Any) -> None:
    ills = {who: chance.choice("abcd") for who in range(15)}
    seen: dict[str, set[str]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for moment in moments:
            people = [(str(who), age, ills[who]) for who, age in dict(moment).items()]
            if not people:
                continue
            new = Counter(ill for who, _, ill in people if who not in seen)
            feasible = max(new.values(), default=0) * m <= sum(new.values())
            try:
                made = release(Path(folder), *people, m=m)
            except NoSolutionError:
                assert not feasible
                continue
            assert feasible
            found = groups(made, *people)
            for who, _, ill in people:
                assert len(found[who]) >= m
                assert ill in found[who]
                assert seen.setdefault(who, found[who]) == found[who]
            # Each group has one record of each value, real or counterfeit.
            sizes = Counter(made.arrow["group"].to_pylist())
            extra = dict(
                zip(
                    *(made.apart["counterfeits"][name].to_pylist() for name in ("group", "counterfeits")),
                    strict=True,
                )
            )
            shown = Counter(made.apart["confidential"]["group"].to_pylist())
            assert shown == {number: count + extra.get(number, 0) for number, count in sizes.items()}
