"""The commands that examine tables and write none."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from veil.cli import startup
from veil.cli.base import (
    LOOK,
    Attacker,
    Engine,
    Figures,
    Input,
    Json,
    Known,
    Marker,
    Memory,
    Output,
    Overwrite,
    Person,
    Quiet,
    Reading,
    Subset,
    Temporary,
    Threads,
    command,
)


@command(LOOK)
def identify(
    source: Annotated[
        str,
        typer.Argument(metavar="TABLE", help="The table to examine: a file, a folder, a pattern or a URL."),
    ],
    threshold: Annotated[
        float,
        typer.Option(min=0, max=1, metavar="SHARE", help="Share of a column's values that must look alike."),
    ] = 0.5,
    save_recipe: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Also write a draft of a recipe, with a role, a hierarchy and the reasons for each column (.yaml).",
        ),
    ] = None,
    json: Json = False,
    output: Figures = None,
    overwrite: Overwrite = False,
    format: Reading = None,
) -> None:
    """Find columns that identify people, and propose a role for each column.

    Shows what the name and the values of each column look like, and the command to continue with. A CSV file is read
    as it seems to be meant, and a note says how.

    [cyan]veil identify patients.csv --save-recipe draft.yaml[/cyan]
    """
    startup.quick()
    from veil.cli import measure as measuring

    destination = measuring.Destination(json, output, overwrite)
    measuring.identify(source, destination, format=format, threshold=threshold, recipe=save_recipe)


@command(LOOK)
def risk(
    source: Annotated[
        str | None,
        typer.Argument(
            metavar="[TABLE]",
            help="The table, before or after anonymization: a file, a folder, a pattern or a URL. Default: that of the recipe.",
        ),
    ] = None,
    qi: Annotated[
        list[str] | None,
        typer.Option(
            "--qi", metavar="COLUMNS", help="Columns that an attacker may know, such as age,sex,zip."
        ),
    ] = None,
    recipe: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Take columns, table and format from this recipe unless given."),
    ] = None,
    population: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE|REGION|SHARE|FILE",
            help="The people the table was drawn from: 80000, USA, 0.01 if the table is one percent of them, or a table of all of them.",
        ),
    ] = None,
    subset: Subset = None,
    weights: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Column of sampling weights: how many people each record represents."
        ),
    ] = None,
    household: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The household each record belongs to.")
    ] = None,
    person: Person = None,
    knows: Attacker = "one row",
    threshold: Annotated[
        float, typer.Option(min=0, max=1, metavar="RISK", help="Risk above which a record is at risk.")
    ] = 0.2,
    untouched: Annotated[
        bool,
        typer.Option(
            "--untouched", help="The table is as collected: missing values are not suppressed cells."
        ),
    ] = False,
    marker: Marker = "*",
    json: Json = False,
    output: Figures = None,
    overwrite: Overwrite = False,
    format: Reading = None,
    engine: Engine = None,
    memory: Memory = None,
    temporary: Temporary = None,
) -> None:
    """Show what a table reveals about the people in it, to attackers who know some columns.

    [cyan]veil risk patients.csv --qi age,sex,zip --untouched --population Germany[/cyan]
    """
    startup.quick()
    from veil.cli import measure as measuring
    from veil.cli.places import engine_of

    measuring.risk(
        source,
        qi or [],
        recipe,
        measuring.Destination(json, output, overwrite),
        format=format,
        population=population,
        subset=subset,
        weights=weights,
        household=household,
        person=person,
        knows=knows,
        threshold=threshold,
        untouched=untouched,
        marker=marker,
        engine=engine_of(engine and engine.value, memory, temporary),
    )


@command(LOOK)
def assess(
    source: Annotated[
        str,
        typer.Argument(metavar="TABLE", help="The table to examine: a file, a folder, a pattern or a URL."),
    ],
    qi: Known,
    sensitive: Annotated[
        list[str] | None, typer.Option(metavar="COLUMNS", help="Columns that an attacker must not learn.")
    ] = None,
    hierarchy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=HIERARCHY", help="Hierarchy of a sensitive column, for hierarchical t-closeness."
        ),
    ] = None,
    subset: Subset = None,
    population: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE|REGION|SHARE",
            help="The people the table was drawn from: 80000, USA, or 0.01 if the table is one percent of them.",
        ),
    ] = None,
    person: Person = None,
    knows: Attacker = "one row",
    marker: Marker = "*",
    json: Json = False,
    output: Figures = None,
    overwrite: Overwrite = False,
    format: Reading = None,
    engine: Engine = None,
    memory: Memory = None,
    temporary: Temporary = None,
) -> None:
    """Show which privacy guarantees a table already meets, and the risks of the people in it.

    Every number shown can be promised. With --json, numbers have all their digits.

    [cyan]veil assess release.csv --qi age,sex,zip --sensitive diagnosis[/cyan]
    """
    startup.quick()
    from veil.cli import measure as measuring
    from veil.cli.places import engine_of

    measuring.assess(
        source,
        qi,
        sensitive or [],
        measuring.Destination(json, output, overwrite),
        hierarchies=hierarchy or [],
        subset=subset,
        population=population,
        person=person,
        knows=knows,
        marker=marker,
        format=format,
        engine=engine_of(engine and engine.value, memory, temporary),
    )


@command(LOOK)
def utility(
    original: Annotated[Path, typer.Argument(metavar="ORIGINAL", help="The original table.")],
    release: Annotated[Path, typer.Argument(metavar="RELEASED", help="The released table.")],
    qi: Annotated[
        list[str] | None,
        typer.Option(
            "--qi",
            metavar="COLUMNS",
            help="Columns that were changed: age,sex, or with hierarchies, which say what labels mean: "
            "[cyan]age=intervals:5,10[/cyan].",
        ),
    ] = None,
    recipe: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The recipe of the release, instead of --qi.")
    ] = None,
    origins: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The origins of the rows: which row of the original each is, as [cyan]veil anonymize --origins[/cyan] "
            "writes it. Not needed if rows are in the same order.",
        ),
    ] = None,
    target: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMNS", help="Columns to predict from the others, before and after."),
    ] = None,
    categories: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMNS", help="Targets whose numbers are codes of categories."),
    ] = None,
    queries: Annotated[
        int, typer.Option(min=0, metavar="N", help="How many random counts to compare; 0 for none.")
    ] = 1000,
    original_values: Annotated[
        bool,
        typer.Option(
            "--with-original-values", help="Keep values of the original in the JSON. Do not share it."
        ),
    ] = False,
    marker: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Text of a suppressed cell. Default: *.")
    ] = None,
    json: Json = False,
    output: Figures = None,
    overwrite: Overwrite = False,
    format: Reading = None,
    released_format: Annotated[
        str | None, typer.Option(metavar="FORMAT", help="How to read the released table, if different.")
    ] = None,
    threads: Threads = None,
) -> None:
    """Show what a released table is still good for, compared with the original.

    Releases are written in random order: their origins, which [cyan]veil anonymize --origins[/cyan] writes, say which belong
    together.

    [cyan]veil utility patients.csv release.csv --recipe recipe.yaml --origins kept/origins.csv[/cyan]

    [cyan]veil utility patients.csv release.csv --qi age=intervals:5,10 --qi sex,zip --target diagnosis[/cyan]
    """
    startup.quick()
    from veil.cli import measure as measuring

    measuring.utility(
        original,
        release,
        measuring.Destination(json, output, overwrite),
        qi=qi or [],
        recipe=recipe,
        origins=origins,
        target=target or [],
        categories=categories or [],
        queries=queries,
        format=format,
        released_as=released_format,
        marker=marker,
        original_values=original_values,
        threads=threads,
    )


@command(LOOK)
def frontier(
    recipe: Annotated[Path, typer.Argument(metavar="RECIPE", help="The recipe whose parameters to vary.")],
    over: Annotated[
        list[str],
        typer.Option(
            metavar="PARAMETER=VALUES",
            help="Values to try: k=2,5,10, t-closeness.t=0.1,0.2, suppression_limit=0,0.01. Repeat for more.",
        ),
    ],
    risk: Annotated[
        str | None,
        typer.Option(
            metavar="FIGURE",
            help="Risk to compare: highest, average (the default), at_risk, uniques; with differential privacy epsilon.",
        ),
    ] = None,
    utility: Annotated[
        str,
        typer.Option(
            metavar="FIGURE",
            help="Utility to compare: granularity, intensity, entropy, squared_error, discernibility, class_size, "
            "ambiguity, record_error, sse_sst, released.",
        ),
    ] = "granularity",
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw risk and utility (.png, .svg or .pdf).")
    ] = None,
    input: Input = None,
    json: Json = False,
    output: Figures = None,
    overwrite: Overwrite = False,
    format: Reading = None,
) -> None:
    """Try a recipe with other parameters, and show which of them are worth it.

    Runs every combination of the values without writing a release, and shows risk and utility of each.

    [cyan]veil frontier recipe.yaml --over k=2,5,10 --over suppression_limit=0,0.01 --plot frontier.png[/cyan]
    """
    startup.quick()
    from veil.cli import measure as measuring

    destination = measuring.Destination(json, output, overwrite, picture=plot)
    measuring.frontier(recipe, over, destination, input=input, format=format, risk=risk, utility=utility)


@command(LOOK)
def verify(
    source: Annotated[
        str,
        typer.Argument(metavar="TABLE", help="The published table: a file, a folder, a pattern or a URL."),
    ],
    recipe: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The recipe whose promises it should keep.")
    ] = None,
    certificate: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="The certificate that came with it, or a report that contains one."
        ),
    ] = None,
    signed_by: Annotated[
        Path | None,
        typer.Option(metavar="KEY", help="The public key that must have signed the certificate (.pub)."),
    ] = None,
    format: Reading = None,
    engine: Engine = None,
    memory: Memory = None,
    temporary: Temporary = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Check on a published table that it keeps the promises of a recipe or of a certificate.

    First lists what was not checked. Exit code 1 if a promise is broken, 3 if none is but not every one could be checked.
    The original table is not needed.

    [cyan]veil verify release.csv --certificate certificate.json --signed-by clinic.pem.pub[/cyan]
    """
    startup.quick()
    from veil.cli import check as checking
    from veil.cli.places import engine_of

    reader = engine_of(engine and engine.value, memory, temporary)
    raise typer.Exit(checking.verify(source, recipe, certificate, signed_by, format, reader, json, quiet))


