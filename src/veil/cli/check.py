"""`veil verify` and `veil hierarchy`: looking at tables."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from veil.api.open import place_of
from veil.api.targets import check_target
from veil.cli import failures, files, grammar, show
from veil.cli.places import warn_about_passwords
from veil.engines.database import Database
from veil.engines.relation import Engine
from veil.engines.settings import Settings
from veil.errors import PlanError, VeilError, did_you_mean
from veil.tables import Csv, Format, output_format, read
from veil.tables.formats import format_of

if TYPE_CHECKING:
    from veil.hierarchies import Hierarchy
    from veil.published.finding import Verification
    from veil.recipe import Recipe


def verify(
    text: str,
    recipe: Path | None,
    certificate: Path | None,
    signed_by: Path | None,
    format: str | None,
    engine: Engine | Settings | None,
    as_json: bool,
    quiet: bool = False,
) -> int:
    """Show whether a published table keeps the promises of a recipe or a certificate; return the exit code."""
    from veil.api.verify import verify

    given = grammar.format(format) if format else None
    place = place_of(text)
    warn_about_passwords(place)
    if recipe is not None and certificate is None and signed_by is None:
        found = _against_recipe(place, recipe, given, engine)
    elif certificate is not None and recipe is None:
        found = verify(
            place, certificate=certificate, signed_by=signed_by, format=given, engine=engine or "auto"
        )
    else:
        raise PlanError(
            "say what to check the table against: either --recipe FILE or --certificate FILE; --signed-by "
            "needs --certificate"
        )
    if as_json:
        typer.echo(json.dumps(_plain(found), indent=2, ensure_ascii=False))
    elif not quiet:
        show.verification(show.output(), found, "the table")
        show.verdict(show.output(), found)
    return failures.BROKEN if found.broken else 0 if found.holds else failures.NOT_CHECKED


def _plain(found: Verification) -> dict[str, Any]:
    return {
        "holds": found.holds,
        "not_checked": list(found.not_checked),
        "findings": [
            {"promise": each.promise, "verdict": each.verdict, "found": each.measured}
            for each in found.findings
        ],
    }


def _against_recipe(
    place: Path | Database, recipe: Path, given: Format | None, engine: Engine | Settings | None
) -> Verification:
    from veil.api.verify import verify
    from veil.recipe import Recipe

    known = Recipe.read(recipe)
    if known.tables is not None:
        from veil.report.certificate.linked_tables import open_tables

        with known.own_words():
            return verify(open_tables(place, list(known.tables)), known.plan())
    if given is None and isinstance(place, Path) and not place.is_dir():
        given = released_format(place, known.input_format, known)
    with known.own_words():
        return verify(place, known.plan(), format=given, engine=engine or known.reading)


def released_format(file: Path, given: Format | None, recipe: Recipe | None) -> Format | None:
    """Return the format of a release: that of the table it was made from, as far as it is the same kind of file.

    Column types are left out, because generalized columns have others, and names are only needed where the
    file does not have them.
    """
    try:
        named = format_of(file)
    except VeilError:
        return None
    if not isinstance(given, Csv) or not isinstance(named, Csv):
        return output_format(file, given) if given is not None and given.kind == named.kind else None
    columns = given.columns
    if columns is not None and recipe is not None:
        plan = recipe.plan()
        columns = tuple(
            name
            for name in columns
            if plan.identifying.get(name) != "remove" and plan.role_of(name) != "dropped"
        )
    return dataclasses.replace(
        given,
        separator=named.separator or given.separator,
        types={},
        skip=0,
        columns=None if given.header else columns,
    )


def build_hierarchy(file: Path, column: str, using: str, format: str | None) -> tuple[Hierarchy, Any]:
    """Build the hierarchy of a column of a file; also return the builder, or what `auto` proposes for it."""
    from veil.hierarchies import Auto

    table = read(file, format=grammar.format(format) if format else None).table
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


def hierarchy(
    file: Path, column: str, using: str, format: str | None, output: Path | None, overwrite: bool
) -> None:
    """Build a hierarchy, show its beginning, and save it if asked to."""
    from veil.base.spell import spell_value

    files.no_databases(file)
    if output is not None:
        check_target(output, overwrite=overwrite)
    made, builder = build_hierarchy(file, column, using, format)
    console = show.output()
    spec = ", ".join(f"{key}: {value}" for key, value in spell_value(builder).items())
    console.print(f"{column}: {{{spec}}}", markup=False, soft_wrap=True)
    levels = [
        (level, name, f"{len(labels):,}")
        for level, (name, labels) in enumerate(zip(made.level_names, made.labels, strict=True))
    ]
    console.print(show.table("Levels", ("level", "name", "labels"), levels, right=(0, 2)))
    show.first_rows(console, "First rows", made.to_frame(), 10)
    if output is not None:
        made.save(output)
        show.files(console, [("hierarchy", output)])
