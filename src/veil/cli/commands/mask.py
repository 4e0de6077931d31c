"""`veil mask`."""

from __future__ import annotations

from pathlib import Path

from veil.cli.base import (
    RELEASE,
    Acknowledge,
    Documents,
    OutputFile,
    Overwrite,
    Quiet,
    TableFormat,
    Trial,
    argument,
    declared,
    option,
)


@declared(RELEASE, "mask.mask")
class Mask(Trial, OutputFile, Documents, Acknowledge, Overwrite, TableFormat, Quiet):
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

    source: Path = argument("A recipe of masking methods (.yaml), or a table and the steps.", "RECIPE|TABLE")
    step: list[str] = option("A masking method. Repeat for more; they run in this order.", "METHOD")
    order: str | None = option("Order of the rows: random, or as in the input.", "random|input")
    person: str | None = option(
        "Column that tells people apart, if they may have several rows. If every row is a different person: "
        "[cyan]null[/cyan].",
        "COLUMN",
    )
