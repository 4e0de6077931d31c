"""The command line on PostgreSQL: what works, and every way in which a server says no, without the password."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from urllib.parse import quote

import pytest

from support.cli import SOURCES, Ran, process, veil
from support.engines.servers import OWNER, PASSWORD, Postgres
from support.recipes import generalize

PLAN = shlex.split(
    "--qi age=intervals:10,20 --qi sex=suppression --sensitive diagnosis --identifying name --model k-anonymity:3 "
    "--suppression-limit 0.2"
)
RECIPE = generalize("""\
input: {{url: "{url}", table: patients, schema: clinic, password_variable: VEIL_PASSWORD}}
output: {{url: "{url}", table: by_recipe, schema: clinic, password_variable: VEIL_PASSWORD}}
quasi_identifiers: {{age: {{kind: intervals, widths: [10, 20]}}, sex: suppression}}
sensitive: diagnosis
identifying: name
models: [{{kind: KAnonymity, k: 3}}]
suppression_limit: 0.2
""")
SECRETS = (PASSWORD, quote(PASSWORD, safe=""), "wrong-s3cret")


@pytest.fixture(scope="module")
def clinic(postgres: Postgres) -> Postgres:
    """A schema with a table of patients, and users who may do less and less with it."""
    postgres.execute(
        f"CREATE SCHEMA clinic AUTHORIZATION {OWNER}",
        "CREATE TABLE clinic.patients AS SELECT 'person ' || n AS name, 20 + n % 40 AS age, "
        "CASE n % 2 WHEN 0 THEN 'f' ELSE 'm' END AS sex, 'flu' AS diagnosis FROM generate_series(1, 500) AS n",
        f"ALTER TABLE clinic.patients OWNER TO {OWNER}",
        f"CREATE ROLE reader LOGIN PASSWORD '{PASSWORD}'",
        f"CREATE ROLE stranger LOGIN PASSWORD '{PASSWORD}'",
        "GRANT USAGE ON SCHEMA clinic TO reader, stranger",
        "GRANT SELECT ON clinic.patients TO reader",
    )
    return postgres


def checked(ran: Ran) -> Ran:
    """Whatever a command says, it holds no password and is no traceback."""
    assert not any(secret in ran.out + ran.err for secret in SECRETS), ran
    assert "Traceback" not in ran.err
    return ran


def run(*arguments: str, **environment: str) -> Ran:
    """Run a command in a process of its own, as a user does."""
    running = process(*arguments, env={**os.environ, "PYTHONPATH": str(SOURCES), **environment})
    out, err = running.communicate(timeout=300)
    return checked(Ran(running.returncode, out, err))


def test_from_table_to_table(clinic: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    source, target = (clinic.url(f"clinic.{name}", password=None) for name in ("patients", "release"))
    ran = run("anonymize", source, *PLAN, "-o", target, "--save-recipe", "recipe.yaml", PGPASSWORD=PASSWORD)
    assert (ran.code, ran.err) == (0, "")
    assert "Written by postgres" in ran.out
    assert f"table clinic.release of postgres://{OWNER}@" in ran.out
    with clinic.connect() as connection:
        found = connection.execute(
            "SELECT count(*), min(n) FROM (SELECT count(*) n FROM clinic.release GROUP BY age, sex) AS classes"
        )
        classes, smallest = found.fetchone()
    assert classes > 1
    assert smallest >= 3
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    again = checked(veil("anonymize", source, *PLAN, "-o", target))
    assert (again.code, "already exists" in again.err, "--overwrite" in again.err) == (2, True, True)
    assert checked(veil("verify", target, "--recipe", "recipe.yaml")).code == 0
    assert checked(veil("verify", source, "--recipe", "recipe.yaml")).code == 1


def test_a_recipe_names_a_variable_with_the_password(
    clinic: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(RECIPE.format(url=clinic.url(password=None)))
    unset = checked(veil("anonymize", recipe))
    assert (unset.code, "environment variable VEIL_PASSWORD" in unset.err) == (2, True)
    monkeypatch.setenv("VEIL_PASSWORD", PASSWORD)
    ran = checked(veil("anonymize", recipe))
    assert (ran.code, ran.err) == (0, "")
    assert "table clinic.by_recipe of" in ran.out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"password": "wrong-s3cret"}, "does not accept this user and password"),
        ({"password": None}, "does not accept this user and password"),
        ({"table": "clinic.patient"}, "Did you mean 'patients'?"),
        ({"table": "klinic.patients"}, "Did you mean 'clinic'?"),
        ({"user": "stranger"}, "no right to do this"),
    ],
)
def test_what_cannot_be_read(
    clinic: Postgres, options: dict[str, str | None], message: str, tmp_path: Path
) -> None:
    given = {"table": "clinic.patients", "password": PASSWORD, **options}
    start = run if options.get("password") == "wrong-s3cret" else veil
    ran = checked(start("anonymize", clinic.url(**given), *PLAN, "-o", str(tmp_path / "release.csv")))  # type: ignore[arg-type]
    assert (ran.code, message in ran.err) == (2, True), ran
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_written(clinic: Postgres) -> None:
    source, target = (clinic.url(f"clinic.{name}", user="reader") for name in ("patients", "secret"))
    ran = run("anonymize", source, *PLAN, "-o", target)
    assert (ran.code, "no permission to write there" in ran.err or "no right to do this" in ran.err) == (
        2,
        True,
    ), ran
    with clinic.connect() as connection:
        tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'clinic'").fetchall()
    assert not [name for (name,) in tables if "secret" in name]


def test_no_server(clinic: Postgres) -> None:
    gone = clinic.url("clinic.patients").replace(f":{clinic.port}/", ":1/")
    ran = checked(veil("assess", gone, "--qi", "age"))
    assert (ran.code, "cannot be reached" in ran.err) == (2, True)
    assert "see a password" in ran.err
