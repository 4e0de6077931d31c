"""What kept columns and the order of the rows tell: measured as plain Python does, found and not found."""

from __future__ import annotations

from datetime import date, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import veil
from veil import DistinctLDiversity, KAnonymity
from veil import hierarchies as h
from veil.api.release import Release
from veil.masking import RankSwapping
from veil.recoding import Cells, FromTheStart, Subtree
from veil.risk import refine
from veil.risk.concerns.concern import Concern, percent
from veil.risk.concerns.leaks import hide, neighbours, share_revealed


def concern(release: Release, kind: str) -> Concern | None:
    return next((each for each in release.concerns if each.kind == kind), None)


# --- the measure ----------------------------------------------------------------------------------


def told_slowly(values: list[int], same: list[int], pairs: list[tuple[int, int]], *, by_rank: bool) -> float:
    """One minus how much pairs differ, by how much any two that look alike do: in the order that `hide` mixes them in."""
    mixed = np.random.default_rng(0).permutation(len(same)).tolist()
    ranks = [sum(other < each for other in values) for each in values]

    def differ(one: int, other: int) -> int:
        return abs(ranks[one] - ranks[other]) if by_rank else int(values[one] != values[other])

    usual: dict[int, list[int]] = {}
    for look in set(same):
        members = [row for row in mixed if same[row] == look]
        usual[look] = [differ(one, other) for one, other in pairwise(members)]
    alike = [(one, other) for one, other in pairs if same[one] == same[other]]
    if sum(each > 0 for found in usual.values() for each in found) < 20:
        return 0.0
    if len(alike) < max(20, 0.05 * len(same)):
        return 0.0
    whole = sum(sum(usual[same[one]]) / max(1, len(usual[same[one]])) for one, _ in alike)
    return max(0.0, 1 - sum(differ(*each) for each in alike) / whole) if whole else 0.0


@settings(deadline=None, max_examples=80)
@given(st.data(), st.integers(30, 120), st.integers(1, 4), st.integers(2, 9), st.booleans())
def test_it_is_measured_as_plain_python_does(
    data: st.DataObject, size: int, looks: int, different: int, by_rank: bool
) -> None:
    seed = data.draw(st.integers(0, 10**6))
    chance = np.random.default_rng(seed)
    values, same = chance.integers(0, different, size), chance.integers(0, looks, size).astype(np.int32)
    kept = np.where(chance.random(size) < 0.5, values, chance.integers(0, different, size)).astype(np.int32)
    order = np.argsort(kept, kind="stable")
    places = np.searchsorted(np.sort(values), values)
    hidden = hide("y", values.astype(np.int32), places if by_rank else None, same)
    pairs = neighbours(order, kept, nearby=False)
    listed = list(zip(pairs[0].tolist(), pairs[1].tolist(), strict=True))
    assert all(kept[one] == kept[other] for one, other in listed)
    slow = told_slowly(values.tolist(), same.tolist(), listed, by_rank=False)
    if by_rank:
        slow = max(slow, told_slowly(values.tolist(), same.tolist(), listed, by_rank=True))
    assert share_revealed(hidden, pairs) == pytest.approx(slow)


# --- columns --------------------------------------------------------------------------------------


def towns(size: int = 2000) -> pa.Table:
    """People with a ZIP code; every town has one of its own, but for one that has many, and some have nothing to say."""
    chance = np.random.default_rng(2)
    town = chance.integers(0, 90, size)
    born = [date(1940, 1, 1) + timedelta(days=int(each)) for each in chance.integers(0, 25_000, size)]
    code = chance.integers(0, 60, size)
    return pa.table(
        {
            "zip": [f"{10_000 + 7 * each}" for each in town],
            "age": [2020 - each.year for each in born],
            "town": [f"town {each}" for each in town],
            "born": born,
            "group": [f"group {each % 6}" for each in code],
            "code": [f"code {each}" for each in code],
            "bed": chance.integers(0, 12, size),
        }
    )


def of_towns(*names: str, **options: Any) -> Release:
    return veil.anonymize(
        towns().select(["zip", "age", *names]),
        quasi_identifiers={"zip": h.redaction(), "age": h.intervals(10, 20)},
        minimum_levels={"zip": 2, "age": 1},
        **{"models": KAnonymity(5), "insensitive": names, **options},
    )


