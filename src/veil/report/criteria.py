"""Answers of a release to the questions of two guides: WP 216's three criteria, and NIST SP 800-188.

Questions that no program can answer are left open as such: a filled-in form is no legal opinion. It names no
value of the table.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from veil.base.wording import plural
from veil.outcome.outcome import Outcome
from veil.risk.before_and_after import risks_of
from veil.risk.concerns.collect import concerns_of

Guide = Literal["WP 216", "NIST SP 800-188"]

SOURCES: dict[Guide, str] = {
    "WP 216": "Article 29 Data Protection Working Party, Opinion 05/2014 on Anonymisation Techniques (WP 216), 10 April 2014",
    "NIST SP 800-188": "Garfinkel, Near, Dajani, Singer, Guttman: De-Identifying Government Datasets: Techniques and "
    "Governance, NIST SP 800-188, 2023, doi:10.6028/NIST.SP.800-188",
}


class CriterionAnswer(NamedTuple):
    """A question of a guide, the facts about the release, and the points that are left to the signatory."""

    question: str
    facts: tuple[str, ...]
    open_points: tuple[str, ...]


def answers(outcome: Outcome, guide: Guide) -> tuple[CriterionAnswer, ...]:
    """Answer the questions of a guide for a release."""
    return _wp216(outcome) if guide == "WP 216" else _sp800188(outcome)


def as_text(outcome: Outcome, guide: Guide) -> str:
    """Write the questions of a guide with their answers, as Markdown."""
    lines = [f"# {guide}: what this release says", "", f"*{SOURCES[guide]}*", ""]
    for answer in answers(outcome, guide):
        lines += [f"## {answer.question}", "", *(f"- {text}" for text in answer.facts)]
        lines += [f"- [ ] To be answered by you: {text}" for text in answer.open_points] + [""]
    lines += ["This form was filled in by Veil from a verified release. It is no legal opinion.", ""]
    return "\n".join(lines)


def _promises(outcome: Outcome, attack: str) -> list[str]:
    if outcome.plan is None:
        return []
    return [
        f"promised and verified on the output: {model}"
        for model in outcome.plan.models
        if attack in model.attacks
    ]


def _share(share: float) -> str:
    return f"{100 * share:.3g} %"


def _wp216(outcome: Outcome) -> tuple[CriterionAnswer, ...]:
    before, after = risks_of(outcome)
    open_concerns = [each.statement for each in concerns_of(outcome) if not each.acknowledged]
    sensitive = outcome.roles.sensitive
    covered = {name for model in outcome.models for name in model.attribute_names}
    unjudged = [name for name in sensitive if name not in covered]
    people = "records" if outcome.before.owners.are_records else "people"
    return (
        CriterionAnswer(
            "Singling out: is it still possible to single out an individual?",
            (
                f"{_share(before.uniques)} of the {people} were alone with their quasi-identifiers before, {_share(after.uniques)} are now",
                *_promises(outcome, "record linkage"),
            ),
            ("which other columns somebody could know of a person, beside the quasi-identifiers that were named",),
        ),
        CriterionAnswer(
            "Linkability: is it still possible to link records relating to an individual?",
            (
                f"the highest chance to find somebody by their quasi-identifiers was {_share(before.highest)} and is {_share(after.highest)}",
                "rows of one person are counted together"
                if not outcome.before.owners.are_records
                else "every row was taken for a person of its own",
            ),
            (
                "whether other releases about the same people overlap (`veil.risk.intersection` looks at two of them)",
                *(("that no person has several rows",) if outcome.before.owners.are_records else ()),
            ),
        ),
        CriterionAnswer(
            "Inference: can information be inferred concerning an individual?",
            (
                *_promises(outcome, "attribute linkage"),
                *(
                    (f"no promise limits what can be inferred about {', '.join(map(repr, unjudged))}",)
                    if unjudged
                    else ()
                ),
                *([] if covered or unjudged else ["no column was named as sensitive"]),
            ),
            tuple(open_concerns) or ("whether what groups as a whole show is harmless",),
        ),
    )  # fmt: skip


def _sp800188(outcome: Outcome) -> tuple[CriterionAnswer, ...]:
    removed, quasi = outcome.roles.identifying, outcome.quasi_identifiers
    findings = outcome.verification.findings
    holding = sum(each.holds for each in findings)
    return (
        CriterionAnswer("Goals and data-sharing model", (), ("why the data are shared, with whom, and by which model: public release, controlled access, or an enclave",)),
        CriterionAnswer("Review", (), ("who reviews the release: a Disclosure Review Board, or whoever stands for one",)),
        CriterionAnswer(
            "Direct identifiers",
            (f"{plural(len(removed), 'column', 'columns')} named as identifying and removed or masked",),
            ("that free text, pictures and numbers hold no further names",),
        ),
        CriterionAnswer(
            "Quasi-identifiers",
            (f"{plural(len(quasi), 'column', 'columns')} named as quasi-identifiers; {plural(outcome.suppressed, 'record', 'records')} suppressed",),
            ("what an outsider could know or buy about these people",),
        ),
        CriterionAnswer(
            "A standard with measurable performance levels",
            (
                *(f"promised: {model}" for model in outcome.models),
                f"{holding} of {len(findings)} checks of the output hold, made by code that shares nothing with the search",
            ),
            ("that these levels suit the data-sharing model",),
        ),
        CriterionAnswer(
            "Re-identification studies",
            (f"the highest chance to find somebody by their quasi-identifiers is {_share(risks_of(outcome)[1].highest)}",),
            ("whether somebody with other data should try (`veil.risk.linkage_experiment` tries with the original)",),
        ),
        CriterionAnswer(
            "Documentation",
            ("recipe, report and certificate say what was done, so that it can be done and checked again",),
            ("where they are kept, and when the release is looked at again",),
        ),
    )  # fmt: skip
