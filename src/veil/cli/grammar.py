"""Plans on the command line: a small grammar, the same for hierarchies, models, quality models and formats.

    NAME                         suppression, loss, job.csv
    NAME:VALUE,VALUE             intervals:5,10,20   k-anonymity:5
    NAME:KEY=VALUE,KEY=VALUE     redaction:start=left   loss:factor=0.3,aggregate=sum

Values are assigned to the parameters in order; if the first one is a list, to its entries. A list given by
key has | between its entries, and + within an entry that is a list itself: subsets=age+sex|zip. Text in
quotes is not split or converted: csv:separator=','.

A research subset is a query, a file, row numbers or a probability: subset=age > 30, subset=some.csv,
subset=0|1|2, subset=random:0.1. A population is a size, a region or a sampling fraction: population=80000,
population=USA, population=0.01.
"""

from __future__ import annotations

import csv
import dataclasses
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

from veil.base.registry import find, plain
from veil.base.wording import plural
from veil.errors import ParameterError, PlanError, VeilError, did_you_mean
from veil.hierarchies import BUILDERS, File
from veil.lattice import STRATEGIES
from veil.models.base import PrivacyModel
from veil.models.subset import Random, RowNumbers
from veil.plan.plan import ASK
from veil.plan.recoding import RECODINGS
from veil.population import Population
from veil.quality import QUALITIES
from veil.recipe.document import scalar
from veil.recipe.parts import MODELS, is_path
from veil.recipe.places import FORMATS

_ARGUMENTS = re.compile(r"""(?:'[^']*'|"[^"]*"|[^,'"])+""")


def hierarchy(text: str, option: str = "--qi") -> Any:
    """Read a hierarchy: a kind with its parameters, or the path of a file.

    >>> hierarchy("intervals:5,10").widths, hierarchy("job.csv").path
    ((5, 10), 'job.csv')
    """
    name = text.partition(":")[0]
    if is_path(text) and find(BUILDERS, name) is None:
        return File(text)
    return read(text, BUILDERS, option)


def model(text: str) -> Any:
    """Read a privacy model.

    >>> model("k-anonymity:5")
    KAnonymity(k=5)
    """
    return read(text, MODELS, "--model")


def quality(text: str) -> Any:
    """Read a quality model.

    >>> quality("loss:factor=0.3").factor
    0.3
    """
    if ":" not in text:
        from veil.quality import by_name

        return by_name(text)
    return read(text, QUALITIES, "--quality")


def strategy(text: str) -> Any:
    """Read a search strategy.

    >>> strategy("lightning:minimal=true")
    Lightning(minimal=True)
    """
    if ":" not in text:
        from veil.lattice import by_name

        return by_name(text)
    return read(text, STRATEGIES, "--strategy")


def recoding(text: str) -> Any:
    """Read a way of recoding.

    >>> recoding("cells"), recoding("cells:coarsening=0.002"), recoding("fast-iterative:0.05")
    (Cells(), Cells(coarsening=0.002), FastIterative(share=0.05, factor=None))
    """
    return read(text, RECODINGS, "--recoding")


def format(text: str | None) -> Any:
    """Read a file format; None without a text.

    >>> format("csv:separator=;,columns=age|sex").columns, format("csv:missing=|999").missing
    (('age', 'sex'), ('', '999'))
    """
    return read(text, FORMATS, "--format") if text else None


def spell_format(format: Any) -> str:
    """Return a format in the form that `format` reads, without defaults.

    >>> from veil.tables import Csv
    >>> spell_format(Csv(separator=";", decimal=",", missing=("", "k.A.")))
    'csv:separator=;,missing=|k.A.,decimal=","'
    """
    parameters, usual = [], type(format)()
    for field in dataclasses.fields(format):
        value = getattr(format, field.name)
        if field.name != "kind" and value != getattr(usual, field.name):
            text = "|".join(value) if isinstance(value, tuple) else str(value)
            parameters.append(spell_parameter(field.name, text))
    return f"{format.kind}:{','.join(parameters)}" if parameters else str(format.kind)


