"""The sections on risks, utility, distributions and the search."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from veil.base.wording import joined, plural
from veil.report.pages.blocks import (
    Block,
    Folded,
    Heading,
    Paragraph,
    Picture,
    Row,
    TableBlock,
    Verbatim,
    list_names,
    long_table,
    number,
    percent,
    table,
)
from veil.report.pictures.charts import MOST_BARS
from veil.report.texts import text, texts

MOST_PICTURES = 24
"""Columns whose distributions are drawn."""


def risks(facts: dict[str, Any]) -> tuple[Block, ...]:
    """Return the risks of both tables."""
    measures = facts["risks"]
    before, after, at = measures["before"], measures["after"], percent(measures["threshold"])
    lines: list[tuple[str, Any]] = [
        (text("annex.prosecutor_highest_risk"), lambda t: percent(t["attackers"]["prosecutor"]["highest"])),
        (text("annex.prosecutor_records_risk", at=at), lambda t: percent(t["attackers"]["prosecutor"]["at_risk"])),
        (text("annex.prosecutor_average_risk"), lambda t: percent(t["attackers"]["prosecutor"]["average"])),
        (text("annex.journalist_highest_risk"), lambda t: percent(t["attackers"]["journalist"]["highest"])),
        (text("annex.journalist_records_risk", at=at), lambda t: percent(t["attackers"]["journalist"]["at_risk"])),
        (text("annex.marketer_share_records"), lambda t: percent(t["attackers"]["marketer"]["success_rate"])),
        (text("annex.wildcards_highest"), lambda t: percent(t["wildcards"]["highest"])),
        (text("annex.wildcards_average"), lambda t: percent(t["wildcards"]["average"])),
        (text("annex.records_unique"), lambda t: f"{number(t['sample_uniques']['records'])} ({percent(t['sample_uniques']['share'])})"),
        (text("annex.suda_records"), lambda t: number(t["suda"]["records"])),
        (text("annex.suda_dis"), lambda t: percent(t["suda"]["dis"])),
        (text("annex.classes"), lambda t: number(t["class_sizes"]["classes"])),
        (text("annex.records_per_class"), lambda t: number(t["class_sizes"]["average"])),
        (text("annex.smallest_largest_class"), lambda t: f"{number(t['class_sizes']['smallest'])} – {number(t['class_sizes']['largest'])}"),
    ]  # fmt: skip
    if after["population_uniques"] is not None:
        lines.append((text("annex.unique_population_estimate"), _population))
    tables = [table for table in (before, after) if table is not None]
    headings = texts("annex.measure release" if before is None else "annex.measure before after")
    rows = tuple((name, *(spell(table) for table in tables)) for name, spell in lines)
    blocks: list[Block] = [
        Paragraph(joined([text("annex.attackers"), *_suppressed(facts)])),
        TableBlock(headings, rows, right=tuple(range(1, len(headings)))),
        Picture("risks", text("annex.risk_pictures")),
        Heading(text("annex.single_columns_reveal")),
        *_attribute_risks(before, after),
        *_refinements(measures["refinements"]),
    ]
    return tuple(blocks)


def _refinements(attacks: list[dict[str, Any]]) -> list[Block]:
    """Return what labels say about who is not in a class, if records have labels of their own."""
    if not any(each["principle"] in ("price", "cut") for each in attacks):
        return []
    lines: list[tuple[str, Any]] = [
        (text("annex.refined_narrowed"), lambda each: percent(each["narrowed_share"])),
        (text("annex.refined_values"), lambda each: percent(each["remaining_values"])),
        (text("annex.refined_volume"), lambda each: percent(each["remaining_volume"])),
        (text("annex.refined_finer"), lambda each: number(each["finer"])),
        (text("annex.refined_downcoded"), lambda each: number(each["downcoded"])),
        (text("annex.refined_candidates"), lambda each: f"{number(each['candidates_before'])} → {number(each['candidates_after'])}"),
        (text("annex.refined_below"), lambda each: number(each["below"])),
        (text("annex.refined_certain"), lambda each: number(each["newly_certain"])),
        (text("annex.refined_wrong"), lambda each: percent(each["wrong_share"])),
        (text("annex.refined_ratio"), lambda each: percent(each["error_ratio"])),
    ]  # fmt: skip
    headings = (text("annex.measure"), *(text(f"annex.refined_by_{each['principle']}") for each in attacks))
    rows = tuple((name, *(spell(each) for each in attacks)) for name, spell in lines)
    return [
        Heading(text("annex.refined")),
        Paragraph(text("annex.refined_about")),
        TableBlock(headings, rows, right=tuple(range(1, len(headings)))),
    ]


def _suppressed(facts: dict[str, Any]) -> list[str]:
    """Return a sentence on suppressed records, which do not count, if there are any."""
    if facts["private"] or not facts["summary"].get("suppressed"):
        return []
    cells_stay = facts["asked"]["suppressed_rows"] == "keep cells"
    return [text("annex.cells_do_not_count" if cells_stay else "annex.suppressed_do_not_count")]


def _population(table: dict[str, Any]) -> str:
    estimate = table["population_uniques"]
    if estimate is None:
        return "–"
    figures = estimate["dankar"]
    share = percent(figures["share"])
    return text("annex.population", uniques=figures["uniques"], all=estimate["population"], share=share)


def _attribute_risks(before: dict[str, Any] | None, after: dict[str, Any]) -> list[Block]:
    def by_name(table: dict[str, Any] | None) -> dict[str, dict[str, Any]]:
        return {} if table is None else {each["columns"][0]: each for each in table["attributes"]["single"]}

    first, second, measures = by_name(before), by_name(after), ("distinction", "separation")
    rows: list[Row] = []
    for name, each in sorted(second.items(), key=lambda item: -first.get(item[0], item[1])["separation"]):
        figures = [first[name], each] if name in first else [each]
        rows.append((Verbatim(name), *(percent(of[measure]) for of in figures for measure in measures)))
    names = "annex.distinction separation"
    if first:
        names = "annex.distinction_before separation_before distinction_after separation_after"
    headings = texts(f"common.column {names}")
    blocks: list[Block] = [
        *long_table(headings, rows, right=tuple(range(1, len(headings)))),
        Paragraph(text("annex.distinction_and_separation"), "note"),
    ]
    sets = after["attributes"]["sets"][:5]
    if sets:
        blocks += [
            Heading(text("annex.sets_columns_separate")),
            table(
                "common.columns annex.distinction separation",
                (
                    (list_names(each["columns"], 12), *(percent(each[name]) for name in measures))
                    for each in sets
                ),
                right=(1, 2),
            ),
        ]
    return blocks


def utility(facts: dict[str, Any]) -> tuple[Block, ...]:
    """Return the utility of the release."""
    figures = facts["utility"]
    blocks: list[Block] = [] if figures["note"] is None or facts["private"] else [Paragraph(figures["note"])]
    if figures["quality"] is not None:
        blocks += _quality(figures["quality"])
    if figures["statistics"]:
        blocks += _statistics(figures["statistics"], facts["private"], as_before(facts))
    if figures["preservation"] is not None:
        blocks += _preservation(figures["preservation"], as_before(facts))
    if figures["queries"] is not None and figures["queries"]["mean"] is not None:
        queries = figures["queries"]
        blocks += [
            Heading(text("annex.count_queries")),
            Paragraph(
                text(
                    "annex.queries_answered",
                    queries=plural(queries["queries"], "random query", "random queries"),
                    conditions=plural(queries["predicates"], "condition"),
                    median=percent(queries["median"]),
                    mean=percent(queries["mean"]),
                )
            ),
        ]
    if facts["asked"]["roles"].get("sensitive") and any(figures["predictions"].values()):
        blocks += _predictions(figures["predictions"])
    return tuple(blocks)


def _quality(figures: dict[str, Any]) -> list[Block]:
    measures = ("granularity", "intensity", "entropy", "squared_error")
    rows: list[Row] = [
        (Verbatim(each["column"]), *(percent(each[name]) for name in (*measures, "missing_after")))
        for each in figures["attributes"]
    ]
    withheld = figures["withheld"]
    together = (text("annex.all_together"), *(percent(figures["together"][name]) for name in measures), "")
    return [
        Paragraph(text("annex.how_much_information")),
        *long_table(
            texts("annex.quasi_identifier granularity intensity entropy squared_error cells_without_value"),
            rows,
            right=(1, 2, 3, 4, 5),
            last=(together,),
        ),
        table(
            "annex.measure_whole_table annex.left",
            ((text(f"quality.{key}"), percent(value)) for key, value in figures["table"].items()),
            right=(1,),
        ),
        *(
            [Paragraph(text("annex.withheld_errors", columns=list_names(withheld)), "note")]
            if withheld
            else []
        ),
    ]


def _statistics(statistics: list[dict[str, Any]], private: bool, unchanged: set[str]) -> list[Block]:
    rows: list[Row] = []
    for each in statistics:
        old, new = each["before"], each["after"]
        before: tuple[str, ...] = ()
        if not private:
            hidden = text("annex.withheld") if old and old.get("withheld") else "–"
            figures = [
                number(old[key]) if old and old.get(key) is not None else hidden
                for key in ("mean", "standard_deviation")
            ]
            before = (number(old.get("count")), *figures) if old else ("–", "–", "–")
        rows.append(
            (
                Verbatim(each["column"]),
                *before,
                number(new.get("count", 0)),
                number(new.get("mean")),
                number(new.get("standard_deviation")),
                _cell(new.get("median"), _value),
                _cell(new.get("mode"), _exact),
            )
        )
    headings: tuple[str, ...] = texts(
        "common.column annex.values mean std_dev median mode"
        if private
        else "common.column annex.values_before mean_before std_dev_before "
        "values_after mean_after std_dev_after median_after mode_after"
    )
    # Texts have no means: empty columns are left out.
    used = [at for at in range(len(headings)) if at < 2 or any(row[at] not in ("–", "") for row in rows)]
    headings, rows = tuple(headings[at] for at in used), [tuple(row[at] for at in used) for row in rows]
    right = tuple(range(1, len(headings)))
    changed_rows = [row for row in rows if row[0] not in unchanged]
    unchanged_rows = [row for row in rows if row[0] in unchanged]
    blocks: list[Block] = [Heading(text("annex.summary_statistics"))]
    if changed_rows:
        blocks += long_table(headings, changed_rows, right)
    if unchanged_rows:
        title = text("annex.statistics_as_before", count=len(unchanged_rows))
        blocks.append(Folded(title, tuple(long_table(headings, unchanged_rows, right))))
    if not private:
        blocks.append(Paragraph(text("annex.not_shown_of_input"), "note"))
    return blocks


def _cell(value: Any, spell: Callable[[Any], str]) -> str:
    """Format a value of the table: numbers are translated, other values are not."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return spell(value) if is_number else Verbatim(spell(value))


