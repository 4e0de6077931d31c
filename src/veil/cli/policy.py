"""`veil policy`: policies from files, checked, explained, applied and compared."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from veil.cli import failures, files, grammar, show
from veil.cli.files import is_recipe
from veil.errors import OutputError, PlanError, without_passwords
from veil.policy.documents.documents import read, read_all
from veil.policy.rules.checks import check
from veil.policy.rules.explain import explain
from veil.policy.rules.onward_transfer import check_chain, widened
from veil.policy.rules.retention import due

if TYPE_CHECKING:
    from veil.recipe import Recipe


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


def check_and_show(
    policies: Path, under: Path | None, on: str | None, allow_secrets: bool, as_json: bool
) -> None:
    """Check policies and show their problems."""
    below = None if under is None else read(under)
    by_policy = {
        name: [
            *check(each, secrets=allow_secrets, on=_day(on)),
            *check_chain(each),
            *(widened(each, below) if below is not None else ()),
        ]
        for name, each in read_all(policies).items()
    }
    if as_json:
        data = {name: [each._asdict() for each in problems] for name, problems in by_policy.items()}
        typer.echo(without_passwords(json.dumps(data, indent=2, ensure_ascii=False)))
    else:
        for name, problems in by_policy.items():
            _print([f"{name}: {'nothing is wrong' if not problems else ''}".rstrip(": ")])
            labels = ["wrong" if each.grave else "refused" if each.refused else "gap" for each in problems]
            _print([f"  {label:7}  {each}" for label, each in zip(labels, problems, strict=True)])
    if any(each.grave for problems in by_policy.values() for each in problems):
        raise typer.Exit(failures.BROKEN)


def explain_and_show(policies: Path, on: str | None) -> None:
    """Explain policies in plain words."""
    for number, each in enumerate(read_all(policies).values()):
        _print([*([""] if number else []), *explain(each, _day(on))])


def apply_and_show(
    source: Path,
    policies: Path | None,
    *,
    output: Path | None,
    apart: Path | None,
    report: Path | None,
    certificate: Path | None,
    processing_record: Path | None,
    overwrite: bool,
    quiet: bool,
    about: Sequence[str],
    acknowledge: Sequence[str],
    **options: Any,
) -> None:
    """Release a table under policies, from options or a recipe, and show how they are met."""
    from veil.api.resolve import resolve
    from veil.api.run import carry_out

    if is_recipe(source):
        _check_only_places(source, policies, options)
        recipe, table = files.read_recipe(source, "policy apply"), None
    else:
        recipe, table = _recipe_of_options(policies, output, **options), source
    variable = recipe.steps[0].credential_variable
    if variable is not None and variable not in os.environ:
        raise PlanError(
            f"the environment variable {variable} is not set or empty: it should hold the credential"
        )
    run = resolve(
        recipe,
        input=table,
        output=None if output is None else str(output),
        apart=apart,
        report=report,
        certificate=certificate,
        processing_record=processing_record,
        overwrite=overwrite,
        about=grammar.about(about),
        acknowledge=acknowledge,
    )
    with files.track_outputs(run.targets.values()):
        done = carry_out(run, progress=False if quiet else None)
        if not quiet:
            console = show.output()
            _print(str(done.release.account).splitlines())
            show.concerns(console, done.release)
            show.files(console, [*run.targets.items(), *(("apart", path) for path in done.apart)])


def _check_only_places(recipe: Path, policies: Path | None, options: dict[str, Any]) -> None:
    """Refuse options beside a recipe, except places."""
    names = [name for name, value in options.items() if value not in (None, [])]
    if policies is not None or names:
        what = "--" + names[0].replace("_", "-") if names else str(policies)
        raise PlanError(f"{recipe} already says this, and so does {what}. Change the recipe instead")


def _recipe_of_options(
    policies: Path | None,
    output: Path | None,
    *,
    purpose: str | None,
    recipient: str | None,
    on: str | None,
    ended: str | None,
    withdrawn: Sequence[str],
    key: Sequence[str],
    if_impossible: str | None,
    suppression_limit: float | None,
    **options: Any,
) -> Recipe:
    """Return the recipe of the options, with the defaults of recipes."""
    from veil.policy.step import ByPolicies, KeyPlace
    from veil.recipe import Recipe

    if policies is None:
        raise PlanError("say where the policies are: veil policy apply patients.csv policies/ ...")
    for name, value in (("purpose", purpose), ("recipient", recipient)):
        if value is None:
            raise PlanError(f"a policy is applied for a purpose and a recipient: --{name} is missing")
    if output is None:
        raise OutputError("say where to write the release: --output release.csv")
    if if_impossible is not None:
        options["if_impossible"] = if_impossible.replace("-", " ")
    places = {
        name: KeyPlace(key_variable=place.removeprefix("env:"))
        if place.startswith("env:")
        else KeyPlace(key_file=place)
        for name, place in _pairs(key, "NAME=PLACE").items()
    }
    person = grammar.person(options.pop("person"))
    step = ByPolicies(
        policies=str(policies),
        purpose=str(purpose),
        recipient=str(recipient),
        on=_day(on),
        ended=_day(ended),
        withdrawn=_days(withdrawn, "POLICY=DATE"),
        keys=places,
        suppression_limit=suppression_limit or 0.0,
        **{name: value for name, value in options.items() if value is not None},
    )
    return Recipe(steps=[step], person=person)


def due_and_show(
    policies: Path, on: str | None, ended: Sequence[str], withdrawn: Sequence[str], as_json: bool
) -> None:
    """Show the data that must be deleted."""
    duties = due(
        read_all(policies),
        _day(on) or date.today(),
        ended=_days(ended, "PURPOSE=DATE"),
        withdrawn=_days(withdrawn, "POLICY=DATE"),
    )
    if as_json:
        data = [{**each._asdict(), "since": each.since.isoformat()} for each in duties]
        typer.echo(json.dumps(data, indent=2, ensure_ascii=False))
        return
    _print([str(each) for each in duties] or ["nothing is due"])
    if duties:
        _print(["earlier releases cannot be taken back from those who have them"])


def compare_and_show(one: Path, other: Path) -> None:
    """Show whether one policy is at least as strict as another."""
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
