"""`veil risk`, `assess`, `identify`, `utility` and `frontier`: figures about tables, for people and for programs."""

from __future__ import annotations

import dataclasses
import json
import math
import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import typer

from veil.api.job import table_of
from veil.api.open import Place, count_combinations, find_relation, place_of, read_into_memory
from veil.api.targets import check_ending, check_targets, require
from veil.base.progress import following
from veil.base.wording import plural
from veil.cli import failures, figures, files, grammar, show
from veil.cli.check import released_format
from veil.cli.places import check_options, warn_about_passwords
from veil.engines.relation import Engine
from veil.engines.settings import Settings
from veil.errors import InputError, PlanError, VeilError, did_you_mean
from veil.plan.plan import ASK
from veil.recipe import Recipe
from veil.tables import Format, Source, read
from veil.tables.atomic import Together
from veil.tables.csv.ambiguities import find_ambiguities
from veil.tables.csv.lenient import LenientReading, read_leniently
from veil.tables.formats import Csv, format_of
from veil.tables.spelling import read_person

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.figure import Figure
    from rich.console import Console


PICTURES = (".png", ".svg", ".pdf")


@dataclass(frozen=True)
class Telling:
    """Where figures go: on the terminal as tables or as JSON, and into files as JSON and as a picture."""

    json: bool = False
    output: Path | None = None
    overwrite: bool = False
    picture: Path | None = None

    @property
    def targets(self) -> dict[str, Path]:
        """Files to write."""
        named = {"figures": self.output, "picture": self.picture}
        return {what: path for what, path in named.items() if path is not None}

    def check(self, *keep: Path) -> None:
        """Refuse files that cannot be written, before time is spent on what goes there."""
        if self.picture is not None:
            check_ending(self.picture, "picture", PICTURES)
            require("Pictures", "matplotlib", extra="plot")
        check_targets(self.targets, keep=keep, overwrite=self.overwrite)

    def tell(
        self,
        found: Mapping[str, Any],
        shown: Callable[[Console], None],
        drawn: Callable[[], Figure] | None = None,
    ) -> None:
        """Write all files, or none, and print."""
        text = json.dumps(_plain(found), indent=2, allow_nan=False) + "\n"
        with files.honest_about(self.targets.values()):
            with Together() as made:
                if self.picture is not None and drawn is not None:
                    with made.making(self.picture) as path:
                        drawn().savefig(path, dpi=150)
                if self.output is not None:
                    with made.making(self.output) as path:
                        path.write_text(text, encoding="utf-8")
            if self.json:
                typer.echo(text, nl=False)
                return
            console = show.output()
            shown(console)
            show.files(console, self.targets.items())


def _plain(value: Any) -> Any:
    """Leave out what JSON has no word for: numbers that are none."""
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def assess(
    text: str,
    qi: Sequence[str],
    sensitive: Sequence[str],
    telling: Telling,
    *,
    hierarchies: Sequence[str],
    subset: str | None,
    population: str | None,
    person: str | None,
    knows: str,
    marker: str,
    format: str | None,
    engine: Engine | Settings | None,
) -> None:
    """Show what a table fulfils already, and its risks."""
    from veil.api.assess import assess

    place = place_of(text)
    warn_about_passwords(place)
    telling.check(*([place] if isinstance(place, Path) else []))
    found = assess(
        place,
        quasi_identifiers=grammar.names(qi),
        sensitive=grammar.names(sensitive),
        hierarchies=grammar.hierarchies(hierarchies),
        subset=None if subset is None else grammar.subset(subset),
        population=None if population is None else grammar.population(population),
        person=grammar.person(person),
        knows=cast("Any", knows),
        marker=marker,
        format=grammar.format(format) if format else None,
        engine=engine or "auto",
    )
    telling.tell(found.to_dict(), lambda console: show.assessment(console, found))


def _asked(
    text: str | None, qi: Sequence[str], recipe: Path | None, format: str | None
) -> tuple[Place, list[str], Format | None, str | None]:
    """Return the table, the columns that attackers know, the format and who is who: as said, or else as a recipe says."""
    person: str | None = ASK
    chosen = grammar.format(format) if format else None
    place, names = None if text is None else place_of(text), grammar.names(qi)
    if recipe is not None:
        read_from = Recipe.read(recipe)
        names = names or [*read_from.quasi_identifiers, *read_from.microaggregated]
        place, chosen = table_of(read_from, input=place, format=chosen)
        person = read_from.person
    if place is None:
        raise PlanError("say which table to look at: veil risk patients.csv --qi age,sex, or --recipe FILE")
    if not names:
        raise PlanError("say which columns an attacker may know: --qi age,sex,zip, or --recipe FILE")
    return place, list(dict.fromkeys(names)), chosen, person


