"""The forms of WP 216 and NIST SP 800-188: figures of the release, no value of the table, and open questions left open."""

from __future__ import annotations

import pytest

import veil
from veil import DistinctLDiversity, KAnonymity
from veil import hierarchies as h
from veil.errors import OutputError
from veil.report.criteria import SOURCES, answers
from veil.synthetic import patients


@pytest.fixture(scope="module")
def release():
    return veil.anonymize(
        patients(300),
        quasi_identifiers={"age": h.intervals(20, 40), "sex": "suppression"},
        sensitive=["diagnosis", "stay"],
        identifying=["name"],
        others="drop",
        person=None,
        models=[KAnonymity(5), DistinctLDiversity("diagnosis", 2)],
        suppression_limit=0.1,
    )


def test_each_criterion_says_what_is_promised_and_what_is_not(release):
    singling, linking, inference = answers(release.outcome, "WP 216")
    after = release.risk()[1]
    assert f"{100 * after.uniques:.3g} % are now" in " ".join(singling.facts)
    assert "KAnonymity(k=5)" in " ".join(singling.facts)
    assert f"is {100 * after.highest:.3g} %" in " ".join(linking.facts)
    assert "that no person has several rows" in linking.open_points
    assert "DistinctLDiversity" in " ".join(inference.facts)
    assert "no promise limits what can be inferred about 'stay'" in inference.facts


@pytest.mark.parametrize("guide", list(SOURCES))
def test_the_form_names_its_source_no_value_and_what_is_left(release, tmp_path, guide):
    path = release.criteria(tmp_path / "form.md", guide)
    text = path.read_text()
    assert SOURCES[guide] in text
    assert text.count("- [ ] To be answered by you") >= 3
    for column in ("name", "diagnosis"):
        for value in set(patients(300)[column].to_pylist()) - {None}:
            assert str(value) not in text
    with pytest.raises(OutputError):
        release.criteria(path, guide)


def test_masks_have_a_form_too(tmp_path):
    masked = veil.mask(
        patients(200).drop_columns(["name"]), veil.masking.RankSwapping("age", p=10), person=None
    )
    assert "Singling out" in masked.criteria(tmp_path / "form.md").read_text()
