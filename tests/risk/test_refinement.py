"""Refinement attacks: worked examples, a twin that goes through all combinations, and that no true value is lost."""

from __future__ import annotations

import dataclasses
import itertools
import random
from collections import Counter
from fractions import Fraction
from statistics import median_low

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import veil
from support.risk.releases import MODES, cheapest_recoding, random_release, recoded
from veil import KAnonymity
from veil import hierarchies as h
from veil.masking import Mondrian
from veil.models import DistinctLDiversity
from veil.recoding import FromTheStart, Subtree
from veil.recoding.problem import CellProblem
from veil.risk.boxes import Boxes
from veil.risk.refinement import Certainty, refine

seeds = st.integers(0, 10**9)


def by_principle(release):
    return {each.principle: each for each in refine(release)}


# --- worked examples ----------------------------------------------------------------------------------------

SEX = h.table([["f", "*"], ["m", "*"]])
TOWN = h.table([["a", "ab", "*"], ["b", "ab", "*"], ["c", "cd", "*"], ["d", "cd", "*"]])


def in_classes(classes, k=2):
    """Return a release of records with levels of their own: (town, sex, their levels, illness)."""
    names = ["town", "sex"]
    table = pa.table({name: [row[j] for row in classes] for j, name in enumerate(names)})
    table = table.append_column("ill", pa.array([row[3] for row in classes]))
    release = veil.anonymize(
        table,
        quasi_identifiers={"town": TOWN, "sex": SEX},
        sensitive=["ill"],
        models=KAnonymity(k),
        person=None,
    )
    return recoded(release, [row[2] for row in classes])


def test_a_cheaper_label_excludes_its_values_and_the_label_left_is_finer():
    three = [(town, "f", (2, 0), "x") for town in "abc"]
    outcome = in_classes([*three, ("c", "f", (1, 0), "y"), ("d", "f", (1, 0), "y")])
    (price,) = refine(outcome)
    # `* f` has three records, more than k: none of them would be there if it fitted `cd f`. One does.
    assert (price.principle, price.is_guaranteed) == ("price", False)
    assert (price.generalized, price.narrowed_by_one, price.narrowed, price.finer) == (5, 3, 3, 3)
    assert price.remaining_values == price.remaining_volume == pytest.approx((3 * 0.5 + 2) / 5)
    assert (price.wrong, price.wrong_share) == (1, 0.2)


def test_a_class_of_k_records_excludes_nothing_as_nobody_can_leave_it():
    pair = [("a", "f", (2, 0), "x"), ("c", "f", (2, 0), "x")]
    (price,) = refine(in_classes([*pair, ("c", "f", (1, 0), "y"), ("d", "f", (1, 0), "y")]))
    assert (price.narrowed, price.wrong, price.remaining_volume) == (0, 0, 1)


def test_several_classes_exclude_together_what_none_of_them_does_alone():
    wide = [("a", "f", (2, 1), "x"), ("b", "f", (2, 1), "x"), ("b", "m", (2, 1), "x")]
    men = [("c", "m", (1, 0), "y"), ("d", "m", (1, 0), "y")]
    women = [("c", "f", (1, 0), "y"), ("d", "f", (1, 0), "y")]
    (price,) = refine(in_classes([*wide, *men, *women]))
    assert (price.narrowed_by_one, price.narrowed, price.wrong) == (0, 3, 0)
    assert price.remaining_volume == pytest.approx((3 * 0.5 + 4) / 7)


def test_a_label_that_is_tight_has_a_record_of_each_of_two_values():
    (price,) = refine(
        in_classes([("a", "f", (0, 1), "x"), ("a", "m", (0, 1), "x"), *[("b", "f", (0, 0), "y")] * 2])
    )
    assert (price.downcoded, price.wrong_counts, price.narrowed) == (2, 0, 0)
    (price,) = refine(
        in_classes([("a", "f", (0, 1), "x"), ("a", "f", (0, 1), "x"), *[("b", "f", (0, 0), "y")] * 2])
    )
    assert (price.downcoded, price.wrong_counts) == (2, 2)  # it was not tight


