"""The commands that examine tables and write none."""

from __future__ import annotations

from pathlib import Path

from veil.cli.base import (
    LOOK,
    Engines,
    Json,
    OutputFile,
    Overwrite,
    Parallel,
    People,
    Quiet,
    Results,
    TableFormat,
    Trial,
    argument,
    declared,
    option,
)


@declared(LOOK, "measure.identify")
class Identify(Results, TableFormat):
    """Find columns that identify people, and propose a role for each column.

    Shows what the name and the values of each column look like, and the command to continue with. A CSV file is read
    as it seems to be meant, and a note says how.

    [cyan]veil identify patients.csv --save-recipe draft.yaml[/cyan]
    """

    source: str = argument("The table to examine: a file, a folder, a pattern or a URL.", "TABLE")
    threshold: float = option("Share of a column's values that must look alike.", "SHARE", 0.5, min=0, max=1)
    save_recipe: Path | None = option(
        "Also write a draft of a recipe, with a role, a hierarchy and the reasons for each column (.yaml).",
        "FILE",
    )


@declared(LOOK, "measure.risk")
class RiskCommand(People, Results, TableFormat, Engines):
    """Show what a table reveals about the people in it, to attackers who know some columns.

    [cyan]veil risk patients.csv --qi age,sex,zip --untouched --population Germany[/cyan]
    """

    source: str | None = argument(
        "The table, before or after anonymization: a file, a folder, a pattern or a URL. Default: that of the recipe.",
        "[TABLE]",
        None,
    )
    qi: list[str] = option("Columns that an attacker may know, such as age,sex,zip.", "COLUMNS")
    recipe: Path | None = option("Take columns, table and format from this recipe unless given.", "FILE")
    population: str | None = option(
        "The people the table was drawn from: 80000, USA, 0.01 if the table is one percent of them, or a table of all of them.",
        "SIZE|REGION|SHARE|FILE",
    )
    weights: str | None = option(
        "Column of sampling weights: how many people each record represents.", "COLUMN"
    )
    household: str | None = option("The household each record belongs to.", "COLUMN")
    threshold: float = option("Risk above which a record is at risk.", "RISK", 0.2, min=0, max=1)
    untouched: bool = option(
        "The table is as collected: missing values are not suppressed cells.", default=False
    )


@declared(LOOK, "measure.assess")
class Assess(People, Results, TableFormat, Engines):
    """Show which privacy guarantees a table already meets, and the risks of the people in it.

    Every number shown can be promised. With --json, numbers have all their digits.

    [cyan]veil assess release.csv --qi age,sex,zip --sensitive diagnosis[/cyan]
    """

    source: str = argument("The table to examine: a file, a folder, a pattern or a URL.", "TABLE")
    qi: list[str] = option("Columns that an attacker may know, such as age,sex,zip.", "COLUMNS", ...)
    sensitive: list[str] = option("Columns that an attacker must not learn.", "COLUMNS")
    hierarchy: list[str] = option(
        "Hierarchy of a sensitive column, for hierarchical t-closeness.", "COLUMN=HIERARCHY"
    )
    population: str | None = option(
        "The people the table was drawn from: 80000, USA, or 0.01 if the table is one percent of them.",
        "SIZE|REGION|SHARE",
    )


@declared(LOOK, "measure.utility")
class UtilityCommand(Results, TableFormat, Parallel):
    """Show what a released table is still good for, compared with the original.

    Releases are written in random order: their origins, which [cyan]veil anonymize --origins[/cyan] writes, say which belong
    together.

    [cyan]veil utility patients.csv release.csv --recipe recipe.yaml --origins kept/origins.csv[/cyan]

    [cyan]veil utility patients.csv release.csv --qi age=intervals:5,10 --qi sex,zip --target diagnosis[/cyan]
    """

    original: Path = argument("The original table.", "ORIGINAL")
    release: Path = argument("The released table.", "RELEASED")
    qi: list[str] = option(
        "Columns that were changed: age,sex, or with hierarchies, which say what labels mean: "
        "[cyan]age=intervals:5,10[/cyan].",
        "COLUMNS",
    )
    recipe: Path | None = option("The recipe of the release, instead of --qi.", "FILE")
    origins: Path | None = option(
        "The origins of the rows: which row of the original each is, as [cyan]veil anonymize --origins[/cyan] "
        "writes it. Not needed if rows are in the same order.",
        "FILE",
    )
    target: list[str] = option("Columns to predict from the others, before and after.", "COLUMNS")
    categories: list[str] = option("Targets whose numbers are codes of categories.", "COLUMNS")
    queries: int = option("How many random counts to compare; 0 for none.", "N", 1000, min=0)
    original_values: bool = option(
        "Keep values of the original in the JSON. Do not share it.", None, False, "--with-original-values"
    )
    marker: str | None = option("Text of a suppressed cell. Default: *.", "TEXT")
    released_format: str | None = option("How to read the released table, if different.", "FORMAT")


