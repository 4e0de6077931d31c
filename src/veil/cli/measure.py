"""`veil risk`, `assess`, `identify`, `utility` and `frontier`: figures about tables."""

from __future__ import annotations

import dataclasses
import json
import math
import shlex
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import typer

from veil.api.open import Place, count_combinations, find_relation, place_of, read_into_memory
from veil.api.resolve import table_of
from veil.api.targets import check_ending, check_targets, require
from veil.base.progress import following
from veil.base.wording import plural
from veil.cli import failures, figures, files, grammar, show
from veil.cli.check import released_format
from veil.cli.places import check_options, engine_of, warn_about_passwords
from veil.errors import InputError, PlanError, VeilError, did_you_mean
from veil.plan.plan import ASK
from veil.recipe import Recipe
from veil.tables import Format, Source, read
from veil.tables.atomic import AtomicWrite
from veil.tables.csv.ambiguities import find_ambiguities
from veil.tables.csv.lenient import LenientReading, read_leniently
from veil.tables.formats import Csv, format_of
from veil.tables.spelling import read_person

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.figure import Figure
    from rich.console import Console

    from veil.cli.base import Results
    from veil.cli.commands.inspect import (
        Advise,
        Assess,
        FrontierCommand,
        Identify,
        RiskCommand,
        UtilityCommand,
    )


PICTURES = (".png", ".svg", ".pdf")


@dataclass(frozen=True)
class Destination:
    """The destination of figures: the terminal as tables or JSON, and files as JSON and a picture."""

    json: bool = False
    output: Path | None = None
    overwrite: bool = False
    picture: Path | None = None

    @classmethod
    def of(cls, options: Results, picture: Path | None = None) -> Destination:
        """Return the destination that options name."""
        return cls(options.json, options.output, options.overwrite, picture)

    @property
    def targets(self) -> dict[str, Path]:
        """Files to write."""
        paths = {"figures": self.output, "picture": self.picture}
        return {what: path for what, path in paths.items() if path is not None}

    def check(self, *keep: Path) -> None:
        """Refuse files that cannot be written, before the figures are computed."""
        if self.picture is not None:
            check_ending(self.picture, "picture", PICTURES)
            require("Pictures", "matplotlib", extra="plot")
        check_targets(self.targets, keep=keep, overwrite=self.overwrite)

    def write(
        self,
        values: Mapping[str, Any],
        print_tables: Callable[[Console], None],
        draw: Callable[[], Figure] | None = None,
    ) -> None:
        """Write all files, or none, and print."""
        text = json.dumps(_plain(values), indent=2, allow_nan=False) + "\n"
        with files.track_outputs(self.targets.values()):
            with AtomicWrite() as atomic:
                if self.picture is not None and draw is not None:
                    with atomic.making(self.picture) as path:
                        draw().savefig(path, dpi=150)
                if self.output is not None:
                    with atomic.making(self.output) as path:
                        path.write_text(text, encoding="utf-8")
            if self.json:
                typer.echo(text, nl=False)
                return
            console = show.output()
            print_tables(console)
            show.files(console, self.targets.items())


def _plain(value: Any) -> Any:
    """Replace NaN and infinity, which JSON does not have, by None."""
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def assess(options: Assess) -> None:
    """Show the models that a table fulfils, and its risks."""
    from veil.api.assess import assess

    place, destination = place_of(options.source), Destination.of(options)
    warn_about_passwords(place)
    destination.check(*([place] if isinstance(place, Path) else []))
    assessment = assess(
        place,
        quasi_identifiers=grammar.names(options.qi),
        sensitive=grammar.names(options.sensitive),
        hierarchies=grammar.hierarchies(options.hierarchy),
        subset=None if options.subset is None else grammar.subset(options.subset),
        population=None if options.population is None else grammar.population(options.population),
        person=grammar.person(options.person),
        knows=cast("Any", options.knows),
        marker=options.marker,
        format=grammar.format(options.format),
        engine=engine_of(options) or "auto",
    )
    destination.write(assessment.to_dict(), lambda console: show.assessment(console, assessment))


