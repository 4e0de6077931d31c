"""`veil ask`: questions to a table under its budget, from a recipe or options."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veil.api.budget import open_budget
from veil.cli import show
from veil.cli.budgeted import fields_of, person_of, table_and_recipe
from veil.cli.measure import Destination
from veil.cli.places import reader
from veil.dp.accountant import Accountant
from veil.errors import ParameterError, PlanError
from veil.questions.mechanisms.answers import Answer
from veil.questions.step import Questions, QuestionSpec
from veil.questions.step import ask as ask_recipe
from veil.recipe import Recipe

if TYPE_CHECKING:
    from veil.cli.commands.ask import Ask


def ask(options: Ask) -> None:
    """Ask, and show the answers with their intervals and the remaining budget."""
    fields, common = fields_of(options, Questions), fields_of(options, QuestionSpec)
    questions, destination = _questions(options, common), Destination.of(options)
    all_fields = [*questions, *fields, *common, *person_of(options)]
    place, table_format, recipe = table_and_recipe(options, "ask", all_fields, "the questions are")
    if recipe is not None:
        accountant = open_budget(place, options.budget or recipe.path("budget"))
    elif not questions:
        raise PlanError("say what to ask, such as --count, --mean age or --histogram sex")
    else:
        accountant = open_budget(place, options.budget)
        fields = {"neighbours": accountant.neighbours, **fields, "ask": questions}
        recipe = Recipe(questions=fields, **person_of(options))
    destination.check(*([place] if isinstance(place, Path) else []))
    engine = reader(options.engine and options.engine.value, None, None) or "auto"
    with recipe.own_words():
        answers = ask_recipe(
            recipe, place, accountant, preview=options.preview, format=table_format, engine=engine
        )
    destination.write(
        {
            "neighbours": recipe.questions.neighbours,
            "answers": [_plain(each) for each in answers],
            "left": str(accountant.remaining),
        },
        lambda console: _show(console, answers, recipe, accountant),
    )


def _questions(options: Ask, common: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the questions of the options, each with what they have in common."""
    questions: list[dict[str, Any]] = [{"ask": "count"}] if options.count else []
    questions += [{"ask": "histogram", "of": each.split(",")} for each in options.histogram]
    questions += [{"ask": kind, "of": each} for kind in ("sum", "mean") for each in getattr(options, kind)]
    for each in options.quantiles:
        column, _, text = each.partition("=")
        parts = text.split(",") if text else []
        shares = [float(part) if part.replace(".", "", 1).isdigit() else part for part in parts]
        questions.append({"ask": "quantiles", "of": column, "shares": shares})
    questions = [{**each, **common} for each in questions]
    for each in options.record:
        who, _, column = each.partition("=")
        loss = {name: value for name, value in common.items() if name != "where"}
        questions.append({"ask": "record", "who": who, "of": column, **loss})
    return questions


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