@declared(LOOK, "measure.frontier")
class FrontierCommand(Trial, Results, TableFormat):
    """Try a recipe with other parameters, and show which of them are worth it.

    Runs every combination of the values without writing a release, and shows risk and utility of each.

    [cyan]veil frontier recipe.yaml --over k=2,5,10 --over suppression_limit=0,0.01 --plot frontier.png[/cyan]
    """

    recipe: Path = argument("The recipe whose parameters to vary.", "RECIPE")
    over: list[str] = option(
        "Values to try: k=2,5,10, t-closeness.t=0.1,0.2, suppression_limit=0,0.01. Repeat for more.",
        "PARAMETER=VALUES",
        ...,
    )
    risk: str | None = option(
        "Risk to compare: highest, average (the default), at_risk, uniques; with differential privacy epsilon.",
        "FIGURE",
    )
    utility: str = option(
        "Utility to compare: granularity, intensity, entropy, squared_error, discernibility, class_size, "
        "ambiguity, record_error, sse_sst, released.",
        "FIGURE",
        "granularity",
    )
    plot: Path | None = option("Draw risk and utility (.png, .svg or .pdf).", "FILE")


@declared(LOOK, "check.verify")
class Verify(Json, Quiet, TableFormat, Engines):
    """Check on a published table that it keeps the promises of a recipe or of a certificate.

    First lists what was not checked. Exit code 1 if a promise is broken, 3 if none is but not every one could be checked.
    The original table is not needed.

    [cyan]veil verify release.csv --certificate certificate.json --signed-by clinic.pem.pub[/cyan]
    """

    source: str = argument("The published table: a file, a folder, a pattern or a URL.", "TABLE")
    recipe: Path | None = option("The recipe whose promises it should keep.", "FILE")
    certificate: Path | None = option(
        "The certificate that came with it, or a report that contains one.", "FILE"
    )
    signed_by: Path | None = option("The public key that must have signed the certificate (.pub).", "KEY")
    lower_bound: Path | None = option(
        "The secret file with the prices of the lower bound: whether they prove, for the input of the recipe, that no "
        "recoding loses less.",
        "FILE",
    )


@declared(LOOK, "check.hierarchy")
class HierarchyCommand(OutputFile, Overwrite, TableFormat):
    """Build a hierarchy for a column, show it, and save it as a file to edit and use."""

    file: Path = argument("The table with the column.", "TABLE")
    column: str = argument("The column.", "COLUMN")
    using: str = option("Kind and parameters, such as intervals:5,10.", "HIERARCHY", "auto")


@declared(LOOK, "measure.advise")
class Advise(Trial, Results, TableFormat, Parallel):
    """Find out which column or parameter costs most, and what would keep more.

    Runs the recipe without writing the release, then tries the next best transformations, other levels of poor
    columns, columns given up, other parameters, weights and local recoding. Each is verified and measured. Says what no
    recoding with these hierarchies loses less than, and recodes cell by cell if that may lose half as much or less.

    [cyan]veil advise recipe.yaml[/cyan]

    With [cyan]--ways[/cyan], compares ways to anonymize the table instead: full-domain, subtree, cells, Mondrian and
    microaggregation, on one scale of loss, with query error, accuracy and attacks.
    """

    recipe: Path = argument("The recipe to examine (.yaml).", "RECIPE")
    ways: bool = option("Compare ways to anonymize the table.", None, False, "--ways")
    time_limit: float = option("Time limit for trying alternatives.", "SECONDS", 30.0, min=0)
