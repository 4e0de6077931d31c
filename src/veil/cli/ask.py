"""`veil ask`: questions to a table under its budget, from a recipe or options."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from veil.api.budget import open_budget
from veil.api.open import place_of
from veil.api.resolve import table_of
from veil.cli import files, grammar, show
from veil.cli.measure import Destination
from veil.cli.places import warn_about_passwords
from veil.dp.accountant import Accountant
from veil.engines.database import is_url
from veil.engines.relation import Engine
from veil.engines.settings import Settings
from veil.errors import ParameterError, PlanError
from veil.questions.answers import Answer
from veil.questions.step import ask
from veil.recipe import Recipe

Options = dict[str, Sequence[Any]]


def ask_and_show(
    source: str,
    questions: Sequence[dict[str, Any]],
    declared: Options,
    destination: Destination,
    *,
    neighbours: str | None,
    budget: Path | None,
    preview: bool,
    format: str | None,
    engine: Engine | Settings | None = None,
    **loss: Any,
) -> None:
    """Ask, and show the answers with their intervals and the remaining budget."""
    option_format = grammar.format(format)
    if not is_url(source) and files.is_recipe(Path(source)):
        if questions or any(declared.values()):
            raise PlanError(f"the questions are in the recipe: change {source} instead of giving options")
        recipe = files.read_recipe(Path(source), "ask")
        place, reading = table_of(recipe, format=option_format)
        accountant = open_budget(place, budget or recipe.path("budget"))
    else:
        if not questions:
            raise PlanError("say what to ask, such as --count, --mean age or --histogram sex")
        place, reading = place_of(source), option_format
        accountant = open_budget(place, budget)
        unit = unit_of(declared)
        recipe = Recipe(
            questions={
                "neighbours": neighbours or accountant.neighbours,
                "bounds": {
                    name: read_bounds(name, text) for name, text in read_pairs("--bounds", declared["bounds"])
                },
                "keys": {name: text.split("|") for name, text in read_pairs("--keys", declared["keys"])},
                "missing": {
                    name: grammar.value_of(text)
                    for name, text in read_pairs("--missing", declared["missing"])
                },
                **{name: value for name in ("outside",) for value in declared[name]},
                "ask": [{**each, **_without_none(loss)} for each in questions],
                **{name: value for name, value in unit.items() if name != "person"},
            },
            **{name: value for name, value in unit.items() if name == "person"},
        )
    warn_about_passwords(place)
    destination.check(*([place] if isinstance(place, Path) else []))
    with recipe.own_words():
        answers = ask(recipe, place, accountant, preview=preview, format=reading, engine=engine or "auto")
    destination.write(
        {
            "neighbours": recipe.questions.neighbours,
            "answers": [_plain(each) for each in answers],
            "left": str(accountant.remaining),
        },
        lambda console: _show(console, answers, recipe, accountant),
    )


def _without_none(loss: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in loss.items() if value is not None}


def _show(console: Any, answers: Sequence[Any], recipe: Recipe, accountant: Accountant) -> None:
    rows = []
    for each in answers:
        if not isinstance(each, Answer):
            rows.append((each.question, "", each.accuracy(0.95), str(each.cost)))
        elif isinstance(each.value, dict):
            for key, value in each.value.items():
                rows.append((f"{each.question}: {key}", _number(value), _interval(each, key), ""))
            rows.append(("", "", each.mechanism, str(each.loss)))
        else:
            rows.append((each.question, _number(each.value), _interval(each), str(each.loss)))
    console.print(
        show.table("Answers", ("question", "answer", "with 95 % between", "privacy loss"), rows, right=(1,))
    )
    console.print(
        f"neighbours: {recipe.questions.neighbours}   left: {accountant.remaining} of {accountant.budget}"
    )


def _interval(answer: Answer, key: Any = None) -> str:
    try:
        interval = answer.interval(0.95)
    except ParameterError:
        return answer.mechanism
    low, high = interval[key] if isinstance(interval, dict) else interval
    return f"{_number(low)} and {_number(high)}"


def _number(value: Any) -> str:
    return (
        f"{value:,.8g}"
        if isinstance(value, float)
        else f"{value:,}"
        if isinstance(value, int)
        else str(value)
    )


def _plain(answer: Any) -> dict[str, Any]:
    if not isinstance(answer, Answer):
        return {
            "question": answer.question,
            "mechanism": answer.mechanism,
            "cost": str(answer.cost),
            "accuracy": answer.accuracy(0.95),
        }
    value = answer.value
    fields: dict[str, Any] = {
        "question": answer.question,
        "mechanism": answer.mechanism,
        "loss": str(answer.loss),
    }
    fields["value"] = {str(key): each for key, each in value.items()} if isinstance(value, dict) else value
    try:
        interval = answer.interval(0.95)
    except ParameterError:
        return fields
    by_key = isinstance(interval, dict)
    return fields | {"interval": {str(key): each for key, each in interval.items()} if by_key else interval}


def read_pairs(option: str, texts: Sequence[str]) -> list[tuple[str, str]]:
    """Read the values of an option, each as COLUMN=VALUE."""
    pairs = []
    for text in texts:
        name, separator, value = text.partition("=")
        if not separator or not value:
            raise PlanError(f"{option} {text!r}: write COLUMN=…, such as {option} {_EXAMPLES[option]}")
        pairs.append((name, value))
    return pairs


_EXAMPLES = {
    "--bounds": "age=0:120",
    "--keys": "'sex=f|m'",
    "--missing": "'age=leave out'",
    "--domains": "'sex=f|m'",
}


def unit_of(declared: Options) -> dict[str, Any]:
    """Return `person` and `rows_per_person` of the options as recipe fields."""
    options = {name: value for name in ("person", "rows_per_person") for value in declared[name]}
    return {name: None if value == "null" else value for name, value in options.items()}


def read_bounds(name: str, text: str) -> tuple[Any, Any]:
    """Read two numbers, the lower one first."""
    low, separator, high = text.partition(":")
    if not separator:
        raise PlanError(f"--bounds {name}={text}: write the lower and the higher bound, such as {name}=0:120")
    return grammar.value_of(low), grammar.value_of(high)