def risk(
    text: str | None,
    qi: Sequence[str],
    recipe: Path | None,
    telling: Telling,
    *,
    format: str | None,
    population: str | None,
    untouched: bool,
    marker: str,
    subset: str | None,
    engine: Engine | Settings | None,
    person: str | None,
    **options: Any,
) -> None:
    """Show what a table reveals about the people in it; further keywords are those of `veil.risk.analyze`."""
    from veil.risk import analyze

    people = None if population is None else grammar.population(population)
    place, names, chosen, told = _asked(text, qi, recipe, format)
    options["person"] = told if person is None else read_person(grammar.person(person))
    warn_about_passwords(place)
    files.no_databases(people if isinstance(people, Path) else None)
    telling.check(*(each for each in (place, people, recipe) if isinstance(each, Path)))
    with following(None) as shown:
        shown.phase("reading the table")
        relation = find_relation(place, chosen, engine or "auto")
        if relation is not None:
            refused = {f"--{name}": options[name] for name in ("weights", "household")}
            check_options(relation, {**refused, "--subset": subset})
        if isinstance(people, Path):
            people = read(people, format=_akin(people, chosen)).table
        elif isinstance(people, str):
            people = _region(people)
        if relation is not None:
            asked = {name: options.pop(name) for name in ("person", "knows")}
            held, people = count_combinations(
                relation, names, people, marker=marker, untouched=untouched, **asked
            )
            shown.phase("looking at all combinations of columns")
            found = analyze(held, population=people, untouched=untouched, **options)
        else:
            table = read(place, format=chosen).table
            shown.phase("looking at all combinations of columns")
            found = analyze(
                table,
                names,
                population=people,
                subset=None if subset is None else grammar.subset(subset),
                marker=marker,
                untouched=untouched,
                **options,
            )
    telling.tell(found.to_dict(), lambda console: figures.risk(console, found, untouched=untouched))


def explore(
    file: Path,
    telling: Telling,
    *,
    input: Path | None,
    time_limit: float,
    format: str | None,
    threads: int | None,
) -> None:
    """Show what would keep more than a recipe does."""
    from veil.api.anonymize import anonymize

    recipe = Recipe.read(file)
    place, chosen = table_of(recipe, input=input, format=grammar.format(format) if format else None)
    telling.check(file, *([place] if isinstance(place, Path) else []))
    with following(None) as shown, recipe.own_words():
        made = anonymize(
            place, recipe.plan(), format=chosen, engine="memory", threads=threads, progress=shown
        )
        found = made.advice(time_limit=time_limit, progress=shown)
    telling.tell(found.to_dict(), lambda console: figures.advice(console, found))


def _region(name: str) -> Any:
    from veil.population import REGIONS, population_of

    if name not in REGIONS:
        raise PlanError(
            f"--population {name!r}: give a number of people, the path of a table, or a region."
            f"{did_you_mean(name, REGIONS)}"
        )
    return population_of(name)


def _akin(path: Path, format: Format | None) -> Format | None:
    """Return a format if it is that of a file by its name, or if its name does not tell."""
    try:
        named = format_of(path)
    except VeilError:
        return format
    return format if format is not None and format.kind == named.kind else None


