"""Who may ask, from where, and how much: every attack is refused with 4xx and one sentence."""

from __future__ import annotations

import gzip
import io
import zipfile

import pytest
from starlette.testclient import TestClient

from support.recipes import generalize_data
from support.workbench import ADDRESS, TOKEN, Client, workbench
from veil.web.app import create_app


@pytest.fixture(scope="module")
def bench():
    with workbench(largest_table=2_000_000) as made:
        yield made


@pytest.fixture(scope="module")
def client(bench):
    return Client(bench)


@pytest.fixture
def stranger(bench):
    return TestClient(create_app(bench), base_url=ADDRESS)


def refused(answer, status):
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    told = answer.json()
    assert told["status"] == status
    assert told["detail"]
    assert "\n" not in told["detail"]
    return told["detail"]


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer wrong"},
        {"Authorization": f"Basic {TOKEN}"},
        {"Authorization": "Bearer "},
        {"Cookie": "veil-session=wrong"},
        {"Cookie": f"veil-session={TOKEN}"},
        {"Cookie": 'veil-session="a; b'},
    ],
)
@pytest.mark.parametrize("path", ["plan", "session", "tasks", "models", "openapi.json", "tables/x/profile"])
def test_nothing_is_told_without_token_or_cookie(stranger, headers, path):
    refused(stranger.get(f"/api/v1/{path}", headers=headers), 403)


@pytest.mark.parametrize("path", ["/api/v1/session", "/api/v1/plan"])
def test_nothing_but_the_whole_token_is_the_token(stranger, path):
    others = [TOKEN[:length] for length in range(len(TOKEN))]
    others += [f"{TOKEN}t", f" {TOKEN}", f"{TOKEN[:-1]}u", f"u{TOKEN[1:]}", TOKEN.upper()]
    for token in others:
        headers = {"Authorization": f"Bearer {token}"}
        for answer in (stranger.post(path, headers=headers), stranger.get(path, headers=headers)):
            assert answer.status_code == 403, token


def test_a_wrong_token_begins_no_session(stranger):
    answer = stranger.post("/api/v1/session", headers={"Authorization": "Bearer wrong"})
    refused(answer, 403)
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "evil.example:8000"},
        {"Host": "127.0.0.1"},
        {"Host": "127.0.0.1:8001"},
        {"Origin": "http://evil.example"},
        {"Origin": "http://127.0.0.1:8001"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
@pytest.mark.parametrize("path", ["/", "/page/main.js", "/api/v1/plan"])
def test_other_hosts_and_sites_are_refused(client, headers, path):
    refused(client.get(path, headers=headers), 403)


def test_nobody_is_told_what_is_asked(bench, monkeypatch):
    """FastAPI would hand requests to OpenTelemetry, and set that up if the environment says so."""
    monkeypatch.setenv("FASTAPI_OTEL_AUTO_CONFIGURE", "true")
    told = getattr(create_app(bench), "_telemetry", {})
    assert not any(told.get(name) for name in ("tracing", "metrics", "logs", "auto_configure"))


def test_the_own_page_is_answered(client):
    assert (
        client.get("/api/v1/plan", headers={"Origin": ADDRESS, "Sec-Fetch-Site": "same-origin"}).status_code
        == 200
    )
    assert client.get("/api/v1/plan", headers={"Host": "localhost:8000"}).status_code == 200


def test_the_cookie_is_out_of_the_reach_of_scripts_and_other_sites(stranger):
    cookie = stranger.post("/api/v1/session", headers={"Authorization": f"Bearer {TOKEN}"}).headers[
        "set-cookie"
    ]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert TOKEN not in cookie


@pytest.mark.parametrize("path", ["/", "/page/main.js", "/api/v1/plan", "/api/v1/nothing", "/nothing"])
def test_every_answer_carries_the_headers(client, path):
    headers = client.get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-opener-policy"] == "same-origin"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["cache-control"] == ("no-store" if path.startswith("/api") else "no-cache")


@pytest.mark.parametrize(
    "path", ["/page/../app.py", "/page/..%2fapp.py", "/page/%2e%2e/serve.py", "/page/pages/../../guard.py"]
)
def test_no_path_leads_out_of_the_page(client, path):
    assert client.get(path).status_code == 404


@pytest.mark.parametrize(
    "name", ["../table.csv", "a/b.csv", "a\\b.csv", "..", "", "%2e%2e%2ftable.csv", "a%00.csv"]
)
def test_names_of_files_lead_nowhere(client, name):
    refused(client.send_table(name, b"a\n1\n"), 422)


def test_a_kind_that_is_not_read_is_refused(client):
    assert "'.exe'" in refused(client.send_table("table.exe", b"MZ"), 415)


def test_too_large_a_table_is_refused(client, bench):
    refused(client.send_table("table.csv", b"a\n" + b"1\n" * 1_000_001), 413)

    def piece_by_piece():
        for _ in range(50):
            yield b"1\n" * 25_000

    before = set(bench.folder.iterdir())
    refused(client.post("/api/v1/tables", content=piece_by_piece(), headers={"Veil-File-Name": "t.csv"}), 413)
    assert set(bench.folder.iterdir()) == before  # nothing of it stays


def test_too_large_a_request_is_refused(client):
    refused(client.patch("/api/v1/plan", json={"words": "x" * 1_100_000, "set": {}}), 413)


def test_only_the_first_bytes_of_a_file_are_looked_at(client):
    head = (b"a;b\n" + b"1;2\n" * 40_000)[: 1 << 17]
    assert client.post("/api/v1/tables/look", content=head).status_code == 200
    assert "131,072 bytes" in refused(client.post("/api/v1/tables/look", content=head + b"x"), 413)

    def piece_by_piece():
        yield head
        yield b"x"

    refused(client.post("/api/v1/tables/look", content=piece_by_piece()), 413)


def bomb():
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", b"\0" * 20_000_000)
    return packed.getvalue()


@pytest.mark.parametrize(
    ("name", "content"),
    [("table.xlsx", bomb()), ("table.csv.gz", gzip.compress(b"a\n" + b"1\n" * 10_000_000))],
    ids=["xlsx", "gz"],
)
def test_bombs_are_refused_before_they_go_off(client, name, content):
    task = client.done(client.send_table(name, content))
    assert task["state"] == "failed"
    assert f"{name}: would be" in task["problem"]["detail"]
    assert task["problem"]["status"] == 422


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("table.csv", b"", "the file is empty"),
        ("table.csv", b"a,b\n1\n", "table.csv"),
        ("table.csv", b"a,a\n1,2\n", "'a'"),
        ("table.csv", b"a\n\xff\xfe\xfa\n", "table.csv"),
        ("table.csv", b"a\n1\0\n", "table.csv"),
        ("table.parquet", b"PAR1 and no more", "table.parquet"),
        ("table.xlsx", b"PK\x03\x04 cut off", "table.xlsx"),
        ("table.csv.gz", gzip.compress(b"a\n1\n", mtime=0)[:-9], "is not a complete gzip file"),
    ],
)
def test_broken_files_are_refused_in_the_words_of_the_importer(client, bench, name, content, told):
    before = set(bench.folder.iterdir())
    task = client.done(client.send_table(name, content))
    assert task["state"] == "failed"
    assert told in task["problem"]["detail"]
    assert str(bench.folder) not in task["problem"]["detail"]  # nobody learns where files lie
    assert task["problem"]["status"] == 422
    assert set(bench.folder.iterdir()) == before