def _exact(value: Any) -> str:
    """Format a value without rounding.

    >>> _exact(2700.0), _exact(0.123456), _exact("a")
    ('2,700', '0.123456', 'a')
    """
    return _value(f"{value:,}".removesuffix(".0") if isinstance(value, float) else value)


def _value(value: Any) -> str:
    spelled = number(value)
    return spelled if len(spelled) <= 30 else spelled[:29] + "…"


def _preservation(preservation: dict[str, Any], unchanged: set[str]) -> list[Block]:
    if not preservation["columns"]:
        return []
    shares = ("compared", "mean_change", "variance_change")
    rows: list[Row] = [
        (Verbatim(each["column"]), *(percent(each[name]) for name in shares), number(each["sse_sst"]))
        for each in preservation["columns"]
    ]
    changed_rows = [row for row in rows if row[0] not in unchanged]
    headings = texts("common.column annex.numbers_released change_mean change_variance sse_sst")
    if not changed_rows:
        return []
    return [
        Heading(text("annex.columns_of_numbers")),
        *long_table(headings, changed_rows, right=(1, 2, 3, 4)),
        Paragraph(text("annex.changes_rounded"), "note"),
    ]


def _predictions(predictions: dict[str, Any]) -> list[Block]:
    blocks: list[Block] = [Heading(text("annex.predicting_sensitive_columns"))]
    shares = ("original", "released", "zero_r")
    if predictions["classification"]:
        blocks.append(
            table(
                "common.column annex.model accuracy_before accuracy_after most_frequent_value kept_gain",
                (
                    (
                        Verbatim(each["target"]),
                        each["method"],
                        *(percent(each[name]) for name in shares),
                        _describe_gain(each),
                    )
                    for each in predictions["classification"]
                ),
                right=(2, 3, 4, 5),
            )
        )
    if predictions["regression"]:
        blocks.append(
            table(
                "common.column annex.model r2_before r2_after",
                (
                    (Verbatim(each["target"]), each["method"], *(number(value) for value in each["r2"]))
                    for each in predictions["regression"]
                ),
                right=(2, 3),
            )
        )
    return blocks + [Paragraph(note, "note") for note in predictions["notes"]]


