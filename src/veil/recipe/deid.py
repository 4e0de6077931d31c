"""Projects of ARX (`.deid`): their texts are read, and all other parts are listed.

A `.deid` file is a ZIP archive. `definition.xml` holds the attributes with their levels, `hierarchies/*.csv`
their hierarchies, `config.xml` criteria and settings, `data/input.csv` the table. The rest (populations,
research subsets, budgets) are dumps of Java objects, which are never read.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from veil.base.untrusted import TEXT, parse_xml
from veil.errors import InputError
from veil.recipe.archive import Archive
from veil.recipe.project import Attached, Project

_TIMES = 200
"""Largest size of all parts, as a multiple of the archive: tables and lattices are texts that pack well."""

_ROLES = {
    "IDENTIFYING_ATTRIBUTE": "identifying",
    "SENSITIVE_ATTRIBUTE": "sensitive",
    "INSENSITIVE_ATTRIBUTE": "insensitive",
}
_AGGREGATIONS = {
    "arithmetic mean": "mean",
    "mean": "mean",
    "geometric mean": "geometric mean",
    "median": "median",
    "mode": "mode",
    "interval": "interval",
    "set": "set",
}


def read_deid(path: Path) -> Project:
    """Read a project of ARX."""
    with Archive(path, times=_TIMES) as archive:
        return _Reading(archive).project()


class _Reading:
    """An archive while it is read, and the step Generalize that results."""

    def __init__(self, archive: Archive) -> None:
        self.archive, self.names = archive, set(archive.names)
        self.left_out: list[str] = []
        self.step: dict[str, Any] = {"quasi_identifiers": {}, "models": []}

    def project(self) -> Project:
        about = self._xml("project.xml", "project")
        self.separator = _text(about.get("separator")) or ";"
        if "input/definition.xml" not in self.names:
            raise InputError(
                f"{self.archive.path}: is not an ARX project: it has no part 'input/definition.xml'"
            )
        for each in _many(self._xml("input/definition.xml", "definition").get("assigment")):
            self._attribute(each)
        self._settings(self._xml("input/config.xml", "config"))
        if any(name.startswith("output/") or name == "lattice.xml" for name in self.names):
            self.left_out.append("the result: search again")
        if "clipboard.xml" in self.names:
            self.left_out.append("the clipboard of transformations")
        table = None
        if "data/input.csv" in self.names:
            table = Attached("input.csv", self.archive.read("data/input.csv"))
        else:
            self.left_out.append("the table: it is not in the file")
        step = {name: value for name, value in self.step.items() if value not in ([], {}, None)}
        recipe = {"steps": [{"kind": "Generalize", **step}]} if step else {}
        notes = "\n".join(filter(None, (_text(about.get("name")), _text(about.get("description")))))
        return Project(recipe, notes, (), None, table, left_out=tuple(self.left_out))

    def _xml(self, name: str, root: str) -> dict[str, Any]:
        if name not in self.names:
            return {}
        actual_root, tree = parse_xml(self.archive.read(name), f"{self.archive.path}: {name}")
        if actual_root != root:
            raise InputError(f"{self.archive.path}: {name} begins with <{actual_root}> instead of <{root}>")
        return tree

    # --- attributes

    def _attribute(self, attribute: Mapping[str, Any]) -> None:
        name, kind = _text(attribute.get("name")), _text(attribute.get("type"))
        if not name:
            return
        if kind == "QUASI_IDENTIFYING_ATTRIBUTE":
            self._quasi_identifier(name, attribute)
        elif kind in _ROLES:
            self.step.setdefault(_ROLES[kind], []).append(name)
        else:
            self.left_out.append(f"the role {kind!r} of column {name!r}")
        if (form := _text(attribute.get("format"))) and "date" in _text(attribute.get("datatype")).lower():
            self.left_out.append(
                f"the form {form!r} of the dates of column {name!r}: Veil finds it out by itself"
            )

    def _quasi_identifier(self, name: str, attribute: Mapping[str, Any]) -> None:
        rows = self._hierarchy(name, _text(attribute.get("ref")))
        function = next(
            (_text(value) for key, value in attribute.items() if key.lower() == "microaggregationfunction"),
            "",
        )
        if function:
            if (aggregation := _AGGREGATIONS.get(function.lower())) is None:
                self.left_out.append(f"the function {function!r} for column {name!r}")
            else:
                self.step.setdefault("microaggregated", {})[name] = aggregation
        if rows:
            self.step["quasi_identifiers"][name] = {"kind": "table", "rows": rows}
        elif not function:
            self.step["quasi_identifiers"][name] = "auto"
            self.left_out.append(f"column {name!r} has no hierarchy: one is proposed")
        for bound, field in (("min", "minimum_levels"), ("max", "maximum_levels")):
            level = _text(attribute.get(bound))
            if level.isdigit() and rows:
                self.step.setdefault(field, {})[name] = int(level)

    def _hierarchy(self, name: str, reference: str) -> list[list[str | None]]:
        part = f"input/{reference}" if reference else f"input/hierarchies/{name}.csv"
        if part not in self.names:
            return []
        try:
            text = self.archive.read(part).decode("utf-8")
            rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=self.separator) if row]
        except (UnicodeDecodeError, csv.Error) as error:
            raise InputError(f"{self.archive.path}: {part}: is not a hierarchy: {error}") from None
        return [[None if label == "NULL" else label for label in row] for row in rows]

    # --- criteria and settings

    def _settings(self, config: Mapping[str, Any]) -> None:
        for each in _many(_one(config.get("criteria")).get("criterion")):
            self._criterion(_text(each))
        limit = _text(config.get("relativeMaxOutliers"))
        if limit:
            self.step["suppression_limit"] = _number(limit, self.archive.path)
        if (marker := _text(config.get("suppressionString"))) not in ("", "*"):
            self.step["marker"] = marker
        self._quality(_text(config.get("metric")), config)
        if _text(config.get("practicalMonotonicity")) == "true":
            self.left_out.append("practical monotonicity: Veil searches without taking it for granted")

    def _quality(self, metric: str, config: Mapping[str, Any]) -> None:
        quality = next(
            (name for pattern, name in _QUALITIES if re.search(pattern, metric, re.IGNORECASE)), None
        )
        if quality is None:
            if metric:
                self.left_out.append(f"the quality model {metric!r}: information loss is taken")
        elif quality != "loss":
            self.step["quality"] = quality
        weights = {
            _text(each.get("attribute")): _number(_text(each.get("weight")), self.archive.path)
            for each in _many(_one(config.get("attributeWeights")).get("attributeWeight"))
        }
        weights = {
            name: value
            for name, value in weights.items()
            if value != 0.5 and name in self.step["quasi_identifiers"]
        }
        if weights and quality in (None, "loss"):
            self.step["quality"] = {"kind": "Loss", "weights": weights}
        elif weights:
            self.left_out.append("the weights of attributes")

    def _criterion(self, text: str) -> None:
        for pattern, make in _CRITERIA:
            if match := re.fullmatch(pattern, text, re.IGNORECASE):
                model = make(match)
                if model.get("distance") == "hierarchical":
                    rows = self._hierarchy(model["attribute"], "")
                    if not rows:
                        break
                    model["hierarchy"] = {"kind": "table", "rows": rows}
                self.step["models"].append(model)
                return
        self.left_out.append(f"the criterion {text!r}")


_N = r"(\d+(?:\.\d+)?(?:E-?\d+)?)"
_FOR = r" for attribute '(.+)'"

_CRITERIA: list[tuple[str, Callable[[re.Match[str]], dict[str, Any]]]] = [
    (r"(\d+)-anonymity", lambda m: {"kind": "KAnonymity", "k": int(m[1])}),
    (rf"distinct-{_N}-diversity{_FOR}", lambda m: {"kind": "DistinctLDiversity", "attribute": m[2], "l": int(float(m[1]))}),
    (rf"(?:shannon-)?entropy-{_N}-diversity{_FOR}", lambda m: {"kind": "EntropyLDiversity", "attribute": m[2], "l": float(m[1])}),
    (
        rf"grassberger-entropy-{_N}-diversity{_FOR}",
        lambda m: {"kind": "EntropyLDiversity", "attribute": m[2], "l": float(m[1]), "estimator": "grassberger"},
    ),
    (
        rf"recursive-\({_N}, ?{_N}\)-diversity{_FOR}",
        lambda m: {"kind": "RecursiveCLDiversity", "attribute": m[3], "c": float(m[1]), "l": int(float(m[2]))},
    ),
    (
        rf"{_N}-closeness with (equal|ordered|hierarchical) (?:ground-)?distance{_FOR}",
        lambda m: {"kind": "TCloseness", "attribute": m[3], "t": float(m[1]), "distance": m[2].lower()},
    ),
    (rf"{_N}-disclosure privacy{_FOR}", lambda m: {"kind": "DeltaDisclosure", "attribute": m[2], "delta": float(m[1])}),
    (
        rf"(basic|enhanced)-{_N}-likeness{_FOR}",
        lambda m: {"kind": "BetaLikeness", "attribute": m[3], "beta": float(m[2])}
        | ({"enhanced": True} if m[1].lower() == "enhanced" else {}),
    ),
    (rf"\(<?{_N}\)-avg-reidentification-risk", lambda m: {"kind": "AverageReidentificationRisk", "average": float(m[1])}),
    (
        rf"\({_N}, {_N}(?: \(.*\))?, {_N}\)-avg-reidentification-risk",
        lambda m: {"kind": "AverageReidentificationRisk", "average": float(m[1]), "highest": float(m[2]), "at_risk": float(m[3])},
    ),
    (rf"\(<?{_N}\)-sample-uniqueness", lambda m: {"kind": "SampleUniqueness", "threshold": float(m[1])}),
]  # fmt: skip
"""Criteria as ARX spells them. Those that need a population, subset or budget lack it, and are left out."""

_QUALITIES = [
    (r"ambiguity", "ambiguity"),
    (r"discernab|discernib", "discernibility"),
    (r"aecs|average equivalence class|average class", "average_class_size"),
    (r"height", "height"),
    (r"precision", "precision"),
    (r"loss", "loss"),
]


def _one(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _many(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _text(value: Any) -> str:
    if isinstance(value, list):
        value = value[0] if value else ""
    if isinstance(value, Mapping):
        value = value.get(TEXT, "")
    return str(value or "").strip()


def _number(text: str, path: Path) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{path}: {text!r} should be a number") from None
