"""Risk, use and signatures: what the server answers about a release is what the library says."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest

import veil
from support.recipes import generalize_data
from support.workbench import Client, workbench
from veil.recipe import Recipe
from veil.report import PublicKey
from veil.report.content.measured import Findings
from veil.synthetic import patients
from veil.tables import read, write
from veil.utility import Comparison, count_query

QUASI = {"age": {"kind": "intervals", "widths": [5, 10, 20]}, "sex": "suppression", "zip": "redaction"}
RECIPE = {
    "quasi_identifiers": QUASI,
    "sensitive": ["diagnosis"],
    "insensitive": ["cost"],
    "others": "drop",
    "person": None,
    "models": [{"kind": "KAnonymity", "k": 5}],
    "suppression_limit": 0.05,
}


@pytest.fixture(scope="module")
def csv_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("web") / "patients.csv"
    table = patients(400)
    drawn = np.random.default_rng(4)
    table = table.append_column("weight", pa.array(drawn.integers(2, 40, 400)))
    write(table.append_column("home", pa.array(drawn.integers(0, 150, 400))), path)
    return path


@pytest.fixture(scope="module")
def expected(csv_file):
    return veil.anonymize(csv_file, Recipe(**generalize_data(**RECIPE)).plan())


@pytest.fixture(scope="module")
def client():
    with workbench() as made:
        yield Client(made)


@pytest.fixture(scope="module")
def release(client, csv_file):
    table = client.result(client.send_table("patients.csv", csv_file.read_bytes()))["table"]
    wish = {"table": table, "recipe": generalize_data(**RECIPE)}
    return "/api/v1/releases/" + client.result(client.post("/api/v1/releases", json=wish))["release"]


def same(told, meant):
    return told == json.loads(json.dumps(meant, default=str))


def test_attacks_that_are_tried_are_those_of_the_library(client, release, expected):
    tried = client.result(client.post(f"{release}/attack"))["tried"]
    assert same(tried, expected.attacks().to_dict())
    less = client.result(client.post(f"{release}/attack", json={"known": ["age"], "secrets": ["cost"]}))
    assert same(less["tried"], expected.attacks(known=["age"], secrets=["cost"]).to_dict())
    assert client.post(f"{release}/attack", json={"known": ["nobody"]}).status_code == 404


def test_what_is_learned_for_certain_and_individual_risks(client, release, csv_file, expected):
    asked = {"weights": "weight", "household": "home", "threshold": 0.1}
    told = client.result(client.post(f"{release}/risk", json=asked))
    source = read(csv_file).table
    before = veil.risk.analyze(
        source, list(QUASI), untouched=True, weights="weight", household="home", threshold=0.1
    )
    assert same(told["before"]["individual"], before.to_dict()["individual"])
    rows = expected.arrow
    for name in ("weight", "home"):
        rows = rows.append_column(name, source[name].take(expected.outcome.origins))
    after = veil.risk.analyze(rows, list(QUASI), weights="weight", household="home", threshold=0.1)
    found, meant = told["after"]["individual"], after.to_dict()["individual"]
    assert found["household"] == pytest.approx(
        meant["household"]
    )  # sums of the same numbers in another order
    assert found["expected"] == pytest.approx(meant["expected"])
    (certain,) = told["certain"]
    sides = (
        veil.risk.certain_values(source, list(QUASI), "diagnosis", untouched=True),
        veil.risk.certain_values(expected, None, "diagnosis"),
    )
    assert (certain["before"], certain["after"]) == tuple(side[0].share for side in sides)


def test_values_of_the_riskiest_are_told_only_if_that_is_asked_for(client, release, csv_file):
    found = veil.risk.riskiest(read(csv_file).table, list(QUASI), untouched=True)
    withheld = client.result(client.post(f"{release}/riskiest", json={}))["combinations"]
    assert [(each["columns"], each["records"], each["values"]) for each in withheld] == [
        (list(each.columns), each.records, None) for each in found
    ]
    shown = client.result(client.post(f"{release}/riskiest", json={"values": True}))["combinations"]
    assert [each["values"] for each in shown] == [each.values for each in found]
    after = client.result(client.post(f"{release}/riskiest", json={"of": "after"}))["combinations"]
    assert min(each["records"] for each in after) >= 5


def test_a_count_of_ones_own(client, release, expected):
    asked = {"age": {"first": "30", "last": "39"}, "diagnosis": {"values": ["asthma", "influenza"]}}
    told = client.post(f"{release}/count", json={"conditions": asked}).json()
    compared = Comparison.of(expected.outcome, [*QUASI, "diagnosis"])
    found = count_query(compared, {"age": ("30", "39"), "diagnosis": ["asthma", "influenza"]})
    assert (told["count"], told["answer"], told["error"]) == (found.count, found.answer, found.error)
    wrong = client.post(f"{release}/count", json={"conditions": {"age": {"first": "x", "last": "y"}}})
    assert (wrong.status_code, wrong.json()["type"]) == (422, "ParameterError")
    assert client.post(f"{release}/count", json={"conditions": {"name": {"values": []}}}).status_code == 404


def test_associations_and_the_spread_of_errors(client, release, expected):
    told = client.result(client.post(f"{release}/associations"))
    assert same(told, Findings(expected.outcome, exact=True).associations)
    queries = client.result(client.post(f"{release}/utility", json={}))["utility"]["queries"]
    assert sum(number for _, number in queries["histogram"]) == queries["queries"]
    meant = expected.utility().to_dict()["queries"]
    assert (queries["mean"], queries["median"]) == pytest.approx((meant["mean"], meant["median"]))


def test_rows_by_class_lie_beside_those_that_look_alike(client, release, expected):
    told = client.post(f"{release}/rows", json={"by_class": True, "count": 100}).json()
    places = [told["columns"].index(name) for name in QUASI]
    looks = [tuple(row[at] for at in places) for row in told["rows"]]
    for number, look in zip(told["classes"], looks, strict=True):
        assert {a for a, b in zip(told["classes"], looks, strict=True) if b == look} == {number}
    assert told["classes"] == sorted(told["classes"])
    last = client.post(f"{release}/rows", json={"by_class": True, "start": 400 - expected.suppressed}).json()
    assert all(last["suppressed"])
    assert set(last["classes"]) <= {None}


def test_a_certificate_is_signed_with_a_key_that_is_kept_nowhere(client, release, tmp_path, caplog):
    made = client.post("/api/v1/keys", json={"passphrase": "correct horse"}).json()
    assert "ENCRYPTED" in made["private"]
    (tmp_path / "key.pub").write_text(made["public"])
    public = PublicKey.read(tmp_path / "key.pub")
    assert made["fingerprint"] == public.fingerprint
    signer = {"key": made["private"], "passphrase": "correct horse"}
    answer = client.post(f"{release}/certificate", json=signer)
    assert answer.headers["veil-key-fingerprint"] == public.fingerprint
    (tmp_path / "c.json").write_bytes(answer.content)
    (tmp_path / "r.csv").write_bytes(client.get(f"{release}/table.csv").content)
    found = veil.verify(tmp_path / "r.csv", certificate=tmp_path / "c.json", signed_by=public)
    assert not found.broken
    secret = made["private"].splitlines()[1]
    for wrong in ({**signer, "passphrase": "wrong"}, {"key": "no key"}, {**signer, "more": made["private"]}):
        refused = client.post(f"{release}/certificate", json=wrong)
        assert refused.status_code == 422
        assert secret not in refused.text
    kept = [path for path in client.app.state.workbench.folder.rglob("*") if path.is_file()]
    assert not any(secret.encode() in path.read_bytes() for path in kept)
    assert secret not in caplog.text


def test_a_search_tells_how_good_the_best_is_and_how_good_any_can_be(client, release):
    table = client.get(release).json()["table"]
    wish = {"table": table, "recipe": generalize_data(**{**RECIPE, "strategy": {"kind": "Optimal"}})}
    task = client.done(client.post("/api/v1/releases", json=wish))
    best = [score for _, score, _ in task["curve"] if score is not None]
    bounds = [bound for _, _, bound in task["curve"] if bound is not None]
    assert best == sorted(best, reverse=True)
    assert bounds == sorted(bounds)
    told = client.get(f"/api/v1/releases/{task['result']['release']}").json()["search"]
    assert best[-1] == told["score"]
    assert bounds
    assert max(bounds) <= told["score"]
    seconds = [each[0] for each in task["curve"]]
    assert seconds == sorted(seconds)
