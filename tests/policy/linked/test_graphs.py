"""Linked data from strangers: nothing is fetched, nothing grows, nothing is lost."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.refusals import refused
from veil.base.untrusted import MOST_BYTES
from veil.errors import InputError, MissingDependencyError
from veil.policy import parse, read, read_all, unmapped
from veil.policy.linked import graphs, parse_turtle
from veil.policy.linked.terms import with_broader

rdflib = pytest.importorskip("rdflib")

PROCESS = {
    "@type": "https://w3id.org/dpv#Process",
    "https://w3id.org/dpv#hasPurpose": {"@id": "https://w3id.org/dpv#Marketing"},
}


@pytest.fixture
def dialled(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Every attempt to reach anybody, or to open a file for it."""
    tried: list[object] = []

    def refuse(*given: object, **_: object) -> None:
        tried.append(given)
        raise OSError("nobody is to be reached")

    for name in ("connect", "connect_ex", "sendto"):
        monkeypatch.setattr(socket.socket, name, refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr("urllib.request.urlopen", refuse)
    return tried


def places(address: str) -> list[object]:
    """Where JSON-LD can name a context."""
    return [
        {"@context": address, **PROCESS},
        {"@context": [{}, address], **PROCESS},
        {"@context": {"@import": address}, **PROCESS},
        {
            "@context": {"more": {"@id": "https://example.org/more", "@context": address}},
            **PROCESS,
            "more": {"a": 1},
        },
        {"@context": {"Thing": {"@id": "https://example.org/T", "@context": [address]}}, **PROCESS},
        {"@graph": [{"@context": address, **PROCESS}]},
        {**PROCESS, "https://example.org/inner": {"@context": address, "name": "x"}},
        {"@context": {"@context": address}, **PROCESS},
        [PROCESS, {"@context": address}],
    ]


@pytest.mark.parametrize(
    "address",
    ["http://127.0.0.1:9/c.jsonld", "https://example.org/c", "file:///etc/passwd", "c.jsonld", "../x"],
)
def test_no_context_is_fetched(address: str, dialled: list[object]) -> None:
    for tree in places(address):
        with refused(InputError, "fetched"):
            parse(json.dumps(tree), "policy.jsonld")
    assert dialled == []


def test_known_contexts_are_shipped(dialled: list[object]) -> None:
    tree = {
        "@context": "https://www.w3.org/ns/odrl.jsonld",
        "@type": "Set",
        "uid": "urn:x:1",
        "permission": {"action": "use"},
    }
    assert [each.name for each in parse(json.dumps(tree)).purposes] == ["use"]
    tree = {"@context": "https://w3id.org/dpv", "@type": "Process", "hasPurpose": {"@id": "dpv:Marketing"}}
    assert [each.name for each in parse(json.dumps(tree)).purposes] == ["Marketing"]
    assert dialled == []


def test_turtle_fetches_nothing(dialled: list[object]) -> None:
    text = """@prefix dpv: <https://w3id.org/dpv#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
        <https://example.org/p> a dpv:Process, owl:Ontology ; owl:imports <http://127.0.0.1:9/more> ; dpv:hasPurpose dpv:Marketing ."""
    policy = parse(text)
    assert any("owl:imports" in each.text for each in unmapped(policy))
    assert dialled == []


def test_a_server_hears_nothing() -> None:
    """As above, with a server that would notice, and no trust in what is called to reach it."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        address = f"http://127.0.0.1:{server.getsockname()[1]}/c.jsonld"
        for tree in places(address):
            with pytest.raises(InputError):
                parse(json.dumps(tree), "policy.jsonld")
        with pytest.raises(TimeoutError):
            server.accept()


@pytest.mark.parametrize("signs", ["[ e:c ", "( "])
def test_deep_nesting_is_refused(signs: str) -> None:
    end = {"[": "]", "(": ")"}[signs[0]]
    text = "@prefix e: <http://e/> . e:a e:b " + signs * 5_000 + "1" + end * 5_000 + " ."
    with refused(InputError, "nested", "than 100"):
        parse(text, "policy.ttl")
    parse_turtle(
        ("@prefix e: <http://e/> . e:a e:b " + signs * 99 + "1" + end * 99 + " .").encode(), "fine.ttl"
    )


def test_brackets_in_texts_are_no_nesting() -> None:
    text = (
        "@prefix e: <http://e/> . # "
        + "[" * 500
        + '\ne:a e:b "'
        + "[" * 500
        + '", """'
        + "(" * 500
        + '""", <http://e/'
        + "x" * 500
        + "> ."
    )
    assert len(parse_turtle(text.encode(), "fine.ttl").statements) == 3


