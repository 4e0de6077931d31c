"""The process: what it prints, whom it lets in, and what it leaves behind."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys

import httpx2 as httpx
import pytest

from support.refusals import refused
from support.workbench import process
from veil.errors import PlanError, VeilError
from veil.web.serve import serve


def send_table(address):
    base, token = re.match(r"(http://[^#]+)/#token=(.+)", address).groups()
    with httpx.Client(base_url=base, headers={"Authorization": f"Bearer {token}"}, timeout=300) as client:
        sent = client.post("/api/v1/tables", content=b"age\n1\n2\n", headers={"Veil-File-Name": "secret.csv"})
        assert sent.status_code == 202


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "Ctrl-C"])
def test_nothing_stays_when_it_is_stopped(tmp_path, how):
    with process(temporary=tmp_path) as (server, address):
        send_table(address)
        folders = list(tmp_path.glob("veil-workbench-*"))
        assert len(folders) == 1
        assert folders[0].stat().st_mode & 0o077 == 0  # nobody else may look into it
        server.send_signal(how)
        out, errors = server.communicate(timeout=300)
    assert list(tmp_path.iterdir()) == []
    assert "Traceback" not in errors
    assert "secret" not in out + errors  # no name and no value in what it prints


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_the_next_start_removes_what_a_killed_one_has_left(tmp_path):
    """And nothing else: neither what a living one uses, nor what others have made or a link leads to."""
    stranger, elsewhere = tmp_path / "veil-workbench-stranger", tmp_path / "elsewhere"
    for folder in (stranger, elsewhere):
        folder.mkdir()
        (folder / "kept.csv").write_text("age\n1\n")
    (tmp_path / "veil-workbench-symlink0").symlink_to(elsewhere)
    before = set(tmp_path.iterdir())
    with process(temporary=tmp_path) as (killed, address):
        send_table(address)
        (left,) = set(tmp_path.glob("veil-workbench-*")) - before
        (left / "new" / "link").symlink_to(elsewhere)
        with process(temporary=tmp_path):
            assert left.exists()  # it is in use
        killed.kill()
        killed.communicate(timeout=300)
        assert any(left.rglob("*.csv"))
    with process(temporary=tmp_path):
        assert not left.exists()
    assert set(tmp_path.iterdir()) == before
    assert [each.name for each in (*stranger.iterdir(), *elsewhere.iterdir())] == ["kept.csv", "kept.csv"]


def test_other_machines_need_a_token_of_ones_own(tmp_path):
    with refused(PlanError, "other machines"):
        serve(host="0.0.0.0", browser=False)
    weak, open_to_all = tmp_path / "weak", tmp_path / "open"
    weak.write_text("secret")
    weak.chmod(0o600)
    open_to_all.write_text("t" * 40)
    open_to_all.chmod(0o644)
    for file, told in (
        (weak, "32 characters"),
        (open_to_all, "chmod 600"),
        (tmp_path / "none", "cannot be read"),
    ):
        with pytest.raises(VeilError, match=told):
            serve(host="0.0.0.0", token_file=file, browser=False)


def test_at_all_addresses_it_answers_to_those_of_its_machine_and_to_no_other_name(tmp_path):
    token, folder = tmp_path / "token", tmp_path / "private"
    token.write_text("t" * 40)
    token.chmod(0o600)
    folder.mkdir()
    options = ("--host", "0.0.0.0", "--token-file", str(token), "--allow-host", "clinic.example")
    with process(*options, temporary=folder) as (_, address):
        port = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/", address).group(1)

        def answer(host):
            asked = {"Authorization": f"Bearer {'t' * 40}", "Host": host}
            return httpx.get(f"http://127.0.0.1:{port}/api/v1/plan", headers=asked, timeout=300).status_code

        hosts = [f"127.0.0.1:{port}", f"localhost:{port}", "clinic.example", f"clinic.example:{port}"]
        assert [answer(each) for each in hosts] == [200] * 4
        strangers = [f"evil.example:{port}", f"192.0.2.7:{port}", f"0.0.0.0:{port}", "127.0.0.1"]
        assert [answer(each) for each in strangers] == [403] * 4
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:  # nothing is sent
            asking.connect(("192.0.2.1", 9))
            own = asking.getsockname()[0]
        url = f"http://{own}:{port}/api/v1/plan"
        asked = {"Authorization": f"Bearer {'t' * 40}"}
        assert httpx.get(url, headers=asked, timeout=300).status_code == 200


def test_help_does_not_load_the_server():
    """Nor does `import veil`: whoever uses neither page nor server does not wait for them."""
    code = "import sys, veil, veil.cli.app; sys.exit(any(m in sys.modules for m in ('fastapi', 'uvicorn', 'starlette')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