def _table_and_columns(options: RiskCommand) -> tuple[Place, list[str], Format | None, str | None]:
    """Return table, quasi-identifiers, format and person, from the options or else from a recipe."""
    person: str | None = ASK
    table_format = grammar.format(options.format)
    place = None if options.source is None else place_of(options.source)
    names = grammar.names(options.qi)
    if options.recipe is not None:
        source = Recipe.read(options.recipe)
        names = names or [*source.generalize.quasi_identifiers, *source.generalize.microaggregated]
        place, table_format = table_of(source, input=place, format=table_format)
        person = source.person
    if place is None:
        raise PlanError("say which table to look at: veil risk patients.csv --qi age,sex, or --recipe FILE")
    if not names:
        raise PlanError("say which columns an attacker may know: --qi age,sex,zip, or --recipe FILE")
    return place, list(dict.fromkeys(names)), table_format, person


def risk(options: RiskCommand) -> None:
    """Show the risks of the people in a table."""
    from veil.risk import analyze

    untouched, marker, destination = options.untouched, options.marker, Destination.of(options)
    people = None if options.population is None else grammar.population(options.population)
    place, names, table_format, recipe_person = _table_and_columns(options)
    person = recipe_person if options.person is None else read_person(grammar.person(options.person))
    unit: dict[str, Any] = {"person": person, "knows": options.knows}
    warn_about_passwords(place)
    files.no_databases(people if isinstance(people, Path) else None)
    destination.check(*(each for each in (place, people, options.recipe) if isinstance(each, Path)))
    with following(None) as progress:
        progress.phase("reading the table")
        relation = find_relation(place, table_format, engine_of(options) or "auto")
        if relation is not None:
            check_options(relation, options, "weights", "household", "subset")
        if isinstance(people, Path):
            people = read(people, format=_akin(people, table_format)).table
        elif isinstance(people, str):
            people = _region(people)
        if relation is not None:
            combinations, people = count_combinations(
                relation, names, people, marker=marker, untouched=untouched, **unit
            )
            progress.phase("looking at all combinations of columns")
            analysis = analyze(
                combinations, population=people, untouched=untouched, threshold=options.threshold
            )
        else:
            table = read(place, format=table_format).table
            progress.phase("looking at all combinations of columns")
            analysis = analyze(
                table,
                names,
                population=people,
                subset=None if options.subset is None else grammar.subset(options.subset),
                marker=marker,
                untouched=untouched,
                weights=options.weights,
                household=options.household,
                threshold=options.threshold,
                **unit,
            )
    destination.write(
        analysis.to_dict(), lambda console: figures.risk(console, analysis, untouched=untouched)
    )


def advise(options: Advise) -> None:
    """Show alternatives to a recipe that keep more, or all ways to anonymize its table."""
    from veil.api.anonymize import anonymize
    from veil.api.ways import WAYS, compare_ways

    destination, recipe = Destination.of(options), Recipe.read(options.recipe)
    place, table_format = table_of(recipe, input=options.input, format=grammar.format(options.format))
    destination.check(options.recipe, *([place] if isinstance(place, Path) else []))
    if options.ways:
        with recipe.own_words():
            ways = compare_ways(
                place,
                recipe.plan_of_input(),
                attacks=True,
                time_limit=options.time_limit / len(WAYS),
                format=table_format,
                threads=options.threads,
            )
        destination.write(ways.to_dict(), lambda console: figures.ways(console, ways))
        return
    with following(None) as progress, recipe.own_words():
        release = anonymize(
            place,
            recipe.plan_of_input(),
            format=table_format,
            engine="memory",
            threads=options.threads,
            progress=progress,
        )
        advice = release.advice(time_limit=options.time_limit, progress=progress)
    destination.write(advice.to_dict(), lambda console: figures.advice(console, advice))


def _region(name: str) -> Any:
    from veil.population import REGIONS
    from veil.population.size import population_of

    if name not in REGIONS:
        raise PlanError(
            f"--population {name!r}: give a number of people, the path of a table, or a region."
            f"{did_you_mean(name, REGIONS)}"
        )
    return population_of(name)


def _akin(path: Path, format: Format | None) -> Format | None:
    """Return a format if it suits the suffix of a file, or if the suffix is unknown."""
    try:
        suffix_format = format_of(path)
    except VeilError:
        return format
    return format if format is not None and format.kind == suffix_format.kind else None


