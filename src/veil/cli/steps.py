"""The grammar of --step: masking methods on the command line."""

from __future__ import annotations

from typing import Any, get_args, get_origin

from veil.base.registry import find
from veil.cli import grammar
from veil.errors import ParameterError, VeilError, did_you_mean
from veil.masking import METHODS, Method


def read_step(text: str) -> Method:
    """Read a masking method.

    As for models, but a hierarchy with commas is in quotes, and a mapping has a colon between name and value.

    >>> read_step("rank-swapping:age,income,p=10").columns
    ('age', 'income')
    >>> read_step("global-recoding:age,'intervals:5,10',level=2").hierarchy.widths
    (5, 10)
    >>> read_step("mondrian:quasi_identifiers=age|zip:redaction,models='k-anonymity:5|t-closeness:job,0.2'").models[0]
    KAnonymity(k=5)
    >>> read_step("m-invariance:ill,m=2,quasi_identifiers=age|zip,person=id,history=h.json").quasi_identifiers
    ('age', 'zip')
    >>> read_step("local-suppression:age,zip,k=3,importance=age:2|zip:0.5").importance
    {'age': 2.0, 'zip': 0.5}
    """
    name, _, rest = text.partition(":")
    cls: Any = find(METHODS, name)
    if cls is None:
        hint = did_you_mean(name, [grammar.kebab(kind) for kind in METHODS])
        raise ParameterError(f"--step {text!r}: there is no {name!r}.{hint}")
    try:
        arguments = grammar.arguments(rest, cls)
        if arguments.get("key") is not None:
            raise ParameterError(
                "others can see a key on the command line: give `key_file` or `key_variable`"
            )
        method: Method = cls(**{key: _value(cls, key, value) for key, value in arguments.items()})
    except VeilError as error:
        raise error.after(f"--step {text!r}: ") from None
    return method


def _value(cls: Any, key: str, value: Any) -> Any:
    if key == "models":
        # The list is in quotes, as its models contain commas.
        whole = "|".join(map(str, value if isinstance(value, list) else [value])).strip("'\"")
        return [grammar.model(each) for each in whole.split("|")]
    # Some methods take hierarchies with their columns, others a list of columns alone.
    if key == "quasi_identifiers" and not grammar.is_list(cls, key):
        columns = [each.partition(":") for each in str(value).split("|")]
        return {name: grammar.hierarchy(spec, "--step") if spec else None for name, _, spec in columns}
    if not isinstance(value, str):
        return value
    if key == "hierarchy":
        return grammar.hierarchy(value, "--step")
    annotation = cls.__pydantic_fields__[key].annotation
    if not any(get_origin(each) is dict for each in (annotation, *get_args(annotation))):
        return value
    pairs = [each.rpartition(":") for each in value.split("|")]
    return {name: grammar.value_of(each) for name, _, each in pairs}