def identify(
    text: str, telling: Telling, *, format: str | None, threshold: float, recipe: Path | None
) -> None:
    """Show what the columns of a table look like, and which roles that speaks for; write a draft of a recipe if asked to."""
    from veil.cli.draft import draft
    from veil.risk import detect_identifiers, find_repeats, propose_roles

    place = place_of(text)
    warn_about_passwords(place)
    keep = [place] if isinstance(place, Path) else []
    telling.check(*keep)
    if recipe is not None:
        check_targets({"recipe": recipe}, keep=keep, overwrite=telling.overwrite)
    given = grammar.format(format) if format else None
    with following(None) as shown:
        shown.phase("reading the table")
        (source, guess, reasons), counted = _look_at(place, given)
        table = source.table
        shown.phase("looking at names and values")
        found = detect_identifiers(table, threshold=threshold)
        proposed = propose_roles(table, threshold=threshold)
        named = [each.column for each in proposed if each.role == "identifying"]
        repeated = find_repeats(counted, named)
    chosen = given if guess is None else guess
    spelled = format if guess is None else grammar.spell_format(guess)
    made = {
        "format": None if guess is None else spelled,
        "identifiers": [dataclasses.asdict(each) for each in found],
        "roles": [dataclasses.asdict(each) for each in proposed],
        "repeated": [dataclasses.asdict(each) for each in repeated],
    }
    telling.tell(made, lambda console: figures.roles(console, proposed, repeated, place, spelled))
    if reasons and spelled is not None:
        failures.say(
            f"note: {place} is read as with --format {shlex.quote(spelled)}: {'; '.join(reasons)}. This is a guess: "
            "please check the letters and the numbers"
        )
    misread = find_ambiguities(table, source.format)
    for note in misread.notes:
        failures.say(f"note: {note}")
    meant = None if misread.format is None else _only_told(misread.format, chosen)
    if meant is not None:
        failures.say(f"To read the file that way: --format {shlex.quote(grammar.spell_format(meant))}")
    if recipe is not None:
        with Together() as together, together.making(recipe) as path:
            lines = draft(
                table,
                place,
                chosen,
                proposed,
                repeated,
                recipe.parent,
                guessed=reasons,
                misread=misread,
                meant=meant,
            )
            path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        if not telling.json:
            show.files(show.output(), [("draft of a recipe", recipe)])


def _look_at(place: Place, format: Format | None) -> tuple[LenientReading, Any]:
    """Read a table, or as many rows of one that an engine holds as show what its columns are; and what counts all rows."""
    relation = find_relation(place, format, "auto")
    if relation is None:
        path = cast("Path", place)  # databases always have an engine
        found = read_leniently(path) if format is None else LenientReading(read(path, format=format))
        return found, found.source.table
    from veil.engines.sample_rows import glimpse  # which needs Ibis

    seen = glimpse(relation)
    if seen.table.num_rows < seen.total:
        failures.say(f"note: columns are judged by {seen.table.num_rows:,} of {seen.total:,} rows")
    return LenientReading(Source(seen.table, "engine")), relation


def _only_told(meant: Csv, given: Csv | None) -> Csv:
    """Leave out of a format what was detected and need not be said."""
    asked = given or Csv()
    kept = {"encoding": asked.encoding, "time_separator": asked.time_separator}
    if meant.separator != ";":
        kept["separator"] = asked.separator
    return dataclasses.replace(meant, **kept)  # type: ignore[arg-type]


def utility(
    original: Path,
    released: Path,
    telling: Telling,
    *,
    qi: Sequence[str],
    recipe: Path | None,
    key: Path | None,
    target: Sequence[str],
    categories: Sequence[str],
    queries: int,
    format: str | None,
    released_as: str | None,
    marker: str | None,
    original_values: bool,
    threads: int | None,
) -> None:
    """Show what a released table is still good for."""
    from veil.utility import compare

    if bool(qi) == (recipe is not None):
        raise PlanError(
            "say which columns were changed: --qi age,sex, or --recipe with the recipe of the release; "
            "one of the two"
        )
    files.no_databases(original, released)
    telling.check(original, released, *([] if recipe is None else [recipe]))
    known = None if recipe is None else Recipe.read(recipe)
    columns: Mapping[str, Any] = grammar.columns(qi)
    blank: str | None = "*"
    if known is not None:
        plan = known.plan()
        columns = {**plan.quasi_identifiers, **dict.fromkeys(plan.aggregated)}
        blank = plan.marker
    given = (
        grammar.format(format) if format else None if known is None else _akin(original, known.input_format)
    )
    with following(None) as shown:
        shown.phase("reading the tables")
        before = read(original, format=given).table
        chosen = grammar.format(released_as) if released_as else released_format(released, given, known)
        after = read(released, format=chosen).table
        rows = None if key is None else _rows_of(key, before, after, released)
        if rows is None:
            is_mixed = known is not None and known.plan().order == "random"
            _check_rows(before, after, list(columns), released, is_mixed=is_mixed)
        shown.phase("comparing")
        found = compare(
            before,
            after,
            columns,
            rows=rows,
            marker=blank if marker is None else marker,
            targets=grammar.names(target),
            categories=grammar.names(categories),
            queries=queries,
            threads=threads,
        )
    safe = found if original_values else found.without_original_values()
    telling.tell(safe.to_dict(), lambda console: figures.utility(console, found))