def test_a_sensitive_value_becomes_certain_where_the_other_class_is_excluded():
    wide = [("a", "f", (2, 0), "x"), ("a", "f", (2, 0), "y"), ("b", "f", (2, 0), "y")]
    (price,) = refine(in_classes([*wide, ("c", "f", (1, 0), "flu"), ("d", "f", (1, 0), "flu")]))
    assert [(each.column, each.before, each.after) for each in price.certainty] == [("ill", 0, 2)]
    assert (price.newly_certain, price.below, price.smallest) == (2, 0, 2)
    assert (price.candidates_before, price.candidates_after) == (
        3,
        3,
    )  # median; those of `cd` had five, and have two


def test_fewer_than_k_of_the_later_records_are_under_a_label_that_a_pass_did_not_publish():
    table = pa.table({"sex": [*"fffmm", *"fm"], "town": [*"aaabb", *"cc"]})
    release = veil.anonymize(
        table,
        quasi_identifiers={"sex": SEX, "town": TOWN},
        models=KAnonymity(2),
        person=None,
        recoding=FromTheStart(100),
    )
    order = by_principle(release)["order"]
    # The first pass publishes all values; later, both records of `c` are one class `*`: one is `f` and one is `m`.
    assert [part.levels for part in release.outcome.parts] == [(0, 0), (1, 0)]
    assert (order.downcoded, order.wrong_counts, order.is_guaranteed) == (2, 0, True)


def test_a_label_for_each_value_excludes_nothing_but_one_that_a_single_class_has_cannot_be_split():
    release = veil.anonymize(
        pa.table({"town": list("aaabcccddd")}),
        quasi_identifiers={"town": TOWN},
        models=KAnonymity(3),
        person=None,
        recoding="subtree",
    )
    (cut,) = refine(release)
    assert sorted(set(release.table["town"].to_pylist())) == ["ab", "c", "d"]
    assert (cut.principle, cut.generalized, cut.narrowed, cut.wrong) == ("cut", 4, 0, 0)
    # With all four in `a`, that would have been their label: each of `a` and `b` has one at least.
    assert (cut.downcoded, cut.wrong_counts) == (2, 0)


@settings(max_examples=60, deadline=None)
@given(seeds)
def test_by_cut_nothing_is_excluded_and_counts_of_the_best_cut_are_right(seed):
    release = random_release(random.Random(seed), Subtree(), own=True, time_limit=0.1)
    for cut in refine(release) if release is not None else ():
        assert cut.principle == "cut"
        assert (cut.narrowed, cut.finer, cut.wrong, cut.below) == (0, 0, 0, 0)
        assert not cut.wrong_counts or not release.search.proven_optimal


def test_full_domain_releases_masks_and_private_ones_give_nothing_away_in_this_way():
    table = pa.table({"town": list("abcdabcd"), "sex": list("ffffmmmm")})
    levels = {"town": TOWN, "sex": SEX}
    (order,) = refine(veil.anonymize(table, quasi_identifiers=levels, models=KAnonymity(2), person=None))
    assert (order.principle, order.narrowed, order.downcoded, order.newly_certain) == ("order", 0, 0, 0)
    assert order.remaining_volume == order.remaining_values == 1
    table = pa.table({"age": [1, 1, 2, 2], "ill": [["x"], ["y"], ["x"], ["x"]]})
    (order,) = refine(
        veil.anonymize(
            table,
            quasi_identifiers={"age": h.intervals(2)},
            sensitive="ill",
            models=KAnonymity(2),
            person=None,
        )
    )
    assert (order.generalized, order.remaining_values, order.remaining_volume, order.certainty) == (
        0,
        1,
        1,
        (),
    )
    table = pa.table({"town": list("abcdabcd"), "sex": list("ffffmmmm")})
    assert refine(veil.mask(table, [Mondrian(["town", "sex"], KAnonymity(2))], person=None)) == ()


# --- against everything there is ----------------------------------------------------------------------------


