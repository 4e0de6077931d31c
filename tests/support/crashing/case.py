"""What a case is: something that is released while runs are stopped, and how to see afterwards what has become of it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from support.cli import PATIENTS

OLD = b"before\n"


def command(*arguments: str) -> Callable[[], object]:
    """A run of the command line in this very process."""

    def job() -> None:
        from veil.cli import main, supervisor

        supervisor.supervise = lambda: None  # what is stopped at its steps is this process
        sys.argv = ["veil", *arguments]
        main()

    return job


class Case:
    """Files that belong together: all of them are as they were, or all are new."""

    name = ""
    speaks = True
    """Whether it is a command, which says how it ended."""

    targets: ClassVar[dict[str, Callable[[bytes], bool]]] = {}
    """Files by their path, and what tells that one is whole."""

    kept: ClassVar[tuple[str, ...]] = ("patients.csv",)
    """What is there besides, or may be."""

    way_back: tuple[str, str] | None = None
    """A release with pseudonyms, and the only table that turns them back, which is safe before the other appears."""

    def import_all(self) -> None:
        """Import what a run needs, and have its kernels loaded, so that each run after that is quick."""
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder).resolve()
            self.set_up(place, False)
            self.warm_up(place)

    def warm_up(self, place: Path) -> None:
        import contextlib
        import io
        import os

        here = os.getcwd()
        os.chdir(place)
        try:
            with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
                self.job(place, overwrite=True)()
        finally:
            os.chdir(here)

    def end(self) -> None:
        """Tidy up."""

    def set_up(self, place: Path, old: bool) -> None:
        """Lay out what is read, and what is to be replaced."""
        (place / "patients.csv").write_text(PATIENTS)
        for target in self.targets:
            (place / target).parent.mkdir(exist_ok=True)
            if old:
                (place / target).write_bytes(OLD)

    def job(self, place: Path, *, overwrite: bool) -> Callable[[], object]:
        """What is carried out."""
        raise NotImplementedError

    def states(self, place: Path) -> dict[str, str]:
        """Look at each file."""
        return {target: state_of(place / target, is_whole) for target, is_whole in self.targets.items()}

    def look(self, place: Path) -> str:
        """Look at all of them."""
        states = self.states(place)
        found = set(states.values())
        return found.pop() if len(found) == 1 else json.dumps(states)

    def whole(self, old: bool) -> set[str]:
        """How it may be found."""
        return {"old" if old else "none", "new"}

    def at_once(self, place: Path, old: bool) -> list[str]:
        """What is wrong right after a kill, whoever comes next."""
        states = self.states(place)
        problems = [f"{target} is {state}" for target, state in states.items() if state == "broken"]
        if self.way_back is not None:
            release, mapping = (states[each] for each in self.way_back)
            if release == "new" and mapping != "new":
                problems.append("there are pseudonyms, and no way back")
        return problems

    def left(self, place: Path) -> list[str]:
        """What should not be there."""
        known = {*self.targets, *self.kept}
        known |= {str(each) for path in known for each in Path(path).parents} | {"tmp"}
        found = [str(each.relative_to(place)) for each in place.rglob("*")]
        return [each for each in found if each not in known]


def state_of(path: Path, is_whole: Callable[[bytes], bool]) -> str:
    if not path.exists():
        return "none"
    content = path.read_bytes()
    return "old" if content == OLD else "new" if is_whole(content) else "broken"


def is_table(content: bytes) -> bool:
    return content.count(b"\n") == PATIENTS.count("\n")


def is_mapping(content: bytes) -> bool:
    return content.count(b"\n") == PATIENTS.count("\n")


def is_page(content: bytes) -> bool:
    return content.rstrip().endswith(b"</html>")


def is_json(content: bytes) -> bool:
    try:
        json.loads(content)
    except ValueError:
        return False
    return True


def is_yaml(content: bytes) -> bool:
    return b"models:" in content and content.endswith(b"\n")


def told(job: Callable[[], Any]) -> Callable[[], object]:
    """A job of Python, which ends as a command would."""

    def run() -> None:
        from veil.errors import OutputError

        try:
            job()
        except OutputError as error:
            print(error)
            raise SystemExit(2) from None
        except KeyboardInterrupt:
            raise SystemExit(130) from None

    return run


def overwriting(yes: bool) -> tuple[str, ...]:
    """How a command is allowed to replace files."""
    return ("--overwrite",) if yes else ()


def rows_of(content: bytes) -> int:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return int(pq.read_table(pa.BufferReader(content), use_threads=False).num_rows)
    except (pa.ArrowInvalid, OSError):
        return -1