def spell_parameter(name: str, text: str) -> str:
    """Return a parameter as text, in quotes if it has a comma."""
    return f'{name}="{text}"' if "," in text else f"{name}={text}"


def hierarchies(texts: Iterable[str]) -> dict[str, Any]:
    """Read `COLUMN=HIERARCHY` for each quasi-identifier."""
    builders: dict[str, Any] = {}
    for text in texts:
        column, separator, spec = text.partition("=")
        if not separator or not column or not spec:
            example = f"--qi {column or 'age'}"
            raise PlanError(
                f"--qi {text!r}: give a column and its hierarchy, such as {example}=intervals:5,10; "
                f"{example}=auto lets Veil propose one, and `veil list hierarchies` lists them"
            )
        if column in builders:
            raise PlanError(f"--qi names column {column!r} twice")
        builders[column] = hierarchy(spec)
    return builders


def columns(texts: Iterable[str]) -> dict[str, Any]:
    """Read columns with or without a hierarchy.

    >>> columns(["age,sex", "zip=suppression"])
    {'age': None, 'sex': None, 'zip': Suppression()}
    """
    builders: dict[str, Any] = {}
    for text in texts:
        builders |= hierarchies([text]) if "=" in text else dict.fromkeys(names([text]))
    return builders


def names(texts: Iterable[str]) -> list[str]:
    """Read column names, separated by commas or given one by one; quotes protect a comma.

    >>> names(["age,sex", '"a,b"'])
    ['age', 'sex', 'a,b']
    """
    return [name for text in texts for name in next(csv.reader([text], skipinitialspace=True), [])]


def person(text: str | None) -> str | None:
    """Read `person`: a column, or `null` if every row is a different person.

    >>> person("patient"), person("null"), person(None)
    ('patient', None, 'ask')
    """
    return ASK if text is None else None if text == "null" else text


def population(text: str) -> Any:
    """Read a population: a size, a region, a sampling fraction, or the path of a table.

    >>> population("80000"), population("USA"), population("0.01").sampling_fraction, str(population("town.csv"))
    (80000, 'USA', 0.01, 'town.csv')
    """
    plain = text.strip().replace(",", "").replace("_", "")
    if plain.isascii() and plain.isdecimal():
        size = scalar(plain.lstrip("0") or "0")
        assert isinstance(size, int)
        return size
    if isinstance(share := scalar(plain), float):
        return Population(sampling_fraction=share)
    return Path(text) if is_path(text) else text


def subset(text: str) -> Any:
    """Read a research subset: row numbers, `random:` and a probability, a query, or the path of a file.

    >>> subset("0|2|5"), subset("random:0.1").probability, subset("age > 30"), subset("some.csv")
    (RowNumbers([0, 2, 5]), 0.1, 'age > 30', 'some.csv')
    """
    text = _unquote(text)
    if re.fullmatch(r"\s*\d+\s*(\|\s*\d+\s*)*", text, re.ASCII):
        return RowNumbers(tuple(int(each) for each in text.split("|")))
    kind, colon, chance = text.partition(":")
    if colon and plain(kind) == "random":
        return Random(value_of(chance))
    return text


def parameters(texts: Iterable[str]) -> dict[str, list[Any]]:
    """Read parameters, each with values to try.

    >>> parameters(["k=2,5", "suppression_limit=0,0.01", "k-anonymity.k=3", "quality=loss"])
    {'k': [2, 5], 'suppression_limit': [0, 0.01], 'KAnonymity.k': [3], 'quality': ['loss']}
    """
    candidates: dict[str, list[Any]] = {}
    kinds = {plain(kind): kind for kind in (*MODELS, *QUALITIES)}
    for text in texts:
        name, _, values = text.partition("=")
        owner, dot, field = name.strip().rpartition(".")
        name = f"{kinds.get(plain(owner), owner)}{dot}{field.replace('-', '_')}"
        if not field or not values.strip():
            raise PlanError(f"--over {text!r}: give a parameter and values to try, such as --over k=2,5,10")
        if name in candidates:
            raise PlanError(f"--over names {name!r} twice: give all its values at once")
        candidates[name] = [value_of(each) for each in _ARGUMENTS.findall(values)]
    return candidates


