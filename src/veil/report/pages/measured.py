"""The sections on risks, utility, distributions and the search."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from veil.base.wording import plural
from veil.report.pages.blocks import (
    MOST_ROWS,
    Block,
    Cell,
    Folded,
    Heading,
    Paragraph,
    Picture,
    TableBlock,
    Verbatim,
    cut,
    list_names,
    note_on,
    number,
    percent,
)
from veil.report.pictures.charts import MOST_BARS

MOST_PICTURES = 24
"""Columns whose distributions are drawn."""


_SQUARED = (
    "“–”: squared errors are withheld where they could reveal a few values that neither the release nor the counts of the "
    "input show, here in {}."
)


def risks(facts: dict[str, Any]) -> tuple[Block, ...]:
    """Return the risks of both tables."""
    measures = facts["risks"]
    before, after, at = measures["before"], measures["after"], percent(measures["threshold"])
    lines: list[tuple[str, Any]] = [
        ("Prosecutor: highest risk of a record", lambda t: percent(t["attackers"]["prosecutor"]["highest"])),
        (f"Prosecutor: records with a risk above {at}", lambda t: percent(t["attackers"]["prosecutor"]["at_risk"])),
        ("Prosecutor: average risk", lambda t: percent(t["attackers"]["prosecutor"]["average"])),
        ("Journalist: highest risk of a record", lambda t: percent(t["attackers"]["journalist"]["highest"])),
        (f"Journalist: records with a risk above {at}", lambda t: percent(t["attackers"]["journalist"]["at_risk"])),
        ("Marketer: share of records identified", lambda t: percent(t["attackers"]["marketer"]["success_rate"])),
        ("Suppressed cells match everything: highest risk", lambda t: percent(t["wildcards"]["highest"])),
        ("Suppressed cells match everything: average risk", lambda t: percent(t["wildcards"]["average"])),
        ("Records that are unique", lambda t: f"{number(t['sample_uniques']['records'])} ({percent(t['sample_uniques']['share'])})"),
        ("SUDA: records with a minimal sample unique", lambda t: number(t["suda"]["records"])),
        ("SUDA: chance that a match with a unique is right (DIS)", lambda t: percent(t["suda"]["dis"])),
        ("Classes", lambda t: number(t["class_sizes"]["classes"])),
        ("Records per class, on average", lambda t: number(t["class_sizes"]["average"])),
        ("Smallest and largest class", lambda t: f"{number(t['class_sizes']['smallest'])} – {number(t['class_sizes']['largest'])}"),
    ]  # fmt: skip
    if after["population_uniques"] is not None:
        lines.append(("Unique in the population, by estimate (Dankar)", _population))
    tables = [table for table in (before, after) if table is not None]
    headings = ("Measure", "Before", "After") if before is not None else ("Measure", "Release")
    rows = tuple((name, *(spell(table) for table in tables)) for name, spell in lines)
    blocks: list[Block] = [
        Paragraph(_ATTACKERS + _suppressed(facts)),
        TableBlock(headings, rows, right=tuple(range(1, len(headings)))),
        Picture(
            "risks", "Share of the records by their risk of re-identification, and by the size of their class"
        ),
        Heading("What single columns reveal"),
        *_attribute_risks(before, after),
    ]
    return tuple(blocks)


_ATTACKERS = (
    "The prosecutor knows that a person is in the table, the journalist only that they belong to the population, and the "
    "marketer links everybody."
)


def _suppressed(facts: dict[str, Any]) -> str:
    """Return a sentence on suppressed records, which do not count, if there are any."""
    if facts["private"] or not facts["summary"].get("suppressed"):
        return ""
    cells_stay = facts["asked"]["suppressed_rows"] == "keep cells"
    more = "; what their other columns show is published" if cells_stay else ""
    return f" Suppressed records show no quasi-identifier and do not count{more}."


def _population(table: dict[str, Any]) -> str:
    estimate = table["population_uniques"]
    if estimate is None:
        return "–"
    return f"{estimate['dankar']['uniques']:,.0f} of {estimate['population']:,} ({percent(estimate['dankar']['share'])})"


def _attribute_risks(before: dict[str, Any] | None, after: dict[str, Any]) -> list[Block]:
    def by_name(table: dict[str, Any] | None) -> dict[str, dict[str, Any]]:
        return {} if table is None else {each["columns"][0]: each for each in table["attributes"]["single"]}

    first, second = by_name(before), by_name(after)
    rows: list[tuple[str | Cell, ...]] = []
    for name, each in sorted(second.items(), key=lambda item: -first.get(item[0], item[1])["separation"]):
        old = first.get(name)
        cells = [percent(old["distinction"]), percent(old["separation"])] if old else []
        rows.append((Verbatim(name), *cells, percent(each["distinction"]), percent(each["separation"])))
    headings: tuple[str, ...] = ("Column", "Distinction", "Separation")
    if first:
        headings = (
            "Column",
            "Distinction before",
            "Separation before",
            "Distinction after",
            "Separation after",
        )
    blocks: list[Block] = [
        TableBlock(headings, cut(rows), right=tuple(range(1, len(headings)))),
        *note_on(rows),
        Paragraph(
            "Distinction is the number of different values per record, separation the share of all pairs of records "
            "that differ.",
            "note",
        ),
    ]
    sets = after["attributes"]["sets"][:5]
    if sets:
        blocks += [
            Heading("Sets of columns that separate the released records best"),
            TableBlock(
                ("Columns", "Distinction", "Separation"),
                tuple(
                    (
                        Verbatim(list_names(each["columns"], 12)),
                        percent(each["distinction"]),
                        percent(each["separation"]),
                    )
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
            Heading("Count queries"),
            Paragraph(
                f"{plural(queries['queries'], 'random query', 'random queries')} that count the records with "
                f"{plural(queries['predicates'], 'condition')}, answered on the release: off by "
                f"{percent(queries['median'])} (median) and {percent(queries['mean'])} (mean) of the true count."
            ),
        ]
    if facts["asked"]["roles"].get("sensitive") and any(figures["predictions"].values()):
        blocks += _predictions(figures["predictions"])
    return tuple(blocks)


def _quality(figures: dict[str, Any]) -> list[Block]:
    measures = ("granularity", "intensity", "entropy", "squared_error")
    rows: list[tuple[str | Cell, ...]] = [
        (
            Verbatim(each["column"]),
            *(percent(each[name]) for name in measures),
            percent(each["missing_after"]),
        )
        for each in figures["attributes"]
    ]
    withheld = figures["withheld"]
    together = ("All together", *(percent(figures["together"][name]) for name in measures), "")
    names = {
        "discernibility": "Discernibility",
        "class_size": "Class size",
        "ambiguity": "Ambiguity",
        "record_error": "Record-level squared error",
        "sse_sst": "1 − SSE/SST",
    }
    return [
        Paragraph("How much information is left, from 0 % (nothing) to 100 % (all)."),
        TableBlock(
            (
                "Quasi-identifier",
                "Granularity",
                "Intensity",
                "Entropy",
                "Squared error",
                "Cells without a value",
            ),
            (*cut(rows), together),
            right=(1, 2, 3, 4, 5),
        ),
        *note_on(rows),
        TableBlock(
            ("Measure of the whole table", "Left"),
            tuple((names[key], percent(value)) for key, value in figures["table"].items()),
            right=(1,),
        ),
        *([Paragraph(_SQUARED.format(list_names(withheld)), "note")] if withheld else []),
    ]


def _statistics(statistics: list[dict[str, Any]], private: bool, unchanged: set[str]) -> list[Block]:
    rows: list[tuple[str | Cell, ...]] = []
    for each in statistics:
        old, new = each["before"], each["after"]
        before: tuple[str, ...] = ()
        if not private:
            hidden = "withheld" if old and old.get("withheld") else "–"
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
    after = ("Values", "Mean", "Std. dev.", "Median", "Mode")
    headings: tuple[str, ...] = ("Column", *after)
    if not private:
        headings = (
            "Column",
            "Values before",
            "Mean before",
            "Std. dev. before",
            *(f"{name} after" for name in after),
        )
    # Texts have no means: empty columns are left out.
    used = [at for at in range(len(headings)) if at < 2 or any(row[at] not in ("–", "") for row in rows)]
    headings, rows = tuple(headings[at] for at in used), [tuple(row[at] for at in used) for row in rows]
    right = tuple(range(1, len(headings)))
    changed_rows = [row for row in rows if row[0] not in unchanged]
    unchanged_rows = [row for row in rows if row[0] in unchanged]
    blocks: list[Block] = [Heading("Summary statistics")]
    if changed_rows:
        blocks += [TableBlock(headings, cut(changed_rows), right=right), *note_on(changed_rows)]
    if unchanged_rows:
        table = TableBlock(headings, cut(unchanged_rows), right=right)
        title = f"Statistics of {plural(len(unchanged_rows), 'column')} published as before"
        blocks.append(Folded(title, (table, *note_on(unchanged_rows))))
    if not private:
        blocks.append(
            Paragraph(
                "Input medians, modes and extremes are not shown because they are values of individual people. Means and "
                "standard deviations are rounded to three digits, and withheld where they could reveal a suppressed value, "
                "and for columns published as they are wherever records are suppressed. A mode is shown if no other value "
                "is as frequent.",
                "note",
            )
        )
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
    text = number(value)
    return text if len(text) <= 30 else text[:29] + "…"


def _preservation(preservation: dict[str, Any], unchanged: set[str]) -> list[Block]:
    if not preservation["columns"]:
        return []
    rows = [
        (
            Verbatim(each["column"]),
            percent(each["compared"]),
            percent(each["mean_change"]),
            percent(each["variance_change"]),
            number(each["sse_sst"]),
        )
        for each in preservation["columns"]
    ]
    changed_rows = [row for row in rows if row[0] not in unchanged]
    headings = ("Column", "Numbers released", "Change of the mean", "Change of the variance", "SSE/SST")
    if not changed_rows:
        return []
    return [
        Heading("Columns of numbers"),
        TableBlock(headings, tuple(changed_rows[:MOST_ROWS]), right=(1, 2, 3, 4)),
        *note_on(changed_rows),
        Paragraph(
            "Changes are computed from figures rounded to three digits; “–” means no visible change.", "note"
        ),
    ]


def _predictions(predictions: dict[str, Any]) -> list[Block]:
    blocks: list[Block] = [Heading("Predicting sensitive columns from the quasi-identifiers")]
    if predictions["classification"]:
        blocks.append(
            TableBlock(
                (
                    "Column",
                    "Model",
                    "Accuracy before",
                    "Accuracy after",
                    "Most frequent value",
                    "Kept of the gain",
                ),
                tuple(
                    (
                        Verbatim(each["target"]),
                        each["method"],
                        percent(each["original"]),
                        percent(each["released"]),
                        percent(each["zero_r"]),
                        _gain(each),
                    )
                    for each in predictions["classification"]
                ),
                right=(2, 3, 4, 5),
            )
        )
    if predictions["regression"]:
        blocks.append(
            TableBlock(
                ("Column", "Model", "R² before", "R² after"),
                tuple(
                    (Verbatim(each["target"]), each["method"], *(number(value) for value in each["r2"]))
                    for each in predictions["regression"]
                ),
                right=(2, 3),
            )
        )
    return blocks + [Paragraph(note, "note") for note in predictions["notes"]]


def _gain(prediction: dict[str, Any]) -> str:
    if prediction["original"] <= prediction["zero_r"]:
        return "–"
    return "none" if prediction["relative"] <= 0 else percent(prediction["relative"])


def distributions(facts: dict[str, Any]) -> tuple[Block, ...]:
    """Return the frequencies of values, and the associations of columns."""
    every = _drawable(facts)
    columns = every[:MOST_PICTURES]
    text = "Only values that the release shows are named."
    if not facts["private"]:
        text += " The input is counted by the same labels; what the release does not show is counted as one."
        if any(each["withheld"] for each in columns):
            text += (
                " Where fewer than ten records are not shown, or nearly all of them have one label, the input is not drawn, "
                "as the difference would reveal the label; nor for columns published as they are if records are suppressed."
            )
    blocks: list[Block] = [Paragraph(text)]
    unchanged = as_before(facts)
    changed = tuple(each["column"] for each in columns if each["column"] not in unchanged)
    same = tuple(each["column"] for each in columns if each["column"] in unchanged)
    if changed:
        blocks.append(
            Picture("distributions", "How often values occur in columns that were changed", changed)
        )
    if same:
        picture = Picture(
            "distributions", "How often values occur in columns that are published as before", same
        )
        title = f"Distributions of {plural(len(same), 'column')} published as before"
        blocks.append(Folded(title, (picture,)))
    if len(every) > len(columns):
        left = plural(len(every) - len(columns), "further column")
        blocks.append(Paragraph(f"{left} not drawn; the report as JSON has all of them.", "note"))
    table = facts["associations"]
    if len(table["columns"]) > 1:
        blocks.append(Heading("How strongly columns depend on each other"))
        blocks.append(
            Picture(
                "correlations",
                "Cramér's V, corrected for bias: 0 for independent columns, 1 if one determines the other; grey for columns "
                "with a single value",
            )
        )
        if table["left_out"]:
            blocks.append(Paragraph(f"{plural(table['left_out'], 'further column')} left out.", "note"))
    return tuple(blocks)


def as_before(facts: dict[str, Any]) -> set[str]:
    """Return the columns that are unchanged except in suppressed records."""
    same = ("published as it is", "kept as it is")
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
    text = f"{space['evaluated']:,} of {space['size']:,} transformations were evaluated"
    everything = space["evaluated"] == space["size"]
    text += ", the others ruled out by proof." if summary["proven_optimal"] and not everything else "."
    blocks: list[Block] = [
        Paragraph(text),
        Picture(
            "space", "Evaluated transformations: their score if anonymous, and the records that they suppress"
        ),
    ]
    if len(space["nodes"]) < space["evaluated"]:
        blocks.append(Paragraph(f"The picture shows {len(space['nodes']):,} of them, evenly drawn.", "note"))
    return tuple(blocks)