@pytest.mark.parametrize(
    "builder",
    [{"kind": "file", "path": "/etc/passwd"}, "/etc/passwd", "../hierarchy.csv"],
)
def test_no_recipe_reads_files_of_the_machine(client, builder):
    table = client.open("age\n1\n2\n")
    asked = {"table": table, "column": "age", "builder": builder}
    assert "a hierarchy file" in refused(client.post("/api/v1/hierarchies/preview", json=asked), 422)
    models = [{"kind": "KAnonymity", "k": 2}]
    recipe = {"quasi_identifiers": {"age": builder}, "models": models}
    refused(client.post("/api/v1/releases", json={"table": table, "recipe": generalize_data(**recipe)}), 422)
    subset = {"kind": "KMap", "k": 2, "subset": {"kind": "Matching", "source": "/etc/passwd"}}
    recipe = {"quasi_identifiers": {"age": "auto"}, "models": [subset]}
    refused(client.post("/api/v1/releases", json={"table": table, "recipe": generalize_data(**recipe)}), 422)


@pytest.mark.parametrize(
    "place",
    ["input", "output", "report", "certificate", "origins", "sign", "tables", "engine", "apart", "budget"],
)
def test_no_recipe_names_places(client, place):
    table = client.open("age\n1\n2\n")
    recipe = {
        "quasi_identifiers": {"age": "auto"},
        "models": [{"kind": "KAnonymity", "k": 1}],
        place: "x.csv",
    }
    told = refused(
        client.post("/api/v1/releases", json={"table": table, "recipe": generalize_data(**recipe)}), 422
    )
    assert f"`{place}`" in told


def test_paths_are_opened_only_where_that_was_allowed(client, tmp_path):
    (tmp_path / "table.csv").write_text("age\n1\n2\n")
    path = str(tmp_path / "table.csv")
    assert "--allow-paths" in refused(client.post("/api/v1/tables/from", json={"path": path}), 403)
    with workbench(allow_paths=True) as allowing:
        somebody = Client(allowing)
        assert somebody.result(somebody.post("/api/v1/tables/from", json={"path": path}))["table"]


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/api/v1/releases", b"{"),
        ("POST", "/api/v1/releases", b"[1]"),
        ("POST", "/api/v1/releases", b'{"table": 7}'),
        ("POST", "/api/v1/releases", b'{"nothing": 7}'),
        ("PATCH", "/api/v1/plan", b'{"words": "x", "set": {"models": 7}}'),
        ("PATCH", "/api/v1/plan", b'{"words": "x", "set": {"nothing": 7}}'),
        ("PATCH", "/api/v1/plan", b'{"words": "x", "set": {"suppression_limit": NaN}}'),
        ("PUT", "/api/v1/plan/recipe", b'{"text": "a: &a [*a]"}'),
        ("PUT", "/api/v1/plan/recipe", b'{"text": "models: ["}'),
        ("POST", "/api/v1/hierarchies/preview", b'{"table": "x", "column": "y", "builder": "z"}'),
    ],
)
def test_nonsense_is_no_mistake_of_the_server(client, method, path, body):
    answer = client.request(method, path, content=body, headers={"Content-Type": "application/json"})
    assert 400 <= answer.status_code < 500, answer.text
    assert answer.headers["content-type"] == "application/problem+json"


def test_a_page_of_one_name_does_not_ask_by_another(client):
    asked = {"Host": "localhost:8000", "Origin": ADDRESS}
    refused(client.get("/api/v1/plan", headers=asked), 403)
    asked["Origin"] = "http://localhost:8000"
    assert client.get("/api/v1/plan", headers=asked).status_code == 200
