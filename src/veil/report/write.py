"""Writing a report: the facts once, then the page that the name of the file asks for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from veil.base.progress import ProgressLike, following
from veil.errors import OutputError
from veil.recipe.about import NOTHING, About, spell_about
from veil.recipe.document import document_text
from veil.report.certificate.keys import PrivateKey
from veil.report.certificate.signature import signed
from veil.report.content.facts import Advise, collect_facts
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
    advise: Advise = lambda hidden: None,
) -> Path:
    """Write the report of a release as HTML, PDF or JSON, by the ending of the name.

    `private` leaves out every exact figure about the input; by default only for differentially private releases. `exact`
    adds what tells of suppressed records, for the data holder alone.
    `table` and `certificate` are the names of files that are written along with it, for the report to tell how the one
    is checked with the other; `sign` is the key that signs the certificate that the report holds. `about` is what whoever
    makes the release says of it, `not_anonymous` why it is taken although it keeps not every promise, and `advise` finds out
    what else there is.
    """
    kind = path.suffix.lower()
    if kind not in (".html", ".htm", ".pdf", ".json"):
        raise OutputError(
            f"{path}: a report ends in .html, .pdf or .json, not in {path.suffix!r}. Choose another name"
        )
    with following(progress) as shown:
        shown.phase("writing the report")
        done = 0

        def tell(what: str) -> None:
            nonlocal done
            shown.advance(done, _PHASES, what)
            done += 1

        found = collect_facts(
            release,
            private=private,
            exact=exact,
            about=about,
            not_anonymous=not_anonymous,
            advise=advise,
            tell=tell,
        )
        found |= _runnable(found, table, about)
        found["certificate"] = signed(found["certificate"], sign)
        found |= {"report": path.name, "table_file": table, "certificate_file": certificate}
        tell("pictures and pages")
        if kind == ".json":
            content = (json.dumps(found, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()
        elif kind == ".pdf":
            content = pdf(found)
        else:
            content = html(found).encode()
        with atomic(path) as temporary:
            temporary.write_bytes(content)
        shown.advance(_PHASES, _PHASES)
    return path


def _runnable(found: dict[str, Any], table: str | None, about: About) -> dict[str, Any]:
    """Return the recipe of a report with all that it takes to carry it out again."""
    recipe = dict(found["recipe"])
    recipe.setdefault("output", table or ("release/" if found["tables"] else "release.csv"))
    if any(each["secret"] for each in found["output"]["apart"]):
        # What turns pseudonyms back is kept in a folder beside that of the release: nothing is written otherwise.
        recipe |= {"output": f"release/{recipe['output']}", "apart": "kept"}
    if said := spell_about(about):
        recipe["about"] = said
    return {"recipe": recipe, "recipe_text": document_text(recipe)}