def slow(outcome, principle, smallest):
    """Return the same figures from sets of combinations of values, and the true rows."""
    prepared = outcome.searched
    hierarchies = prepared.encoding.hierarchies
    columns = range(len(hierarchies))
    under = [
        [[set(np.flatnonzero(hierarchy.label_map(level) == code).tolist()) for code in range(len(labels))]
         for level, labels in enumerate(hierarchy.labels)]
        for hierarchy in hierarchies
    ]  # fmt: skip
    truth = [tuple(int(prepared.codes[j][row]) for j in columns) for row in range(prepared.rows.weights.rows)]
    problem = CellProblem.of(prepared, smallest)
    classes = {}
    for number, part in enumerate(outcome.parts):
        for row in part.rows.tolist():
            box = tuple(
                frozenset(under[j][level][hierarchies[j].label_map(level)[truth[row][j]]])
                for j, level in enumerate(part.levels)
            )
            cost = int(problem.cost_of(np.array([part.levels]), np.array([row]))[0])
            classes.setdefault(box, [[], number, cost])[0].append(row)
    ill = outcome.original["ill"].to_pylist()

    def excludes(f, c):
        if principle == "order":
            return classes[f][1] < classes[c][1]
        return classes[f][2] < classes[c][2] and len(classes[c][0]) > smallest

    figures = Counter()
    total_values = total_volume = Fraction(0)
    some = 0
    left = {}
    for c, (rows, *_) in classes.items():
        whole = set(itertools.product(*c))
        earlier = [f for f in classes if excludes(f, c)]
        left[c] = whole - set().union(*(set(itertools.product(*f)) for f in earlier))
        singly = [whole - set(itertools.product(*f)) for f in earlier]
        figures["wrong"] += sum(truth[row] not in left[c] for row in rows)
        if any(len(values) > 1 for values in c):
            some += len(rows)
            total_volume += len(rows) * Fraction(len(left[c]), len(whole))
        for j, values in enumerate(c):
            if len(values) > 1:
                remaining = {each[j] for each in left[c]}
                by_one = set(values).intersection(*({each[j] for each in rest} for rest in singly))
                figures["generalized"] += len(rows)
                figures["narrowed"] += len(rows) * (len(remaining) < len(values))
                figures["narrowed_by_one"] += len(rows) * (len(by_one) < len(values))
                total_values += len(rows) * Fraction(len(remaining), len(values))
                finest = min(
                    len(label) for level in under[j] for label in level if remaining and remaining <= label
                ) if remaining else len(values)  # fmt: skip
                figures["finer"] += len(rows) * (finest < len(values))
    hidden = set(range(len(truth))) - {row for rows, *_ in classes.values() for row in rows}
    before, after, sure_before, sure_after, mistaken = [], [], 0, 0, 0
    for row, x in enumerate(truth):
        fits = [c for c in classes if all(value in values for value, values in zip(x, c, strict=True))]
        remain = [c for c in fits if x in left[c]]
        own = next((c for c in fits if row in classes[c][0]), None)
        before.append(len(hidden) + sum(len(classes[c][0]) for c in fits))
        after.append(0 if fits else len(hidden))
        after[-1] += sum(len(classes[c][0]) for c in remain)
        right = own in remain if own is not None else not fits
        place = 1 if principle == "order" else 2
        figures["located"] += own is not None and classes[own][place] == min(classes[c][place] for c in fits)
        seen = {ill[each] for c in fits for each in classes[c][0]}
        sure_before += right and len(seen) == 1 and not hidden
        seen = {ill[each] for c in remain for each in classes[c][0]}
        sure_after += right and len(seen) == 1 and bool(fits)
        mistaken += not right and len(seen) == 1 and bool(fits)
    return {
        **{
            name: figures[name]
            for name in ("generalized", "narrowed", "narrowed_by_one", "finer", "wrong", "located")
        },
        "remaining_values": float(total_values / figures["generalized"]) if figures["generalized"] else 1.0,
        "remaining_volume": float(total_volume / some) if some else 1.0,
        "affected": some,
        "candidates_before": median_low(before),
        "candidates_after": median_low(after),
        "below": sum(each < smallest for row, each in enumerate(after) if row not in hidden),
        "certainty": (sure_before, sure_after, mistaken),
    }