def identify(options: Identify) -> None:
    """Show the proposed roles of the columns of a table; write a draft of a recipe if one is to be saved."""
    from veil.cli.draft import draft
    from veil.risk import detect_identifiers, find_repeats, propose_roles

    place, destination = place_of(options.source), Destination.of(options)
    format, recipe, threshold = options.format, options.save_recipe, options.threshold
    warn_about_passwords(place)
    keep = [place] if isinstance(place, Path) else []
    destination.check(*keep)
    if recipe is not None:
        check_targets({"recipe": recipe}, keep=keep, overwrite=destination.overwrite)
    option_format = grammar.format(format)
    with following(None) as progress:
        progress.phase("reading the table")
        (source, guess, reasons), rows = _look_at(place, option_format)
        table = source.table
        progress.phase("looking at names and values")
        identifiers = detect_identifiers(table, threshold=threshold)
        proposed = propose_roles(table, threshold=threshold)
        identifying = [each.column for each in proposed if each.role == "identifying"]
        repeated = find_repeats(rows, identifying)
    table_format = option_format if guess is None else guess
    format_text = format if guess is None else grammar.spell_format(guess)
    summary = {
        "format": None if guess is None else format_text,
        "identifiers": [dataclasses.asdict(each) for each in identifiers],
        "roles": [dataclasses.asdict(each) for each in proposed],
        "repeated": [dataclasses.asdict(each) for each in repeated],
    }
    destination.write(summary, lambda console: figures.roles(console, proposed, repeated, place, format_text))
    if reasons and format_text is not None:
        failures.print_note(
            f"note: {place} is read as with --format {shlex.quote(format_text)}: {'; '.join(reasons)}. This is a guess: "
            "please check the letters and the numbers"
        )
    misread = find_ambiguities(table, source.format)
    for note in misread.notes:
        failures.print_note(f"note: {note}")
    alternative = None if misread.format is None else _without_detected(misread.format, table_format)
    if alternative is not None:
        option = shlex.quote(grammar.spell_format(alternative))
        failures.print_note(f"To read the file that way: --format {option}")
    if recipe is not None:
        with AtomicWrite() as together, together.making(recipe) as path:
            lines = draft(
                table,
                place,
                table_format,
                proposed,
                repeated,
                recipe.parent,
                guessed=reasons,
                misread=misread,
                alternative=alternative,
            )
            path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        if not destination.json:
            show.files(show.output(), [("draft of a recipe", recipe)])


def _look_at(place: Place, format: Format | None) -> tuple[LenientReading, Any]:
    """Return a table, or a sample of one that an engine holds; and the source of all its rows."""
    relation = find_relation(place, format, "auto")
    if relation is None:
        path = cast("Path", place)  # databases always have an engine
        reading = read_leniently(path) if format is None else LenientReading(read(path, format=format))
        return reading, reading.source.table
    from veil.engines.sample_rows import sample_rows  # here, as it needs Ibis

    sample = sample_rows(relation)
    if sample.table.num_rows < sample.total:
        failures.print_note(f"note: columns are judged by {sample.table.num_rows:,} of {sample.total:,} rows")
    return LenientReading(Source(sample.table, "engine")), relation


def _without_detected(alternative: Csv, option_format: Csv | None) -> Csv:
    """Return a format without the detected fields that need no option."""
    usual = option_format or Csv()
    fields = {"encoding": usual.encoding, "time_separator": usual.time_separator}
    if alternative.separator != ";":
        fields["separator"] = usual.separator
    return dataclasses.replace(alternative, **fields)  # type: ignore[arg-type]


def utility(options: UtilityCommand) -> None:
    """Show the utility of a released table."""
    from veil.utility import compare

    original, release, recipe, qi = options.original, options.release, options.recipe, options.qi
    destination, origins = Destination.of(options), options.origins
    if bool(qi) == (recipe is not None):
        raise PlanError(
            "say which columns were changed: --qi age,sex, or --recipe with the recipe of the release; "
            "one of the two"
        )
    files.no_databases(original, release)
    destination.check(original, release, *([] if recipe is None else [recipe]))
    release_recipe = None if recipe is None else Recipe.read(recipe)
    columns: Mapping[str, Any] = grammar.columns(qi)
    blank: str | None = "*"
    input_format = grammar.format(options.format)
    if release_recipe is not None:
        plan = release_recipe.plan()
        columns = {**plan.quasi_identifiers, **dict.fromkeys(plan.aggregated)}
        blank = plan.marker
        input_format = input_format or _akin(original, release_recipe.input_format)
    with following(None) as progress:
        progress.phase("reading the tables")
        before = read(original, format=input_format).table
        own_format = grammar.format(options.released_format) or released_format(
            release, input_format, release_recipe
        )
        after = read(release, format=own_format).table
        rows = None if origins is None else _rows_of(origins, before, after, release)
        if rows is None:
            is_mixed = release_recipe is not None and release_recipe.plan().order == "random"
            _check_rows(before, after, list(columns), release, is_mixed=is_mixed)
        progress.phase("comparing")
        comparison = compare(
            before,
            after,
            columns,
            rows=rows,
            marker=blank if options.marker is None else options.marker,
            targets=grammar.names(options.target),
            categories=grammar.names(options.categories),
            queries=options.queries,
            threads=options.threads,
        )
    safe = comparison if options.original_values else comparison.without_original_values()
    destination.write(safe.to_dict(), lambda console: figures.utility(console, comparison))


