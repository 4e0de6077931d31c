from __future__ import annotations

import builtins
from typing import Any

import pyarrow as pa
import pytest
from matplotlib.figure import Figure

import veil
from support.refusals import refused
from veil import KAnonymity
from veil import hierarchies as h
from veil.api.release import Release
from veil.errors import MissingDependencyError, PlanError


@pytest.fixture(scope="module")
def release() -> Release:
    table = pa.table({"age": [21, 22, 23, 34, 35, 61], "sex": list("ffmmff"), "ill": list("ababab")})
    return veil.anonymize(
        table,
        quasi_identifiers={"age": h.intervals(20, 40), "sex": "suppression"},
        sensitive="ill",
        models=KAnonymity(2),
        suppression_limit=0.2,
    )


def heights(axes: Any) -> list[list[float]]:
    return [[bar.get_height() for bar in group] for group in axes.containers]


def test_risks_show_every_record(release: Release) -> None:
    axes = release.plot.risks().axes[0]
    before, after = heights(axes)
    assert sum(before) == pytest.approx(1)
    assert sum(after) == pytest.approx(1)
    assert before[-1] == 1.0  # everybody was alone
    assert after[-1] == 0.0


def test_class_sizes_show_every_record(release: Release) -> None:
    axes = release.plot.class_sizes().axes[0]
    labels = [each.get_text() for each in axes.get_xticklabels()]
    before, after = (dict(zip(labels, each, strict=True)) for each in heights(axes))
    assert before["1"] == 1.0
    sizes = release.outcome.by_records.sizes
    for label, share in after.items():
        assert share == pytest.approx(sizes[sizes == int(label)].sum() / sizes.sum())


def test_a_distribution_shows_each_value(release: Release) -> None:
    axes = release.plot.distribution("ill").axes[0]
    assert [each.get_text() for each in axes.get_yticklabels()] == ["a", "b"]
    assert [[bar.get_width() for bar in group] for group in axes.containers] == [[0.5, 0.5], [0.5, 0.5]]


def test_an_unknown_column_is_refused(release: Release) -> None:
    with refused(PlanError, "no column 'il'", "mean 'ill'"):
        release.plot.distribution("il")


def test_all_distributions_are_drawn(release: Release) -> None:
    assert [axes.get_title(loc="left") for axes in release.plot.distributions().axes] == ["age", "sex", "ill"]


def test_correlations_show_both_tables(release: Release) -> None:
    titles = [axes.get_title(loc="left") for axes in release.plot.correlations().axes]
    assert titles[:2] == ["before", "after"]


def test_the_space_shows_the_chosen_node(release: Release) -> None:
    axes = release.plot.space("suppressed").axes[0]
    chosen = axes.collections[-1].get_offsets()[0]
    assert chosen[0] == sum(release.transformation.values())
    assert chosen[1] == pytest.approx(release.suppressed / 6)


def test_quality_falls_over_time(release: Release) -> None:
    scores = list(release.plot.quality().axes[0].lines[0].get_ydata())
    assert scores == sorted(scores, reverse=True)
    assert scores[-1] == release.score


@pytest.mark.parametrize("name", ["risks", "class_sizes", "correlations", "space", "quality"])
def test_pictures_are_drawn_into_given_axes(release: Release, name: str) -> None:
    figure = Figure()
    first, second = figure.subplots(1, 2)
    assert getattr(release.plot, name)(ax=second) is figure
    assert not first.has_data()
    assert second.has_data()


def test_pyplot_knows_of_nothing(release: Release) -> None:
    import matplotlib.pyplot as plt

    release.plot.risks()
    assert plt.get_fignums() == []


def test_without_matplotlib_it_is_said_what_to_install(
    release: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def without(name: str, *args: Any, **options: Any) -> Any:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with refused(MissingDependencyError, "veil-anonymizer[plot]"):
        release.plot.risks()


def test_notebooks_show_tables_without_markup_from_them() -> None:
    table = pa.table({"<i>": ["<b>x</b>", "<b>x</b>"]})
    release = veil.anonymize(table, quasi_identifiers={"<i>": "identity"}, models=KAnonymity(2))
    shown = release._repr_html_()
    assert "&lt;b&gt;x&lt;/b&gt;" in shown
    assert "<b>x" not in shown
    assert "<i>" not in shown


def test_analyses_show_themselves_in_notebooks(release: Release) -> None:
    names = ["age", "sex"]
    for found in (
        veil.risk.analyze(release.arrow, names),
        veil.utility.utility_of(release),
        veil.assess(release.arrow, quasi_identifiers=names),
    ):
        shown = found._repr_html_()  # type: ignore[attr-defined]
        assert shown.startswith(("<pre>", "<table>", "<p><b>"))
        assert "[20, 40[" not in shown
    assert "k = 2" in veil.assess(release.arrow, quasi_identifiers=names)._repr_html_()
