"""`veil policy`: policies from files, checked, explained and compared."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date
from pathlib import Path

import typer

from veil.cli import failures, show
from veil.cli.commands.policy import CheckCommand, Compare, Due, Explain
from veil.errors import PlanError, without_passwords
from veil.policy.documents.documents import read, read_all
from veil.policy.rules.checks import check
from veil.policy.rules.explain import explain
from veil.policy.rules.onward_transfer import check_chain, widened
from veil.policy.rules.retention import due


def _day(text: str | None) -> date | None:
    if text is None:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise PlanError(f"{text!r} is not a date. Write it as 2026-12-31") from None


def _pairs(texts: Sequence[str], what: str) -> dict[str, str]:
    pairs = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or not name or not value:
            raise PlanError(f"{text!r} should be {what}")
        pairs[name] = value
    return pairs


def _days(texts: Sequence[str], what: str) -> dict[str, date]:
    return {name: day for name, text in _pairs(texts, what).items() if (day := _day(text)) is not None}


def _print(lines: Sequence[str]) -> None:
    console = show.output()
    for line in lines:
        console.print(show.printable(line), markup=False, highlight=False, soft_wrap=True)


def check_policies(options: CheckCommand) -> None:
    """CheckCommand policies and show their problems."""
    below = None if options.under is None else read(options.under)
    by_policy = {
        name: [
            *check(each, secrets=options.allow_secrets, on=_day(options.on)),
            *check_chain(each),
            *(widened(each, below) if below is not None else ()),
        ]
        for name, each in read_all(options.policies).items()
    }
    if options.json:
        data = {name: [each._asdict() for each in problems] for name, problems in by_policy.items()}
        typer.echo(without_passwords(json.dumps(data, indent=2, ensure_ascii=False)))
    else:
        for name, problems in by_policy.items():
            _print([f"{name}: {'nothing is wrong' if not problems else ''}".rstrip(": ")])
            labels = ["wrong" if each.grave else "refused" if each.refused else "gap" for each in problems]
            _print([f"  {label:7}  {each}" for label, each in zip(labels, problems, strict=True)])
    if any(each.grave for problems in by_policy.values() for each in problems):
        raise typer.Exit(failures.BROKEN)


def explain_policies(options: Explain) -> None:
    """Explain policies in plain words."""
    for number, each in enumerate(read_all(options.policies).values()):
        _print([*([""] if number else []), *explain(each, _day(options.on))])


def due_data(options: Due) -> None:
    """Show the data that must be deleted."""
    duties = due(
        read_all(options.policies),
        _day(options.on) or date.today(),
        ended=_days(options.ended, "PURPOSE=DATE"),
        withdrawn=_days(options.withdrawn, "POLICY=DATE"),
    )
    if options.json:
        data = [{**each._asdict(), "since": each.since.isoformat()} for each in duties]
        typer.echo(json.dumps(data, indent=2, ensure_ascii=False))
        return
    _print([str(each) for each in duties] or ["nothing is due"])
    if duties:
        _print(["earlier releases cannot be taken back from those who have them"])


def compare(options: Compare) -> None:
    """Show whether one policy is at least as strict as another."""
    one, other = options.one, options.other
    if _is_layered(one) and _is_layered(other):
        problems = widened(read(one), read(other))
        _print(
            [f"{one} is at least as strict as {other}"] if not problems else [str(each) for each in problems]
        )
        if problems:
            raise typer.Exit(failures.BROKEN)
        return
    from veil.policy.special import complies
    from veil.policy.special import parse as parse_usage

    if complies(parse_usage(one.read_bytes(), str(one)), parse_usage(other.read_bytes(), str(other))):
        _print([f"{one} complies with {other}"])
        return
    _print([f"{one} allows something that {other} does not"])
    raise typer.Exit(failures.BROKEN)


def _is_layered(path: Path) -> bool:
    """Return whether a file contains a policy of LPL, not a usage policy."""
    if not path.is_file():
        read(path)  # raises the error
    content = path.read_bytes()[:4000]
    return b"layeredPrivacyPolicy" in content or content.lstrip()[:1] in (b"{", b"[")
