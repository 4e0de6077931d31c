"""`veil mask`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from veil.cli import startup
from veil.cli.base import (
    RELEASE,
    About,
    Acknowledge,
    Certificate,
    Input,
    Origins,
    Output,
    Overwrite,
    Quiet,
    Reading,
    Report,
    Sign,
    command,
)


@command(RELEASE, "mask")
def mask_table(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="RECIPE|TABLE", help="A recipe of masking methods (.yaml), or a table and the steps."
        ),
    ],
    step: Annotated[
        list[str] | None,
        typer.Option(
            "--step", metavar="METHOD", help="A masking method. Repeat for more; they run in this order."
        ),
    ] = None,
    input: Input = None,
    output: Output = None,
    apart: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Where to keep what must not be published, such as the table of pseudonyms.",
        ),
    ] = None,
    order: Annotated[
        str | None,
        typer.Option(metavar="random|input", help="Order of the rows: random, or as in the input."),
    ] = None,
    person: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column that tells people apart, if they may have several rows. If every row is a different person: "
            "[cyan]null[/cyan].",
        ),
    ] = None,
    origins: Origins = None,
    budget: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Charge what randomized response spends to this budget: [cyan]veil budget[/cyan].",
        ),
    ] = None,
    report: Report = None,
    certificate: Certificate = None,
    sign: Sign = None,
    about: About = None,
    acknowledge: Acknowledge = None,
    overwrite: Overwrite = False,
    format: Reading = None,
    quiet: Quiet = False,
) -> None:
    """Mask a table with one or more methods, following a recipe or options.

    Shows for each step what was lost and what risk is left. On any error nothing is written.

    [bold]With a recipe[/bold]

    [cyan]veil mask steps.yaml[/cyan]

    [bold]With options[/bold]

    [cyan]veil mask patients.csv -o public/masked.csv --step random-pseudonyms:name --apart secret
    --step rank-swapping:age,income,p=10 --step "top-coding:stay,quantile=0.99"[/cyan]

    METHOD is a name, with parameters after a colon, as for [cyan]veil anonymize[/cyan]: columns first, the others
    by key. [cyan]veil list masks[/cyan] lists what there is.
    """
    startup.quick()
    from veil.cli.mask import mask_and_show

    mask_and_show(
        source,
        step or [],
        input=input,
        format=format,
        output=output,
        apart=apart,
        order=order,
        person=person,
        origins=origins,
        budget=budget,
        report=report,
        certificate=certificate,
        sign=sign,
        about=about or (),
        acknowledge=acknowledge or (),
        overwrite=overwrite,
        quiet=quiet,
    )