_ORIGINS = "Give the origins of its rows, which `veil anonymize --origins FILE` writes: --origins FILE"


def _check_rows(
    before: pa.Table, after: pa.Table, changed: Collection[str], release: Path, *, is_mixed: bool
) -> None:
    """Refuse tables whose rows do not correspond, as comparisons row by row would be wrong."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if before.num_rows != after.num_rows:
        raise InputError(
            f"{release} has {plural(after.num_rows, 'row')} and the original {before.num_rows:,}, so it is not clear "
            f"which of them belong together. {_ORIGINS}"
        )
    unchanged = [name for name in after.column_names if name in before.column_names and name not in changed]
    different = 0
    for name in unchanged:
        mask = pc.is_valid(after[name])
        try:
            pairs = [each[name].filter(mask).cast("string").combine_chunks() for each in (before, after)]
        except pa.ArrowException:  # bytes and structures have no text
            different += not after[name].equals(before[name])
            continue
        mask = pc.and_(pc.is_valid(pairs[0]), pc.not_equal(pairs[1], "*"))
        same = pc.mean(pc.equal(pairs[0].filter(mask), pairs[1].filter(mask)).cast("float64")).as_py()
        different += same is not None and same < _ALIGNED
    if different == len(unchanged) and (unchanged or is_mixed):
        raise InputError(
            f"the rows of {release} are not in the order of the original, so it is not clear which of them belong "
            f"together: releases are written in random order. {_ORIGINS}"
        )


_ALIGNED = 0.9
"""The least share of equal cells of an unchanged column in corresponding rows."""


def _rows_of(origins: Path, before: pa.Table, after: pa.Table, release: Path) -> Any:
    """Read the row of the original for each released row."""
    table = read(origins).table
    if table.column_names != ["release row", "input row"] or table.num_rows != after.num_rows:
        raise InputError(f"{origins}: are not the origins of {release}. {_ORIGINS}")
    rows = table.sort_by("release row")["input row"].to_numpy()
    if rows.size and not 0 <= int(rows.min()) <= int(rows.max()) < before.num_rows:
        raise InputError(f"{origins}: refers to rows that the original does not have. {_ORIGINS}")
    return rows


def frontier(options: FrontierCommand) -> None:
    """Show risk and utility of releases with other parameters."""
    from veil.api.frontier import frontier
    from veil.dp.publish import safepub_of

    source, risk, utility = options.recipe, options.risk, options.utility
    destination = Destination.of(options, picture=options.plot)
    parameters = grammar.parameters(options.over)
    _check_figures(risk, utility)
    if not files.is_recipe(source):
        raise PlanError(
            f"{source}: a recipe (.yaml) with the plan to vary is needed; `veil anonymize --save-recipe` "
            "makes one from options"
        )
    recipe = Recipe.read(source)
    files.no_databases(options.input)
    table, table_format = table_of(recipe, input=options.input, format=grammar.format(options.format))
    path = read_into_memory(table, table_format, "Try parameters on a sample that is written to one file")
    destination.check(source, path)
    plan = recipe.plan_of_input()
    if safepub_of(plan) is not None:
        failures.print_note(
            "note: these figures are exact and spend no budget: try parameters on data that may be looked at"
        )
    with recipe.own_words():
        result = frontier(
            path, plan, over=parameters, risk=risk, utility=utility, format=table_format, progress=None
        )
    destination.write(result.to_dict(), lambda console: figures.frontier(console, result), result.plot)


def _check_figures(risk: str | None, utility: str) -> None:
    """Refuse unknown figures before any release is made."""
    from veil.api.frontier import RISKS
    from veil.utility.attributes import ATTRIBUTE_MEASURES
    from veil.utility.quality import DATA_MEASURES

    utilities = (*ATTRIBUTE_MEASURES, *DATA_MEASURES, "sse_sst", "released")
    for option, name, choices in (("--risk", risk, RISKS), ("--utility", utility, utilities)):
        if name is not None and name not in choices:
            raise PlanError(f"{option} {name!r}: there is no such figure.{did_you_mean(name, choices)}")