def test_a_town_tells_its_zip_code() -> None:
    found = concern(of_towns("town", "bed"), "reveals another column")
    assert found is not None
    assert found.key == "reveals another column: town, zip"
    assert "'town'" in found.statement
    assert "'zip'" in found.statement
    assert "(100 %)" in found.statement


def test_a_birth_date_tells_the_age_although_hardly_two_agree_in_it() -> None:
    found = concern(of_towns("born"), "reveals another column")
    assert found is not None
    assert found.columns == ("born", "age")


def test_a_code_tells_the_group_that_a_model_hides() -> None:
    models = [KAnonymity(5), DistinctLDiversity("group", 2)]
    made = of_towns("group", "code", sensitive="group", insensitive="code", models=models)
    found = concern(made, "reveals another column")
    assert found is not None
    assert found.columns == ("code", "group")
    # Two sensitive columns are both unknown to an attacker; the one without a model is another concern.
    both = of_towns("group", "code", sensitive=["group", "code"], insensitive=(), models=models)
    assert concern(both, "reveals another column") is None
    assert concern(both, "no model") is not None


def test_a_column_of_its_own_tells_nothing() -> None:
    assert concern(of_towns("bed"), "reveals another column") is None


def test_what_is_published_as_it_was_is_not_hidden() -> None:
    made = veil.anonymize(
        towns().select(["zip", "town"]),
        quasi_identifiers={"zip": h.redaction()},
        insensitive="town",
        models=KAnonymity(1),
    )
    assert made.transformation == {"zip": 0}
    assert concern(made, "reveals another column") is None


def test_a_removed_column_is_told_by_one_that_stays() -> None:
    table = towns().append_column("insured", pa.array([f"n{each // 4}" for each in range(2000)]))
    table = table.append_column("number", pa.array([f"m{each // 4}" for each in range(2000)]))
    made = veil.anonymize(
        table.select(["zip", "insured", "number"]),
        quasi_identifiers={"zip": h.redaction()},
        identifying="insured",
        insensitive="number",
        models=KAnonymity(5),
        person=None,
    )
    found = concern(made, "reveals another column")
    assert found is not None
    assert found.columns == ("number", "insured")


def test_of_large_tables_households_of_two_are_found() -> None:
    size = 60_000
    household = np.random.default_rng(5).permutation(size) // 2
    table = pa.table(
        {
            "street": [f"s{each % 977}" for each in household],
            "household": [f"h{each}" for each in household],
        }
    )
    made = veil.anonymize(
        table, quasi_identifiers={"street": h.suppression()}, insensitive="household", models=KAnonymity(100)
    )
    found = concern(made, "reveals another column")
    assert found is not None
    assert found.columns == ("household", "street")


def test_masks_are_looked_at_as_well() -> None:
    made = veil.mask(towns().select(["age", "born", "bed"]), RankSwapping(["age"], p=20))
    found = concern(made, "reveals another column")
    assert found is not None
    assert found.columns == ("born", "age")


# --- the order of the rows ------------------------------------------------------------------------


def sorted_release(order: Literal["random", "input"], **options: Any) -> Release:
    """A file sorted by the day of admission, of which the month is published."""
    chance = np.random.default_rng(4)
    day = np.sort(chance.integers(0, 700, 3000))
    table = pa.table(
        {
            "admission": [date(2020, 1, 1) + timedelta(days=int(each)) for each in day],
            "sex": np.array(["f", "m"])[chance.integers(0, 2, 3000)],
            "respondent": np.arange(3000),
        }
    )
    return veil.anonymize(
        table,
        quasi_identifiers={"admission": h.dates("month", "year"), "sex": h.suppression()},
        minimum_levels={"admission": 1},
        identifying="respondent",
        models=KAnonymity(5),
        order=order,
        **options,
    )


def test_a_sorted_file_tells_days_and_numbers_if_its_order_is_kept() -> None:
    found = concern(sorted_release("input"), "row order")
    assert found is not None
    assert found.columns == ("respondent", "admission")
    assert 'order="random"' in found.step
    assert concern(sorted_release("random"), "row order") is None


def test_an_order_that_tells_nothing_is_said_as_well() -> None:
    chance = np.random.default_rng(4)
    table = pa.table({"age": chance.integers(0, 90, 500)})
    plan: dict[str, Any] = {"quasi_identifiers": {"age": h.intervals(10, 20)}, "models": KAnonymity(5)}
    found = concern(veil.anonymize(table, order="input", **plan), "row order")
    assert found is not None
    assert found.key == "row order"
    assert "row by row" in found.statement