def treatments(texts: Iterable[str]) -> dict[str, Any]:
    """Read identifying columns: `name`, or `name=mask`.

    >>> treatments(["name,email=mask"])
    {'name': 'remove', 'email': 'mask'}
    """
    pairs = [name.rpartition("=") for name in names(texts)]
    return dict(_read_treatment(*pair) for pair in pairs)


def aggregations(texts: Iterable[str]) -> dict[str, str]:
    """Read microaggregated columns: `COLUMN=FUNCTION`.

    >>> aggregations(["age=mean", "income=geometric-mean"])
    {'age': 'mean', 'income': 'geometric mean'}
    """
    functions = {}
    for text in texts:
        column, _, function = text.rpartition("=")
        if not column or not function:
            raise PlanError(f"--microaggregate {text!r}: give a column and a function, such as age=mean")
        functions[column] = re.sub(r"[\s_-]+", " ", function)
    return functions


def levels(texts: Iterable[str], option: str) -> dict[str, int]:
    """Read `COLUMN=LEVEL`.

    >>> levels(["age=1", "zip=2"], "--minimum-level")
    {'age': 1, 'zip': 2}
    """
    bounds = {}
    for text in texts:
        column, _, level = text.rpartition("=")
        if not column or not level.isdigit():
            raise PlanError(f"{option} {text!r}: give a column and a level, such as {option} age=1")
        bounds[column] = int(level)
    return bounds


def about(texts: Iterable[str]) -> dict[str, Any]:
    """Read the fields of the first page of a report.

    >>> about(["purpose=a study", "legal-basis=Art. 6", "sample_rows=0"])
    {'purpose': 'a study', 'legal_basis': 'Art. 6', 'sample_rows': 0}
    """
    fields: dict[str, Any] = {}
    for text in texts:
        name, separator, value = text.partition("=")
        if not separator:
            raise PlanError(f"--about {text!r}: give a field and a text, such as --about 'purpose=a study'")
        field = name.strip().replace("-", "_")
        fields[field] = int(value) if field == "sample_rows" and value.isdigit() else value
    return fields


def kebab(kind: str) -> str:
    """Return the name of a kind as the command line writes it.

    >>> kebab("KAnonymity"), kebab("AverageClassSize")
    ('k-anonymity', 'average-class-size')
    """
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", kind).lower()


def _read_treatment(column: str, separator: str, treatment: str) -> tuple[str, str]:
    if not separator:
        return treatment, "remove"
    if treatment not in ("remove", "mask", "pseudonym"):
        choice = f"{column}=remove, {column}=mask or {column}=pseudonym"
        raise PlanError(f"--identifying {column}={treatment}: choose {choice}")
    return column, treatment


_EXAMPLES = {"--model": "k-anonymity:k=5", "--qi": "intervals:5,10", "--format": "csv:separator=;"}


def read(text: str, family: Mapping[str, type[Any]], option: str) -> Any:
    """Read one of a family: its name, and parameters after a colon."""
    name, _, rest = text.partition(":")
    cls = find(family, name)
    if cls is None:
        kinds = [kebab(kind) for kind in family]
        hint = did_you_mean(name, kinds)
        if "=" in name:
            hint = (
                f" Parameters follow the name and a colon, such as {_EXAMPLES.get(option, kinds[0])}.{hint}"
            )
        raise ParameterError(f"{option} {text!r}: there is no {name!r}.{hint}")
    try:
        return cls(**arguments(rest, cls))
    except VeilError as error:
        ways: list[str] = []
        if str(error).endswith("is required"):
            order = ",".join(field.name.upper() for field in dataclasses.fields(cls) if _is_required(field))
            ways = [f". Give {name}:{order}"]
        raise type(error)(f"{option} {text!r}: ", *error.words, *ways) from None


