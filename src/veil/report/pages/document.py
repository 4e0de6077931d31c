"""The report in words: sections of texts, tables and pictures, for any format."""

from __future__ import annotations

from typing import Any

from veil.base.wording import plural
from veil.lattice.optimality import gap_in_words
from veil.report.pages import measured, policies, steps, tables
from veil.report.pages.advice import alternatives
from veil.report.pages.blocks import (
    Block,
    Cell,
    Folded,
    Heading,
    Paragraph,
    Section,
    TableBlock,
    Verbatim,
    cut,
    list_names,
    note_on,
    number,
    percent,
    spell_parameter,
    verdict,
)
from veil.report.pages.concerns import concerns
from veil.report.pages.first import first_page
from veil.report.pages.repeat import certificate, repetition

_CHOICES = {
    "all columns": "",
    "quasi-identifiers": " that speak of quasi-identifiers, and without a look at other columns",
}

_ORDERS = {
    "random": "Rows are in random order.",
    "input": "Rows are in the order of the input, which reveals what neighbouring rows have in common, and who is "
    "where in a list of the same order.",
}


def title_of(facts: dict[str, Any]) -> str:
    """Return the title of the report."""
    title = facts["about"]["title"]
    return "Anonymization report" if title is None else Verbatim(title)


def sections(facts: dict[str, Any]) -> list[Section]:
    """Return the sections of a report: a page to sign, the main part, then the annex of figures."""
    request = steps.request(facts) if facts["asked"]["steps"] else _request(facts)
    main = {
        ("before", "Before you sign"): concerns(facts),
        ("summary", "Summary"): _summary(facts),
        ("asked", "What was asked"): request,
        ("policies", "What each policy asked and how it was met"): (
            () if facts["policies"] is None else policies.account_of_policies(facts["policies"])
        ),
        ("tables", "The tables"): tables.linked_tables(facts) if facts["tables"] else (),
        ("done", "What was done"): _treatment(facts),
        ("guarantees", "Guarantees, and their verification"): _guarantees(facts),
        ("alternatives", "Alternatives"): alternatives(facts),
    }
    which = "of the release" if facts["private"] else "before and after"
    annex = {
        ("risks", f"Risks {which}"): measured.risks(facts),
        ("utility", f"Utility {which}"): measured.utility(facts),
        ("distributions", "Distributions and dependencies"): measured.distributions(facts),
        ("search", "The search"): () if facts["space"] is None else measured.search(facts),
        ("again", "How to repeat it"): repetition(facts),
        ("certificate", "Certificate"): certificate(facts),
    }
    return [
        Section("first", "At a glance", first_page(facts), "first"),
        *(Section(key, title, blocks) for (key, title), blocks in main.items() if blocks),
        *(Section(key, title, blocks, "annex") for (key, title), blocks in annex.items() if blocks),
    ]


def _summary(facts: dict[str, Any]) -> tuple[Block, ...]:
    summary, request = facts["summary"], facts["asked"]
    blocks: list[Block] = [Paragraph(_summarize(facts), "lead")]
    rows: list[tuple[str | Cell, ...]] = []
    if not facts["private"]:
        rows.append(("Records in the input", number(summary["records"])))
        if request["subset"]:
            rows.append(("Records of the research subset", number(summary["chosen"])))
        if summary["suppression_limit"] is not None:
            share = summary["suppressed"] / max(1, summary["chosen"])
            limit = f"limit {percent(summary['suppression_limit'])}"
            limit += "" if summary["within_limit"] else ", passed on purpose"
            people = summary.get("people")
            if people is not None:
                count = people["lose_a_row"]
                rows.append(("Suppressed rows", f"{number(summary['suppressed'])} ({percent(share)})"))
                rows.append(("People in the input", number(people["all"])))
                affected = f"{number(count)} ({percent(count / people['all'])}; {limit})"
                rows.append(("People who lose a row", affected))
            else:
                rows.append(
                    ("Suppressed records", f"{number(summary['suppressed'])} ({percent(share)}; {limit})")
                )
    out = "Rows of all released tables" if facts["tables"] else "Rows of the released table"
    rows.append((out, number(summary["released_rows"])))
    if "people" in summary:
        rows.append(("Groups of people who look alike", number(summary["classes"])))
        rows.append(("People of the smallest group", number(summary["smallest_class"])))
    else:
        rows.append(("Groups of records that look alike", number(summary["classes"])))
        rows.append(("Smallest group", number(summary["smallest_class"])))
    for each in facts["output"]["apart"]:
        what = "kept secret" if each["secret"] else "released beside it"
        rows.append((f"Separate table: {each['name']}", f"{plural(each['rows'], 'row')}, {what}"))
    if "score" in summary:
        score = summary["score"] if isinstance(summary["score"], list) else [summary["score"]]
        kind = request["quality"]["kind"]
        rows.append((f"Score ({kind}; lower is better)", ", ".join(f"{each:.6g}" for each in score)))
        rows.append(("Search", _ending(summary)))
    if not request["steps"]:
        rows.append(("Independent verification", verdict(summary["holds"])))
    elif facts["verification"]:
        rows.append(("Promises of the methods", verdict(summary["holds"])))
    blocks.append(TableBlock(("", ""), tuple(rows)))
    return tuple(blocks)


