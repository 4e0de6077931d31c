"""Every option that takes a path, with paths that cannot be one: a sentence, exit code 2, and nothing written."""

from __future__ import annotations

import inspect
import os
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from support.cli import PLAN, contents, veil
from veil.cli.app import app
from veil.cli.commands.policy import policy

ANONYMIZE = f"anonymize patients.csv {shlex.join(PLAN)} -q"
MASK = "mask patients.csv --step random-pseudonyms:name -q"
PRIVATE = "--method individual-ranking:k=50 --bounds age=0:120 --missing age=40 --epsilon 1 --columns age --person null"

COMMANDS = [
    f"anonymize @csv {shlex.join(PLAN)} -o out.csv",
    f"anonymize @csv {shlex.join(PLAN)} -o out.csv --engine duckdb",
    f"anonymize @csv {shlex.join(PLAN)} -o out.csv --engine memory",
    f"anonymize @csv {shlex.join(PLAN)} -o out/",
    f"anonymize duckdb://@db#t {shlex.join(PLAN)} -o out.csv",
    f"anonymize sqlite://@db#t {shlex.join(PLAN)} -o out.csv",
    "anonymize @yaml",
    "anonymize recipe.yaml --input @csv",
    f"{ANONYMIZE} -o @csv",
    f"{ANONYMIZE} -o @csv --engine duckdb",
    f"{ANONYMIZE} -o @csv/",
    f"{ANONYMIZE} -o duckdb://@db#t",
    f"{ANONYMIZE} -o out.csv --report @html",
    f"{ANONYMIZE} -o out.csv --certificate @json",
    f"{ANONYMIZE} -o out.csv --certificate c.json --sign @pem",
    f"{ANONYMIZE} -o out.csv --apart @csv",
    f"{ANONYMIZE} -o out.csv --origins @csv",
    f"{ANONYMIZE} -o out.csv --save-recipe @yaml",
    f"{ANONYMIZE} -o out.csv --model safe-pub:1,0.1 --budget @json",
    f"{ANONYMIZE} -o out.csv --log @json",
    f"{ANONYMIZE} -o out.csv --engine duckdb --temporary @csv",
    f"{ANONYMIZE} -o out.csv --model inclusion:@csv",
    f"{ANONYMIZE.replace('suppression', '@csv')} -o out.csv",
    "budget @csv",
    "budget @csv --epsilon 1",
    "budget duckdb://@db#t --file b.json",
    "budget patients.csv --file @json",
    "ask @csv --count sex --epsilon 0.1",
    "ask @yaml",
    "ask patients.csv --count sex --epsilon 0.1 --budget @json",
    "ask patients.csv --count sex --epsilon 0.1 --output @csv",
    "keys new @pem",
    "keys show @pem",
    "schema --output @json",
    "demo @csv",
    "identify @csv",
    "identify patients.csv --save-recipe @yaml",
    "identify patients.csv --output @json",
    "risk @csv --qi age",
    "risk --recipe @yaml",
    "risk patients.csv --qi age --population @csv",
    "risk patients.csv --qi age --subset @csv",
    "risk patients.csv --qi age --output @json",
    "risk patients.csv --qi age --engine duckdb --temporary @csv",
    "assess @csv --qi age",
    "assess patients.csv --qi age --sensitive diagnosis --hierarchy diagnosis=@csv",
    "assess patients.csv --qi age --output @json",
    "assess patients.csv --qi age --engine duckdb --temporary @csv",
    "utility @csv patients.csv --qi age",
    "utility patients.csv @csv --qi age",
    "utility patients.csv patients.csv --recipe @yaml",
    "utility patients.csv patients.csv --qi age --report @html",
    "utility patients.csv patients.csv --qi age --origins @csv",
    "utility patients.csv patients.csv --qi age --output @json",
    "frontier @yaml --over k=2,3",
    "frontier recipe.yaml --over k=2,3 --plot @svg",
    "frontier recipe.yaml --over k=2,3 --input @csv",
    "frontier recipe.yaml --over k=2,3 --output @json",
    "verify @csv --recipe recipe.yaml",
    "verify patients.csv --recipe @yaml",
    "verify patients.csv --recipe recipe.yaml --lower-bound @csv",
    "verify patients.csv --certificate @json",
    "verify patients.csv --certificate c.json --signed-by @pub",
    "verify patients.csv --recipe recipe.yaml --engine duckdb --temporary @csv",
    "hierarchy @csv age --using intervals:5,10",
    "hierarchy patients.csv age --using intervals:5,10 --output @csv",
    "hierarchy patients.csv age --using @csv",
    "advise @yaml",
    "advise recipe.yaml --input @csv",
    "advise recipe.yaml --output @json",
    "run @yaml",
    "run recipe.yaml --input @csv",
    "run recipe.yaml --output @csv",
    "run recipe.yaml --log @json",
    "mask @csv --step random-pseudonyms:name -o out.csv",
    "mask @yaml",
    "mask recipe.yaml --input @csv",
    f"{MASK} --output @csv",
    f"{MASK} -o out.csv --apart @csv",
    f"{MASK} -o out.csv --save-recipe @yaml",
    f"{MASK} -o out.csv --report @html",
    f"{MASK} -o out.csv --certificate @json",
    f"{MASK} -o out.csv --sign @pem",
    f"{MASK} -o out.csv --origins @csv",
    f"{MASK} -o out.csv --budget @json",
    "policy check @json",
    "policy check recipe.yaml --under @json",
    "policy explain @json",
    "policy due @json",
    "policy compare @json recipe.yaml",
    "policy compare recipe.yaml @json",
    f"private-table @csv -o out.csv {PRIVATE}",
    "private-table @yaml",
    f"private-table patients.csv -o @csv {PRIVATE}",
    f"private-table patients.csv -o out.csv {PRIVATE} --budget @json",
    f"private-table patients.csv -o out.csv {PRIVATE} --report @html",
    "project pack @yaml",
    "project pack recipe.yaml --output @veil",
    "project unpack @veil",
    "project show @veil",
    "workbench @csv --no-browser",
    "workbench --token-file @txt --no-browser",
]