def _is_required(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def arguments(text: str, cls: type[Any]) -> dict[str, Any]:
    """Assign values to parameters, by position or by key."""
    parameters = [field.name for field in dataclasses.fields(cls) if field.name != "kind"]
    values: dict[str, Any] = {}
    in_order: list[str] = []
    for argument in _ARGUMENTS.findall(text):
        match = re.fullmatch(r"\s*([A-Za-z_]\w*)=(.*)", argument, re.DOTALL)
        if match is None:
            in_order.append(argument)
            continue
        key = match[1]
        if key not in parameters:
            raise ParameterError(f"`{key}` is not a parameter.{did_you_mean(key, parameters)}")
        values[key] = _parameter(cls, key, match[2])
    if in_order and parameters and _depth(cls, parameters[0]):
        values[parameters[0]] = [value_of(each) for each in in_order]
        return values
    if len(in_order) > len(parameters):
        raise ParameterError(f"takes at most {plural(len(parameters), 'value')}, not {len(in_order)}")
    return {
        **{key: _parameter(cls, key, each) for key, each in zip(parameters, in_order, strict=False)},
        **values,
    }


_WHOLE = {"subset": subset, "population": population}
"""Parameters of privacy models that have a grammar of their own."""


def _parameter(cls: type[Any], name: str, text: str) -> Any:
    """Read the value of a parameter."""
    if name in _WHOLE and issubclass(cls, PrivacyModel):
        return _WHOLE[name](text)
    depth = _depth(cls, name)
    if depth > 1:
        return [[value_of(each) for each in _split(entry, "+")] for entry in _split(text, "|")]
    if not depth:
        return value_of(text)
    kinds = _kinds(cls, name)
    entries = [_unquote(each) if kinds == {str} else value_of(each) for each in _split(text, "|")]
    return entries[0] if len(entries) == 1 and str in get_args(_annotation(cls, name)) else entries


def _annotation(cls: type[Any], parameter: str) -> Any:
    return cls.__pydantic_fields__[parameter].annotation


def _kinds(cls: type[Any], parameter: str) -> set[Any]:
    """Return the types of the entries of a list: in a list of texts, 999 is a text."""
    annotation = _annotation(cls, parameter)
    lists = [each for each in (annotation, *get_args(annotation)) if get_origin(each) in (tuple, list)]
    return {part for each in lists for part in get_args(each) if part is not ...}


def is_list(cls: type[Any], parameter: str) -> bool:
    """Return whether a parameter is a list; a single entry needs no list."""
    return _depth(cls, parameter) > 0


def _depth(cls: type[Any], parameter: str) -> int:
    """Return 0 for a parameter that is no list, 1 for a list, 2 for a list of lists."""
    annotation = _annotation(cls, parameter)
    lists = [each for each in (annotation, *get_args(annotation)) if get_origin(each) in (tuple, list)]
    inner = [
        get_args(part)[0] if get_origin(part) is Annotated else part
        for each in lists
        for part in get_args(each)
    ]
    return bool(lists) + any(get_origin(part) in (tuple, list) for part in inner)


def _split(text: str, separator: str) -> list[str]:
    """Split a text, but not within quotes.

    >>> _split("a|'b|c'|", "|")
    ['a', "'b|c'", '']
    """
    return re.split(rf"""{re.escape(separator)}(?=(?:[^'"]|'[^']*'|"[^"]*")*$)""", text)


def value_of(text: str) -> Any:
    """Read a number or text; true, false and null are left to the parameter's type, or quoted."""
    text = text.strip()
    plain = _unquote(text)
    if plain != text:
        return plain
    value = scalar(text)
    return text.replace("\\t", "\t") if value is None or isinstance(value, str) else value


def _unquote(text: str) -> str:
    """Take off the quotes around a whole text."""
    text = text.strip()
    quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" and text[0] not in text[1:-1]
    return text[1:-1] if quoted else text
