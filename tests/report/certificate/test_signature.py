"""Signatures: a recipient who knows the holder's public key, and somebody in between who does not have the private one."""

from __future__ import annotations

import base64
import json
import os
import stat
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import veil
from support.recipes import generalize_data
from support.refusals import refused
from veil import KAnonymity, Release
from veil.errors import InputError, MissingDependencyError, OutputError, PlanError
from veil.report import PrivateKey, PublicKey, check_certificate
from veil.report.certificate.signature import signed

PEOPLE = pa.table({"sex": ["f", "f", "m", "m"]})


@pytest.fixture(scope="module")
def release() -> Release:
    return veil.anonymize(PEOPLE, quasi_identifiers={"sex": "suppression"}, models=KAnonymity(2))


@pytest.fixture
def key(tmp_path: Path) -> Path:
    PrivateKey.new().save(tmp_path / "clinic.pem")
    return tmp_path / "clinic.pem"


def test_a_signed_certificate_says_whose_key_signed_it(release: Release, key: Path, tmp_path: Path) -> None:
    made = release.certificate(tmp_path / "c.json", sign=key)
    public = PublicKey.read(f"{key}.pub")
    for signed_by in (public, f"{key}.pub"):
        found = veil.verify(release.arrow, certificate=made, signed_by=signed_by)
        assert found.holds
        assert found.not_checked == ()
        assert f"as it was signed with the key {public.fingerprint} (found: the signature fits)" in str(found)
    unasked = check_certificate(made, release.arrow)
    assert unasked.holds
    assert unasked.not_checked == (f"whose the key {public.fingerprint} is, which signed the certificate",)


def test_an_altered_certificate_is_refused_whatever_its_checksum(
    release: Release, key: Path, tmp_path: Path
) -> None:
    path = release.certificate(tmp_path / "c.json", sign=key)
    data = json.loads(path.read_text())
    data["date"] = "2020-01-01T00:00:00+00:00"
    path.write_text(json.dumps({**signed(data, None), "signature": data["signature"]}))
    found = check_certificate(path, release.arrow, signed_by=f"{key}.pub")
    assert [each.measured for each in found.broken] == ["it was changed after it was signed"]
    assert check_certificate(path, release.arrow).broken


def test_another_key_and_no_signature_are_refused(release: Release, key: Path, tmp_path: Path) -> None:
    other = PrivateKey.new()
    path = release.certificate(tmp_path / "c.json", sign=other)
    found = check_certificate(path, release.arrow, signed_by=f"{key}.pub")
    assert [each.measured for each in found.broken] == [
        f"signed with another key, {other.public.fingerprint}"
    ]
    data = json.loads(path.read_text())
    data["signature"]["public_key"] = PublicKey.read(f"{key}.pub").to_text()
    path.write_text(json.dumps(data))
    assert check_certificate(path, release.arrow, signed_by=f"{key}.pub").broken
    del data["signature"]
    path.write_text(json.dumps(data))
    found = check_certificate(path, release.arrow, signed_by=f"{key}.pub")
    assert [each.measured for each in found.broken] == ["it is not signed"]
    assert check_certificate(path, release.arrow).not_checked == (
        "who made the certificate, which is not signed",
    )


def test_a_signature_goes_with_one_table(release: Release, key: Path, tmp_path: Path) -> None:
    path = release.certificate(tmp_path / "c.json", sign=key)
    assert check_certificate(path, release.arrow.slice(2), signed_by=f"{key}.pub").broken


@pytest.mark.parametrize("broken", ["", "AAAA", "not base64", "é"])
def test_damaged_signatures_do_not_pass(broken: str, release: Release, key: Path, tmp_path: Path) -> None:
    path = release.certificate(tmp_path / "c.json", sign=key)
    data = json.loads(path.read_text())
    for field in ("public_key", "value", "algorithm"):
        path.write_text(json.dumps({**data, "signature": {**data["signature"], field: broken}}))
        try:
            found = check_certificate(path, release.arrow, signed_by=f"{key}.pub")
        except InputError:
            continue
        assert found.broken


def test_signatures_of_something_else_do_not_pass(release: Release, key: Path, tmp_path: Path) -> None:
    """The holder's own ones: of another certificate, of a plain text, cut off, or put together from two."""
    path, public = release.certificate(tmp_path / "c.json", sign=key), f"{key}.pub"
    data = json.loads(path.read_text())
    assert check_certificate(path, release.arrow, signed_by=public).holds
    other = veil.anonymize(PEOPLE, quasi_identifiers={"sex": "suppression"}, models=KAnonymity(4))
    theirs = json.loads(other.certificate(tmp_path / "o.json", sign=key).read_text())["signature"]["value"]
    own, private = data["signature"]["value"], PrivateKey.read(key)
    raw = [base64.b64decode(each) for each in (own, theirs)]
    pieces = [
        raw[0][:32] + raw[1][32:],
        raw[1][:32] + raw[0][32:],
        *(raw[0][:n] for n in (0, 1, 32, 63)),
        raw[0] * 2,
    ]
    for value in [
        theirs,
        private.sign(json.dumps(data).encode()),
        private.sign(path.read_bytes()),
        *(base64.b64encode(each).decode() for each in pieces),
    ]:
        path.write_text(json.dumps({**data, "signature": {**data["signature"], "value": value}}))
        assert check_certificate(path, release.arrow, signed_by=public).broken
        assert check_certificate(path, release.arrow).broken


