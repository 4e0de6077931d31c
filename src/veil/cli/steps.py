"""`veil mask`: masking methods from a recipe, or from options that say the same, to files.

Targets are checked before the work begins, and written after it: all of them, or none.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_args, get_origin

from veil.base.registry import find
from veil.cli import failures, files, grammar
from veil.errors import OutputError, ParameterError, PlanError, VeilError, did_you_mean
from veil.masking import METHODS, Method
from veil.recipe.masking import MaskingRecipe
from veil.tables import Format, output_format

if TYPE_CHECKING:
    from rich.console import Console

    from veil.api.release import Release
    from veil.utility.step import Step


@dataclass(frozen=True)
class Job:
    """One masking with all paths settled."""

    methods: tuple[Method, ...]
    input: Path
    format: Format | None
    output: Path
    apart: Path | None
    overwrite: bool
    keep: tuple[Path, ...]
    """Files that must not be written over, whatever else may be."""


def job_of(
    source: Path,
    steps: Sequence[str],
    *,
    input: Path | None,
    format: str | None,
    output: Path | None,
    apart: Path | None,
    overwrite: bool,
) -> Job:
    """Settle what to do."""
    files.no_databases(source, input, output)
    if not files.is_recipe(source):
        if input is not None:
            raise PlanError(f"--input goes with a recipe; {source} is the table already")
        if output is None:
            raise PlanError("say where to write the masked table: --output masked.csv")
        if not steps:
            raise PlanError(
                'say how to mask, such as --step "rank-swapping:age,p=10"; `veil masks` lists methods'
            )
        chosen = grammar.format(format) if format else None
        return Job(tuple(map(step, steps)), source, chosen, output, apart, overwrite, (source,))
    if steps:
        raise PlanError(f"--step goes with a table, not with a recipe: change {source} instead")
    recipe = MaskingRecipe.read(source)
    target = None if output is None else str(output)
    settled = files.tables_of(source, recipe, input=input, format=format, output=target, what="table")
    table, place = cast("Path", settled.input), Path(str(settled.output))  # a masking recipe names files only
    return Job(
        tuple(recipe.methods()),
        table,
        settled.format,
        place,
        apart or recipe.apart_path,
        overwrite or recipe.overwrite,
        (table, source),
    )


def step(text: str) -> Method:
    """Read a masking method.

    Like models, with two additions: a hierarchy stands in quotes where it has commas, and a mapping has a colon
    between names and values.

    >>> step("rank-swapping:age,income,p=10").columns
    ('age', 'income')
    >>> step("global-recoding:age,'intervals:5,10',level=2").hierarchy.widths
    (5, 10)
    >>> step("mondrian:quasi_identifiers=age|zip:redaction,models='k-anonymity:5|t-closeness:job,0.2'").models[0]
    KAnonymity(k=5)
    >>> step("local-suppression:age,zip,k=3,importance=age:2|zip:0.5").importance
    {'age': 2.0, 'zip': 0.5}
    """
    name, _, rest = text.partition(":")
    cls: Any = find(METHODS, name)
    if cls is None:
        hint = did_you_mean(name, [grammar.kebab(kind) for kind in METHODS])
        raise ParameterError(f"--step {text!r}: there is no {name!r}.{hint}")
    try:
        given = grammar.arguments(rest, cls)
        if given.get("key") is not None:
            raise ParameterError(
                "others can see a key on the command line: give `key_file` or `key_variable`"
            )
        made: Method = cls(**{key: _value(cls, key, value) for key, value in given.items()})
    except VeilError as error:
        raise type(error)(f"--step {text!r}: {error}") from None
    return made


def _value(cls: Any, key: str, value: Any) -> Any:
    if key == "models":
        # Quotes around all of them keep the commas of each.
        whole = "|".join(map(str, value if isinstance(value, list) else [value])).strip("'\"")
        return [grammar.model(each) for each in whole.split("|")]
    if key == "quasi_identifiers":
        columns = [each.partition(":") for each in str(value).split("|")]
        return {name: grammar.hierarchy(spec, "--step") if spec else None for name, _, spec in columns}
    if not isinstance(value, str):
        return value
    if key == "hierarchy":
        return grammar.hierarchy(value, "--step")
    annotation = cls.__pydantic_fields__[key].annotation
    if not any(get_origin(each) is dict for each in (annotation, *get_args(annotation))):
        return value
    pairs = [each.rpartition(":") for each in value.split("|")]
    return {name: grammar.value_of(each) for name, _, each in pairs}


def run(job: Job, *, quiet: bool = False) -> Release:
    """Mask, write, and show what was done."""
    from veil.api.mask import mask

    check_targets(job)
    with files.honest_about([job.output]), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        made = mask(job.input, job.methods, format=job.format, progress=False if quiet else None)
        written = write(made, job)
    for warning in {str(each.message): each for each in caught}:
        failures.say(f"warning: {warning}")
    if not quiet:
        _show(made, written)
    return made


def check_targets(job: Job) -> None:
    """Refuse targets that cannot be written to, before time is spent on what goes there."""
    output_format(job.output, job.format)  # an ending that stands for no format is refused
    files.check_targets({"release": job.output}, keep=job.keep, overwrite=job.overwrite)
    secret = [type(each).__name__ for each in job.methods if each.apart_is_secret]
    if job.apart is None:
        if secret:
            raise OutputError(
                f"{', '.join(secret)} makes a table that turns its work back. Say where to keep it, away from the "
                "release: --apart FOLDER"
            )
        return
    if not job.apart.is_dir():
        raise OutputError(f"{job.apart}: is not a folder. Create it, or choose another one")
    if secret and job.apart.resolve() == job.output.resolve().parent:
        raise OutputError(
            f"{job.apart}: the release goes there, and what {', '.join(secret)} keeps apart must not. Choose another "
            "folder"
        )


def write(made: Release, job: Job) -> list[Path]:
    """Write the table and what goes apart: all of it, or nothing."""
    from veil.api.deliver import file_name

    if made.apart and job.apart is None:
        raise OutputError(
            f"there is more than one table: {', '.join(made.apart)}. Say where these go: --apart FOLDER. Nothing was "
            "written"
        )
    kept = {path.resolve() for path in job.keep}
    for name in made.apart if job.apart else ():
        path = cast("Path", job.apart) / file_name(name)
        if path.resolve() in kept:
            raise OutputError(f"{path}: would replace what it is made from. Choose another folder")
        files.check_target(path, overwrite=job.overwrite)
    done = made.save(job.output, apart=job.apart if made.apart else None, overwrite=job.overwrite)
    return [job.output, *done.apart]


def _show(made: Release, written: Sequence[Path]) -> None:
    from veil.cli import show

    console = show.output()
    for number, each in enumerate(made.steps, start=1):
        _show_step(console, number, each)
    show.files(console, [("release", written[0]), *(("apart", path) for path in written[1:])])


def _show_step(console: Console, number: int, done: Step) -> None:
    from rich.text import Text

    from veil.cli import show

    summary = done.summary
    rows = [
        (
            each.column,
            f"{each.changed:.2%}",
            "" if each.error is None else f"{each.error:.4g}",
            _change(each.means),
            _change(each.variances),
            "" if each.total_variation is None else f"{each.total_variation:.4g}",
        )
        for each in summary.columns
    ]
    headings = ("column", "changed", "SSE/SST", "mean", "variance", "total variation")
    console.print(show.table(f"Step {number}: {done.method}", headings, rows, right=range(1, 6)))
    (k, new_k), (alone, new_alone) = summary.smallest_class, summary.uniques
    risks = [
        ("records", f"{summary.records[0]:,} -> {summary.records[1]:,}"),
        ("linked by distance, of the input", f"{summary.linkage.forward:.2%}"),
        ("linked by distance, of the release", f"{summary.linkage.backward:.2%}"),
        ("looked up", summary.linkage.basis),
        ("smallest class over these columns", f"{k:,} -> {new_k:,}"),
        ("unique records", f"{alone:.2%} -> {new_alone:.2%}"),
    ]
    if summary.correlation is not None:
        risks.insert(1, ("greatest change of a correlation", f"{summary.correlation:.4g}"))
    console.print(show.table("", ("", ""), [*risks, *((name, _plain(v)) for name, v in done.facts.items())]))
    if done.findings:
        found = [
            (
                Text("holds", "green") if each.holds else Text("BROKEN", "bold red"),
                each.promise,
                each.measured,
            )
            for each in done.findings
        ]
        console.print(show.table("", ("", "promise", "found"), found))


def _change(pair: tuple[float, float] | None) -> str:
    return "" if pair is None else f"{pair[0]:.6g} -> {pair[1]:.6g}"


def _plain(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
