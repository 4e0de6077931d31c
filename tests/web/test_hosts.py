"""Hosts that a server answers to."""

from __future__ import annotations

import pytest

from support import refusals
from veil.errors import ParameterError
from veil.web.hosts import Hosts


@pytest.mark.parametrize(
    ("host", "own", "known"),
    [
        ("localhost:8000", "127.0.0.1", True),
        ("127.0.0.1:8000", "127.0.0.1", True),
        ("[::1]:8000", "::1", True),
        ("LocalHost:8000", "127.0.0.1", True),
        ("192.0.2.7:8000", "192.0.2.7", True),
        ("192.0.2.7:8000", "::ffff:192.0.2.7", True),
        ("[2001:db8::7]:8000", "2001:db8::7", True),
        ("clinic.example:8000", "192.0.2.7", True),
        ("clinic.example", "192.0.2.7", True),  # a server in front of it
        ("ward.example:8443", "192.0.2.7", True),
        ("ward.example:8000", "192.0.2.7", False),
        ("192.0.2.8:8000", "192.0.2.7", False),  # of another machine
        ("192.0.2.7:8001", "192.0.2.7", False),
        ("192.0.2.7", "192.0.2.7", False),
        ("0.0.0.0:8000", "127.0.0.1", False),
        ("evil.example:8000", "192.0.2.7", False),
        ("clinic.example.evil.example:8000", "192.0.2.7", False),
        ("192.0.2.7.evil.example:8000", "192.0.2.7", False),
        ("localhost:8000@evil.example", "127.0.0.1", False),
        ("", "192.0.2.7", False),
        (None, "192.0.2.7", False),
    ],
)
def test_a_server_at_all_addresses_answers_to_its_own_and_to_names_that_are_allowed(host, own, known):
    assert Hosts("0.0.0.0", 8000, ["clinic.example", "ward.example:8443"]).know(host, own) is known


def test_a_server_at_one_address_answers_to_that_alone():
    hosts = Hosts("192.0.2.7", 8000)
    assert hosts.know("192.0.2.7:8000", "192.0.2.7")
    assert not hosts.know("localhost:8000", "127.0.0.1")
    assert Hosts("127.0.0.1", 80).know("localhost", "127.0.0.1")
    assert not Hosts("127.0.0.1", 8000).know("192.0.2.7:8000", "192.0.2.7")


@pytest.mark.parametrize(
    "name", ["*", "*.example", "http://clinic.example", "a b", "", "x:y", "clinic.example/"]
)
def test_only_names_can_be_allowed(name):
    with refusals.refused(ParameterError, "a name"):
        Hosts("0.0.0.0", 8000, [name])