def test_a_stranger_signs_what_the_holder_has_made(release: Release, key: Path, tmp_path: Path) -> None:
    path = release.certificate(tmp_path / "c.json", sign=key)
    stranger = PrivateKey.new()
    data = {name: each for name, each in json.loads(path.read_text()).items() if name != "signature"}
    path.write_text(json.dumps(signed(data, stranger)))
    assert check_certificate(path, release.arrow, signed_by=f"{key}.pub").broken
    found = check_certificate(path, release.arrow)
    assert found.not_checked == (
        f"whose the key {stranger.public.fingerprint} is, which signed the certificate",
    )


def test_a_report_holds_the_signed_certificate(release: Release, key: Path, tmp_path: Path) -> None:
    from veil.report import write_report

    path = write_report(release, tmp_path / "r.html", sign=PrivateKey.read(key))
    assert check_certificate(path, release.arrow, signed_by=f"{key}.pub").holds


def test_the_private_key_is_for_its_holder_alone(key: Path, release: Release, tmp_path: Path) -> None:
    if os.name == "posix":
        assert stat.S_IMODE(key.stat().st_mode) == 0o600
        key.chmod(0o644)
        with refused(InputError, "other users", "chmod 600"):
            PrivateKey.read(key)
        key.chmod(0o600)
    secret = key.read_text().splitlines()[1]
    raw = base64.b64decode(secret)[-32:]
    shown = [repr(PrivateKey.read(key)), release.certificate(tmp_path / "c.json", sign=key).read_text()]
    with pytest.raises(InputError) as error:
        PublicKey.read(key)
    for text in (*shown, str(error.value)):
        assert secret[:20] not in text
        assert base64.b64encode(raw).decode() not in text
        assert raw.hex() not in text


def test_a_passphrase(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = PrivateKey.new()
    made.save(tmp_path / "locked.pem", "hunter22")
    with refused(InputError, "passphrase", "VEIL_KEY_PASSPHRASE"):
        PrivateKey.read(tmp_path / "locked.pem")
    with refused(InputError, "passphrase", "another one") as error:
        PrivateKey.read(tmp_path / "locked.pem", "hunter23")
    assert "hunter" not in str(error.value)
    monkeypatch.setenv("VEIL_KEY_PASSPHRASE", "hunter22")
    assert PrivateKey.read(tmp_path / "locked.pem").public == made.public


def test_keys_are_never_replaced(key: Path) -> None:
    with refused(OutputError, "already exists", "never replaced"):
        PrivateKey.new().save(key)


def test_what_is_no_key_is_refused(tmp_path: Path, release: Release) -> None:
    with refused(InputError, "key", "No such file"):
        release.certificate(tmp_path / "c.json", sign=tmp_path / "none.pem")
    (tmp_path / "odd.pem").touch(0o600)
    with refused(InputError, "no private Ed25519"):
        release.certificate(tmp_path / "c.json", sign=tmp_path / "odd.pem")
    assert not (tmp_path / "c.json").exists()
    with refused(InputError, "no public Ed25519"):
        PublicKey.read(tmp_path / "odd.pem")
    with refused(PlanError, "a plan", "not signed"):
        veil.verify(release, signed_by="x.pub")
    with refused(PlanError, "plan", "certificate", "not both"):
        veil.verify(release.arrow, release.plan, certificate="c.json")


def test_without_the_library_there_is_a_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives", None)
    with refused(MissingDependencyError, "veil-anonymizer[sign]"):
        PrivateKey.new()


def test_a_recipe_signs(tmp_path: Path, key: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text("sex\nf\nf\nm\nm\n")
    recipe: dict[str, Any] = {
        "input": "people.csv",
        "output": "release.csv",
        "sign": "clinic.pem",
        **generalize_data(quasi_identifiers={"sex": "suppression"}, models=[{"kind": "KAnonymity", "k": 2}]),
    }
    Path("recipe.yaml").write_text(json.dumps(recipe))
    with refused(PlanError, "nothing to sign"):
        veil.run("recipe.yaml", progress=False)
    Path("recipe.yaml").write_text(json.dumps({**recipe, "certificate": "c.json"}))
    veil.run("recipe.yaml", save_recipe="saved.yaml", progress=False)
    assert veil.verify("release.csv", certificate="c.json", signed_by="clinic.pem.pub").holds
    assert "sign: clinic.pem" in Path("saved.yaml").read_text()
