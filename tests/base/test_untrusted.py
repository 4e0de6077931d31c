"""Documents from strangers: what is read is what the usual reader reads, and what is hostile ends in one sentence."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from veil.base.untrusted import (
    MOST_BYTES,
    MOST_DIGITS,
    check_json,
    compose_yaml,
    parse_json,
    parse_xml,
    parse_yaml,
)
from veil.errors import InputError

BOMB = "a0: &a0 [x]\n" + "".join(
    f"a{at}: &a{at} [{', '.join([f'*a{at - 1}'] * 10)}]\n" for at in range(1, 12)
)

LOADER: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)

HOSTILE = {
    "aliases": (BOMB, "its aliases expand to more than 10,000 values"),
    "lists": ("a: " + "[" * 5_000 + "]" * 5_000, "nested more than 100 deep"),
    "lists that never end": ("a: " + "[" * 100_000, "nested more than 100 deep"),
    "mappings": ("a: " + "{b: " * 5_000 + "1" + "}" * 5_000, "nested more than 100 deep"),
    "dashes": ("a:\n  " + "- " * 5_000 + "1", "nested more than 100 deep"),
    "questions": ("? " * 5_000 + "a", "nested more than 100 deep"),
    "steps": ("".join(f"{' ' * at}a:\n" for at in range(500)), "nested more than 100 deep"),
    "digits": ("a: " + "9" * 5_000, "a number of more than 1,000 digits"),
    "size": ("a: '" + "x" * MOST_BYTES + "'", "a document may have at most 10,000,000"),
    "a NUL": ('a: "b\\0c"', "line 1: contains a NUL character"),
    "two documents": ("a: 1\n---\nb: 2\n", "line 2: a second document begins"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_yaml_ends_in_a_sentence(name: str) -> None:
    text, told = HOSTILE[name]
    began = time.monotonic()
    with pytest.raises(InputError, match=told):
        compose_yaml(text, "recipe.yaml")
    assert time.monotonic() - began < 300  # a guard against hanging


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"k": ' + "9" * 5_000 + "}", "a number of more than 1,000 digits"),
        ("[" * 5_000 + "]" * 5_000, "nested more than 100 deep"),
        ('{"a":' * 5_000, "nested more than 100 deep"),
    ],
)
def test_the_same_limits_hold_for_json(text: str, told: str) -> None:
    for read in (lambda: check_json(text, "x.json"), lambda: parse_json(text.encode(), "x.json")):
        with pytest.raises(InputError, match=told):
            read()


def test_the_same_limits_hold_for_xml() -> None:
    for text, told in (("<a>" * 200, "nested more than 100 deep"), (f'<a k="{"9" * 5_000}"/>', "digits")):
        with pytest.raises(InputError, match=told):
            parse_xml(text.encode(), "x.xml")


def test_what_somebody_writes_is_within_the_limits() -> None:
    assert parse_yaml(b"a: &x [1]\nb: [*x, *x]\n", "x.yaml") == {"a": ["1"], "b": [["1"], ["1"]]}
    assert parse_json(("[" * 100 + "]" * 100).encode(), "x.json")
    check_json("9" * MOST_DIGITS, "x.json")
    wide = "\n".join(f"v{at}: [x, y]" for at in range(20_000))
    assert len(parse_yaml(wide.encode(), "x.yaml")) == 20_000


trees = st.recursive(
    st.text(
        st.characters(codec="utf-8", exclude_characters="\0", exclude_categories=("Cs", "Cc")), max_size=6
    )
    | st.integers(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text("abc", min_size=1, max_size=3), inner, max_size=4)
    ),
    max_leaves=20,
)


@settings(max_examples=150)
@given(trees, st.booleans())
def test_nodes_are_those_of_the_usual_reader(tree: Any, flow: bool) -> None:
    text = yaml.safe_dump(tree, default_flow_style=flow, allow_unicode=True)
    assert _plain(compose_yaml(text, "x.yaml")) == _plain(yaml.compose(text, Loader=LOADER))


@settings(max_examples=100)
@given(st.text("ab: -[]{}&*x,\n'\"#|>?!", max_size=25))
def test_any_text_is_read_as_usual_or_refused_as_usual(text: str) -> None:
    try:
        usual = _plain(yaml.compose(text, Loader=LOADER))
    except (yaml.YAMLError, RecursionError):
        with pytest.raises((yaml.YAMLError, InputError)):
            _plain(compose_yaml(text, "x.yaml"))
        return
    assert _plain(compose_yaml(text, "x.yaml")) == usual


def _plain(node: Any, above: tuple[int, ...] = ()) -> Any:
    """A node with its line and style, and those in it."""
    if node is None:
        return None
    if id(node) in above:
        raise RecursionError
    inner = node.value
    above = (*above, id(node))
    if isinstance(node, yaml.SequenceNode):
        inner = [_plain(each, above) for each in inner]
    elif isinstance(node, yaml.MappingNode):
        inner = [(_plain(key, above), _plain(each, above)) for key, each in inner]
    return node.tag, node.start_mark.line, getattr(node, "style", None), inner


@settings(max_examples=60)
@given(trees)
def test_yaml_reads_json(tree: Any) -> None:
    def words(given: Any) -> Any:
        if isinstance(given, dict):
            return {key: words(each) for key, each in given.items()}
        return [words(each) for each in given] if isinstance(given, list) else str(given)

    assert parse_yaml(json.dumps(tree, ensure_ascii=False).encode(), "x.yaml") == words(tree)
