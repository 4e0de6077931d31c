"""`veil demo`: a synthetic table, anonymized."""

from __future__ import annotations

from pathlib import Path

import typer

from veil.api.run import run
from veil.cli import failures, show
from veil.cli.commands.catalogue import Demo
from veil.errors import OutputError

MARK = "# Made by `veil demo`"

RECIPE = f"""\
{MARK}. Change it and run:  veil anonymize recipe.yaml

input: patients.csv
output: release.csv
report: report.html
overwrite: true

steps:
  - kind: Generalize
    # What an attacker may know about a person, and how each column may become coarser.
    # `veil list hierarchies` lists the kinds.
    quasi_identifiers:
      age: {{kind: intervals, widths: [5, 10, 20, 40]}}
      sex: suppression
      zip: redaction
      admission: {{kind: dates, units: [month, quarter, year], root: true}}
      education:
        kind: categories
        tree:
          basic: [none, primary]
          middle: [secondary, vocational]
          higher: [bachelor, master, doctorate]

    sensitive: [diagnosis]                  # what an attacker must not learn
    insensitive: [occupation, stay, cost]   # published as they are
    identifying: [name]                     # removed

    # What must hold. `veil list models` lists what there is.
    models:
      - {{kind: KAnonymity, k: 5}}

    # What to lose as little of as possible, and how many records may be suppressed. `veil list quality-models` lists more.
    quality: loss
    suppression_limit: 0.05
"""

TABLE, RECIPE_FILE, RELEASE, REPORT = "patients.csv", "recipe.yaml", "release.csv", "report.html"


def demo(options: Demo) -> None:
    """Write a synthetic table and its recipe, anonymize it, and show the release."""
    try:
        _demo(options.folder, options.rows, options.threads)
    except KeyboardInterrupt:
        failures.report_stop(f"what is in {options.folder} so far is complete")
        raise typer.Exit(failures.stopped) from None


def _demo(folder: Path, rows: int, threads: int | None) -> None:
    from veil.synthetic import patients
    from veil.tables import atomic, write

    check_folder(folder)
    table = patients(rows)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{folder}: cannot be created: {error.strerror}. Choose another folder") from None
    write(table, folder / TABLE)
    with atomic(folder / RECIPE_FILE) as temporary:
        temporary.write_text(RECIPE, encoding="utf-8")

    release = run(folder / RECIPE_FILE, threads=threads)

    console = show.output()
    show.first_rows(console, f"{rows:,} made-up hospital stays", table)
    show.first_rows(console, "The same rows as released", release.arrow)
    show.release(console, release)
    show.verification(console, release.verification)
    before, after = release.risk()
    show.risks(console, ("before", before), ("after", after))
    show.files(
        console,
        [
            ("table", folder / TABLE),
            ("recipe", folder / RECIPE_FILE),
            ("release", folder / RELEASE),
            ("report", folder / REPORT),
        ],
    )


def check_folder(folder: Path) -> None:
    """Refuse a folder with files of the same names that are not from a demo."""
    if folder.exists() and not folder.is_dir():
        raise OutputError(f"{folder}: is a file. Give the path of a folder")
    there = [name for name in (TABLE, RECIPE_FILE, RELEASE, REPORT) if (folder / name).exists()]
    recipe = folder / RECIPE_FILE
    if there and not (recipe.is_file() and recipe.read_bytes().startswith(MARK.encode())):
        raise OutputError(
            f"{folder}: contains {', '.join(there)}, which a demo did not create. Choose another folder"
        )
