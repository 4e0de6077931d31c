"""`veil verify` and `veil hierarchy`."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from veil.api.open import place_of
from veil.api.targets import check_target
from veil.cli import failures, files, grammar, show
from veil.cli.places import engine_of, warn_about_passwords
from veil.engines.database import Database
from veil.engines.relation import Engine
from veil.engines.settings import Settings
from veil.errors import PlanError, VeilError, did_you_mean
from veil.tables import Csv, Format, output_format, read
from veil.tables.formats import format_of

if TYPE_CHECKING:
    from veil.cli.commands.inspect import HierarchyCommand, Verify
    from veil.hierarchies import Hierarchy
    from veil.published.finding import Verification
    from veil.recipe import Recipe


def verify(options: Verify) -> None:
    """Verify the promises of a recipe or a certificate on a published table; the exit code says whether they hold."""
    from veil.api.verify import verify

    recipe, certificate, signed_by = options.recipe, options.certificate, options.signed_by
    table_format, engine = grammar.format(options.format), engine_of(options)
    place = place_of(options.source)
    warn_about_passwords(place)
    if recipe is not None and certificate is None and signed_by is None:
        verification = _against_recipe(place, recipe, table_format, engine, options.lower_bound)
    elif certificate is not None and recipe is None and options.lower_bound is None:
        verification = verify(
            place, certificate=certificate, signed_by=signed_by, format=table_format, engine=engine or "auto"
        )
    else:
        raise PlanError(
            "say what to check the table against: either --recipe FILE or --certificate FILE; --signed-by "
            "needs --certificate, and --lower-bound the recipe"
        )
    if options.json:
        typer.echo(json.dumps(_plain(verification), indent=2, ensure_ascii=False))
    elif not options.quiet:
        show.verification(show.output(), verification, "the table")
        show.verdict(show.output(), verification)
    if not verification.holds:
        raise typer.Exit(failures.BROKEN if verification.broken else failures.NOT_CHECKED)


def _plain(verification: Verification) -> dict[str, Any]:
    return {
        "holds": verification.holds,
        "not_checked": list(verification.not_checked),
        "findings": [
            {"promise": each.promise, "verdict": each.verdict, "found": each.measured}
            for each in verification.findings
        ],
    }


def _against_recipe(
    place: Path | Database,
    path: Path,
    table_format: Format | None,
    engine: Engine | Settings | None,
    prices: Path | None,
) -> Verification:
    from veil.api.verify import verify
    from veil.recipe import Recipe

    recipe = Recipe.read(path)
    if prices is not None and recipe.source is None:
        raise PlanError(
            f"{path}: a lower bound is that of one table, which the recipe should name as `input`"
        )
    if recipe.tables is not None:
        from veil.report.certificate.linked_tables import open_tables

        with recipe.own_words():
            return verify(open_tables(place, list(recipe.tables)), recipe.plan())
    if table_format is None and isinstance(place, Path) and not place.is_dir():
        table_format = released_format(place, recipe.input_format, recipe)
    with recipe.own_words():
        verification = verify(place, recipe.plan(), format=table_format, engine=engine or recipe.reading)
        if prices is None:
            return verification
        from veil.api.lower_bound import check_lower_bound

        plan = recipe.plan_of_input()
        finding = check_lower_bound(recipe.source, plan, prices, recipe.input_format, recipe.reading)
        return dataclasses.replace(verification, findings=(*verification.findings, finding))


def released_format(file: Path, input_format: Format | None, recipe: Recipe | None) -> Format | None:
    """Return the format of a release: that of its input if it is the same kind of file.

    Column types are left out, because generalized columns have others; names are needed only if the file has
    none.
    """
    try:
        suffix_format = format_of(file)
    except VeilError:
        return None
    if input_format is None or input_format.kind != suffix_format.kind:
        return None
    if not isinstance(input_format, Csv) or not isinstance(suffix_format, Csv):
        return output_format(file, input_format)
    columns = input_format.columns
    if columns is not None and recipe is not None:
        plan = recipe.plan()
        columns = tuple(
            name
            for name in columns
            if plan.identifying.get(name) != "remove" and plan.role_of(name) != "dropped"
        )
    return dataclasses.replace(
        input_format,
        separator=suffix_format.separator or input_format.separator,
        types={},
        skip=0,
        columns=None if input_format.header else columns,
    )


def build_hierarchy(file: Path, column: str, using: str, format: str | None) -> tuple[Hierarchy, Any]:
    """Build the hierarchy of a column of a file; also return its builder (for `auto`, the proposed one)."""
    from veil.hierarchies import Auto

    table = read(file, format=grammar.format(format)).table
    if column not in table.column_names:
        raise PlanError(f"{file} has no column {column!r}.{did_you_mean(column, table.column_names)}")
    array = table[column].combine_chunks()
    if hasattr(array.type, "value_type"):
        array = array.cast(array.type.value_type)
    counted = array.value_counts()
    values, counts = counted.field("values"), counted.field("counts").to_numpy()
    builder = grammar.hierarchy(using, "--using")
    if isinstance(builder, Auto):
        builder = builder.propose(values, column)
    return builder.build(values, counts, column), builder


def hierarchy(options: HierarchyCommand) -> None:
    """Build a hierarchy, show its first rows, and save it if `output` is given."""
    from veil.base.spell import spell_value

    column, output = options.column, options.output
    files.no_databases(options.file)
    if output is not None:
        check_target(output, overwrite=options.overwrite)
    hierarchy, builder = build_hierarchy(options.file, column, options.using, options.format)
    console = show.output()
    spec = ", ".join(f"{key}: {value}" for key, value in spell_value(builder).items())
    console.print(f"{column}: {{{spec}}}", markup=False, soft_wrap=True)
    levels = [
        (level, name, f"{len(labels):,}")
        for level, (name, labels) in enumerate(zip(hierarchy.level_names, hierarchy.labels, strict=True))
    ]
    console.print(show.table("Levels", ("level", "name", "labels"), levels, right=(0, 2)))
    show.first_rows(console, "First rows", hierarchy.to_frame(), 10)
    if output is not None:
        hierarchy.save(output)
        show.files(console, [("hierarchy", output)])