NAMES = {
    "a long name": "x" * 5000,
    "a long path": "d/" * 2500 + "x",
    "NUL": "a\0b",
    "not UTF-8": "a\udcff",
    "a link to itself": "loop",
    "through a link to itself": "loop.csv/x",
    "below a file": "patients.csv/x",
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", NAMES)
def test_a_path_that_cannot_be_one(folder: Path, kind: str) -> None:
    for ending in {found[1] for each in COMMANDS for found in re.finditer(r"@(\w+)", each)}:
        (folder / f"loop.{ending}").symlink_to(f"loop.{ending}")
    before = contents(folder)
    for each in COMMANDS:
        _refused(each, NAMES[kind])
    assert contents(folder) == before


@pytest.mark.skipif(sys.platform == "win32", reason="permissions are others there")
def test_a_path_in_a_folder_that_may_not_be_entered(folder: Path) -> None:
    (folder / "locked").mkdir(mode=0)
    folder.chmod(0o755)
    for each in COMMANDS:  # which imports what nobody else may be allowed to read
        _refused(each, "x" * 5000)
    with _anybody():
        for each in COMMANDS:
            _refused(each, "locked/x")
    (folder / "locked").chmod(0o700)
    assert sorted(path.name for path in folder.iterdir()) == ["locked", "patients.csv", "recipe.yaml"]


def _refused(command: str, name: str) -> None:
    arguments = [re.sub(r"@(\w+)", lambda found: f"{name}.{found[1]}", each) for each in shlex.split(command)]
    ran = veil(*arguments)
    assert (ran.code, ran.out) == (2, ""), f"{command}: {ran.err[:500]}"
    assert "sorry" not in ran.err
    assert "Traceback" not in ran.err
    assert len(ran.err) < 1000, f"{command} repeats a long name as a whole"


class _anybody:
    """Root may enter every folder, so somebody else has to try."""

    def __enter__(self) -> None:
        self.user = os.geteuid()
        if self.user == 0:
            os.seteuid(65534)

    def __exit__(self, *_: object) -> None:
        os.seteuid(self.user)


def _options() -> Iterator[tuple[str, str]]:
    """Commands with each of their options, or arguments, that is a path."""
    for prefix, group in (("", app), ("policy ", policy)):
        for each in group.registered_commands:
            assert each.callback is not None
            for name, found in inspect.signature(each.callback, eval_str=True).parameters.items():
                kind, *told = get_args(found.annotation) or (found.annotation,)
                if kind is Path or Path in get_args(kind):
                    # Typer takes the first name for a default until it makes the command.
                    named = [
                        text
                        for one in told
                        for text in (one.default, *(one.param_decls or ()))
                        if isinstance(text, str)
                    ]
                    is_argument = type(told[0]).__name__ == "ArgumentInfo"
                    option = "" if is_argument else (named or [f"--{name.replace('_', '-')}"])[0]
                    yield f"{prefix}{each.name}", option


def test_no_option_is_left_out() -> None:
    asked = [each.replace(" --output ", " -o ") for each in COMMANDS]
    options = {(command, option.replace("--output", "-o")) for command, option in _options()}
    assert len(options) > 50
    assert not {
        (command, option)
        for command, option in options
        if not any(each.startswith(f"{command} ") and f"{option} @" in each for each in asked)
    }