@settings(max_examples=120, deadline=None)
@given(seeds, st.sampled_from(MODES))
def test_figures_are_those_of_going_through_all_combinations(seed, mode):
    release = random_release(random.Random(seed), mode, own=True)
    if release is None:
        return
    for attack in refine(release):
        expected = slow(release.outcome, attack.principle, attack.smallest)
        (secret,) = attack.certainty
        assert {**attack.to_dict(), "certainty": (secret.before, secret.after, secret.mistaken)} == (
            attack.to_dict() | {name: pytest.approx(value) for name, value in expected.items()}
        )


# --- nothing true is excluded -------------------------------------------------------------------------------


@settings(max_examples=150, deadline=None)
@given(seeds, st.sampled_from(MODES), st.booleans(), st.booleans())
def test_by_order_no_true_value_is_excluded_in_any_mode(seed, mode, own, diverse):
    models = [KAnonymity(2), DistinctLDiversity("ill", 2)] if diverse else None
    release = random_release(random.Random(seed), mode, own=own, models=models)
    for attack in refine(release) if release is not None else ():
        if attack.principle == "order":
            assert attack.is_guaranteed
            assert (attack.wrong, attack.wrong_counts, attack.below) == (0, 0, 0)


@settings(max_examples=75, deadline=None)
@given(seeds, st.sampled_from(MODES), st.sampled_from(["one row", "all rows"]))
def test_with_people_the_order_is_relied_on_only_where_an_attacker_knows_one_row(seed, mode, knows):
    release = random_release(random.Random(seed), mode, own=True, person="who", knows=knows)
    for attack in refine(release) if release is not None else ():
        if attack.principle == "order":
            assert attack.is_guaranteed == (knows == "one row")
            if attack.is_guaranteed:
                assert (attack.wrong, attack.wrong_counts) == (0, 0)


@settings(max_examples=75, deadline=None)
@given(seeds)
def test_by_price_no_true_value_is_excluded_from_a_recoding_of_least_cost(seed):
    rng = random.Random(seed)
    release = None
    while release is None or len(release.outcome.original) > 9:
        release = random_release(rng, None, own=True)
    smallest = release.outcome.plan.models[0].k
    outcome = recoded(release, cheapest_recoding(release, smallest))
    for attack in refine(outcome):
        assert (attack.wrong, attack.wrong_counts, attack.below) == (0, 0, 0)


def test_by_price_a_recoding_that_is_not_the_cheapest_is_told_of_wrong_exclusions():
    outcome = in_classes([*[("a", "f", (2, 1), "x")] * 3, *[("a", "f", (0, 0), "y")] * 2])
    (price,) = refine(outcome)
    assert (price.wrong, price.records, price.affected) == (3, 5, 3)
    # Of eight combinations one is excluded: at random, it would be that of 3/8 records.
    assert price.remaining_volume == 7 / 8
    assert price.error_ratio == 8
    assert not price.is_credible


def test_a_value_that_seems_certain_counts_unless_that_is_often_wrong():
    (price,) = refine(in_classes([("a", "f", (1, 0), "x"), ("b", "f", (1, 0), "y")]))
    for mistaken, expected in ((1, 9), (2, 0)):
        certainty = (Certainty("ill", 3, 12, mistaken), Certainty("other", 0, 1, 1))
        assert dataclasses.replace(price, certainty=certainty).newly_certain == expected


def test_a_label_that_stands_for_several_sets_of_values_excludes_nothing():
    release = veil.anonymize(
        pa.table({"town": list("aabbcc")}),
        quasi_identifiers={"town": h.table([["a", "b", "*"], ["b", "b", "*"], ["c", "c", "*"]])},
        models=KAnonymity(2),
        person=None,
    )
    boxes = Boxes.of(recoded(release, [[1], [1], [0], [0], [2], [2]]))
    assert sorted(zip(boxes.low[:, 0].tolist(), boxes.high[:, 0].tolist(), boxes.clear.tolist(), strict=True)) == [
        (0, 2, False), (0, 3, True),
    ]  # fmt: skip


def test_a_sample_is_attacked_where_classes_are_many():
    release = None
    seed = 0
    while release is None or len(release.outcome.parts) < 3:
        release = random_release(random.Random(seed), FromTheStart(50), own=True)
        seed += 1
    full, some = refine(release)[0], refine(release, pairs=1)[0]
    assert 0 < some.records < full.records == release.records - release.suppressed