def test_numbers_are_not_written_out() -> None:
    text = """@prefix x: <http://www.w3.org/2001/XMLSchema#> .
        <http://e/a> <http://e/b> "1e999999999"^^x:decimal, "abc"^^x:integer ."""
    found = parse_turtle(text.encode(), "policy.ttl").statements
    assert sorted(each.object.text for each in found) == ["1e999999999", "abc"]


def test_nobody_is_told_of_bad_literals(capfd: pytest.CaptureFixture[str]) -> None:
    parse_turtle(b'<http://e/a> <http://e/b> "x"^^<http://www.w3.org/2001/XMLSchema#date> .', "policy.ttl")
    assert capfd.readouterr() == ("", "")
    assert rdflib.NORMALIZE_LITERALS is True


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"@prefix e: <http://e/> . e:a e:b", "policy.ttl: cannot be read as turtle"),
        (b"@prefix e: <http://e/> . \xff", "not UTF-8 text at byte 25"),
        (b"@prefix e: <http://e/> . e:a e:b \x00 .", "cannot be read as turtle"),
        (b'{"@context": {"@base": 3}, "@id": "a"}', "cannot be read as json-ld"),
        (b'{"@context": 7}', "policy.ttl"),
        (b'{"@id": "http://e/a", "@type": ["', "not JSON"),
        (b"@prefix e: <http://e/> . #" + b"x" * MOST_BYTES, "a document may have"),
    ],
)
def test_broken_documents_are_told_in_a_sentence(content: bytes, told: str) -> None:
    with pytest.raises(InputError, match=told):
        parse(content, "policy.ttl")


@settings(max_examples=60)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "@context",
                        "@id",
                        "@type",
                        "@graph",
                        "@list",
                        "@reverse",
                        "@value",
                        "@set",
                        "a",
                        "dpv:hasPurpose",
                    ]
                ),
                inner,
                max_size=4,
            )
        ),
        max_leaves=12,
    )
)
def test_any_tree_is_read_or_refused_in_a_sentence(tree: object) -> None:
    with contextlib.suppress(InputError):
        parse(json.dumps({"@context": {"dpv": "https://w3id.org/dpv#"}, "@graph": tree}), "policy.jsonld")


def test_named_graphs_are_read(tmp_path: Path) -> None:
    (tmp_path / "p.jsonld").write_text(
        json.dumps({"@id": "https://example.org/g", "@graph": [PROCESS]}), encoding="utf-8"
    )
    assert [each.name for each in read(tmp_path / "p.jsonld").purposes] == ["Marketing"]
    assert list(read_all(tmp_path)) == ["p"]


def test_without_rdflib_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rdflib", None)
    with refused(MissingDependencyError, "veil-anonymizer[policy]"):
        parse("@prefix dpv: <https://w3id.org/dpv#> .")


def test_other_policies_do_without_rdflib() -> None:
    code = "import sys; from veil import policy; policy.parse('<layeredPrivacyPolicy/>'); sys.exit('rdflib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_ancestors_of_a_circle_end() -> None:
    above = {"a": ("b",), "b": ("c", "a"), "c": ("a",)}
    assert list(with_broader(["a"], lambda name: above[name])) == ["a", "b", "c"]


def test_the_licence_is_shipped() -> None:
    text = (Path(graphs.__file__).parent / "LICENSE-W3C.txt").read_text(encoding="utf-8")
    assert "https://w3id.org/dpv" in text
    assert "Permission to copy" in text
