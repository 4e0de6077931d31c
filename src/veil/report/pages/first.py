"""The first page of a report: what is released to whom, what is promised against whom and what is not, and who signs."""

from __future__ import annotations

from typing import Any

from veil.base.wording import plural
from veil.report.pages.blocks import (
    Block,
    Cell,
    Grid,
    Heading,
    Signatures,
    Text,
    Verbatim,
    list_names,
    verdict,
)

_UNSAID = "not stated"


def first_page(facts: dict[str, Any]) -> tuple[Block, ...]:
    """Put on one page what somebody signs."""
    blocks: list[Block] = [Grid(("", ""), tuple(_what(facts)))]
    if facts["notice"]:
        blocks.append(Text(facts["notice"], "notice"))
    blocks += [Heading("What is promised"), *_promises(facts)]
    if attackers := _attackers(facts):
        blocks += [Heading("Against whom"), Grid(("", ""), tuple(attackers))]
    blocks += [Heading("What is not promised"), *(Text(f"– {each}") for each in _not_promised(facts))]
    blocks += [*_samples(facts["sample"]), Heading("Approval"), Text(_DECLARATION)]
    about = facts["about"]
    people = (("Prepared by", about["prepared_by"]), ("Approved by (data protection)", about["approved_by"]))
    return (*blocks, Signatures(people))


_DECLARATION = (
    "I have read this report. The guarantees named in it are those that were asked for, and the remaining "
    "risks are acceptable for the intended recipients and purpose."
)


def _what(facts: dict[str, Any]) -> list[tuple[str | Cell, ...]]:
    about, out = facts["about"], facts["output"]
    file = (facts["input"] or {}).get("file")
    said = [
        ("Data set", about["data_set"] or file),
        ("Purpose", about["purpose"]),
        ("Recipient", about["recipient"]),
        ("Legal basis", about["legal_basis"]),
        ("Version", about["version"]),
    ]
    rows: list[tuple[str | Cell, ...]] = [
        (name, _UNSAID if value is None else Verbatim(value)) for name, value in said
    ]
    released = f"{plural(out['rows'], 'row')}, {plural(out['columns'], 'column')}"
    if facts["tables"]:
        released = f"{plural(len(facts['tables']), 'table')}: {released}"
    rows.append(("Released", released))
    rows.append(("SHA-256 of its content", out["sha256"] or "not computed: an engine holds it"))
    return rows


# What is promised


def _promises(facts: dict[str, Any]) -> list[Block]:
    models, found = facts["asked"]["models"], facts["verification"]
    if facts["asked"]["steps"] and not found:
        return [
            Text("The methods promise no guarantee: they make an attack harder, and say by how much.", "lead")
        ]
    if not models:
        rows = [(each["promise"], verdict(each["holds"])) for each in found]
        return [
            Text(
                "Masking makes attacks harder, and this report says by how much. It promises this, and nothing beyond it:"
            ),
            Grid(("Promise", ""), tuple(rows)),
        ]
    holds = {each["promise"]: each["holds"] for each in found}
    told: list[tuple[str | Cell, ...]] = [
        (
            each["promise"],
            facts["statement"] or in_plain_words(each, facts),
            verdict(holds.get(each["promise"], True)),
        )
        for each in models
    ]
    return [Grid(("Promise", "In plain words", ""), tuple(told))]


def in_plain_words(model: dict[str, Any], facts: dict[str, Any]) -> str:
    """Say what a model promises about this table, with its own columns and numbers; at least what it says of itself."""
    given, who = model["given"], "person" if facts["asked"].get("person") is not None else "record"
    known = list_names(_known(facts), 12)
    said = {
        "KAnonymity": f"Whoever knows all of {known} of somebody finds no {who} that they have to themselves: at least "
        f"{given.get('k')} look the same.",
        "DistinctLDiversity": f"Among those who look the same, at least {given.get('l')} different values of "
        f"{given.get('attribute')} occur.",
        "TCloseness": f"Among those who look the same, {given.get('attribute')} is spread nearly as in the whole table: "
        f"at a distance of at most {given.get('t')}, from 0 (equally) to 1.",
        "AlphaKAnonymity": f"At least {given.get('k')} look the same, and no value of {given.get('attribute')} is that of "
        f"more than a share of {given.get('alpha')} of them.",
    }
    said["EntropyLDiversity"] = (
        f"Among those who look the same, {given.get('attribute')} is as uncertain as {given.get('l')} values that are "
        "equally frequent, or more."
    )
    return str(said.get(model["kind"], model["definition"]))


