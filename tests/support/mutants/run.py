"""Mutation testing: one sign of the code is changed, and the tests that are about it must fail. From the folder of the tests:

python -m support.mutants.run models verification --sample 30   # so many of each room, others each time
python -m support.mutants.run models/shares.py --seed 7         # all of a module take long; a sample is 30 by default
python -m support.mutants.run --since main                      # lines that are changed since then, in every room

What survives is printed. Either a test is missing, or the change makes no difference that anybody could notice.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from support.mutants.changes import Change, changes

ROOT = Path(__file__).parents[3]
SOURCES = Path("src", "veil")
ROOMS = ["models", "lattice", "verification", "engines/transform.py", "dp", "masking"]
PATIENCE = 900.0
"""Seconds that the tests about a module may take. With a change, five times as long as without, and two minutes."""

FIRST, MOST = 3, 12
"""Test files that are run for a change, those that are named like the module first; more where they notice nothing."""


class Copy:
    """A copy of the checkout in which code is wrong, with a folder of its own for what is compiled."""

    def __init__(self, place: Path) -> None:
        self.root = place / "veil"
        self.cache = place / "compiled"
        for name in ("src", "tests"):
            shutil.copytree(
                ROOT / name, self.root / name, ignore=shutil.ignore_patterns("__pycache__", ".hypothesis")
            )
        shutil.copy2(ROOT / "pyproject.toml", self.root)
        self.cache.mkdir()

    def run(
        self, tests: list[str], cache: Path, patience: float = PATIENCE
    ) -> subprocess.CompletedProcess[str] | None:
        """Run tests up to the first that fails. Returns None if they take too long."""
        given = {
            **os.environ,
            "PYTHONPATH": str(self.root / "src"),
            "NUMBA_CACHE_DIR": str(cache),
            "VEIL_MUTANTS": "1",  # see tests/conftest.py
        }
        command = [
            sys.executable,
            "-B",
            "-m",
            "pytest",
            "-x",
            "-q",
            "-p",
            "no:cacheprovider",
            "-m",
            "not slow",
            *tests,
        ]
        with subprocess.Popen(
            command,
            cwd=self.root,
            env=given,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as running:
            try:
                out, _ = running.communicate(timeout=patience)
            except subprocess.TimeoutExpired:
                os.killpg(running.pid, 9)
                running.communicate()
                return None
        return subprocess.CompletedProcess(command, running.returncode, out)

    def noticed(self, module: Path, change: Change, tests: list[str], patience: float) -> bool | None:
        """Return whether a test fails with a change; None if the tests do not come to an end."""
        file = self.root / SOURCES / module
        text = file.read_text(encoding="utf-8")
        cache = self.cache
        if has_kernels := _has_kernels(module):
            cache = self.cache.with_name("compiled-changed")
            # What is compiled anew replaces files, and writes into none.
            shutil.copytree(self.cache, cache, copy_function=os.link)
        anew = [file, *(self.root / SOURCES / each for each in _compiled_with(module))]
        kept = {each: _times(each) for each in anew}
        try:
            file.write_text(change.applied(text), encoding="utf-8")
            for each in anew:
                os.utime(each)  # compiled code holds that of other modules, and is not told of changes there
            for some in (tests[:FIRST], tests[FIRST:]):
                ran = self.run(some, cache, patience) if some else None
                if some and (ran is None or ran.returncode):
                    return None if ran is None else True
            return False
        finally:
            file.write_text(text, encoding="utf-8")
            for each, before in kept.items():
                os.utime(each, ns=before)
            if has_kernels:
                shutil.rmtree(cache)


def _times(file: Path) -> tuple[int, int]:
    told = file.stat()
    return told.st_atime_ns, told.st_mtime_ns


@cache
def _modules() -> dict[Path, str]:
    """Return the text of every module, by its place in the package."""
    found = sorted((ROOT / SOURCES).rglob("*.py"))
    return {each.relative_to(ROOT / SOURCES): each.read_text(encoding="utf-8") for each in found}


def _dotted(module: Path) -> str:
    return ".".join(["veil", *module.with_suffix("").parts]).removesuffix(".__init__")


def _has_kernels(module: Path) -> bool:
    return "base.compiled" in _modules()[module]


@cache
def _compiled_with(module: Path) -> tuple[Path, ...]:
    """Return the modules whose compiled code may hold code of this one."""
    if not _has_kernels(module):
        return ()
    found, todo = set(), [module]
    while todo:
        name = _dotted(todo.pop())
        for other, text in _modules().items():
            if (
                other not in found
                and _has_kernels(other)
                and re.search(rf"from {re.escape(name)} import", text)
            ):
                found.add(other)
                todo.append(other)
    return tuple(sorted(found - {module}))


@cache
def about(module: Path) -> list[str]:
    """Return the tests about a module: its examples, those that are named like it, those that import it or its names."""
    public = {
        node.name
        for node in ast.parse(_modules()[module]).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_")
    }
    wanted = re.compile(rf"{re.escape(_dotted(module))}\b|\b({'|'.join(map(re.escape, sorted(public)))})\b")
    room = module.parts[0]
    ranked = []
    for file in (ROOT / "tests").rglob("test_*.py"):
        place = file.relative_to(ROOT / "tests")
        if "realdata" in (text := file.read_text(encoding="utf-8")):
            continue
        same_folder = place.parent == module.parent
        uses = len(wanted.findall(text)) if public else 0
        if same_folder and place.name == f"test_{module.name}":
            ranked.append((0, 0, str(place)))
        elif (uses and place.parts[0] == room) or place.name == f"test_{module.name}":
            ranked.append((1, -uses, str(place)))
        elif uses and not {"fuzz", "web", "workbench"} & {*place.parts}:
            ranked.append((2, -uses, str(place)))
        elif same_folder:
            ranked.append((3, 0, str(place)))
    chosen = [str(Path("tests", place)) for _, _, place in sorted(ranked)[:MOST]]
    return [*([str(SOURCES / module)] if ">>>" in _modules()[module] else []), *chosen]


def _candidates(wanted: list[str], since: str | None) -> Iterator[tuple[str, Path, Change]]:
    touched = _touched(since) if since else None
    for room in wanted:
        for module, text in _modules().items():
            inside = module == Path(room) or Path(room) in module.parents
            if not inside or module.name == "__init__.py":
                continue
            for change in changes(text):
                if touched is None or change.line in touched[str(SOURCES / module)]:
                    yield room, module, change


def _touched(since: str) -> dict[str, set[int]]:
    """Return the lines of each file that are changed since a commit."""
    told = subprocess.run(
        ["git", "diff", "-U0", since, "--", str(SOURCES)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, set[int]] = defaultdict(set)
    file = ""
    for line in told.stdout.splitlines():
        if line.startswith("+++ b/"):
            file = line.removeprefix("+++ b/")
        elif hunk := re.match(r"@@ .* \+(\d+)(?:,(\d+))? @@", line):
            first, many = int(hunk[1]), int(hunk[2] or 1)
            found[file].update(range(first, first + many))
    return found


def _passes(copy: Copy, tests: str, taken: dict[str, float | None]) -> bool:
    """Whether tests pass while nothing is changed; else they would tell nothing."""
    if tests not in taken:
        begun = time.monotonic()
        ran = copy.run([tests], copy.cache)
        passed = ran is not None and ran.returncode == 0
        taken[tests] = time.monotonic() - begun if passed else None
        if not passed:
            told = "takes too long" if ran is None else f"fails with unchanged code: {ran.stdout[-1500:]}"
            print(f"left out  {tests} {told}", flush=True)
    return taken[tests] is not None


def main() -> int:
    """Try changes as the command line says, and print how many were noticed."""
    parser = argparse.ArgumentParser(description="Change one sign of the code, and see whether a test fails.")
    parser.add_argument("rooms", nargs="*", help=f"rooms or modules; by default {', '.join(ROOMS)}")
    parser.add_argument("--sample", type=int, default=30, help="changes of each room")
    parser.add_argument("--seed", type=int, default=None, help="by default others each time")
    parser.add_argument("--since", help="lines that are changed since this commit only")
    parser.add_argument(
        "--trust", action="store_true", help="tests have passed a moment ago: begin with the changes"
    )
    given = parser.parse_args()
    seed = int(time.time()) if given.seed is None else given.seed
    chance = random.Random(seed)
    by_room: dict[str, list[tuple[Path, Change]]] = defaultdict(list)
    for room, module, change in _candidates(given.rooms or ROOMS, given.since):
        by_room[room].append((module, change))
    tally: dict[str, Counter[str]] = defaultdict(Counter)
    taken: dict[str, float | None] = {}
    with tempfile.TemporaryDirectory(prefix="mutants-") as place:
        copy = Copy(Path(place))
        for room, found in by_room.items():
            for module, change in chance.sample(found, min(given.sample, len(found))):
                tests = [each for each in about(module) if given.trust or _passes(copy, each, taken)]
                if not tests:
                    print(f"untested  {module}, {change}", flush=True)
                    tally[room]["untested"] += 1
                    continue
                patience = PATIENCE if given.trust else 120 + 5 * sum(taken[each] or 0 for each in tests)
                noticed = copy.noticed(module, change, tests, patience)
                verdict = {True: "noticed", False: "survived", None: "endless"}[noticed]
                tally[room][verdict] += 1
                print(f"{verdict:9} {module}, {change}", flush=True)
    print(f"\n{'room':24}{'tried':>7}{'noticed':>9}{'endless':>9}{'survived':>10}{'rate':>8}   seed {seed}")
    for room, counts in tally.items():
        noticed, tried = counts["noticed"] + counts["endless"], counts.total() - counts["untested"]
        print(
            f"{room:24}{tried:7}{counts['noticed']:9}{counts['endless']:9}{counts['survived']:10}"
            f"{noticed / max(tried, 1):8.0%}"
        )
    return 1 if any(counts["survived"] or counts["untested"] for counts in tally.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
