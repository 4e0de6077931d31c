"""How the documentation site is built: `make docs`, warnings are errors, nothing is fetched."""

from __future__ import annotations

import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from sphinx.application import Sphinx  # noqa: E402

from veil import __version__  # noqa: E402

project = "Veil"
author = "the Veil developers"
copyright = "the Veil developers, Apache License 2.0"
release = version = __version__
language = "en"

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
]
exclude_patterns = ["_build", "_templates"]
templates_path = ["_templates"]
nitpicky = False

# Pages are Markdown. A fence that says `python` is checked by the tests; `{code-cell}` runs when the site is built.
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
nb_execution_mode = "cache"
nb_execution_cache_path = str(HERE / "_build" / "cells")
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_execution_in_temp = True
nb_merge_streams = True

autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_default_options = {"members": True, "inherited-members": False}
autosummary_generate = True
autosummary_ignore_module_all = False
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_param = (
    False  # parameters that share a description are listed together, not each with a copy of it
)
default_role = "code"
smartquotes_action = "D"  # dashes, and no quotes: those of what is to be typed stay as they are

html_theme = "pydata_sphinx_theme"
html_title = "Veil"
html_static_path = ["_static"]
html_css_files = ["veil.css"]
html_extra_path = []
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "Veil"},
    "navbar_end": ["theme-switcher"],
    "navbar_align": "left",
    "show_prev_next": True,
    "footer_start": ["copyright"],
    "footer_end": [],
    "navigation_depth": 2,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
copybutton_exclude = ".linenos, .gp, .go"


def _readable(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Let examples that end a docstring have a heading, and bars be bars: docstrings are written for terminals."""
    start = next((at for at, line in enumerate(lines) if line.startswith(">>>")), None)
    text = lines if start is None else lines[:start]
    examples = [] if start is None else ["Examples", "--------", *lines[start:]]
    lines[:] = [*(line.replace("|", "\\|") for line in text), *examples]


ROOT_PAGES = ("SECURITY", "CONTRIBUTING", "CHANGELOG")


def _at_home(app: Sphinx, page: str, source: list[str]) -> None:
    """Let pages of the repository's root be pages of the site, and links to them lead there."""
    if page.upper() in ROOT_PAGES:
        text = (HERE.parent / f"{page.upper()}.md").read_text(encoding="utf-8")
        source[0] = text.replace("](docs/", "](").replace("](README.md", "](index.md")
    for name in ROOT_PAGES:
        source[0] = re.sub(rf"\]\((\.\./)?{name}\.md", f"]({name.lower()}.md", source[0])


def setup(app: Sphinx) -> None:
    """Before Napoleon, which reads the headings."""
    app.connect("autodoc-process-docstring", _readable, priority=100)
    app.connect("source-read", _at_home)
