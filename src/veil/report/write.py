"""Writing a report: the facts first, then the page in the format of the file name."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

from veil.base.progress import ProgressLike, following
from veil.base.wording import Phrase
from veil.errors import OutputError
from veil.recipe.about import NOTHING, About, spell_about
from veil.recipe.document import document_text
from veil.report.certificate.keys import PrivateKey
from veil.report.certificate.signature import signed
from veil.report.content.facts import collect_facts
from veil.report.pages.html import html
from veil.report.pages.pdf import pdf
from veil.tables import atomic

_PHASES = 8


def write_report(
    release: object,
    path: Path,
    *,
    private: bool | None = None,
    exact: bool = False,
    progress: ProgressLike = None,
    table: str | None = None,
    certificate: str | None = None,
    sign: PrivateKey | None = None,
    about: About = NOTHING,
    not_anonymous: str | None = None,
    advice: dict[str, Any] | None = None,
    bound: Phrase | None = None,
) -> Path:
    """Write the report of a release as HTML, PDF or JSON, by the ending of the name.

    `private` leaves out every exact figure about the input; by default only for differentially private
    releases. `exact` adds figures that depend on suppressed records, for the data holder only. `table` and
    `certificate` are the names of files written along with the report, for its instructions on checking;
    `sign` is the key that signs the embedded certificate. `about` is free text of the data holder,
    `not_anonymous` the reason to release a table that breaks a promise, `advice` that of `veil.api.advice`.
    `bound` is what no recoding loses less than, in words: only `exact` reports show it.
    """
    kind = kind_of(path)
    with following(progress) as tracker:
        tracker.phase("writing the report")
        phases = itertools.count()

        def on_phase(what: str) -> None:
            tracker.advance(next(phases), _PHASES, what)

        facts = collect_facts(
            release,
            private=private,
            exact=exact,
            about=about,
            not_anonymous=not_anonymous,
            advice=advice,
            bound=bound,
            on_phase=on_phase,
        )
        facts |= _repeatable_recipe(facts, table, about)
        facts["certificate"] = signed(facts["certificate"], sign)
        facts |= {"report": path.name, "table_file": table, "certificate_file": certificate}
        on_phase("pictures and pages")
        if kind == ".json":
            content = (json.dumps(facts, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()
        elif kind == ".pdf":
            content = pdf(facts)
        else:
            content = html(facts).encode()
        with atomic(path) as temporary:
            temporary.write_bytes(content)
        tracker.advance(_PHASES, _PHASES)
    return path


def kind_of(path: Path) -> str:
    """Return the format of a report, which is the ending of its name; refuse other endings."""
    kind = path.suffix.lower()
    if kind not in (".html", ".htm", ".pdf", ".json"):
        raise OutputError(
            f"{path}: a report ends in .html, .pdf or .json, not in {path.suffix!r}. Choose another name"
        )
    return kind


def _repeatable_recipe(facts: dict[str, Any], table: str | None, about: About) -> dict[str, Any]:
    """Return the recipe of a report with everything needed to run it again."""
    recipe = dict(facts["recipe"])
    recipe.setdefault("output", table or ("release/" if facts["tables"] else "release.csv"))
    if any(each["secret"] for each in facts["output"]["apart"]):
        # Tables that reverse pseudonyms are only written to a folder beside that of the release.
        recipe |= {"output": f"release/{recipe['output']}", "apart": "kept"}
    if description := spell_about(about):
        recipe["about"] = description
    return {"recipe": recipe, "recipe_text": document_text(recipe)}