def _describe_gain(prediction: dict[str, Any]) -> str:
    if prediction["original"] <= prediction["zero_r"]:
        return "–"
    return text("annex.no_gain") if prediction["relative"] <= 0 else percent(prediction["relative"])


def distributions(facts: dict[str, Any]) -> tuple[Block, ...]:
    """Return the frequencies of values, and the associations of columns."""
    every = _drawable(facts)
    columns = every[:MOST_PICTURES]
    sentences = [text("annex.values_of_release")]
    if not facts["private"]:
        sentences.append(text("annex.input_by_same_labels"))
        if any(each["withheld"] for each in columns):
            sentences.append(text("annex.input_not_drawn"))
    estimated = [each["column"] for each in columns if each["estimated"]]
    if estimated:
        sentences.append(text("annex.labels_of_several_levels", columns=joined(estimated, ", ")))
    blocks: list[Block] = [Paragraph(joined(sentences))]
    unchanged = as_before(facts)
    changed = tuple(each["column"] for each in columns if each["column"] not in unchanged)
    same = tuple(each["column"] for each in columns if each["column"] in unchanged)
    if changed:
        blocks.append(Picture("distributions", text("annex.values_changed"), changed))
    if same:
        picture = Picture("distributions", text("annex.values_unchanged"), same)
        blocks.append(Folded(text("annex.distributions_as_before", count=len(same)), (picture,)))
    if len(every) > len(columns):
        blocks.append(Paragraph(text("annex.columns_not_drawn", count=len(every) - len(columns)), "note"))
    table = facts["associations"]
    if len(table["columns"]) > 1:
        blocks.append(Heading(text("annex.how_strongly_columns")))
        blocks.append(Picture("correlations", text("annex.cramers_v")))
        if table["left_out"]:
            blocks.append(Paragraph(text("annex.further_columns", count=table["left_out"]), "note"))
    return tuple(blocks)