def _limited(request: dict[str, Any]) -> str:
    """Return the subject of the suppression limit."""
    return "records may be suppressed" if request["person"] is None else "people may lose a row"


def _summarize(facts: dict[str, Any]) -> str:
    summary, request = facts["summary"], facts["asked"]
    if request["steps"]:
        return steps.summarize(facts)
    promises = "; ".join(model["promise"] for model in request["models"])
    if facts["private"]:
        rows = plural(summary["released_rows"], "row")
        return f"A table of {rows} is released under this promise: {promises}. The transformation was chosen privately."
    released_count = summary["chosen"] - summary["suppressed"]
    text = f"Of {plural(summary['chosen'], 'record')}, {released_count:,} are released and {summary['suppressed']:,} suppressed. "
    text += f"The released table fulfils: {promises}. "
    if "is_optimum" not in summary and summary["ending"] is None:
        text += "Each part of the table was transformed by itself."
    elif "is_optimum" not in summary:
        text += "Suppressed records were transformed again, on their own, so that fewer stay suppressed."
    elif summary["proven_optimal"]:
        text += "No other transformation of the search space loses less information."
    elif facts["statement"]:
        text += "The transformation was chosen privately."
    elif not summary["is_optimum"]:
        text += "This transformation was chosen by hand; it is not the best one that was found."
    else:
        text += "This transformation is not proven to be the best one"
        gap = summary["gap"]
        text += "." if gap is None else f"; {gap_in_words(gap)}."
    return text


_ENDINGS = {
    "finished": "completed",
    "cancelled": "stopped by hand",
    "time limit": "stopped at the time limit",
    "check limit": "stopped at the limit of checks",
}


def _ending(summary: dict[str, Any]) -> str:
    """Describe how the search ended, and whether its result is optimal.

    >>> _ending({"ending": "finished", "proven_optimal": True, "gap": 0})
    'completed; optimality proven'
    """
    if summary["proven_optimal"]:
        optimality = "optimality proven"
    elif summary["gap"] is None:
        optimality = "optimality not proven"
    else:
        optimality = f"optimality not proven; {gap_in_words(summary['gap'])}"
    ending = summary.get("ending")
    return f"{_ENDINGS.get(ending, ending)}; {optimality}" if ending else optimality


def _request(facts: dict[str, Any]) -> tuple[Block, ...]:
    request = facts["asked"]
    blocks: list[Block] = [
        Paragraph("The table was to be released under the following guarantees."),
        TableBlock(
            ("Guarantee", "What it means", "Defends against"),
            tuple(
                (model["promise"], model["definition"], ", ".join(model["attacks"]) or "–")
                for model in request["models"]
            ),
        ),
        Heading("Their parameters"),
        TableBlock(
            ("In a recipe", "Parameter", "Value", "Allowed", "Meaning and usual values"),
            tuple(
                (
                    Verbatim(model["kind"]),
                    each["name"],
                    Verbatim(spell_parameter(model["given"][each["name"]])),
                    each["values"],
                    each["about"].replace("`", ""),
                )
                for model in request["models"]
                for each in model["parameters"]
                if each["name"] in model["given"]
            ),
        ),
    ]
    if not facts["private"]:
        treatment = {
            "blank": "stay, with every cell blanked",
            "keep cells": "stay with blank quasi-identifiers; what their other columns show keeps every guarantee as a "
            "class of its own",
            "drop": "are left out",
        }[request["suppressed_rows"]]
        blocks.append(
            Paragraph(
                f"At most {percent(request['suppression_limit'])} of the {_limited(request)}; suppressed rows {treatment}. "
                f"{_ORDERS[request['order']]} "
                f"Of all transformations that keep the guarantees{_CHOICES[request['choose_by']]}, the one with the least "
                f"information loss was sought, measured by {request['quality']['kind']}: {request['quality']['definition']}"
            )
        )
    names = {
        "quasi-identifying": "Quasi-identifying: an attacker may know them",
        "sensitive": "Sensitive: an attacker must not learn them",
        "insensitive": "Insensitive: published as they are",
        "identifying": "Identifying: they name a person",
    }
    roles = tuple(
        (names[role], Verbatim(list_names(columns, 60))) for role, columns in request["roles"].items()
    )
    blocks += [Heading("Roles of the columns"), TableBlock(("Role", "Columns"), roles)]
    if request.get("person") is not None:
        blocks.append(
            Paragraph(
                f"A person may have several rows, and column {request['person']!r} tells people apart: guarantees, limits "
                f"and risks count people. Attackers are assumed to know {request['knows']} of a person."
            )
        )
    if request["subset"]:
        blocks.append(
            Paragraph("Only a research subset of the records is released; the whole table is the population.")
        )
    return tuple(blocks)


