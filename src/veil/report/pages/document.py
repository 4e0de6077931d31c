"""The report in words: sections of texts, tables and pictures, for any format."""

from __future__ import annotations

from typing import Any

from veil.base.describe import help_on
from veil.base.wording import joined, plural
from veil.lattice.optimality import gap_in_words
from veil.report.pages import measured, policies, steps, tables
from veil.report.pages.advice import alternatives
from veil.report.pages.blocks import (
    Block,
    Cell,
    Folded,
    Heading,
    Paragraph,
    Row,
    Section,
    TableBlock,
    Verbatim,
    day,
    list_names,
    long_table,
    number,
    percent,
    spell_parameter,
    table,
    verdict,
)
from veil.report.pages.concerns import concerns
from veil.report.pages.first import first_page, has_only_masks
from veil.report.pages.repeat import certificate, repetition
from veil.report.texts import methods_in_order, text, texts


def title_of(facts: dict[str, Any]) -> str:
    """Return the title of the report."""
    title = facts["about"]["title"]
    return text("page.title") if title is None else Verbatim(title)


def imprint(facts: dict[str, Any]) -> str:
    """Return when and with what the report was made."""
    return text("page.made", date=Verbatim(day(facts["date"])), version=Verbatim(facts["versions"]["veil"]))


def sections(facts: dict[str, Any]) -> list[Section]:
    """Return the sections of a report: a page to sign, the main part, then the annex of figures."""
    request = () if has_only_masks(facts) else _request(facts)
    if facts["asked"]["steps"]:
        request = (*request, *steps.request(facts))
    main = {
        "before": concerns(facts),
        "summary": _summary(facts),
        "asked": request,
        "policies": () if facts["policies"] is None else policies.account_of_policies(facts["policies"]),
        "tables": tables.linked_tables(facts) if facts["tables"] else (),
        "done": _treatment(facts),
        "guarantees": _guarantees(facts),
        "alternatives": alternatives(facts),
    }
    annex = {
        "risks": measured.risks(facts),
        "utility": measured.utility(facts),
        "distributions": measured.distributions(facts),
        "search": () if facts["space"] is None else measured.search(facts),
        "again": repetition(facts),
        "certificate": certificate(facts),
    }
    titles = {key: text(f"title.{key}") for key in (*main, *annex)}
    if facts["private"]:
        titles |= {key: text(f"title.{key}_alone") for key in ("risks", "utility")}
    return [
        Section("first", text("title.first"), first_page(facts), "first"),
        *(Section(key, titles[key], blocks) for key, blocks in main.items() if blocks),
        *(Section(key, titles[key], blocks, "annex") for key, blocks in annex.items() if blocks),
    ]


def _summary(facts: dict[str, Any]) -> tuple[Block, ...]:
    summary, request = facts["summary"], facts["asked"]
    blocks: list[Block] = [Paragraph(_summarize(facts), "lead")]
    rows: list[Row] = []

    def add(name: str, /, value: str | Cell, **values: object) -> None:
        rows.append((text(f"summary.{name}", **values), value))

    if not facts["private"]:
        add("records", number(summary["records"]))
        if request["subset"]:
            add("subset", number(summary["chosen"]))
        if summary["suppression_limit"] is not None:
            limit = {"limit": percent(summary["suppression_limit"]), "within": summary["within_limit"]}
            suppressed, people = summary["suppressed"], summary.get("people")
            if people is not None:
                count = people["lose_a_row"]
                add("suppressed_rows", _with_share(suppressed, summary["chosen"]))
                add("people", number(people["all"]))
                add("people_who_lose_a_row", _with_share(count, people["all"], **limit))
            else:
                add("suppressed_records", _with_share(suppressed, summary["chosen"], **limit))
    add("rows_of_all_tables" if facts["tables"] else "rows", number(summary["released_rows"]))
    unit = "people" if "people" in summary else "records"
    add(f"groups_of_{unit}", number(summary["classes"]))
    add(f"smallest_group_of_{unit}", number(summary["smallest_class"]))
    for each in facts["output"]["apart"]:
        rows_apart = plural(each["rows"], "row")
        value = text("summary.kept_secret" if each["secret"] else "summary.released_beside", rows=rows_apart)
        add("separate_table", value, table=Verbatim(each["name"]))
    if "score" in summary:
        score = summary["score"] if isinstance(summary["score"], list) else [summary["score"]]
        add("score", ", ".join(f"{each:.6g}" for each in score), kind=request["quality"]["kind"])
        add("search", _ending(summary))
    if not has_only_masks(facts):
        add("verification", verdict(summary["holds"]))
    elif facts["verification"]:
        add("promises_of_methods", verdict(summary["holds"]))
    blocks.append(TableBlock(("", ""), tuple(rows)))
    return tuple(blocks)