_AIMS = {
    "record linkage": (
        "Who looks for a person's record",
        "knows {known} of somebody, and wants to find their record",
    ),
    "attribute linkage": (
        "Who wants to learn a secret",
        "knows {known} of somebody, and wants to learn {secret}",
    ),
    "probabilistic": (
        "Who wants to be surer than before",
        "wants to guess {secret} better than the whole table allows",
    ),
    "table linkage": (
        "Who asks whether somebody is in it",
        "knows {known} of somebody, and wants to know whether they are in the table",
    ),
}
_SAME = {"identity linkage": "record linkage"}


def _aims(facts: dict[str, Any]) -> set[str]:
    """What the attackers want whom the promises are against."""
    asked = facts["asked"]
    if asked["steps"] and not facts["verification"]:
        return set()
    every = [aim for each in (*asked["models"], *asked["steps"]) for aim in each["attacks"]]
    return {_SAME.get(aim, aim) for aim in every}


def _known(facts: dict[str, Any]) -> list[str]:
    """The columns that attackers know; of several tables, also in which of them a row stands, which goes without saying."""
    names: list[str] = facts["asked"]["roles"].get("quasi-identifying", [])
    return [name for name in names if not (facts["tables"] and name == "table")]


def _attackers(facts: dict[str, Any]) -> list[tuple[str | Cell, ...]]:
    roles, aims = facts["asked"]["roles"], _aims(facts)
    known = list_names(_known(facts), 12) or "something"
    secret = list_names(roles.get("sensitive", []), 12) or "something else about them"
    return [
        (name, text.format(known=known, secret=secret)) for aim, (name, text) in _AIMS.items() if aim in aims
    ]


def _not_promised(facts: dict[str, Any]) -> list[str]:
    asked, aims = facts["asked"], _aims(facts)
    told = []
    open_ones = sum(not each["acknowledged"] for each in facts["concerns"])
    accepted = len(facts["concerns"]) - open_ones
    if open_ones:
        told.append(f"{plural(open_ones, 'concern')} that no promise covers: see “Before you sign”.")
    if accepted:
        told.append(f"{plural(accepted, 'concern')} known and accepted: see “Before you sign”.")
    if "attribute linkage" not in aims:
        told.append(
            "That nobody learns something about a person without finding their record: people who look the same may share a secret."
        )
    if "table linkage" not in aims:
        told.append("That nobody finds out whether somebody is in the table.")
    if kept := asked["roles"].get("insensitive", []):
        told.append(
            f"Anything about attackers who also know columns that are published as they are: {list_names(kept, 12)}."
        )
    if facts["statement"] is None:
        told.append("Anything about this release together with other releases of the same people.")
    else:
        told.append("That several such releases of the same people cost nothing: their ε and δ add up.")
    return told


# A few rows of the release


def _samples(samples: list[dict[str, Any]]) -> list[Block]:
    if not samples:
        return []
    blocks: list[Block] = [Heading("Rows of the release")]
    for each in samples:
        if each["table"] is not None:
            blocks.append(Text(Verbatim(each["table"]), "note"))
        rows = tuple(tuple(Verbatim(cell) for cell in row) for row in each["rows"])
        blocks.append(Grid(tuple(Verbatim(name) for name in each["columns"]), rows))
        note = f"{len(each['rows'])} of {plural(each['of'], 'row')}, as delivered"
        more = f"; {plural(each['further'], 'further column')} not shown" if each["further"] else ""
        blocks.append(Text(f"{note}{more}.", "note"))
    return blocks