@command(LOOK)
def hierarchy(
    file: Annotated[Path, typer.Argument(metavar="TABLE", help="The table with the column.")],
    column: Annotated[str, typer.Argument(metavar="COLUMN", help="The column.")],
    using: Annotated[
        str, typer.Option(metavar="HIERARCHY", help="Kind and parameters, such as intervals:5,10.")
    ] = "auto",
    output: Output = None,
    overwrite: Overwrite = False,
    format: Reading = None,
) -> None:
    """Build a hierarchy for a column, show it, and save it as a file to edit and use."""
    startup.quick()
    from veil.cli import check as checking

    checking.hierarchy(file, column, using, format, output, overwrite)


@command(LOOK)
def advise(
    recipe: Annotated[Path, typer.Argument(metavar="RECIPE", help="The recipe to examine (.yaml).")],
    input: Input = None,
    time_limit: Annotated[
        float, typer.Option(min=0, metavar="SECONDS", help="Time limit for trying alternatives.")
    ] = 30.0,
    json: Json = False,
    output: Figures = None,
    overwrite: Overwrite = False,
    format: Reading = None,
    threads: Threads = None,
) -> None:
    """Find out which column or parameter costs most, and what would keep more.

    Runs the recipe without writing the release, then tries the next best transformations, other levels of poor
    columns, columns given up, other parameters, weights and local recoding. Each is verified and measured.

    [cyan]veil advise recipe.yaml[/cyan]
    """
    startup.quick()
    from veil.cli import measure as measuring

    destination = measuring.Destination(json, output, overwrite)
    measuring.advise(recipe, destination, input=input, time_limit=time_limit, format=format, threads=threads)