def _with_share(count: int, total: int, *, limit: str | None = None, within: bool = True) -> str:
    """Return a count with its share of the total and the limit."""
    name = "share" if limit is None else "share_and_limit" if within else "share_and_limit_passed"
    return text(f"summary.{name}", count=number(count), share=percent(count / max(1, total)), limit=limit)


def _summarize(facts: dict[str, Any]) -> str:
    summary, request = facts["summary"], facts["asked"]
    if has_only_masks(facts):
        return steps.summarize(facts)
    promises = joined((model["promise"] for model in request["models"]), "; ")
    if facts["private"]:
        promise = text("summary.private", count=summary["released_rows"], promises=promises)
        return joined([promise, text("summary.chosen_privately")])
    released_count = summary["chosen"] - summary["suppressed"]
    counts = {"count": summary["chosen"], "released": released_count, "suppressed": summary["suppressed"]}
    fulfilled = text("summary.fulfilled", promises=promises)
    sentences = [text("summary.released", **counts), fulfilled, _choice(facts)]
    if "bound" in summary:
        sentences.append(text("summary.bound", sentence=summary["bound"]))
    if request["steps"]:
        methods = methods_in_order([step["kind"] for step in request["steps"]])
        sentences.append(text("summary.masked_before", methods=methods))
    return joined(sentences)


def _choice(facts: dict[str, Any]) -> str:
    """Describe how the transformation was chosen."""
    summary = facts["summary"]
    if "cells" in summary:
        return text("summary.cells", sentence=summary["cells"])
    if "is_optimum" not in summary:
        return text("summary.in_parts" if summary["ending"] is None else "summary.recoded_again")
    if summary["proven_optimal"]:
        return text("summary.optimal")
    if facts["statement"]:
        return text("summary.chosen_privately")
    if not summary["is_optimum"]:
        return text("summary.chosen_by_hand")
    if summary["gap"] is None:
        return text("summary.not_proven_optimal")
    return text("summary.not_proven_but", gap=gap_in_words(summary["gap"]))


def _ending(summary: dict[str, Any]) -> str:
    """Describe how the search ended, and whether its result is optimal.

    >>> _ending({"ending": "finished", "proven_optimal": True, "gap": 0})
    'completed; optimality proven'
    """
    optimality: list[str] = [text("summary.proven" if summary["proven_optimal"] else "summary.not_proven")]
    if not summary["proven_optimal"] and summary["gap"] is not None:
        optimality.append(gap_in_words(summary["gap"]))
    ending = summary.get("ending")
    return joined([*([text(f"summary.ending.{ending}")] if ending else []), *optimality], "; ")


def _request(facts: dict[str, Any]) -> tuple[Block, ...]:
    request = facts["asked"]
    blocks: list[Block] = [
        Paragraph(text("main.guarantees_asked")),
        table(
            "main.guarantee what_it_means common.defends_against",
            (
                (model["promise"], model["definition"], joined(model["attacks"], ", ") or "–")
                for model in request["models"]
            ),
        ),
        Heading(text("common.their_parameters")),
        table(
            "common.in_a_recipe main.parameter common.value main.allowed meaning_usual_values",
            (
                (
                    Verbatim(model["kind"]),
                    each["name"],
                    Verbatim(spell_parameter(model["given"][each["name"]])),
                    each["values"],
                    help_on(model["kind"], each["name"], each["about"]),
                )
                for model in request["models"]
                for each in model["parameters"]
                if each["name"] in model["given"]
            ),
        ),
    ]
    if not facts["private"]:
        unit = "records" if request["person"] is None else "people"
        treatment = text(f"asked.rows.{request['suppressed_rows']}")
        limit = percent(request["suppression_limit"])
        sentences = [
            text(f"asked.limit_on_{unit}", limit=limit, treatment=treatment),
            text(f"asked.order.{request['order']}"),
            text(f"asked.sought.{request['choose_by']}", **request["quality"]),
        ]
        blocks.append(Paragraph(joined(sentences)))
    roles = tuple(
        (text(f"asked.roles.{role}"), list_names(columns, 60)) for role, columns in request["roles"].items()
    )
    blocks += [Heading(text("main.roles_columns")), TableBlock(texts("main.role common.columns"), roles)]
    if request.get("person") is not None:
        knows = text(f"asked.knows.{request['knows']}")
        blocks.append(Paragraph(text("main.several_rows_of_person", person=request["person"], knows=knows)))
    if request["subset"]:
        blocks.append(Paragraph(text("main.research_subset")))
    return tuple(blocks)