_KEY = "Give the key of the release, which `veil anonymize --key FILE` writes: --key FILE"


def _check_rows(
    before: pa.Table, after: pa.Table, changed: Collection[str], released: Path, *, is_mixed: bool
) -> None:
    """Refuse tables whose rows do not stand for each other: whatever is compared row by row would be wrong."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if before.num_rows != after.num_rows:
        raise InputError(
            f"{released} has {plural(after.num_rows, 'row')} and the original {before.num_rows:,}, so it is not clear "
            f"which of them belong together. {_KEY}"
        )
    kept = [name for name in after.column_names if name in before.column_names and name not in changed]
    different = 0
    for name in kept:
        shown = pc.is_valid(after[name])
        try:
            pairs = [each[name].filter(shown).cast("string").combine_chunks() for each in (before, after)]
        except pa.ArrowException:  # bytes, and structures, which have no text
            different += not after[name].equals(before[name])
            continue
        there = pc.and_(pc.is_valid(pairs[0]), pc.not_equal(pairs[1], "*"))
        same = pc.mean(pc.equal(pairs[0].filter(there), pairs[1].filter(there)).cast("float64")).as_py()
        different += same is not None and same < _ALIGNED
    if different == len(kept) and (kept or is_mixed):
        raise InputError(
            f"the rows of {released} are not in the order of the original, so it is not clear which of them belong "
            f"together: releases are written in random order. {_KEY}"
        )


_ALIGNED = 0.9
"""Share of equal cells that a column has which nobody changed, in rows that stand for each other."""


def _rows_of(key: Path, before: pa.Table, after: pa.Table, released: Path) -> Any:
    """Read which row of the original each released row is."""
    table = read(key).table
    if table.column_names != ["release row", "input row"] or table.num_rows != after.num_rows:
        raise InputError(f"{key}: is not the key of {released}. {_KEY}")
    rows = table.sort_by("release row")["input row"].to_numpy()
    if rows.size and not 0 <= int(rows.min()) <= int(rows.max()) < before.num_rows:
        raise InputError(f"{key}: refers to rows that the original does not have. {_KEY}")
    return rows


def frontier(
    source: Path,
    over: Sequence[str],
    telling: Telling,
    *,
    input: Path | None,
    format: str | None,
    risk: str | None,
    utility: str,
) -> None:
    """Show risk and utility of releases with other parameters."""
    from veil.api.frontier import frontier
    from veil.dp.publish import safepub_of

    parameters = grammar.parameters(over)
    _check_figures(risk, utility)
    if not files.is_recipe(source):
        raise PlanError(
            f"{source}: a recipe (.yaml) with the plan to vary is needed; `veil anonymize --save-recipe` "
            "makes one from options"
        )
    recipe = Recipe.read(source)
    files.no_databases(input)
    given = grammar.format(format) if format else None
    table, chosen = table_of(recipe, input=input, format=given)
    path = read_into_memory(table, chosen, "Try parameters on a sample that is written to one file")
    telling.check(source, path)
    plan = recipe.plan()
    if recipe.local_recoding is not None:
        failures.say("note: figures are those before local recoding, which the frontier leaves out")
    if safepub_of(plan) is not None:
        failures.say(
            "note: these figures are exact and spend no budget: try parameters on data that may be looked at"
        )
    with recipe.own_words():
        found = frontier(
            path, plan, over=parameters, risk=risk, utility=utility, format=chosen, progress=None
        )
    telling.tell(found.to_dict(), lambda console: figures.frontier(console, found), found.plot)


def _check_figures(risk: str | None, utility: str) -> None:
    """Refuse figures that there will not be, before any release is made."""
    from veil.api.frontier import RISKS
    from veil.utility.attributes import ATTRIBUTE_MEASURES
    from veil.utility.quality import DATA_MEASURES

    utilities = (*ATTRIBUTE_MEASURES, *DATA_MEASURES, "sse_sst", "released")
    for option, name, known in (("--risk", risk, RISKS), ("--utility", utility, utilities)):
        if name is not None and name not in known:
            raise PlanError(f"{option} {name!r}: there is no such figure.{did_you_mean(name, known)}")