def test_suppressed_labels_are_read_off_the_neighbours() -> None:
    """The rows beside a blank one tell what it was, in a file that is sorted by it."""
    ages = [each // 40 for each in range(3600)]
    sexes = ["x" if each % 90 == 3 else "f" if each % 2 else "m" for each in range(3600)]
    made = veil.anonymize(
        pa.table({"age": ages, "sex": sexes}),
        quasi_identifiers={"age": h.identity(), "sex": h.identity()},
        models=KAnonymity(5),
        suppression_limit=0.1,
        order="input",
    )
    assert made.suppressed > 20
    found = concern(made, "row order")
    assert found is not None
    assert "age" in found.columns


def test_masks_keep_or_lose_their_order_as_asked() -> None:
    table = towns().select(["age", "bed"])
    kept = veil.mask(table, RankSwapping(["age"], p=20), order="input")
    assert concern(kept, "row order") is not None
    assert concern(veil.mask(table, RankSwapping(["age"], p=20)), "row order") is None


# --- labels chosen record by record ---------------------------------------------------------------


def in_passes(models: object, **options: Any) -> Release:
    rng = np.random.default_rng(5)
    table = pa.table(
        {
            "age": rng.integers(0, 64, 400),
            "sex": rng.choice(["f", "m"], 400),
            "ill": rng.choice(["flu", "gout", "flu"], 400),
        }
    )
    return veil.anonymize(
        table,
        quasi_identifiers={"age": h.intervals(4, 8, 16, 32), "sex": h.table([["f", "*"], ["m", "*"]])},
        sensitive="ill",
        models=models,
        person=None,
        **options,
    )


def test_labels_chosen_record_by_record_say_who_is_not_in_a_class() -> None:
    found = concern(in_passes(KAnonymity(5), recoding=FromTheStart(50)), "labels exclude values")
    assert found is not None
    assert "Recode all records alike" in found.step
    assert "lose values" in found.statement
    assert concern(in_passes(KAnonymity(5)), "labels exclude values") is None


@pytest.mark.parametrize("recoding", [Cells(), Cells(coarsening=0.02), Cells(coarsening=0.1), Subtree()])
def test_what_labels_exclude_is_looked_for_in_the_release_itself(recoding: Any) -> None:
    release = in_passes(KAnonymity(5), recoding=recoding, time_limit=0.5)
    attack, found = refine(release)[0], concern(release, "labels exclude values")
    downcoded = attack.credibly_downcoded / attack.records
    narrowed = attack.narrowed_share if attack.is_credible else 0
    assert (found is not None) == bool(attack.newly_certain or max(narrowed, downcoded) >= 0.01)
    if found is not None and attack.principle == "price":
        for share in (attack.narrowed_share, downcoded, attack.wrong_share, attack.error_ratio):
            assert percent(share) in found.statement
    if isinstance(recoding, Subtree):
        assert (attack.principle, attack.narrowed) == ("cut", 0)
    if isinstance(recoding, Cells) and recoding.coarsening == 0.1:
        assert attack.error_ratio > 0.1
        assert not attack.is_credible


def test_with_diversity_no_value_becomes_certain_by_excluding() -> None:
    release = in_passes([KAnonymity(5), DistinctLDiversity("ill", 2)], recoding=FromTheStart(50))
    order, price = refine(release)
    assert order.is_guaranteed
    assert order.newly_certain == price.newly_certain == 0
    assert order.narrowed


def test_attacks_and_the_report_have_the_refinements_of_the_release_itself(tmp_path: Path) -> None:
    release = in_passes(KAnonymity(5), recoding=FromTheStart(50))
    tried = release.attacks()
    assert [each.principle for each in tried.refinements] == ["order", "price"]
    assert tried.refinements == refine(release)
    assert tried.to_dict()["refinements"][0]["narrowed"] == tried.refinements[0].narrowed
    assert "refinement by order" in str(tried)
    release.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "What the choice of labels excludes" in page
    in_passes(KAnonymity(5)).report(tmp_path / "plain.html")
    assert "What the choice of labels excludes" not in (tmp_path / "plain.html").read_text()