def _treatment(facts: dict[str, Any]) -> tuple[Block, ...]:
    done = facts["done"]
    plain = [each for each in done["columns"] if each["column"] in measured.as_before(facts)]
    rows: list[Row] = [
        (
            Verbatim(each["column"]),
            each["role"],
            each["treatment"],
            _level(each),
            Verbatim(", ".join(each.get("examples", []))),
        )
        for each in done["columns"]
        if each not in plain
    ]
    as_it_was: list[Block] = []
    if plain:
        unchanged = Verbatim(", ".join(each["column"] for each in plain))
        as_it_was = [Folded(text("done.as_before", count=len(plain)), (Paragraph(unchanged),))]
    if has_only_masks(facts):
        brief: list[Row] = [(row[0], row[2]) for row in rows]
        return (*long_table(texts("common.column main.treatment"), brief), *as_it_was)
    blocks: list[Block] = [
        *long_table(texts("common.column main.role treatment level looks_like"), rows, right=(3,)),
        Paragraph(text("main.level_0"), "note"),
        *as_it_was,
    ]
    blocks += [
        Paragraph(text("main.labels_from_data", name=name, what=what))
        for name, what in done["from_data"].items()
    ]
    if done["flag"]:
        blocks.append(Paragraph(text("main.flag_added", flag=done["flag"])))
    if "parts" in done:
        blocks += _parts(done["parts"], done.get("all_parts", 0), facts["summary"].get("measures", {}))
    return tuple(blocks)


def _parts(parts: list[dict[str, Any]], number_of_all: int, measures: dict[str, float]) -> list[Block]:
    """Return the levels of each part of the records, and measures of the whole release."""
    names = [Verbatim(each) for each in parts[0]["levels"]] if parts else []
    first = names[:8]
    rows: list[Row] = [
        (str(at), number(part["records"]), *(str(part["levels"][name]) for name in first))
        for at, part in enumerate(parts, 1)
    ]
    headings = (text("main.part"), text("common.records"), *first)
    further = len(names) - len(first)
    note = [Paragraph(text("done.further_levels", columns=further), "note")] if further else []
    if number_of_all > len(parts):
        note.append(Paragraph(text("done.largest_parts", shown=len(parts), parts=number_of_all), "note"))
    figures = tuple((name.replace("_", " "), number(value)) for name, value in measures.items())
    return [
        Heading(text("main.transformations_parts_records")),
        *long_table(headings, rows, right=tuple(range(len(headings)))),
        *note,
        TableBlock(texts("main.measure_whole_release common.value"), figures, right=(1,)),
    ]


_MANY = 6
"""Rows about unchanged columns that are shown; more are folded."""


def _level(column: dict[str, Any]) -> str:
    """Describe the level of a column, and how many there are."""
    if "level" not in column:
        return "–"
    low, high = column["level"], column["highest_level"]
    return text("main.level_of", level=low if low == high else f"{low}–{high}", of=column["of"])


def _guarantees(facts: dict[str, Any]) -> tuple[Block, ...]:
    rows: list[Row] = [
        (each["promise"], each["found"], verdict(each["holds"])) for each in facts["verification"]
    ]
    if has_only_masks(facts) and not rows:
        return (Paragraph(text("common.no_guarantee")),)
    where = "on_the_tables" if facts["tables"] else "on_the_table" if facts["output"]["sha256"] else "on_rows"
    sentences = [text("verified.promises_checked", where=text(f"verified.{where}"))]
    if has_only_masks(facts):
        sentences = [text("verified.methods_check")]
    if facts["output"]["sha256"] is None:
        sentences.append(text("verified.checked_again"))
    same = [row for row in rows if str(row[0]).startswith("column ") and str(row[0]).endswith("unchanged")]
    same = [row for row in same if row[2] == verdict(True)]
    others = [row for row in rows if row not in same] if len(same) > _MANY else rows
    blocks: list[Block] = [
        Paragraph(joined(sentences)),
        *long_table(texts("common.promise found verified"), others),
    ]
    if len(same) > _MANY:
        names = [str(row[0]).removeprefix("column ").split(" is ", 1)[0] for row in same]
        paragraph = Paragraph(Verbatim(", ".join(names)))
        blocks.append(Folded(text("verified.unchanged", count=len(same)), (paragraph,)))
    return tuple(blocks)