def as_before(facts: dict[str, Any]) -> set[str]:
    """Return the columns that are unchanged except in suppressed records."""
    same = texts("treatment.published kept")
    return {each["column"] for each in facts["done"]["columns"] if each["treatment"] in same}


def _drawable(facts: dict[str, Any]) -> list[dict[str, Any]]:
    left_out = ("flag", "identifying")
    every = [each for each in facts["distributions"] if each["role"] not in left_out and each["values"]]
    return [each for each in every if not _all_different(each)]


def _all_different(column: dict[str, Any]) -> bool:
    """Whether hardly any value is frequent enough to be drawn, as with pseudonyms."""
    total, different = sum(column["after"]) + column["others_after"], len(column["values"]) + column["others"]
    most: int = sum(sorted(column["after"], reverse=True)[:MOST_BARS])
    return bool(different > _MANY and most < total / 20)


_MANY = 100
"""Distinct values that are too many to draw, if hardly any is frequent."""


def search(facts: dict[str, Any]) -> tuple[Block, ...]:
    """Return the transformations that the search evaluated."""
    space, summary = facts["space"], facts["summary"]
    ruled_out = summary["proven_optimal"] and space["evaluated"] < space["size"]
    name = "annex.evaluated_others_ruled_out" if ruled_out else "annex.evaluated"
    blocks: list[Block] = [
        Paragraph(text(name, evaluated=space["evaluated"], size=space["size"])),
        Picture("space", text("annex.space_picture")),
    ]
    if len(space["nodes"]) < space["evaluated"]:
        blocks.append(Paragraph(text("annex.picture_shows_them", nodes=len(space["nodes"])), "note"))
    return tuple(blocks)