def _treatment(facts: dict[str, Any]) -> tuple[Block, ...]:
    done = facts["done"]
    plain = [each for each in done["columns"] if each["column"] in measured.as_before(facts)]
    rows: list[tuple[str | Cell, ...]] = [
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
        as_it_was = [Folded(f"{plural(len(plain), 'column')} published as before", (Paragraph(unchanged),))]
    if facts["asked"]["steps"]:
        brief: list[tuple[str | Cell, ...]] = [(row[0], row[2]) for row in rows]
        return (TableBlock(("Column", "Treatment"), cut(brief)), *note_on(brief), *as_it_was)
    blocks: list[Block] = [
        TableBlock(("Column", "Role", "Treatment", "Level", "Looks like"), cut(rows), right=(3,)),
        *note_on(rows),
        Paragraph("Level 0 is the original value; higher levels are coarser.", "note"),
        *as_it_was,
    ]
    blocks += [
        Paragraph(f"Labels of column {name!r} were made from the data: {what}.")
        for name, what in done["from_data"].items()
    ]
    if done["flag"]:
        blocks.append(
            Paragraph(
                f"A column {done['flag']!r} was added, because the cells alone would not show which rows are suppressed."
            )
        )
    if "parts" in done:
        blocks.append(Heading("Transformations of parts of the records"))
        names = [Verbatim(each) for each in done["parts"][0]["levels"]] if done["parts"] else []
        first = names[:8]
        recoded: list[tuple[str | Cell, ...]] = [
            (str(at), number(part["records"]), *(str(part["levels"][name]) for name in first))
            for at, part in enumerate(done["parts"], 1)
        ]
        blocks.append(
            TableBlock(("Part", "Records", *first), cut(recoded), right=tuple(range(len(first) + 2)))
        )
        blocks += note_on(recoded)
        if len(names) > len(first):
            blocks.append(
                Paragraph(
                    f"Levels of {len(names) - len(first)} further columns are in the report as JSON.", "note"
                )
            )
        measures = facts["summary"].get("measures", {})
        blocks.append(
            TableBlock(
                ("Measure of the whole release", "Value"),
                tuple((name.replace("_", " "), number(value)) for name, value in measures.items()),
                right=(1,),
            )
        )
    return tuple(blocks)


_MANY = 6
"""Rows about unchanged columns that are shown; more are folded."""


def _level(column: dict[str, Any]) -> str:
    """Describe the level of a column, and how many there are."""
    if "level" not in column:
        return "–"
    low, high = column["level"], column["highest_level"]
    return f"{low} of {column['of']}" if low == high else f"{low}–{high} of {column['of']}"


def _guarantees(facts: dict[str, Any]) -> tuple[Block, ...]:
    rows: list[tuple[str | Cell, ...]] = [
        (each["promise"], each["found"], verdict(each["holds"])) for each in facts["verification"]
    ]
    where = "on the released table" if facts["output"]["sha256"] else "before writing, on the different rows,"
    where = "on the released tables, put together," if facts["tables"] else where
    text = (
        f"Every promise was checked {where} by a verifier that shares no code with the search. What does not hold is "
        "never released."
    )
    if facts["asked"]["steps"]:
        text = "Every method checks on its own output what it promises. What does not hold is never released."
        if not rows:
            return (
                Paragraph("The methods give no guarantee: they make an attack harder, and say by how much."),
            )
    if facts["output"]["sha256"] is None:
        text += (
            " An engine holds the table. When it writes the release, what it has written is checked again, and put in "
            "its place only if everything holds; these findings are returned by `save`, and are not among those below."
        )
    same = [row for row in rows if str(row[0]).startswith("column ") and str(row[0]).endswith("unchanged")]
    same = [row for row in same if row[2] == verdict(True)]
    others = [row for row in rows if row not in same] if len(same) > _MANY else rows
    blocks: list[Block] = [
        Paragraph(text),
        TableBlock(("Promise", "Found", "Verified"), cut(others)),
        *note_on(others),
    ]
    if len(same) > _MANY:
        names = [str(row[0]).removeprefix("column ").split(" is ", 1)[0] for row in same]
        paragraph = Paragraph(Verbatim(", ".join(names)))
        blocks.append(Folded(f"{plural(len(same), 'column')} found unchanged", (paragraph,)))
    return tuple(blocks)
